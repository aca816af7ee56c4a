"""The site: built as its maintainers build it, and used in a real browser."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from random import Random
from subprocess import CalledProcessError
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
import yaml

import relayout as rl
from browsing import Browser, Open, Page, expect, launched_browser, opened_pages
from relayout.web.handle import handle
from relayout.web.presets import PRESETS
from relayout.web.server import Explorer

pytest.importorskip("zensical", reason="NO SITE TESTS: pip install zensical")
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))
make_site = import_module("make_site")
site_explorer = import_module("website.explorer")
site_examples = import_module("website.examples")

QUESTIONS = 40
TRANSPORT = 'await import(new URL("assets/transport.js", location.href))'


BELOW = "/some/project"
"""The site is tested below a path, as the pages of a project are."""


class Quiet(SimpleHTTPRequestHandler):
    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix(BELOW) if path.startswith(f"{BELOW}/") else "/nothing")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """The site's own page, for any address that it does not have."""
        page = Path(self.directory, "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page if self.command == "GET" else b"")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("npm") is None and not site_explorer.package_file().exists():
        pytest.skip("NO SITE TESTS: there is no npm, which brings Python for browsers")
    try:
        site_explorer.pyodide_package()
    except CalledProcessError:
        pytest.skip("NO SITE TESTS: npm does not bring Python for browsers here")
    made: Path = tmp_path_factory.mktemp("site")
    make_site.build_site(made)
    return made


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{BELOW}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched_browser() as made:
        yield made


@pytest.fixture
def opened(browser: Browser, site: str) -> Iterator[Open]:
    with opened_pages(browser) as open_page:
        yield partial(open_page, home=site)


@pytest.fixture(scope="module")
def running(browser: Browser, site: str) -> Iterator[Page]:
    """The explorer of the site, with Python in it."""
    with opened_pages(browser) as open_page:
        page = open_page(f"{site}/explorer/", home=site)
        expect(page.locator("#progress")).to_contain_text("Python")
        expect(page.locator("#progress")).to_be_hidden(timeout=60_000)
        yield page


def without_python(page: Page) -> None:
    """Keep Python on its way to this page for ever: what is there is there before it, and its start costs nothing."""
    page.context.route("**/*.wasm", lambda route: None)


def ask_python(page: Page, questions: list[Any]) -> list[Any]:
    """What Python in the page says, never what was written when the site was built."""
    ask = f"async (all) => {{ const {{ askPython }} = {TRANSPORT}; return Promise.all(all.map((x) => askPython(x))); }}"
    answers: list[Any] = page.evaluate(ask, questions)
    return answers


# ---- the explorer in its page ----------------------------------------------------------------------------


def test_examples_are_there_before_python(opened: Open, site: str) -> None:
    page = opened("about:blank")
    without_python(page)
    page.goto(f"{site}/explorer/")
    for name in ("", *PRESETS):
        if name:
            page.get_by_role("button", name=name, exact=True).click()
            expect(page.locator("#a")).to_have_value(PRESETS[name]["a"])
        expect(page.locator("figure.pane").first).to_be_visible()
        expect(page.locator("#facts .ledger").first).to_be_visible()
        expect(page.locator(".error:not(:empty)")).to_have_count(0)
    expect(page.locator("#progress")).to_contain_text("Python")


def questions(seed: int) -> list[dict[str, Any]]:
    """Of each kind some: names of the catalog, examples, texts in every notation, comparisons, the algebra, code."""
    draw = Random(seed)
    names = draw.sample(rl.catalog.names(), 10)
    found = [{"ask": "view", "state": {"a": name, "dtype": draw.choice(["", "float16", "uint8"])}} for name in names]
    found += [{"ask": draw.choice(["view", "facts"]), "state": state} for state in draw.sample([*PRESETS.values()], 6)]
    rows = [rl.Layout.row_major(*draw.choices(range(1, 9), k=2)) for _ in range(40)]
    texts = [(name, text) for x in rows for name, text in rl.rosetta(x).items() if isinstance(text, str)]
    found += [{"ask": "facts", "state": {"a": f"{name}:{text}"}} for name, text in draw.sample(texts, 8)]
    for _ in range(6):
        sizes = ",".join(map(str, draw.choices(range(1, 20), k=4)))
        a, b = draw.sample(["nchw", "nhwc", "nChw8c", "NCHW4c", "htp:R4Crouton", "nChw16c"], 2)
        found.append({"ask": "view", "state": {"a": a, "b": b, "do": "compare", "shape": sizes, "axes": "nchw"}})
    operations = ["composition", "logical_divide", "zipped_divide", "blocked_product", "raked_product"]
    found += [
        {"ask": "view", "state": {"a": f"(8,{n}):({n},1)", "b": "(2,2):(1,2)", "do": draw.choice(operations)}}
        for n in draw.choices(range(2, 12), k=4)
    ]
    found += [
        {"ask": "code", "state": {"a": "nchw", "b": "nChw8c", "dtype": "float16", "target": name, "axes": "nchw"}}
        for name in draw.sample(["", "cpp", "rust", "mojo", "cuda", "triton", "numpy", "mlir"], 3)
    ]
    found += [
        {"ask": "copy", "form": form, "state": {"a": "(3,4):(4;1)"[: draw.randint(5, 11)]}}
        for form in ("svg", "python")
    ]
    records = draw.sample([*rl.catalog.known_records()], 3)
    found += [{"ask": "view", "state": {"a": name}} for name in records]
    return draw.sample(found, QUESTIONS)


@pytest.mark.parametrize("seed", [24, 1511])
def test_answers_are_those_of_a_server(running: Page, seed: int) -> None:
    asked = questions(seed)
    expected = [json.loads(json.dumps(handle(question))) for question in asked]
    assert ask_python(running, asked) == expected
    assert sum("error" not in answer for answer in expected) > QUESTIONS // 2


def test_try_it_buttons_open_what_the_page_draws(running: Page, folder: Path) -> None:
    """The build proves it of each, without numpy; here some are tried in the page itself."""
    links = {
        unescape(link)
        for page in folder.rglob("*.html")
        for line in re.findall(r'<p class="try">(.*?)</p>', page.read_text())
        for link in re.findall(r'href="[^"]*explorer/index\.html#([^"]*)"', line)
    }
    assert len(links) > 250
    chosen = Random(24).sample(sorted(links), 150)
    states = [dict(parse_qsl(link, strict_parsing=True)) for link in chosen]
    refused = running.evaluate(
        f"""async (states) => {{
      const {{ askPython }} = {TRANSPORT};
      const answers = await Promise.all(states.map((state) => askPython({{ ask: "view", state }})));
      return states.filter((_, k) => answers[k].error).map((state) => JSON.stringify(state));
    }}""",
        states,
    )
    assert refused == []


def test_a_try_it_button_shows_its_example_before_python_is_there(opened: Open, site: str) -> None:
    page = opened(f"{site}/gallery.html")
    without_python(page)
    button = page.locator(".try a").nth(1)
    state = dict(parse_qsl((button.get_attribute("href") or "").partition("#")[2]))
    button.click()
    page.wait_for_url("**/explorer/index.html#**")
    expect(page.locator("#a")).to_have_value(state["a"])
    expect(page.locator("figure.pane").first).to_be_visible()
    expect(page.locator("#progress")).to_contain_text("Python")


def test_a_question_that_takes_too_long_is_ended_and_the_next_works(running: Page) -> None:
    running.clock.install()
    line = "  %t.{0} = f32[64,32]{{1,0}} transpose(f32[32,64]{{1,0}} %p.{0}), dimensions={{1,0}}\n"
    text = "HloModule m\n\nENTRY %main () -> f32[] {\n" + "".join(line.format(k) for k in range(60_000)) + "}\n"
    running.locator("#audit-text").evaluate(
        "(box, text) => { box.value = text; box.dispatchEvent(new Event('input')); }", text
    )
    running.clock.fast_forward(300)
    running.clock.fast_forward(11_000)
    expect(running.locator("#general-error")).to_contain_text("no answer within 10 seconds, so the question was ended")
    expect(running.locator("#progress")).to_contain_text("Python")
    running.locator("#a").fill("(3,5):(5,1)")
    expect(running.locator("#facts .ledger")).to_contain_text("(3, 5)", timeout=60_000)
    expect(running.locator("#general-error")).to_be_empty()


def test_what_needs_numpy_is_refused_by_a_sentence(running: Page) -> None:
    state = {"a": "(32,32):(32,1)", "b": "(32,1):(32,1)", "do": "banks", "dtype": "float32"}
    (answer,) = ask_python(running, [{"ask": "view", "state": state}])
    assert answer["error"]["message"] == "this needs numpy, which is not in this page."
    assert answer["error"]["hint"] == "install relayout, and `relayout explore` answers it"


def test_when_python_gives_up_the_page_says_so_at_once(running: Page) -> None:
    running.workers[-1].evaluate("() => { self.onmessage = () => { throw new Error('out of memory'); }; }")
    (answer,) = ask_python(running, [{"ask": "facts", "state": {"a": "(2,3):(3,1)"}}])
    assert answer["error"]["message"] == "Python gave up on the question, and starts again."
    expect(running.locator("#progress")).to_contain_text("Python")


def test_it_works_without_a_network_after_the_first_visit(running: Page, site: str) -> None:
    running.evaluate("async () => { await navigator.serviceWorker.ready; }")
    running.context.set_offline(True)
    running.goto(f"{site}/explorer/index.html#{urlencode({'a': '(3,7):(7,1)'})}")
    running.reload()
    expect(running.locator("#facts .ledger")).to_contain_text("(3, 7)", timeout=60_000)


STATES = [
    {"a": "htp:R4Crouton", "shape": "1,16,9,8", "rows": "1", "columns": "2", "pin": "0:0,3,2,1"},
    {"a": "(9,(4,8)):(59,(13,1))", "b": "<3:3, (2,4):(1,8)>", "do": "zipped_divide"},
    {"a": "nChw8c", "b": "nhwc", "do": "compare", "shape": "1,16,4,4", "theme": "dark"},
]


def test_a_link_shows_the_same_with_a_server_and_without(running: Page, browser: Browser) -> None:
    with Explorer() as server, opened_pages(browser) as open_page:
        Thread(target=server.serve_forever, daemon=True).start()
        for state in STATES:
            served = open_page(f"{server.url}#{urlencode(state)}")
            running.evaluate(f"location.hash = {json.dumps(urlencode(state))}")
            fields = {name: text for name, text in state.items() if name not in ("pin", "theme")}
            layout = handle({"ask": "facts", "state": fields})["facts"][0]["ledger"][0][1]
            seen = []
            for page in (served, running):
                expect(page.locator("#facts .ledger dd").first).to_have_text(layout, timeout=60_000)
                parts = [page.locator(part).inner_html() for part in ("#picture", "#verdict", "#facts")]
                theme = page.evaluate("document.documentElement.dataset.theme")
                seen.append([*parts, theme, page.evaluate("location.hash")])
            assert seen[0] == seen[1]
        server.shutdown()


# ---- the pages -------------------------------------------------------------------------------------------


PAGES = ("index", "concepts", "gallery", "benchmarks", "coming_from/cute", "api/algebra", "explorer/index")


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_and_ask_nobody(opened: Open, site: str, width: int) -> None:
    page = opened("about:blank", width=width)
    without_python(page)
    for path in PAGES:
        page.goto(f"{site}/{path}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_the_first_page_leads_into_the_explorer(opened: Open, site: str) -> None:
    page = opened(f"{site}/index.html")
    without_python(page)
    link = page.get_by_role("link", name="Open the explorer")
    expect(link).to_be_in_viewport()
    link.click()
    expect(page.locator("figure.pane").first).to_be_visible()


@pytest.mark.parametrize("path", ["nothing.html", "api/nothing/at/all.html", "explorer/nothing"])
def test_an_address_without_a_page_leads_back(browser: Browser, site: str, path: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}/{path}")
    expect(page.get_by_role("link", name="The explorer")).to_have_attribute("href", f"{site}/explorer/index.html")
    page.get_by_role("link", name="The first page").click()
    expect(page.get_by_role("link", name="Open the explorer")).to_be_visible()
    page.close()


def test_the_pages_are_searched(opened: Open, site: str) -> None:
    page = opened(f"{site}/index.html")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("logical_divide")
    page.locator("a[href*='api/algebra.html?'][href$='#logical_divide']").click()
    page.wait_for_url("**/api/algebra.html?*#logical_divide")


def test_every_public_name_is_in_the_reference(folder: Path) -> None:
    groups = import_module("make_api").groups()
    pages = {path.stem: path.read_text() for path in (folder / "api").glob("*.html")}
    missing = [
        n for group in groups for n in group.names if f'id="{n}"' not in pages[group.title.lower().replace(" ", "-")]
    ]
    for module in ("htp", "mojo", "coreai", "candle", "catalog"):
        names = import_module(f"relayout.{module}").__all__
        missing += [f"{module}.{name}" for name in names if f'id="{name}"' not in pages[module]]
    assert missing == []
    text = unescape(re.sub(r"<[^>]*>", "", pages["the-front-door"]))
    assert "Layout(\n    shape,\n    stride=None,\n    *,\n    offset: int | Basis = 0," in text
    assert "&gt;&gt;&gt; </span>" in pages["the-front-door"], "examples are code"


def test_every_page_of_the_project_is_in_the_navigation() -> None:
    def leaves(part: Any) -> Iterator[str]:
        for entry in part:
            value = next(iter(entry.values())) if isinstance(entry, dict) else entry
            yield from [value] if isinstance(value, str) else leaves(value)

    found = list(leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert sorted(found) == sorted([*make_site.page_sources().values(), "explorer/index.html"]), "see mkdocs.yml"


# ---- what it is made of ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "body", "states"),
    [
        ("python", ">>> x = rl.Layout((3, 4), (4, 1))\n>>> x(1, 1)\n5\n", [{"a": "((3, 4):(4, 1))"}]),
        ("python", "Layout.row_major(2, 3)\na = Layout(4).permute(0)\n", [{"a": "((2, 3):(3, 1))"}, {"a": "(4:1)"}]),
        ("python", 'rl.compare("nchw", "nhwc")', [{"a": "nchw", "b": "nhwc", "do": "compare"}]),
        ("python", 'rl.compare("ggml:Q4_0", "ggml:Q4_1")', [{"a": "ggml:Q4_0"}, {"a": "ggml:Q4_1"}]),
        ("python", 'rl.banks("smem:K_SW128", x, "float16")', [{"a": "smem:K_SW128", "dtype": "float16"}]),
        ("python", 'rl.repack(x, "htp:R4Crouton")', [{"a": "htp:R4Crouton"}]),
        ("python", 'print("hello"); f(2 ** 3, "float16", "c", "nhwc")', []),
        ("python", 'rl.parse("(3,4):(4;1)")', []),
        ("python", "x = rl.Layout((unknown, 4))", []),
        ("python", 'x = rl.atoms["mma.m16n8k8.f32.tf32.tf32.f32"]', [{"a": "mma.m16n8k8.f32.tf32.tf32.f32"}]),
        ("python", "x, y = Layout(4, 2), 3\nx.view[1:y]\n", [{"a": "(4:2)"}, {"a": "(2:2) offset 2"}]),
        ("python", ">>> infer(x).layout\nLayout((4, 3), (-1, 4), offset=3)\n", [{"a": "((4, 3):(-1, 4)) offset 3"}]),
        ("python", "from relayout.htp import R4FlatMemoryLayout as f\nrl.empty(f)\n", [{"a": "0 1 2 3 axes nhwc"}]),
        ("python", ">>> f(x)\n[0, 4, 2, 6]\n>>> g(x)\n'(2,2):(1,4)'\n", [{"a": "(2,2):(1,4)"}]),
        ("python", "import os\nos.remove(rl.__file__)\nrl.repack_file('a', 'b')\n", []),
        ("python", 'x = np.zeros((6, 4))\nrl.repack(x, "0 1 / 1,3")\n', [{"a": "0 1 / 1,3", "shape": "6,4"}]),
        ("python", 'rl.repack(np.arange(24).reshape(6, 4), "nChw8c")', [{"a": "nChw8c"}]),
        ("python", 'rl.repack(np.arange(1, 7), coreai.InterleaveLayout(0, 4))',
         [{"a": "InterleaveLayout(dimension: 0, factor: 4)", "shape": "6"}]),
        ("python", 'y = np.ones((9, 9))\nrl.repack(y, "nChw8c", src="(3,27):(27,1)")\n',
         [{"a": "nChw8c"}, {"a": "(3,27):(27,1)"}]),
        ("python", 'size = 4\nx = f"({size},8):(8,1)"\ndraw(x)\n', [{"a": "(4,8):(8,1)"}]),
        ("python", 'x = f"({size:>4},8):(8,1)"\ndraw(x)\n', []),
        ("python", 'x = rl.Sharding({"x": 4}, ["x", None], shape=(8, 2))',
         [{"a": "mesh(x=4) deals (x, -) shape (8, 2)"}]),
        ("python", 'x = rl.Sharding({"x": n}, ["x", None], shape=(8, 2))', []),
        ("python", 'for text in ("(2,3):(3,1)", "5:2"):\n    draw(text)\n', [{"a": "(2,3):(3,1)"}, {"a": "5:2"}]),
        ("python", ">>> f(x)\nlayout    (4:2)\n>>> g(x)\n('(2,2):(1,4)', 0)\n", [{"a": "(4:2)"}, {"a": "(2,2):(1,4)"}]),
        ("python", 'handle({"ask": "view", "state": {"a": "5:2", "view": "both"}})', [{"a": "5:2", "view": "both"}]),
        ("console", "$ relayout infer a.bin\nlayout  (4:2)\nformat  none\n", [{"a": "(4:2)"}]),
        ("sh", "relayout code nchw nhwc --dtype uint8 --test -o a.c\n",
         [{"a": "nchw", "b": "nhwc", "do": "code", "dtype": "uint8"}]),
        ("cpp", "// Moves uint8 from nchw to nhwc.\nvoid f();\n",
         [{"dtype": "uint8", "a": "nchw", "b": "nhwc", "do": "code", "target": "hip"}]),
        ("cpp", "// Moves house.\n", []),
        ("console", "$ relayout draw 'nChw8c' --shape 1,16,2,2 | head\n", [{"a": "nChw8c", "shape": "1,16,2,2"}]),
        ("", "(3,4):(4,1)\nand other words\n", [{"a": "(3,4):(4,1)"}]),
        ("sh", "relayout divide '(8,8):(8,1)' 4,2\n", [{"a": "(8,8):(8,1)", "b": "4,2", "do": "logical_divide"}]),
        ("sh", "relayout repack a.npy b.npy --to nChw8c --force\n", [{"a": "nChw8c"}]),
        ("sh", "relayout banks '(4,4):(4,1)' ds_read_b32 rows --dtype int8\n", [{"a": "(4,4):(4,1)", "dtype": "int8"}]),
        ("toml", '[layouts]\nx = "(3,4):(4,1)"\ny = { layout = "nchw", shape = [1, 2, 3, 4] }\n[[claims]]\n',
         [{"a": "(3,4):(4,1)"}, {"a": "nchw", "shape": "1,2,3,4"}]),
        ("toml", '[[rule]]\nname = "(3,4):(4,1)"\n', []),
    ],
)  # fmt: skip
def test_the_layouts_of_an_example_are_found(language: str, body: str, states: list[dict[str, str]]) -> None:
    assert list(site_examples.block_states(language, body, {}, "hip")) == states


def test_a_page_that_was_kept_finds_its_own_answers_or_none() -> None:
    states = [(("a", text),) for text in ("(2,3):(3,1)", "(3,4):(1,3)", "5:2")]
    kept, newer = [
        site_explorer.written_answers({state: site_examples.answer_to(state) for state in some})
        for some in (states[:2], states[:0:-1])
    ]
    names = [name for name in kept if name.startswith("examples/")]
    assert len(names) == 2
    assert [name in newer for name in names] == [False, True]
    assert all(kept[name] == newer.get(name, kept[name]) for name in names)


def test_another_package_than_the_published_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    package = site_explorer.package_file()
    package.parent.mkdir()
    package.write_bytes(b"something else")
    with pytest.raises(SystemExit, match=r"is not what was published as pyodide"):
        site_explorer.pyodide_package()


def test_a_folder_that_is_no_site_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(SystemExit, match="holds no site"):
        make_site.build_site(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
