"""The command line: every command as text and as JSON, errors, exit codes, streams, terminals and pipes."""

from __future__ import annotations

import importlib.util
import json
import os
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import relayout as rl
from relayout import cli
from relayout.cli import answers, draw, failures, look
from relayout.cli.examples import EXAMPLES
from relayout.cli.main import COMMANDS
from relayout.cli.main import relayout as group
from relayout.dialects.tilers import parse_integers, parse_tiler
from relayout.errors import error_classes

ROOT = Path(__file__).parent.parent
CROUTON = ("htp:R4Crouton", "--shape", "1,9,9,40")
TILED = "((3, 2), (2, 2)):((1, 6), (3, 12))"


def run(*arguments: str, **words: Any) -> Result:
    return CliRunner().invoke(group, arguments, catch_exceptions=False, **words)


def told(*arguments: str, code: int = 0, **words: Any) -> str:
    """What a command prints on stdout, and on stderr nothing."""
    done = run(*arguments, **words)
    assert done.exit_code == code, done.output
    assert done.stderr == ""
    return done.stdout.rstrip("\n")


def result(*arguments: str, code: int = 0, **words: Any) -> Any:
    """The result in JSON."""
    answer = json.loads(told(*arguments, "--json", code=code, **words))
    assert answer["relayout"] == 1
    assert answer["command"] == arguments[0]
    return answer["result"]


def refused(*arguments: str, code: int) -> str:
    """What a command that fails prints on stderr; with --json it is on stdout and has the same message."""
    done, again = run(*arguments), run(*arguments, "--json")
    assert (done.exit_code, again.exit_code) == (code, code), done.output
    assert done.stdout == ""
    assert again.stderr == ""
    error = json.loads(again.stdout)["error"]
    assert error["message"] in done.stderr
    assert error["exit_code"] == code
    assert "Traceback" not in done.stderr
    return done.stderr


def command(*arguments: str, **words: Any) -> subprocess.CompletedProcess[str]:
    """A real process."""
    return subprocess.run(
        [sys.executable, "-m", "relayout", *arguments], capture_output=True, text=True, cwd=ROOT, check=False, **words
    )


def on_terminal(*arguments: str, columns: int = 80, **variables: str) -> str:
    """What a process writes to a terminal of that width."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    env |= {"COLUMNS": str(columns), "TERM": "xterm-256color", **variables}
    with subprocess.Popen([sys.executable, "-m", "relayout", *arguments], stdout=theirs, stderr=theirs, env=env) as p:
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:
                break
            if not piece:
                break
            written += piece
        p.wait()
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


# ---- look ------------------------------------------------------------------------------------------------


def test_show_tells_shapes_room_padding_and_names() -> None:
    lines = told("show", *CROUTON, "--dtype", "uint8").splitlines()
    fields = dict(re.split(r"  +", line, maxsplit=1) for line in lines[: lines.index("")])
    assert fields["shape"] == "(1, 9, 9, 40)"
    assert fields["box"] == "(1, 16, 16, 64)"
    assert fields["bytes"] == "16384"
    assert fields["padding"] == str(16384 - 9 * 9 * 40)
    assert fields["waste"] == "80.2%"
    assert fields["contiguous"] == "no"
    assert fields["names"] == "htp:R4Crouton"
    assert any(line.startswith("Blocks of 1 x 8 x 8 x 32") for line in lines)
    found = result("show", *CROUTON)
    assert found["kind"] == "layout"
    assert found["layout"]["extents"] == [1, 9, 9, 40]
    assert rl.parse(found["layout"]["text"]) == rl.parse("htp:R4Crouton", shape=(1, 9, 9, 40))
    assert found["padding"] == 13144


def test_show_a_format_and_special_layouts() -> None:
    assert "block       (1, 16, 1, 1)" in told("show", "nChw16c")
    assert result("show", "nChw16c")["layout"]["blocks"] == [[1, 16]]
    assert "swizzle        <3,3,3>" in told("show", "smem:K_SW128", "--dtype", "float16")
    assert "Its values are coordinates" in told("show", "(3,4):(1@0,1@1)")
    assert "elements       0" in told("show", "(0,3):(1,1)")
    assert "Axes by name: your dimension 0 (n) is the format's 0" in told("show", "htp:R4Flat", "--axes", "nchw")
    assert "contiguous     column-major" in told("show", "(3,4):(1,3)")


def test_a_text_comes_from_standard_input() -> None:
    assert "elements       12" in told("show", "-", input="(3,4):(4,1)\n")


def test_at_gives_offsets_and_coordinates() -> None:
    (place,) = result("at", *CROUTON, "0,8,1,33", "--dtype", "float16")["places"]
    layout = rl.parse("htp:R4Crouton", shape=(1, 9, 9, 40))
    assert place["offset"] == layout(0, 8, 1, 33)
    assert place["byte"] == 2 * place["offset"]
    assert (place["block"], place["inside"]) == ([0, 1, 0, 1], [0, 0, 1, 1])
    assert place["block_number"] * 2048 + place["inside_number"] == place["offset"]
    back = result("at", *CROUTON, "--offset", str(place["offset"]))["places"]
    assert back[0]["coordinate"] == [0, 8, 1, 33]
    (half,) = result("at", "0 1 / 0,2@rest 0,3", "--shape", "10,4", "9,1")["places"]
    assert (half["offset"], half["block"], half["inside"]) == (24 + 6 + 3, [1, 1], [3, 0])
    assert told("at", "(3,4):(4,1)", "1,1").splitlines() == ["coordinate  (1, 1)", "number      4", "offset      5"]
    table = told("at", "(3,4):(4,1)", "1,1", "2").splitlines()
    assert told("at", *CROUTON, "0,0,0,0", "0,0,0,1").split("\n\n")[1].startswith("coordinate     (0, 0, 0, 1)\n")
    assert table == ["coordinate  number  offset", "(1, 1)      4       5", "(2, 0)      2       8"]


def test_at_says_no_where_nothing_lies() -> None:
    assert told("at", "(3,4):(4,1)", "--offset", "77", code=1) == "nothing lies at 77"
    assert result("at", "(3,4):(0,1)", "--offset", "2")["places"][2]["coordinate"] == [2, 2]
    assert "OutOfBounds [RL003]" in refused("at", "(3,4):(4,1)", "3,0", code=3)
    assert "give a coordinate" in refused("at", "(3,4):(4,1)", code=2)
    assert "this is not a coordinate" in refused("at", "(3,4):(4,1)", "1,a", code=3)
    assert result("at", "(3,4):(4,1)", "1,1", "--dtype", "int4")["places"][0]["bit"] == 20
    assert result("at", "(3,4):(1@0,1@1)", "1,2", "--dtype", "int8")["places"][0]["offset"] == [1, 2]
    assert told("at", "5000:0", "--offset", "0").endswith("and 4000 more")


def test_draw_sets_blocks_apart() -> None:
    assert told("draw", TILED).splitlines() == [
        TILED,
        "     0  1 |  2  3",
        "--+-------+------",
        "0 |  0  3 | 12 15",
        "1 |  1  4 | 13 16",
        "2 |  2  5 | 14 17",
        "--+-------+------",
        "3 |  6  9 | 18 21",
        "4 |  7 10 | 19 22",
        "5 |  8 11 | 20 23",
    ]
    assert told("draw", TILED, "--style", "mojo") == rl.format_layout(rl.parse(TILED))
    assert told("draw", TILED, "--style", "cute") == rl.format_layout(rl.parse(TILED), "cute")


def test_draw_a_part_and_other_dimensions() -> None:
    lines = told("draw", *CROUTON, "--part", "0,7:9,6:,-1").splitlines()
    layout = rl.parse("htp:R4Crouton", shape=(1, 9, 9, 40))
    assert lines[1] == "n=0 c=39"
    for line, h in zip((lines[4], lines[6]), (7, 8), strict=True):
        assert [int(n) for n in re.findall(r"\d+", line)] == [h, *[layout(0, h, w, 39) for w in (6, 7, 8)]]
    grids = result("draw", "(2,3,4):(12,4,1)", "--rows", "2", "--columns", "0")["lines"]
    assert grids[1] == "[:, 0, :]   [:, 1, :]   [:, 2, :]"
    assert grids[4] == "0 |  0 12   0 |  4 16   0 |  8 20"
    assert told("draw", "5:2").splitlines()[-1] == "  | 0 2 4 6 8"
    assert told("draw", "(0,1000000000000):(1,1)").endswith("There are no elements.")
    assert "this is not a part" in refused("draw", TILED, "--part", "0,x", code=3)
    assert "over the 4096" in refused("draw", "(80,80):(80,1)", "8,8", "--op", "divide", code=5)
    assert told("draw", "nChw16c").startswith("one block of nChw16c\n")


def test_catalog_searches() -> None:
    assert len(result("catalog")) == len(rl.catalog.names()) + len(rl.catalog.known_records())
    names = [entry["name"] for entry in result("catalog", "crouton", "wide")]
    assert names == ["htp:R4WideCrouton", "htp:R4WideCrouton2x2", "htp:R4WideCrouton4"]
    assert told("catalog", "hmx:*").splitlines()[0].split() == ["name", "axes", "format"]
    assert "note    The vendor's class" in told("catalog", "htp:R4NCHW")
    assert set(result("catalog", "htp:Crouton")["forms"]) == {"8", "16", "32"}
    assert told("catalog", "R4Cruton", code=1).startswith("nothing is called so. Did you mean htp:R4Crouton")


def test_records_are_told_compared_and_found() -> None:
    found = result("catalog", "ggml:Q4_K")
    assert found["record"]["text"] == str(rl.catalog.record("ggml:Q4_K"))
    assert [field["name"] for field in found["record"]["fields"]] == ["d", "dmin", "scales", "mins", "qs"]
    assert "nk    record of 1 x 32 in 18 bytes: d float16, qs uint4" in told("catalog", "Q4_0", "common.h")
    assert told("catalog", "ggml:Q4K", code=1).startswith("nothing is called so. Did you mean ggml:Q4_K")
    assert told("explain", "ggml:Q4_K") == rl.explain("ggml:Q4_K")
    assert result("show", "ggml:Q4_K", "--shape", "3,512")["bytes"] == 864
    assert told("compare", "ggml:Q4_0", "ggml:Q4_0") == "the same record"
    assert result("compare", "ggml:q4_K_8x4", "ggml:q4_K_8x8", code=1)["places"] == [1280, 1056]


# ---- reason ----------------------------------------------------------------------------------------------


def test_translate_to_one_and_to_all() -> None:
    assert told("translate", "htp:R4Crouton", "--to", "onednn") == "aBCD8b8c32d"
    assert result("translate", "(3,4):(4,1)", "--to", "candle")["text"].startswith("Layout {")
    found = result("translate", "htp:R4Crouton", "--shape", "1,16,16,64", "--all", "--dtype", "uint8")
    expected = rl.rosetta("htp:R4Crouton", (1, 16, 16, 64), dtype="uint8")
    assert found["texts"] == expected.texts
    assert {name: error["message"] for name, error in found["refusals"].items()} == expected.reasons
    assert told("translate", "htp:R4Crouton", "--shape", "1,16,16,64", "--dtype", "uint8") == str(expected)


def test_translate_padded_and_refused() -> None:
    error = refused("translate", *CROUTON, "--to", "cute", code=4)
    assert "NotExpressible [RL006]" in error
    assert "Hint: --padded writes the whole box" in error
    assert "/* the whole box" in told("translate", *CROUTON, "--to", "cute", "--padded")
    assert "exclude each other" in refused("translate", "4:1", "--to", "cute", "--all", code=2)
    assert "there is no notation 'latin'" in refused("translate", "4:1", "--to", "latin", code=2)


def test_compare_is_yes_or_no() -> None:
    assert told("compare", "nChw8c", "NCHW8c", "--shape", "1,20,5,5") == "the same function"
    assert told("compare", "nChw8c", "NCHW8c") == "the same function for every shape"
    assert told("compare", "(3,4):(4,1)", "(3,4):(1,3)", code=1) == "different at (1, 0): 4 and 1"
    found = result("compare", "(3,4):(4,1)", "(3,4):(1,3)", code=1)
    assert (found["same"], found["coordinate"], found["offsets"]) == (False, [1, 0], [4, 1])
    assert told("compare", "12:1", "(3,4):(1,3)", code=1).startswith("different domains")
    assert result("compare", "12:1", "(3,4):(1,3)", "--flat")["same"] is True
    verdict = told("compare", "htp:R4NCHW", "htp:NCHW", code=1)
    assert verdict == "for the shape (1, 2, 2, 1): different at (0, 1, 0, 0): 1 and 2"
    assert told("compare", "(1,16,2,2):(64,4,2,1)", "nchw", code=0) == "the same function"
    strided = ("strided<[4, 1]>", "(3,4):(4,1)")
    assert told("compare", *strided) == told("compare", *strided, "--shape", "3,4") == "the same function"
    assert "nothing about the shape" in refused("compare", strided[0], strided[0], code=3)
    assert "has the extents (3, 4)" in refused("compare", *strided, "--shape", "4,3", code=3)
    assert result("at", strided[0], "1,1", "--shape", "3,4")["places"][0]["offset"] == 5
    assert refused("compare", "NCHW", "NHWC", code=3).splitlines()[1:3] == ["  NCHW", "  ^"]


def test_explain_codes_and_layouts() -> None:
    for cls in error_classes():
        assert result("explain", cls.code.lower())["way_out"] == cls.way_out
        assert cls.meaning in told("explain", cls.code)
    assert told("explain", "RL999", code=1).startswith("There is no error RL999")
    assert told("explain", "(3,4):(4,1)") == rl.explain("(3,4):(4,1)")
    assert result("explain", "nChw16c")["lines"] == rl.explain("nChw16c").splitlines()
    assert "Say --axes if your tensor" in told("explain", *CROUTON)


def test_infer_from_files(tmp_path: Path) -> None:
    x = np.arange(60, dtype=np.int16).reshape(6, 10)
    dump = np.pad(x, [(0, 2), (0, 6)]).reshape(2, 4, 2, 8).transpose(0, 2, 1, 3).copy()
    names = ("x.npy", "fortran.npy", "dump.npy", "dump.bin", "x.bin", "table.npy")
    x_npy, fortran, dump_npy, dump_bin, x_bin, table = [str(tmp_path / name) for name in names]
    np.save(x_npy, x)
    np.save(fortran, np.asfortranarray(x))
    np.save(dump_npy, dump)
    dump.tofile(dump_bin)
    x.tofile(x_bin)
    np.save(table, np.array([[0, 1, 4, 5], [2, 3, 6, 7]]))
    assert told("infer", fortran).splitlines()[0] == "layout    ((6, 10):(1, 6))"
    blocks = rl.infer(x, dump)
    for arguments in ((dump_npy, "--like", x_npy), (dump_bin, "--like", x_npy)):
        assert told("infer", *arguments) == str(blocks)
    found = result("infer", dump_bin, "--like", x_bin, "--shape", "6,10", "--dtype", "int16")
    assert (found["padding"], found["fill"], found["texts"]["onednn"]) == (68, 0, "AB4a8b")
    assert result("infer", table, "--offsets")["layout"]["text"] == "((2, (2, 2)):(2, (1, 4)))"
    assert "BadFile [RL011]" in refused("infer", str(tmp_path / "none.npy"), code=3)
    assert "pass --shape and --dtype" in refused("infer", dump_bin, "--like", x_bin, code=3)
    assert "leave --shape out" in refused("infer", dump_bin, "--like", x_npy, "--shape", "3", code=3)
    assert "a --like each" in refused("infer", dump_bin, x_bin, code=2)
    assert "of its own" in refused("infer", dump_bin, "--like", x_npy, "--like", x_npy, code=2)
    (tmp_path / "odd.bin").write_bytes(b"abc")
    assert "no whole number" in refused("infer", str(tmp_path / "odd.bin"), "--like", x_npy, code=3)
    Path(x_npy).write_bytes(b"\x93NUMPY\x01\x00\xff\xff{")
    assert "BadFile [RL011]" in refused("infer", x_npy, code=3)


def test_infer_from_several_probes(tmp_path: Path) -> None:
    arguments = []
    for k, probe in enumerate(rl.probes((20, 20), "uint8")):
        np.save(tmp_path / f"probe{k}.npy", probe)
        (tmp_path / f"dump{k}.bin").write_bytes(probe.T.tobytes())
        arguments += [str(tmp_path / f"dump{k}.bin"), "--like", str(tmp_path / f"probe{k}.npy")]
    assert result("infer", *arguments)["layout"]["stride"] == [1, 20]
    assert result("infer", *arguments[:3])["settled"] is False


# ---- combine ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("compose", "(2,2,2):(1,5,7)", "(2,2):(3,1)"), "((2, 2):(6, 1))"),
        (("compose", "(8,8):(8,1)", "2,4"), "((2, 4):(8, 1))"),
        (("divide", "(8,8):(8,1)", "4,2"), "(((4, 2), (2, 4)):((8, 32), (1, 2)))"),
        (("divide", "(8,8):(8,1)", "<4:2, _>", "--form", "zipped"), "(((4, 1), (2, 8)):((16, 0), (8, 1)))"),
        (("divide", "16:1", "4:2", "--form", "flat"), "((4, 2, 2):(2, 1, 8))"),
        (("product", "(2,2):(1,2)", "6:1"), "(((2, 2), 6):((1, 2), 4))"),
        (("product", "(2,2):(1,2)", "(3,4):(1,3)", "--form", "blocked"), "(((2, 3), (2, 4)):((1, 4), (2, 12)))"),
        (("product", "(2,2):(1,2)", "(3,4):(1,3)", "--form", "raked"), "(((3, 2), (4, 2)):((4, 1), (12, 2)))"),
        (("invert", "(3,4):(4,1)"), "((4, 3):(3, 1))"),
        (("invert", "4:2", "--side", "left"), "((2, 4):(0, 1))"),
        (("complement", "4:2", "--size", "24"), "((2, 3):(1, 8))"),
        (("coalesce", "(2,(1,6)):(1,(6,2))"), "(12:1)"),
        (("coalesce", "(2,(1,6)):(1,(6,2))", "--profile", "1,1"), "((2, 6):(1, 2))"),
        (("coalesce", "htp:R4Crouton", "--shape", "1,8,8,32", "--to", "cute"), "(8,8,32):(256,32,1)"),
    ],
)
def test_algebra(arguments: tuple[str, ...], expected: str) -> None:
    assert told(*arguments) == expected
    assert result(*arguments)["text"] == expected


def test_algebra_refuses_with_a_counterexample() -> None:
    assert "at (2, 1) the composition is 8" in refused("compose", "(6,2):(1,7)", "(3,2):(2,3)", code=4)
    error = json.loads(run("compose", "(6,2):(1,7)", "(3,2):(2,3)", "--json").stdout)["error"]
    assert (error["code"], error["counterexample"]) == ("RL006", [[2, 1], 8, 7])
    assert "this is not a tiler" in refused("divide", "8:1", "(2,", code=3)


def test_integers_and_tilers() -> None:
    assert parse_integers("3", "a") == 3
    assert parse_integers("(1,(0,2)),", "a") == ((1, (0, 2)),)
    assert parse_integers(" 1, _ ", "a") == (1, None)
    assert parse_tiler("<4:1, <2:1, _>>") == (rl.Layout(4, 1), (rl.Layout(2, 1), None))
    for text in ("", "1_0", "(1", "1)", "1 2", "--1-", "(" * 500, "9" * 5000, "01"):
        with pytest.raises(rl.ParseError):
            parse_integers(text, "a number")


# ---- hardware --------------------------------------------------------------------------------------------


def test_banks_says_no_where_there_are_conflicts(tmp_path: Path) -> None:
    bare = ("banks", "(32,32):(32,1)", "ld.shared.b32", "columns", "--dtype", "float32")
    assert "1024 wavefronts, ideal 32" in told(*bare, code=1)
    found = result(*bare, code=1)
    assert (found["wavefronts"], found["ideal"], found["conflicts"]) == (1024, 32, 992)
    padded = result("banks", "(32,32):(33,1)", "ld.shared.b32", "columns", "--dtype", "float32")
    assert padded["conflicts"] == 0
    assert "bank" in told(*bare, "--draw", code=1)
    picture = tmp_path / "banks.svg"
    assert "banks.svg" in run(*bare, "-o", str(picture)).stderr
    assert picture.read_text().startswith("<svg")


def test_banks_takes_the_type_from_the_text() -> None:
    """XLA's text has it; a text without one needs --dtype, and the hint says so."""
    assert "no conflicts" in told("banks", "f32[8,32]{1,0}", "ld.shared.b32", "rows")
    assert "--dtype float16" in refused("banks", "(8,32):(32,1)", "ld.shared.b32", "rows", code=3)


def test_sectors_count_from_the_base() -> None:
    words = ("sectors", "(32,64):(64,1)", "32:32", "--dtype", "float32")
    assert (result(*words)["sectors"], result(*words, "--base", "16")["sectors"]) == (4, 5)


def test_advise_takes_several_accesses() -> None:
    words = ("advise", "32x32", "--dtype", "float32", "--access", "st.shared.b32", "rows")
    found = result(*words, "--access", "ld.shared.b32", "columns")
    assert found["layout"]["swizzle"] == [5, 0, 5]
    assert [row["wavefronts"] for row in found["accesses"]] == [32, 32]
    weighted = result(*words, "--access", "3*ld.shared.b32", "columns")
    assert [row["weight"] for row in weighted["accesses"]] == [1, 3]
    assert "below the 4096 bytes" in refused(*words, "--budget", "4000", code=3)
    assert "--dtype" in refused("advise", "8x8", "--access", "ld.shared.b32", "rows", code=2)
    assert "--access" in refused("advise", "8x8", "--dtype", "float32", code=2)
    assert "rows, columns" in refused(*words[:-1], "row", code=3)
    left = ("advise", "64x64", "--dtype", "float16", "--access", "cp.async.16", "rows")
    assert result(*left, "--access", "ld.shared.b16", "columns", code=1)["proof"] == "bound"


def test_atoms_are_listed_and_told() -> None:
    assert "mma.m16n8k16.f32.f16.f16.f32" in told("atoms", "m16n8k16")
    found = result("atoms", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    assert found["shape"] == [16, 8, 16]
    layouts = {one["name"]: one["layout"]["text"] for one in found["operands"]}
    assert layouts["C"] == "(((4, 8), (2, 2)):((32, 1), (16, 8)))"
    assert len(result("atoms")["names"]) == len(rl.atoms)
    (c,) = [one for one in result("atoms", "v_mfma_f32_32x32x8f16")["operands"] if one["name"] == "C"]
    assert c["formulas"] == ["m = v%4 + 4*(t//32) + 8*(v//4)", "n = t%32"]
    assert "registers  m = t%32, k = v + 4*(t//32) " in told("atoms", "v_mfma_f32_32x32x8_f16")
    assert told("explain", "tdpbf16ps") == rl.explain(rl.atoms["tdpbf16ps"])
    assert "T63V15" in told("draw", "v_mfma_f32_32x32x8_f16")


# ---- every command ---------------------------------------------------------------------------------------

ALL = [name for section in COMMANDS.values() for name in section]


def test_the_table_has_every_command() -> None:
    modules = [importlib.import_module(f"relayout.cli.{module.name}") for module in iter_modules(cli.__path__)]
    commands = {
        name for module in modules for name, value in vars(module).items() if isinstance(value, answers.Command)
    }
    assert commands == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_help_and_json(name: str) -> None:
    written = told(name, "--help")
    assert "--json" in written
    assert max(map(len, written.splitlines())) <= 80
    lazy = group.get_command(click.Context(group), name)
    assert lazy is not None
    assert lazy.help


def test_demo_in_json() -> None:
    here = Path.cwd()
    lines = result("demo")["lines"]
    assert "the same function" in lines
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in "".join(lines)
    assert Path.cwd() == here


def test_demo_repacks_a_file() -> None:
    lines = result("demo")["lines"]
    commands = {line.split()[2] for line in lines if line.startswith("$ relayout ")}
    assert commands >= {"draw", "translate", "compare", "inspect", "repack", "verify"}
    written = 64 * 64 * 64 + 50 * 4
    assert f"packed.safetensors: 2 tensors (1 copied unchanged), {written / 1024:.1f} KiB" in lines
    assert f"the same: 2 tensors, {64 * 60 * 50 + 50 * 4} bytes" in lines
    assert "<Tensor 1x64x60x50 uint8, htp:R4Crouton, axes nhwc>" in lines


def test_the_console_examples_print_what_they_say() -> None:
    spec = importlib.util.spec_from_file_location("make_cli", ROOT / "docs" / "make_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path in module.PAGES:
        assert module.page(path.read_text()) == path.read_text()


WITH_OTHER_FILES = ("audit", "check", "explore", "mcp", "reshard")


def test_the_examples_of_the_help_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with files that are not made here are taken apart alone, by the options of their command."""
    monkeypatch.chdir(tmp_path)
    x = np.arange(3240).astype(np.uint8).reshape(1, 9, 9, 40)
    np.save("act.npy", x)
    Path("dump.bin").write_bytes(rl.repack(x, "htp:R4Crouton").tobytes())
    np.savez("model.npz", conv1=x, bias=np.ones(40, np.float32))
    told("repack", "model.npz", "model.safetensors")
    context = click.Context(group)
    assert {*EXAMPLES, "demo"} == set(group.list_commands(context))
    for name, text in EXAMPLES.items():
        assert all(f"    {line}" in told(name, "--help").splitlines() for line in text.strip().splitlines())
        for line in text.replace("\\\n", " ").strip().splitlines():
            words = shlex.split(line.partition(" > ")[0].rpartition("relayout ")[2])
            if name in WITH_OTHER_FILES:
                command = group.get_command(context, words[0])
                assert command is not None
                command.make_context(name, words[1:])
            else:
                done = run(*words)
                # The answer may be no: 1.
                assert done.exit_code in (0, 1), (line, done.output)


# ---- failing ---------------------------------------------------------------------------------------------


def test_errors_point_at_the_text() -> None:
    assert refused("show", "(3,4:(4,1)", code=3).splitlines() == [
        "ParseError [RL001]: no dialect reads this text; not a layout in mojo: expected ',', got ':'.",
        "  (3,4:(4,1)",
        "      ^",
        "Hint: the text is right up to the caret; write it as in ((3, 4):(4, 1)) offset 5",
    ]
    error = json.loads(run("show", "(3,4:(4,1)", "--json").stdout)["error"]
    assert (error["code"], error["name"], error["text"], error["position"]) == ("RL001", "ParseError", "(3,4:(4,1)", 4)


def test_misspelt_names_are_guessed() -> None:
    assert "did you mean htp:R4Crouton, " in refused("show", "htp:R4Cruton", code=3)
    assert "did you mean tensorrt:kCHW32, " in refused("show", "tensorrt:CHW32", code=3)
    assert refused("show", "nChw16", code=3).count("did you mean") == 1
    assert "did you mean" not in refused("show", "(3,4:(4,1)", code=3)
    for wrong, right in (("nChw8x", "nChw8c"), ("nchw8c", "nChw8c"), ("nchww", "nchw"), ("OIhw16i16c", "OIhw16i16o")):
        assert f"did you mean {right}, " in refused("show", wrong, code=3)
    assert "did you mean onednn" in refused("translate", "2:1", "--to", "onedn", code=2)
    assert "one entry per dimension: n, h, w, c" in refused("show", "htp:R4Crouton", "--shape", "1,8,8", code=3)


def test_usage_errors() -> None:
    assert "Did you mean show?" in refused("shwo", code=2)
    assert "Missing argument 'B'" in refused("compare", "4:1", code=2)
    assert "is no shape" in refused("show", "nChw16c", "--shape", "1,a", code=2)
    assert "there is no element type 'floot16'; there are float16" in refused(
        "show", "4:1", "--dtype", "floot16", code=2
    )
    assert "No such option" in refused("show", "4:1", "--nonsense", code=2)
    assert told() == told("--help")


def test_hints_speak_of_options() -> None:
    assert "Hint: pass --shape 1,8,8,32" in refused("at", "nChw16c", "0,0,0,0", code=3)
    assert "Hint: say it by --dtype" in refused("show", "htp:Crouton", code=3)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("show", "4:1"), 0),
        (("compare", "4:1", "4:2"), 1),
        (("show",), 2),
        (("show", "4:"), 3),
        (("translate", "smem:K_SW128", "--dtype", "int8", "--to", "candle"), 4),
        (("draw", "(999,999):(1,999)", "9,9", "--op", "divide"), 5),
    ],
)
def test_exit_codes_of_a_process(arguments: tuple[str, ...], code: int) -> None:
    done = command(*arguments)
    assert done.returncode == code
    assert (done.stderr == "") == (code < 2)
    assert (done.stdout == "") == (code > 1)


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (FileNotFoundError(2, "No such file", "x"), 3, "RL011"),
        (MemoryError(), 5, "limit"),
        (RecursionError(), 5, "limit"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.ClickException("no"), 3, "input"),
        (rl.Cancelled("stopped."), 130, "RL010"),
    ],
)
def test_what_a_command_may_raise(error: BaseException, code: int, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: Any, **words: Any) -> None:
        raise error

    monkeypatch.setattr(look, "describe", failing)
    done = run("show", "4:1", "--json")
    assert done.exit_code == code
    assert json.loads(done.stdout)["error"]["code"] == word
    assert run("show", "4:1").exit_code == code


def test_strange_bytes_are_told_and_not_raised() -> None:
    done = command("show", "4:1\udcff", "--json", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 3
    assert json.loads(done.stdout)["error"]["code"] == "RL001"
    assert command("catalog", "\udcffé", env={**os.environ, "PYTHONIOENCODING": "ascii"}).returncode == 1
    done = command("demo", env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert (done.returncode, done.stderr) == (0, "")


def test_strange_streams_are_told_and_not_raised() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "relayout", "show", "4:1"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 3
    assert done.stderr.startswith("BadFile [RL011]: the answer cannot be written to stdout: No space left")
    assert len(done.stderr.splitlines()) == 2
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "relayout", "show", "4:1", "--json"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert json.loads(done.stderr)["error"]["code"] == "RL011"
    assert run("show", "-", input=b"\xff\xfe").exit_code == 3
    assert run("show", "-", input="(" * 100_000).exit_code in (3, 5)


def test_numbers_of_any_length_are_printed() -> None:
    sizes, ones = ",".join(["9" * 190] * 30), ",".join(["1"] * 30)
    assert command("show", f"({sizes}):({ones})", "--json").returncode == 0


def test_a_bug_is_one_line() -> None:
    code = "import relayout.cli.main as c, relayout.cli.look as k; k.describe = None; c.main()"
    done = subprocess.run([sys.executable, "-c", code, "show", "4:1"], capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert done.stderr.startswith("relayout made a mistake: TypeError")
    assert len(done.stderr.splitlines()) == 1


WAITING = """
import signal, sys, time
import relayout.cli.main
signal.signal(signal.SIGINT, signal.default_int_handler)
class Waiting:
    buffer = property(lambda self: self)
    def read(self, size):
        print("ready", file=sys.stderr, flush=True)
        time.sleep(60)
sys.stdin = Waiting()
relayout.cli.main.main()
"""


def test_an_interrupt_is_130() -> None:
    words = [sys.executable, "-c", WAITING, "show", "-", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        assert p.stderr is not None
        assert p.stderr.readline() == "ready\n"
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=20)
    assert p.returncode == 130
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert "Traceback" not in err


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    line = f"{sys.executable} -m relayout catalog | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout.split() == ["name", "axes", "format", "0"]
    assert done.stderr == ""
    closed = f"{sys.executable} -m relayout catalog --json | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", closed], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_json_may_be_said_before_the_command() -> None:
    assert json.loads(told("--json", "coalesce", "(2,3):(3,1)"))["result"]["text"] == "((2, 3):(3, 1))"
    assert json.loads(run("--json", "show", "4:").stdout)["error"]["code"] == "RL001"
    assert json.loads(run("--json", "shwo").stdout)["error"]["exit_code"] == 2
    assert set(json.loads(told("--json"))["result"]["commands"]) == set(ALL)


@pytest.mark.parametrize("arguments", [("--help",), ("show", "4:1"), ("show", "4:1", "--json"), ("demo",)])
def test_nobody_has_to_read_the_answer(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "relayout", *arguments]
    unread = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (unread.returncode, unread.stderr) == (0, "")
    closed = subprocess.run(["bash", "-c", '"$@" >&-', "", *words], stderr=subprocess.PIPE, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "closed", "code"),
    [
        (("show", "4:"), ">&- 2>&-", 3),
        (("show", "4:", "--json"), ">&-", 3),
        (("compare", "4:1", "4:2"), ">&- 2>&- <&-", 1),
        (("show", "-"), "<&-", 3),
        (("nothing",), "2>&-", 2),
    ],
)
def test_closed_streams_do_not_change_the_exit_code(arguments: tuple[str, ...], closed: str, code: int) -> None:
    words = ["bash", "-c", f'"$@" {closed}', "", sys.executable, "-m", "relayout", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "mistake" not in done.stderr


@pytest.mark.parametrize("columns", [24, 50])
def test_a_narrow_terminal_gets_lists_for_tables(tmp_path: Path, columns: int) -> None:
    np.savez(tmp_path / "x.npz", conv=np.ones((1, 9, 9, 40), np.float32), bias=np.ones(3))
    written = on_terminal("inspect", str(tmp_path / "x.npz"), columns=columns, NO_COLOR="1")
    assert re.search(r"\ntensor +conv\ntype +float32\nshape +1x9x9x40\n", click.unstyle(written))
    out = str(tmp_path / "y.npz")
    written += on_terminal(
        "repack", str(tmp_path / "x.npz"), out, "--to", "htp:R4Crouton", "--dry-run", columns=columns
    )
    assert "Warning: " in written
    assert max(map(len, click.unstyle(written).splitlines())) <= columns


WRONG = {
    "show": ("4:", 3),
    "at": ("4:1 9", 3),
    "draw": ("4:", 3),
    "translate": ("4: --to cute", 3),
    "compare": ("4:1 4:", 3),
    "check": ("nothing.toml", 3),
    "infer": ("nothing.npy", 3),
    "explain": ("4:", 3),
    "compose": ("(6,2):(1,7) (3,2):(2,3)", 4),
    "divide": ("8:1 (2,", 3),
    "product": ("4:1 4:", 3),
    "invert": ("4:", 3),
    "complement": ("4:", 3),
    "coalesce": ("4:", 3),
    "banks": ("4:1 ld.shared.b3 4:1 --dtype float32", 3),
    "sectors": ("4:1 4:1", 3),
    "advise": ("4x4 --dtype float32 --access ldmatrix.x5 rows", 3),
    "atoms": ("mma.m16n8k15", 3),
    "inspect": ("nothing.npy", 3),
    "repack": ("nothing.npy out.npy --to nchw", 3),
    "verify": ("nothing.npy out.npy", 3),
}


@pytest.mark.parametrize("name", ALL)
def test_every_command_fails_alike(name: str) -> None:
    """With an exit code, one message, a hint, and nothing where an answer would be."""
    assert "No such option" in refused(name, "--nonsense", code=2)
    if name not in ("atoms", "catalog", "check", "demo", "explore", "mcp"):
        assert "Missing argument" in refused(name, code=2)
    if name in WRONG:
        arguments, code = WRONG[name]
        lines = refused(name, *arguments.split(" "), code=code).splitlines()
        assert re.match(r"[A-Z]\w+ \[RL\d{3}\]: ", lines[0])
        assert lines[-1].startswith("Hint: ")


@pytest.mark.parametrize("name", ALL)
def test_errors_in_json_have_one_form(name: str) -> None:
    arguments, code = WRONG.get(name, ("--nonsense", 2))
    found = json.loads(run(name, *arguments.split(" "), "--json").stdout)
    assert set(found) == {"relayout", "error"}
    error = found["error"]
    assert (found["relayout"], error["exit_code"]) == (1, code)
    for key in ("code", "message", "hint"):
        assert error[key]
        assert isinstance(error[key], str)


# ---- terminals, speed, completion ------------------------------------------------------------------------


def test_colours_and_folding_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for module in (answers, draw, failures):
        monkeypatch.setattr(module, "width_of", lambda stream: 60)
    for arguments in (("show", *CROUTON), ("catalog", "crouton"), ("draw", *CROUTON, "--part", "0,:,:,0")):
        written = told(*arguments, color=True)
        assert "\x1b[" in written
        assert max(map(len, click.unstyle(written).splitlines())) <= 60
    panels = click.unstyle(told("draw", "(2,40):(40,1)")).splitlines()
    assert [line.split(" │")[0] for line in panels].count("1") == 3
    for line in run("compose", "(6,2):(1,7)", "(3,2):(2,3)").stderr.splitlines():
        assert len(line) <= 60


@pytest.mark.parametrize(
    "arguments",
    [
        ("catalog",),
        ("translate", "bf16[16,256]{1,0:T(8,128)(2,1)}"),
        ("draw", *CROUTON, "--part", "0,:,:,0"),
        ("compose", "(6,2):(1,7)", "(3,2):(2,3)"),
        (
            "show",
            "memref<3x4xf32, strided<[4, 1], offset: 2>>, and a text that goes on past eighty columns",
        ),
    ],
)
def test_a_terminal_gets_colours_and_lines_that_fit(arguments: tuple[str, ...]) -> None:
    written = on_terminal(*arguments)
    assert "\x1b[" in written
    assert max(map(len, click.unstyle(written).splitlines())) <= 80


def test_no_color_and_pipes_are_plain() -> None:
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", on_terminal("draw", TILED, NO_COLOR="1"))
    assert "\x1b" not in on_terminal("show", "4:", NO_COLOR="1")
    assert "\x1b" not in on_terminal("demo", NO_COLOR="1")


def test_a_terminal_that_shows_nothing_but_text(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((1, 9, 9, 40), np.uint8), y=np.zeros(3))
    for arguments in (("show", "4:"), ("show", TILED), ("draw", TILED), ("inspect", str(tmp_path / "x.npz"))):
        written = on_terminal(*arguments, columns=40, TERM="dumb")
        assert "\x1b" not in written
        assert max(map(len, written.splitlines())) <= 40
    written = on_terminal("repack", str(tmp_path / "x.npz"), str(tmp_path / "y.npz"), "--to", "nchw", TERM="dumb")
    assert "\x1b" not in written
    assert written.startswith("Warning: copied unchanged: 'y'")
    assert "" not in written.splitlines()


def test_pictures_without_unicode() -> None:
    for words in ((TILED,), ("(4,4):(4,1)", "2", "--op", "divide")):
        wide, plain = on_terminal("draw", *words), on_terminal("draw", *words, PYTHONIOENCODING="ascii")
        assert plain.isascii()
        assert "\\" not in plain
        assert list(map(len, plain.splitlines())) == list(map(len, wide.splitlines()))
    assert "\x1b" not in command("draw", TILED).stdout
    assert "\x1b" not in command("show", "4:").stderr


def test_panels_hold_every_column_once() -> None:
    lines = on_terminal("draw", "(2,(8,6)):(1,(2,200))", NO_COLOR="1").splitlines()
    heads = [line for line in lines if line.startswith("  ")]
    assert [int(n) for head in heads for n in re.findall(r"\d+", head)] == list(range(48))


def seconds_of(*arguments: str) -> float:
    """Seconds of the processor, the best of several runs: others may be using the machine."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    best = 9.0
    for _ in range(12):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], env=env, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return best


def test_help_answers_at_once() -> None:
    """In a tenth of a second where Python itself starts in a hundredth; a busy machine is slower at both."""
    assert seconds_of("-m", "relayout", "--help") < 0.1 * max(1, seconds_of("-c", "pass") / 0.012)


def test_help_imports_no_command() -> None:
    code = "import sys; from relayout.cli.main import relayout as r\ntry: r.main(['--help'])\nexcept SystemExit: pass\n"
    code += "print(sorted(m for m in sys.modules if m in ('numpy', 'rich') or m.startswith('relayout.cli.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    commands = ["answers", "failures", "main", "streams"]
    assert done.stdout.splitlines()[-1] == str([f"relayout.cli.{name}" for name in commands])


COMPLETIONS = [
    ("relayout tr", "translate"),
    ("relayout --js", "--json"),
    ("relayout repack --max", "--max-memory"),
    ("relayout show htp:R4Cr", "htp:R4Crouton"),
    ("relayout repack x.npy y.npy --to htp:R4Cr", "htp:R4Crouton"),
    ("relayout translate 4:1 --to on", "onednn"),
    ("relayout show 4:1 --dtype bfl", "bfloat16"),
    ("relayout banks 4:1 ldm", "ldmatrix.x4"),
    ("relayout advise 8x8 --arch gfx94", "gfx942"),
    ("relayout repack x.npy y.npy --dtype bfl", "bfloat16"),
]
AS_COMMAND = "import sys; sys.argv = ['relayout']; from relayout.cli.main import main; main()"


@pytest.mark.parametrize(("line", "expected"), COMPLETIONS)
def test_zsh_and_fish_complete(line: str, expected: str) -> None:
    last = line.split()[-1]
    for shell, current in (("zsh", str(len(line.split()) - 1)), ("fish", last)):
        env = {**os.environ, "_RELAYOUT_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": current}
        done = subprocess.run([sys.executable, "-c", AS_COMMAND], capture_output=True, text=True, env=env, check=True)
        assert expected in re.split(r"[\n,\t]", done.stdout.replace(r"\:", ":"))


BASH = r"""
relayout() { "$PYTHON" -c "$AS_COMMAND"; }
env() { ( export "${@:1:$#-1}"; "${@: -1}" ); }
eval "$(_RELAYOUT_COMPLETE=bash_source relayout)"
compopt() { echo "files"; }
COMP_POINT=${#COMP_LINE}
read -ra COMP_WORDS <<< "${COMP_LINE//:/ : }"
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_relayout_completion relayout
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(("line", "expected"), [*COMPLETIONS, ("relayout inspect x.n", "files")])
def test_bash_completes_what_is_behind_a_colon(line: str, expected: str) -> None:
    """With the script that users load, and words cut as bash cuts them; it wants what comes after the last cut."""
    env = {**os.environ, "PYTHON": sys.executable, "AS_COMMAND": AS_COMMAND, "COMP_LINE": line}
    done = subprocess.run(["bash", "-c", BASH], capture_output=True, text=True, env=env, check=True)
    assert expected.rpartition(":")[2] in done.stdout.splitlines()
    assert not done.stderr
