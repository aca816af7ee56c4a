"""What a release uploads and says of itself: tags, metadata, the page of an index, one version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from html.parser import HTMLParser
from importlib.metadata import metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
import yaml

import relayout as rl

ROOT = Path(__file__).parents[1]
HOME = "https://host.example/who/relayout"
ABOUT = """Metadata-Version: 2.4
Name: relayout
Version: 0.1.0
Keywords: layout
Author: us
License-Expression: Apache-2.0
Classifier: Typing :: Typed
Requires-Python: >=3.11
"""


@pytest.fixture(scope="module")
def index_page() -> ModuleType:
    return script("index_page")


def script(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "release"))
    try:
        spec = spec_from_file_location(name, ROOT / "release" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


# ---- what may be uploaded --------------------------------------------------------------------------------


def made(folder: Path, tags: str, *members: str, about: str = ABOUT, named: str = "") -> Path:
    """A wheel that says these tags of itself, and has empty files."""
    path = folder / f"relayout-0.1.0-{named or tags}.whl"
    python, abi, platforms = tags.split("-")
    lines = "".join([f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split(".")])
    with ZipFile(path, "w") as wheel:
        wheel.writestr("relayout-0.1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\n{lines}")
        wheel.writestr("relayout-0.1.0.dist-info/METADATA", about)
        for member in ("relayout/py.typed", *members):
            wheel.writestr(member, "")
    return path


CORE, OWN = "relayout/_native.abi3.so", "relayout/_native.cpython-311-x86_64-linux-gnu.so"
WIDE = "cp312-abi3-manylinux_2_28_x86_64"


@pytest.mark.parametrize(
    ("tags", "members"),
    [
        (WIDE, [CORE, "relayout_pytest/__init__.py"]),
        ("cp311-cp311-manylinux_2_28_aarch64", [OWN]),
        ("cp312-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64", [CORE]),
        ("cp312-abi3-musllinux_1_2_x86_64", [CORE]),
        ("cp312-abi3-macosx_11_0_arm64", [CORE]),
        ("py3-none-any", []),
    ],
)
def test_a_release_takes_wheels_for_many_machines(tmp_path: Path, tags: str, members: list[str]) -> None:
    assert script("check_wheel").faults(made(tmp_path, tags, *members)) == []


@pytest.mark.parametrize(
    ("tags", "members", "fault"),
    [
        ("cp312-abi3-linux_x86_64", [CORE], "tag"),
        ("cp313-cp313-manylinux_2_28_x86_64", [CORE], "tag"),
        ("cp311-abi3-manylinux_2_28_x86_64", [CORE], "tag"),
        (WIDE, [], "one compiled module"),
        ("py3-none-any", [CORE], "no compiled module"),
        (WIDE, [CORE, "relayout.libs/libstdc++.so.6"], "one compiled module"),
        (WIDE, [CORE, "tests/test_files.py"], "beside the package"),
    ],
)
def test_a_release_refuses_other_wheels(tmp_path: Path, tags: str, members: list[str], fault: str) -> None:
    assert any(fault in told for told in script("check_wheel").faults(made(tmp_path, tags, *members)))


@pytest.mark.parametrize(
    ("about", "fault"),
    [
        (ABOUT.replace("Author: us\n", ""), "no Author"),
        (ABOUT + "Requires-Dist: nanobind-backend>=1.0\n", "nanobind-backend"),
        (ABOUT + "\nSee [more](docs/more.md).\n", "lead nowhere"),
        (ABOUT, "no address"),
    ],
)
def test_a_release_refuses_metadata_that_lacks_something(tmp_path: Path, about: str, fault: str) -> None:
    check = script("check_wheel")
    assert any(fault in told for told in check.faults(made(tmp_path, WIDE, CORE, about=about), upload=True))
    whole = ABOUT + f"Project-URL: Source, {HOME}\n\nSee [more]({HOME}/docs/more.md), [below](#below).\n"
    assert check.faults(made(tmp_path, WIDE, CORE, about=whole), upload=True) == []


def test_a_release_is_uploaded_as_a_whole() -> None:
    check = script("check_wheel")
    places = ["manylinux_2_17_x86_64.manylinux2014_x86_64", "manylinux_2_28_aarch64", "macosx_11_0_arm64"]
    places += ["musllinux_1_2_x86_64", "musllinux_1_2_aarch64"]
    names = [f"relayout-1.2-{tag}-{place}.whl" for tag in ("cp311-cp311", "cp312-abi3") for place in places]
    names += ["relayout-1.2.tar.gz", "relayout-1.2-py3-none-any.whl"]
    assert check.missing_files(names) == []
    for name in names:
        assert len(check.missing_files([other for other in names if other != name])) == 1, name
    assert check.missing_files([*names, "relayout-1.1.tar.gz"]) == ["there are files of several versions: 1.1, 1.2"]


def test_a_name_and_a_wheel_that_disagree_are_seen(tmp_path: Path) -> None:
    path = made(tmp_path, "cp312-abi3-linux_x86_64", CORE, named=WIDE)
    assert any("its name says" in told for told in script("check_wheel").faults(path))


@pytest.mark.parametrize("more", [[], ["src/relayout/_native.abi3.so"]], ids=["sound", "compiled"])
@pytest.mark.parametrize("lacks", ["", "CMakeLists.txt", "release/index_page.py"])
def test_a_source_distribution_can_be_built_from(tmp_path: Path, lacks: str, more: list[str]) -> None:
    path = tmp_path / "relayout-0.1.0.tar.gz"
    names = ["CMakeLists.txt", "LICENSE", "README.md", "native/README.md", "release/index_page.py"]
    names += ["src/relayout/py.typed", *more]
    (tmp_path / "empty").touch()
    (tmp_path / "about").write_text(ABOUT)
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tmp_path / "about", "relayout-0.1.0/PKG-INFO")
        for name in names:
            if name != lacks:
                archive.add(tmp_path / "empty", f"relayout-0.1.0/{name}")
    assert len(script("check_wheel").faults(path)) == bool(lacks) + len(more)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("path", sorted((ROOT / "release").glob("*.sh")), ids=lambda path: path.name)
def test_the_scripts_of_a_release_are_sound(path: Path) -> None:
    assert os.access(path, os.X_OK)
    subprocess.run(["bash", "-n", str(path)], check=True)


def test_a_release_is_never_pure_where_it_should_not_be() -> None:
    wheels = tomllib.loads((ROOT / "release" / "cibuildwheel.toml").read_text())["tool"]["cibuildwheel"]
    places = [wheels, *[part for part in wheels.values() if isinstance(part, dict) and "environment" in part]]
    assert [place["environment"]["RELAYOUT_NATIVE"] for place in places] == ["1"] * len(places)
    for name in ("build.sh", "cross.sh"):
        assert "RELAYOUT_NATIVE=1" in (ROOT / "release" / name).read_text()


def test_everything_that_makes_a_release_has_a_version() -> None:
    tools = [line for line in (ROOT / "release" / "tools.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in tools if not re.fullmatch(r"[\w-]+==[\d.]+", line)] == []
    hosted = (ROOT / "release" / "hosted.yml").read_text()
    actions = re.findall(r"uses: (\S+)", hosted)
    assert len(actions) > 5
    assert [name for name in actions if not re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", name)] == []
    assert "secrets." not in hosted


# ---- one version -----------------------------------------------------------------------------------------


def test_there_is_one_version() -> None:
    stated = re.findall(r'^__version__ = "(.+)"$', (ROOT / "src/relayout/_version.py").read_text(), re.MULTILINE)
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    told = subprocess.run([sys.executable, "-m", "relayout", "--version"], capture_output=True, text=True, check=True)
    assert stated == [rl.__version__]
    assert headings[0] == rl.__version__
    assert metadata("relayout")["Version"] == rl.__version__
    assert told.stdout.split()[-1] == rl.__version__


# ---- the page of an index --------------------------------------------------------------------------------


class Addresses(HTMLParser):
    """What a page links to and shows."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.pictures: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (tag, name) == ("a", "href"):
                self.links.append(value or "")
            if (tag, name) == ("img", "src"):
                self.pictures.append(value or "")


def rendered(text: str) -> Addresses:
    """A page as the index renders it, with its own program."""
    html = pytest.importorskip("readme_renderer.markdown").render(text)
    assert html is not None
    page = Addresses()
    page.feed(html)
    return page


@pytest.fixture
def readme() -> str:
    return (ROOT / "README.md").read_text()


def test_the_readme_renders_with_absolute_links(index_page: ModuleType, readme: str) -> None:
    relative = rendered(readme)
    absolute = rendered(index_page.with_addresses(readme, HOME, "1.2"))
    assert len(absolute.links) == len(relative.links) > 50
    for before, after in zip(relative.links, absolute.links, strict=True):
        assert after == (before if before.startswith(("https:", "#")) else f"{HOME}/blob/v1.2/{before}")
        assert before.startswith("https:") or (ROOT / before.partition("#")[0]).exists()
    assert [HOME in picture and "/raw/v1.2/" in picture for picture in absolute.pictures] == [True]


def test_while_no_address_is_known_none_is_made_up(index_page: ModuleType, readme: str) -> None:
    page = rendered(index_page.with_addresses(readme, "", "1.2"))
    assert [link for link in page.links if not link.startswith(("https:", "#"))] == page.pictures == []
    assert index_page.addresses("", "1.2") == {}


def test_code_is_no_link(index_page: ModuleType) -> None:
    text = "[a](b.md)\n```\nx[0](y)\n```\n[`c`](d.md#e) [f](https://g.example/) [h](#i)\n"
    expected = "[a](H/blob/v1/b.md)\n```\nx[0](y)\n```\n[`c`](H/blob/v1/d.md#e) [f](https://g.example/) [h](#i)\n"
    assert index_page.with_addresses(text, "H", "1") == expected


def test_the_metadata_is_complete() -> None:
    about = metadata("relayout")
    assert about["Author"]
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Description-Content-Type"] == "text/markdown"
    minors = re.findall(r"Python :: 3\.(\d+)", " ".join(about.get_all("Classifier") or []))
    assert minors == ["11", "12", "13", "14"]
    text = about["Description"]
    assert text.startswith("# relayout")
    assert [link for link in rendered(text).links if not link.startswith(("https:", "#"))] == []


def test_every_address_is_made_of_one(index_page: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    fields = index_page.dynamic_metadata({"home": f"{HOME}/", "site": ""}, {"version": "1.2"})
    assert set(fields) == {"readme", "urls"}
    assert all(address.startswith(HOME) for address in fields["urls"].values())
    assert {"Homepage", "Source", "Documentation", "Changelog", "Issues"} == set(fields["urls"])
    assert f"{HOME}/blob/v1.2/CHANGELOG.md" in fields["readme"]["text"]


def test_the_documentation_is_the_site_where_there_is_one(index_page: ModuleType) -> None:
    site = "https://somebody.example/relayout"
    assert index_page.addresses(HOME, "1.2", site)["Documentation"] == f"{site}/"
    assert index_page.addresses("", "1.2", site) == {}


def test_the_first_screen_leads_to_the_page_that_runs(readme: str) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dynamic-metadata"][1]
    screen = readme.partition("```python")[0]
    way = f"{settings['site']}/explorer/" if settings["site"] else "docs/explore.md#without-a-server"
    assert f"]({way})" in screen, "the README names the explorer's address as soon as pyproject.toml has one"


def test_a_hosted_ci_puts_the_site_where_everybody_reaches_it() -> None:
    job = yaml.safe_load((ROOT / "release" / "hosted.yml").read_text())["jobs"]["site"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    (folder,) = [words.split()[2] for words in commands if words.startswith("python docs/make_site.py ")]
    steps = {step["uses"].partition("@")[0]: step.get("with") for step in job["steps"] if "uses" in step}
    assert steps["actions/upload-pages-artifact"] == {"path": folder}
    assert list(steps)[-1] == "actions/deploy-pages"
    assert job["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}
