"""Claims about layouts: proven, refuted with the coordinate, or refused with a reason; by command, and by pytest."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from relayout.errors import BadFile
from relayout.files.claims import check_claims, read_claims

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "kernel_repository" / "layouts.toml"
PAGE = (ROOT / "docs" / "check.md").read_text("utf-8")

pytest_plugins = ["pytester"]


def check(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "relayout", "check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def verdicts(path: Path, text: str) -> list[tuple[bool, str]]:
    path.write_text(text, "utf-8")
    return [(verdict.holds, verdict.words) for verdict in check_claims(path)]


def console(title: str) -> str:
    """What the page shows behind a command."""
    return PAGE.partition(f"$ {title}\n")[2].partition("```")[0]


def test_the_example_of_the_page(tmp_path: Path) -> None:
    text = EXAMPLE.read_text("utf-8")
    assert f"```toml\n{text}```" in PAGE
    done = check("examples/kernel_repository/layouts.toml")
    assert (done.returncode, done.stdout) == (0, console("relayout check examples/kernel_repository/layouts.toml"))
    broken = text.replace("Sw<3,3,3> o 0 o ", "").replace("1,16 0,16 axes", "0,16 1,16 axes")
    (tmp_path / "broken.toml").write_text(broken, "utf-8")
    done = check("broken.toml", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, console("relayout check broken.toml"))


def test_the_default_is_layouts_toml(tmp_path: Path) -> None:
    (tmp_path / "layouts.toml").write_text('[[claims]]\nequal = ["(4,8):(8,1)", "cute:(4,8):(8,1)"]\n')
    done = check("--json", folder=tmp_path)
    assert done.returncode == 0
    (found,) = json.loads(done.stdout)["result"]["claims"]
    assert (found["file"], found["line"], found["kind"], found["holds"]) == ("layouts.toml", 1, "equal", True)
    missing = check("other.toml", folder=tmp_path)
    assert missing.returncode == 3
    assert "other.toml" in missing.stderr


@pytest.mark.parametrize(
    ("claim", "holds", "found"),
    [
        ('equal = ["(4,8):(8,1)", "(4,8):(1,4)"]', False, "different at (1, 0): 8 and 1"),
        (
            'equal = ["nhwc", "0 1 2 3 axes nhwc", "numpy:shape=(1,2,3,4), itemsize=1"]\n'
            'shape = [1, 2, 3, 4]\naxes = "nhwc"',
            True,
            "",
        ),
        ('equal = ["nhwc", "nchw"]\naxes = "nhwc"', False, "different at"),
        ('equal = ["mine", "(3,5):(5,1)"]', True, ""),
        ('fits = "mine"\nbytes = 60', True, "60 bytes of 60 bytes"),
        ('fits = "mine"\nbytes = 59', False, "60 bytes of 59 bytes"),
        ('fits = ["mine", "mine"]\nbytes = "119 B"', False, "120 bytes"),
        ('fits = { layout = "ggml:Q4_0", shape = [64, 64] }\nbytes = 2304', True, "2304 bytes of 2304 bytes"),
        ('padding_below = "50%"\nof = "image"', False, "87.5% of the storage is padding: 3 of 8 x 4 of 8"),
        ('padding_below = 0.9\nof = "image"', True, "87.5%"),
        ('padding_below = "87.51%"\nof = "image"', True, "87.5%"),
        ('padding_below = "87.5%"\nof = "image"', False, "87.5%"),
        ('padding_below = "87.4999999999%"\nof = "image"', False, "87.5%"),
        ('padding_below = "0%"\nof = "mine"', True, "0.0%"),
        ('padding_below = "66.6%"\nof = "third"', False, "66.7%"),
        ('padding_below = "66.66%"\nof = "third"', False, "66.7%"),
        ('padding_below = "66.667%"\nof = "third"', True, "66.6667%"),
        ('padding_below = "66.7%"\nof = "third"', True, "66.67%"),
        ('padding_below = "5%"\nof = "little"', True, "0.01%"),
        ('no_conflicts = "tile"\naccess = "ld.shared.b32"\nthreads = "columns"', False, "1024 wavefronts, ideal 32"),
        ('no_conflicts = "tile"\naccess = "ld.shared.b32"\nthreads = "rows"\narch = "sm80"', True, "no conflicts"),
    ],
)
def test_claims(claim: str, holds: bool, found: str, tmp_path: Path) -> None:
    layouts = """
[layouts]
mine = { layout = "(3,5):(5,1)", element = "float32" }
image = { layout = "0 1 / 0,8 1,8", shape = [3, 4], element = "uint8" }
tile = { layout = "(32,32):(32,1)", element = "float32" }
third = { layout = "0 / 0,3", shape = [1] }
little = { layout = "0 / 0,10000", shape = [9999] }
"""
    if "image" in claim:
        layouts = layouts.replace("0 1 / 0,8 1,8", "0 1 / 0,8 1,12")  # 8 x 12 places for 12 elements
    ((told, text),) = verdicts(tmp_path / "a.toml", f"{layouts}\n[[claims]]\n{claim}\n")
    assert told is holds
    assert found.replace("4 of 8", "4 of 12") in text


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("faster = 3", "a claim is one of"),
        ("", "a claim is one of"),
        ('equal = ["2:1", "2:1"]\nfits = "2:1"', "a claim is one of"),
        ('equal = ["2:1", "2:1"]\nbytes = 3', "equal has no 'bytes'"),
        ('no_conflict = "2:1"', "did you mean no_conflicts?"),
        ('equal = ["(4,8):(8,1)"]', "two layouts or more"),
        ('equal = ["nobody reads this", "(4,8):(8,1)"]', "no dialect reads"),
        ('fits = "row-major"\nbytes = 3', "shape = [1, 8, 8, 32] beside the layout"),
        ('fits = "(4,8):(8,1)"\nbytes = 3', "the type of the elements"),
        ('fits = "(4,8):(8,1)"', "needs bytes"),
        ('padding_below = "many"\nof = "(4,8):(8,1)"', "no share"),
        ('padding_below = "101%"\nof = "(4,8):(8,1)"', "not between"),
        ('no_conflicts = "f32[4,8]{1,0}"\naccess = "ld.shared.b32"', "needs threads"),
        ('fits = "odd"\nbytes = 3', "has no 'colour'"),
        (
            'fits = { layout = "f32[4,8]{1,0}", element = "uint8" }\nbytes = 32',
            "is uint8, of 8",
        ),
        ('fits = { layout = "0 1 element_bits 8", shape = [4, 8], element = "float16" }\nbytes = 99', "of 8 bits"),
        ('fits = { layout = "ggml:Q4_0", shape = [64, 64], element = "uint8" }\nbytes = 9999', "of its own"),
    ],
)
def test_claims_that_make_no_sense_are_told_of_beside_the_others(claim: str, why: str, tmp_path: Path) -> None:
    good = '[[claims]]\nequal = ["(4,8):(8,1)", "(4,8):(8,1)"]\n'
    text = f'[layouts]\nodd = {{ layout = "(4,8):(8,1)", colour = "red" }}\n{good}[[claims]]\n{claim}\n{good}'
    found = verdicts(tmp_path / "a.toml", text)
    assert [holds for holds, _ in found] == [True, False, True, False]  # the layout that has a colour
    assert why in found[1][1]
    done = check(str(tmp_path / "a.toml"))
    assert done.returncode == 3
    assert done.stdout.endswith("2 of 3 claims hold\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("equal = [", "no TOML"),
        ("[layouts]\n", "no claims"),
        ('[[claim]]\nequal = ["a", "b"]\n', "it has 'claim'"),
        ("claims = 3\n", "no claims"),
    ],
)
def test_files_that_are_none(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(BadFile, match=why.replace("[", r"\[")):
        read_claims(tmp_path / "a.toml")
    assert check(str(tmp_path / "a.toml")).returncode == 3


TRAPS = [
    # Each has its own axes: row-major over nhwc is not row-major over nchw.
    (
        'a = { layout = "0 1 2 3", axes = "nhwc", shape = [1, 2, 3, 4] }\n'
        'b = { layout = "0 1 2 3", axes = "nchw", shape = [1, 4, 2, 3] }',
        'equal = ["a", "b"]',
        "different at (0, 1, 0, 0): 12 and 3",
    ),
    ('a = { layout = "0 1", axes = "hw" }\nb = { layout = "0 1", axes = "wh" }', 'equal = ["a", "b"]', "different at"),
    # Each has its own shape.
    (
        'a = { layout = "nhwc", shape = [1, 2, 3, 4] }\nb = { layout = "nhwc", shape = [1, 8, 8, 8] }',
        'equal = ["a", "b"]',
        "different domains",
    ),
    (
        'a = { layout = "nhwc", shape = [1, 2, 3, 4] }',
        'equal = ["a", "nhwc"]\nshape = [1, 8, 8, 8]',
        "not (1, 8, 8, 8)",
    ),
    (
        'a = { layout = "mesh(x=2) deals (x)", shape = [4] }\nb = { layout = "mesh(x=2) deals (x)", shape = [6] }',
        'equal = ["a", "b"]',
        "not one tensor's",
    ),
    ('a = "nhwc"', 'equal = ["a", "a"]\nshape = []', "does not fit"),
    # Elements of another width lie elsewhere.
    (
        'a = { layout = "(4,8):(8,1)", element = "float16" }\nb = { layout = "(4,8):(8,1)", element = "float32" }',
        'equal = ["a", "b"]',
        "elements of 16 and 32 bits",
    ),
    # The text says the width as well as the word beside it, and of three every two must agree.
    ('a = { layout = "(4,8):(8,1)", element = "float16" }', 'equal = ["a", "f32[4,8]{1,0}"]', "of 16 and 32 bits"),
    ('a = "memref<4x8xf16, strided<[8, 1]>>"', 'equal = ["a", "f32[4,8]{1,0}"]', "of 16 and 32 bits"),
    ('a = "f16[4,8]{1,0}"', 'equal = ["(4,8):(8,1)", "a", "f32[4,8]{1,0}"]', "of 16 and 32 bits"),
    ('a = "f16[4,8]{1,0}"', 'equal = ["a", "(4,8):(8,1)"]\nelement = "float32"', "of 32 and 16 bits"),
    ('a = "f16[4,8]{1,0}"', 'equal = ["a", "a"]\nelement = "floof"', "no element type"),
    # So does a text that tells a width without a type, and a format that is made for one.
    ('a = "shape=(4, 8), itemsize=4"', 'equal = ["a", "f16[4,8]{1,0}"]', "of 32 and 16 bits"),
    ('a = "shape=(4, 8), itemsize=4"', 'equal = ["a", "numpy:shape=(4, 8), itemsize=2"]', "of 32 and 16 bits"),
    ("a = \"{'shape': (4, 8), 'typestr': '<V6'}\"", 'equal = ["a", "shape=(4, 8), itemsize=8"]', "of 48 and 64"),
    (
        'a = "2:1"',
        'fits = { layout = "shape=(4, 8), itemsize=4", element = "int8" }\nbytes = 32',
        "is int8, of 8",
    ),
    ('a = "shape=(4, 8), itemsize=4"', 'equal = ["a", "smem_ptr[16b](unset) o (4,8):(8,1)"]', "of 32 and 16 bits"),
    ('a = "shape=(4, 8), itemsize=4"', 'equal = ["a", "(4,8):(8,1)"]\nelement = "bool"', "of 8 and 32 bits"),
    ('a = "mlx:w4"', 'equal = ["a", "mlx:w8"]', "of 4 and 8 bits"),
    ('a = "shape=(4, 8), itemsize=1"', 'equal = ["mlx:w4", "a"]', "of 8 and 4 bits"),
    ('a = "shape=(4, 8), itemsize=4"', 'fits = "a"\nbytes = 127', "128 bytes of 127 bytes"),
    ('a = { layout = "mlx:w4", shape = [4, 8] }', 'fits = "a"\nbytes = 15', "16 bytes of 15 bytes"),
    (
        'a = { layout = "nhwc", shape = [1, 2, 3, 4] }\nb = { layout = "nhwc", shape = [1, 8, 8, 8] }',
        'equal = ["nhwc", "a", "b"]',
        "a and b: different domains",
    ),
    # 18 bytes for 32 elements.
    ('a = { layout = "ggml:Q4_0", shape = [64, 64] }', 'fits = "a"\nbytes = 2303', "2304 bytes of 2303 bytes"),
    # What shares places has no padding to tell: of 25 places 4 hold data.
    ('a = "(4,4):(0,8)"', 'padding_below = "50%"\nof = "a"', "share a place"),
    # One place of 2^60 is padding, though no double tells.
    (
        f'a = {{ layout = "0 / 0,2", shape = [{(1 << 60) - 1}] }}',
        'padding_below = "0%"\nof = "a"',
        "0.0000000000000001% of the storage is padding",
    ),
    ('a = { layout = "0 / 0,20", shape = [19] }', 'padding_below = "5%"\nof = "a"', "5.0%"),
    ('a = { layout = "0 / 0,20", shape = [19] }', 'padding_below = 0.05\nof = "a"', "5.0%"),
    ('a = "2:1"', "fits = []\nbytes = 1", "nothing fits"),
    # Three of four elements lie below the first.
    ('a = { layout = "4:-1", element = "uint8" }', 'fits = "a"\nbytes = 4', "goes below 0"),
    ('a = { layout = "4:-1" }', 'padding_below = "5%"\nof = "a"', "goes below 0"),
    ('smem_a = "2:1"', 'equal = ["smem_b", "2:1"]', "no layout of the file"),
]


@pytest.mark.parametrize(("layouts", "claim", "found"), TRAPS)
def test_no_false_claim_passes(layouts: str, claim: str, found: str, tmp_path: Path) -> None:
    told = verdicts(tmp_path / "a.toml", f"[layouts]\n{layouts}\n[[claims]]\n{claim}\n")
    assert [holds for holds, _ in told] == [False]
    assert found in told[0][1]


def test_layouts_meet_by_the_names_of_their_axes(tmp_path: Path) -> None:
    layouts = (
        'a = { layout = "0 1 2 3", axes = "nhwc", shape = [1, 2, 3, 4] }\n'
        'b = { layout = "0 2 3 1", axes = "nchw", shape = [1, 4, 2, 3] }\n'
        'wide = { layout = "xla:[8,128]{1,0:T(8,128)}", element = "float32" }\n'
    )
    text = f'[layouts]\n{layouts}[[claims]]\nequal = ["a", "b"]\n[[claims]]\nequal = ["wide", "(8,128):(128,1)"]\n'
    assert [holds for holds, _ in verdicts(tmp_path / "a.toml", text)] == [True, True]


def test_a_layout_that_nobody_needs_must_be_readable_too(tmp_path: Path) -> None:
    text = '[layouts]\nodd = "nonsense"\nblock = "ggml:Q4_0"\n[[claims]]\nequal = ["2:1", "2:1"]\n'
    (tmp_path / "a.toml").write_text(text)
    done = check(str(tmp_path / "a.toml"))
    assert done.returncode == 3
    assert "layout odd" in done.stdout
    assert "1 of 1 claims hold" in done.stdout


def test_a_file_is_read_as_any_editor_writes_it(tmp_path: Path) -> None:
    text = '# \u2028\r\n[[claims]]\r\nequal = ["2:1", "2:1"]\r\n\r\n[[claims]]\r\nequal = ["2:1", "2:2"]\r\n'
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = list(check_claims(tmp_path / "a.toml"))
    assert [(verdict.claim.line, verdict.holds) for verdict in found] == [(2, True), (5, False)]


def test_a_bad_file_leaves_the_others_to_be_checked(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("x = [\n1,\n")
    (tmp_path / "good.toml").write_text('[[claims]]\nequal = ["2:1", "2:1"]\n')
    done = check("bad.toml", "good.toml", folder=tmp_path)
    assert done.returncode == 3
    assert "bad.toml: it is no TOML" in done.stdout
    assert "(at " in done.stdout
    assert "ok  good.toml:1" in done.stdout
    told = json.loads(check("--json", "bad.toml", "good.toml", folder=tmp_path).stdout)["result"]
    assert [claim["error"] and claim["error"]["code"] for claim in told["claims"]] == ["RL011", None]


def test_what_pytest_cannot_read_is_told_in_a_line(pytester: pytest.Pytester) -> None:
    pytester.makefile(".toml", layouts="x = [\n")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*it is no TOML*"])
    assert "Traceback" not in done.stdout.str()
    pytester.makefile(".toml", layouts='[layouts]\nodd = "x y"\n[[claims]]\nfits = "2:1"\nbytes = 1\n')
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(["*layouts.toml:3: bytes need the type*", "*Hint: element = *"])


def test_claims_are_tests_of_pytest(pytester: pytest.Pytester) -> None:
    pytester.makefile(
        ".toml",
        layouts='[[claims]]\nname = "good"\nequal = ["(4,8):(8,1)", "(4,8):(8,1)"]\n'
        '[[claims]]\nname = "bad"\nequal = ["(4,8):(8,1)", "(4,8):(1,4)"]\n',
    )
    done = pytester.runpytest_subprocess("-v", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*different at (1, 0): 8 and 1*"])


def test_the_hook_of_the_repository_is_that_of_the_page() -> None:
    (own,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    text = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert text is not None
    (shown,) = yaml.safe_load(text[1])["repos"][0]["hooks"]
    assert {key: own[key] for key in ("id", "name", "entry", "files")} == {
        key: shown[key] for key in ("id", "name", "entry", "files")
    }
    assert own["entry"].split() == ["relayout", "check"]
    paths = ("layouts.toml", "kernels/layouts.toml", "mylayouts.toml", "layouts.toml.bak", "layouts/x.toml")
    assert [bool(re.search(own["files"], path)) for path in paths] == [True, True, False, False, False]
