"""Pages in a real browser, which nobody may have reason to complain of; what is tested so is skipped without one."""

import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="NO BROWSER TESTS: pip install playwright")
from playwright.sync_api import Browser, Locator, Page, expect  # noqa: E402, F401

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    warnings.warn("NO BROWSER TESTS: there is no Chromium; apt-get install chromium", stacklevel=1)
    pytest.skip("NO BROWSER TESTS: there is no Chromium; apt-get install chromium", allow_module_level=True)

FLAGS = [
    *["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"],
    *["--disable-background-networking", "--disable-component-update"],
]
Open = Callable[..., Page]
# A machine that runs other tests beside these takes its time.
expect.set_options(timeout=30_000)


@contextmanager
def launched_browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


@contextmanager
def opened_pages(browser: Browser) -> Iterator[Open]:
    """Opens pages; afterwards none of them may have complained, or asked anybody but where it is from."""
    contexts = []
    complaints: list[str] = []

    def open_page(url: str, width: int = 1280, height: int = 900, home: str = "", **words: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **words)
        contexts.append(context)
        own = home or url.partition("#")[0].rpartition("/")[0]

        def check_request(request: Any) -> None:
            if not request.url.startswith((own, "data:", "blob:")):
                complaints.append(request.url)

        # The context hears of the requests of workers, too.
        context.on("request", check_request)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
