"""The pages in a real browser: the picture as one file, and the explorer."""

import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import relayout as rl
from browsing import Browser, Locator, Open, Page, expect, launched_browser, opened_pages
from relayout.web.presets import PRESETS
from relayout.web.server import Explorer


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched_browser() as made:
        yield made


@pytest.fixture(scope="module")
def server() -> Iterator[Explorer]:
    with Explorer() as made:
        Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    with opened_pages(browser) as open_page:
        yield open_page


@pytest.fixture
def explored(opened: Open, server: Explorer) -> Open:
    """Opens the explorer with the fields filled in, and waits for its first picture."""

    def explore(fields: dict[str, str] | None = None, **words: Any) -> Page:
        from urllib.parse import urlencode

        page = opened(f"{server.url}#{urlencode(fields or {})}", **words)
        expect(page.locator("figure.pane").first).to_be_visible()
        return page

    return explore


def cell(page: Page, text: str, pane: int = 0) -> Locator:
    """The cell with that text."""
    words = page.locator("figure.pane").nth(pane).locator(".grid:not([hidden]) text:not(.label):not(.row)")
    return words.get_by_text(text, exact=True).first


def saved(drawing: Any, folder: Path) -> str:
    where = folder / "picture.html"
    drawing.save(where)
    return where.as_uri()


def painted(page: Page, look: str = "true") -> None:
    """Wait until there is something on the canvas, and the brightness of its corner is as told."""
    page.wait_for_function(
        f"""() => {{
          const pen = document.querySelector("canvas").getContext("2d");
          const [red, green, blue, alpha] = pen.getImageData(3, 3, 1, 1).data;
          const brightness = (red + green + blue) / 3;
          return alpha === 255 && {look};
        }}"""
    )


TILED = "((2,2),(2,2)):((1,4),(2,8))"


# ---- one picture as one file -----------------------------------------------------------------------------


def test_hover_tells_of_a_cell_and_shows_it_in_every_pane(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw("htp:R4Crouton", shape=(1, 16, 9, 2), rows="h", columns="w"), tmp_path))
    cell(page, "6400").hover()
    readout = page.locator(".readout")
    expect(readout.locator(".what")).to_have_text("(n 0, h 9, w 8, c 0)")
    expect(readout.locator(".where")).to_have_text("offset 6400")
    expect(readout.locator(".more")).to_have_text("block h 1, w 1")
    # A crouton is 8 x 8 x 32; two of them along w are 4096 apart along h.
    expect(readout.locator(".digits")).to_have_text(
        "h = 9 = 1·8 + 1\nw = 8 = 1·8 + 0\noffset = 1·4096 + 1·2048 + 1·256 = 6400"
    )


def test_hover_tells_which_bits_of_which_element_a_cell_of_a_record_holds(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw("ggml:Q5_0"), tmp_path))
    cell(page, "17", pane=1).hover()
    told = page.locator(".readout .told")
    expect(told.locator(".what")).to_have_text(["qs (0, 17), bit 4", "qs (0, 17), bits 0 to 3"])
    expect(told.locator(".where")).to_have_text(["byte 4.1", "byte 7.4"])


def test_hover_tells_what_holds_no_element(opened: Open, tmp_path: Path) -> None:
    """What a slice leaves of a block may be data; only a format knows that it is padding."""
    for thing, words in (("AB4a4b", "padding"), (rl.parse("AB4a4b", shape=(3, 3)), "outside the window")):
        page = opened(saved(rl.draw(thing, shape=(3, 3)), tmp_path))
        cell(page, "15").hover()
        expect(page.locator(".readout .more").last).to_have_text(words)


def test_a_page_in_a_notebook_answers_to_the_mouse(opened: Open, tmp_path: Path) -> None:
    """A cell's output is HTML inside a page of the notebook's; the frame is cut off from it."""
    drawing = rl.draw(TILED, TILED)
    (tmp_path / "notebook.html").write_text(f"<!doctype html><p>Out[1]:</p>{drawing.frame(300)._repr_html_()}")
    page = opened((tmp_path / "notebook.html").as_uri())
    inside = page.frame_locator("iframe")
    inside.locator("figure.pane text").get_by_text("11", exact=True).first.hover()
    expect(inside.locator(".readout .where").first).to_have_text("offset 11")
    expect(inside.locator("rect.hover")).to_have_count(2)
    inside.locator("#theme").click()
    expect(inside.locator("html")).to_have_attribute("data-theme", "dark")
    box = page.locator("iframe").bounding_box()
    assert box is not None
    assert (box["height"], box["width"] > 1000) == (300, True)
    reach = "() => { try { return parent.document.title } catch (error) { return error.name } }"
    assert page.frames[1].evaluate(reach) == "SecurityError"


def test_the_same_element_is_outlined_in_logical_view_and_memory(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw(TILED, view="both"), tmp_path))
    cell(page, "6").hover()
    expect(page.locator("figure.pane").nth(0).locator("rect.hover")).to_have_count(1)
    box = page.locator("figure.pane").nth(1).locator("rect.hover").bounding_box()
    there = cell(page, "2,1", pane=1).bounding_box()
    assert box is not None
    assert there is not None
    assert box["x"] < there["x"] < box["x"] + box["width"]
    assert box["y"] < there["y"] < box["y"] + box["height"]
    page.mouse.move(1, 1)
    expect(page.locator("rect.hover")).to_have_count(0)


def test_a_swizzle_is_told_bit_by_bit(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw(rl.Layout((8, 8), (8, 1), swizzle=(3, 0, 3))), tmp_path))
    cell(page, str(42 ^ 5)).hover()  # (5, 2): bits 3 to 5 of 42 are 101
    expect(page.locator(".digits")).to_contain_text("(101) into bits 0\u20132: 42 XOR 5 = 47")


def test_numbers_past_2_53_are_exact(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw(rl.Layout((2, 2), (2**53 + 1, 3))), tmp_path))
    cell(page, str(2**53 + 4)).hover()
    expect(page.locator(".where")).to_have_text(f"offset {2**53 + 4}")
    expect(page.locator(".digits")).to_have_text(f"offset = 1·{2**53 + 1} + 1·3 = {2**53 + 4}")


def test_a_click_pins_arrow_keys_move_and_escape_lets_go(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw("(3,4):(4,1)"), tmp_path))
    what, where = page.locator(".what"), page.locator(".where")
    cell(page, "5").click()
    page.mouse.move(1, 1)
    expect(where).to_have_text("offset 5")
    page.locator(".grid").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(what).to_have_text("(2, 2)")
    page.keyboard.press("ArrowDown")
    expect(what).to_have_text("(2, 2)")
    page.keyboard.press("Home")
    expect(where).to_have_text("offset 8")
    assert page.locator(".readout").get_attribute("aria-live") == "polite"
    page.keyboard.press("Escape")
    expect(where).to_have_count(0)
    expect(page.locator("rect.pin")).to_have_count(0)


def test_what_keys_move_is_told_though_the_pointer_rests(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw("(3,4):(4,1)"), tmp_path))
    cell(page, "5").click()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".where")).to_have_text("offset 6")
    expect(page.locator("rect.hover")).to_have_count(0)
    cell(page, "0").hover()
    expect(page.locator(".where")).to_have_text("offset 0")


def test_the_keyboard_alone_reaches_a_cell(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw("(3,4):(4,1)"), tmp_path))
    for _ in range(6):
        page.keyboard.press("Tab")
        if page.locator(".grid:focus").count():
            break
    page.keyboard.press("ArrowRight")
    expect(page.locator(".where")).to_have_text("offset 0")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".where")).to_have_text("offset 1")


def test_many_slices_are_behind_a_slider_and_move_together(opened: Open, tmp_path: Path) -> None:
    a, b = rl.Layout.row_major(8, 2, 3), rl.Layout.col_major(8, 2, 3)
    page = opened(saved(rl.draw(a, b), tmp_path))
    expect(page.locator(".grid:not([hidden])")).to_have_count(2)
    slider = page.locator("input[type=range]").first
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    expect(page.locator("output").nth(0)).to_have_text("5")
    expect(page.locator("output").nth(1)).to_have_text("5")
    cell(page, str(a(5, 1, 2))).click()
    expect(page.locator(".where").nth(1)).to_have_text(f"offset {b(5, 1, 2)}")


def test_few_slices_are_all_in_sight(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw(rl.Layout.row_major(4, 2, 3)), tmp_path))
    expect(page.locator(".grid:visible")).to_have_count(4)
    expect(page.locator("input[type=range]")).to_have_count(0)


def test_128_by_128_opens_fast_on_a_canvas(opened: Open, tmp_path: Path) -> None:
    layout = rl.Layout(((8, 16), (8, 16)), ((1, 64), (8, 1024)))
    url = saved(rl.draw(layout), tmp_path)
    page = opened(url)
    canvas = page.locator("canvas")
    painted(page)
    # The middle of the first block and of its neighbour have colours of their own.
    colours = canvas.evaluate(
        """canvas => { const pen = canvas.getContext("2d"); const at = x => [...pen.getImageData(x, 30, 1, 1).data];
        return [at(60), at(canvas.width - 60)]; }"""
    )
    assert colours[0][3] == 255
    assert colours[0] != colours[1]
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] / 2)
    what = page.locator(".what").text_content() or ""
    row, column = map(int, re.findall(r"\d+", what))
    assert column == 127
    expect(page.locator(".where")).to_have_text(f"offset {layout(row, column)}")


def test_a_canvas_is_as_sharp_as_the_screen(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw(rl.Layout.row_major(70, 70)), tmp_path), device_scale_factor=2)
    canvas = page.locator("canvas")
    expect(canvas).to_be_visible()
    box = canvas.bounding_box()
    assert box is not None
    expect(canvas).to_have_js_property("width", round(box["width"] * 2))


def test_a_large_picture_is_enlarged_and_scrolled_to_what_is_pinned(opened: Open, tmp_path: Path) -> None:
    layout = rl.Layout.row_major(100, 100)
    page = opened(saved(rl.draw(layout), tmp_path))
    page.get_by_role("button", name="the size at which texts are legible").click()
    page.locator(".grid").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    expect(page.locator(".where")).to_have_text("offset 99")
    pin, scroller = page.locator("rect.pin").bounding_box(), page.locator(".scroll").bounding_box()
    assert pin is not None
    assert scroller is not None
    assert scroller["x"] <= pin["x"]
    assert pin["x"] + pin["width"] <= scroller["x"] + scroller["width"] + 4


def test_rules_between_blocks_are_whole_and_so_are_the_edges(opened: Open, tmp_path: Path) -> None:
    layout = rl.Layout(((8, 9), (8, 9)), ((1, 64), (8, 576)))
    page = opened(saved(rl.draw(layout), tmp_path), width=1900, height=3000)
    painted(page)
    # Columns and rows of pixels that are dark all along, each run of them one rule.
    rules = page.locator("canvas").evaluate(
        """canvas => {
          const { width, height } = canvas, [left, top] = [40, 30];
          const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
          const dark = (x, y) => data[4 * (y * width + x)] < 110;
          const all = (count, test) => Array.from({ length: count }, (_, k) => k).every(test);
          const down = Array.from({ length: width }, (_, x) => all(height - top - 8, k => dark(x, top + k)));
          const across = Array.from({ length: height }, (_, y) => all(width - left - 8, k => dark(left + k, y)));
          return [down, across].map(lines => lines.filter((line, k) => line && !lines[k - 1]).length);
        }"""
    )
    assert rules == [10, 10]


def test_a_wide_picture_is_all_in_sight(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw(rl.Layout.row_major(64, 300)), tmp_path))
    assert page.locator(".scroll").evaluate("box => box.scrollWidth <= box.clientWidth")


def test_texts_too_small_to_read_are_left_out(opened: Open, tmp_path: Path) -> None:
    page = opened(saved(rl.draw(rl.Layout.row_major(4, 200)), tmp_path))
    expect(cell(page, "7")).to_be_visible()
    page.get_by_role("button", name="fit the width").click()
    expect(cell(page, "7")).to_be_hidden()
    for _ in range(12):
        page.get_by_role("button", name="larger").click()
    expect(cell(page, "7")).to_be_visible()


def test_light_and_dark(opened: Open, tmp_path: Path) -> None:
    url = saved(rl.draw(rl.Layout.row_major(70, 70), color="none"), tmp_path)
    light, dark = opened(url), opened(url, color_scheme="dark")
    painted(light, "brightness > 200")
    painted(dark, "brightness < 80")
    dark.locator("#theme").click()
    expect(dark.locator("html")).to_have_attribute("data-theme", "light")
    painted(dark, "brightness > 200")


def test_texts_stay_texts(opened: Open, tmp_path: Path) -> None:
    """A name with markup in it is shown, not run."""
    from relayout.drawing.drawing import Drawing
    from relayout.drawing.scene import Grid, Pane, PaneAxis, Scene

    evil = "</script><img src=x onerror=alert(1)>"
    axis = PaneAxis(None, evil, (evil,), (0, 0))
    pane = Pane(evil, "threads", axis, axis, [Grid((), [evil], [0], [0], evil)])
    page = opened(saved(Drawing(lambda limit: Scene([pane], [], [evil])), tmp_path))
    expect(page.locator("figcaption .title")).to_have_text(evil)
    expect(page.locator("img")).to_have_count(0)


def test_a_page_runs_no_script_but_its_own(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(saved(rl.draw("(3,4):(4,1)"), tmp_path))
    ran = page.evaluate(
        """async () => {
          document.body.insertAdjacentHTML("beforeend", "<img src='data:,' onerror='window.evil = 1'>");
          document.body.append(Object.assign(document.createElement("script"), { textContent: "window.evil = 2" }));
          await new Promise(done => setTimeout(done, 100));
          const asked = await fetch("data:,x").then(() => "answered", () => "refused");
          return [window.evil ?? 0, asked];
        }"""
    )
    page.close()
    assert ran == [0, "refused"]


# ---- the explorer ----------------------------------------------------------------------------------------


def test_typing_draws(explored: Open) -> None:
    page = explored()
    page.locator("#a").fill("Layout { shape: [3, 4], stride: [4, 1], start_offset: 7 }")
    expect(page.locator("#a-notation")).to_have_text("candle")
    expect(cell(page, "18")).to_be_visible()
    expect(page.locator(".words")).to_contain_text("It starts 7 into the buffer.")
    expect(page.locator(".rosetta tr", has_text="numpy")).to_be_visible()


def test_a_pin_is_in_the_link_and_a_link_shows_the_same(explored: Open, opened: Open) -> None:
    page = explored({"a": "htp:R4Crouton", "shape": "1,16,9,8", "rows": "1", "columns": "2"})
    slider = page.locator("input[type=range]").first
    slider.focus()
    page.keyboard.press("ArrowRight")
    cell(page, str(1 + 4096 + 256 * 3)).click()
    expect(page.locator("rect.pin")).to_have_count(1)
    page.locator("#theme").click()
    other = opened(page.url)
    expect(other.locator("rect.pin")).to_have_count(1)
    expect(other.locator(".what")).to_have_text("(n 0, h 11, w 0, c 1)")
    expect(other.locator("output").first).to_have_text("1")
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")
    assert other.locator("#shape").input_value() == "1,16,9,8"


def test_a_pin_in_memory_is_in_the_link_too_and_stays_when_the_look_changes(explored: Open, opened: Open) -> None:
    page = explored({"a": TILED, "view": "both"})
    cell(page, "2,1", pane=1).click()
    expect(page.locator("rect.pin")).to_have_count(2)
    other = opened(page.url)
    expect(other.locator("rect.pin")).to_have_count(2)
    expect(other.locator(".where").first).to_have_text("offset 6")
    other.locator("#view").select_option("memory")
    expect(other.locator("figure.pane")).to_have_count(1)
    expect(other.locator("rect.pin")).to_have_count(1)
    expect(other.locator(".where").first).to_have_text("offset 6")
    other.locator("#a").fill("(3,4):(4,1)")
    expect(other.locator("rect.pin")).to_have_count(0)


def test_a_link_with_nonsense_in_it_shows_what_is_left(explored: Open) -> None:
    page = explored({"a": "(3,4):(4,1)"})
    for n, words in enumerate(
        ("pin=0", "pin=0:x", "pin=0:1", "pin=7:1,1", "slice=-5", "slice=1.5", "pin=:,&slice=x&at=x")
    ):
        page.evaluate(f"location.hash = 'a=(8,3,{n + 4}):(64,16,1)&{words}'")
        expect(page.locator(".ledger div").nth(1)).to_contain_text(f"(8, 3, {n + 4})")
        expect(page.locator("rect.pin")).to_have_count(0)


def test_the_way_back_leads_through_what_was_chosen(explored: Open) -> None:
    page = explored({"a": "(3,4):(4,1)"})
    page.locator("#a").fill("(3,5):(5,1)")
    page.get_by_role("button", name="Raked product").click()
    expect(page.locator("figure.pane")).to_have_count(3)
    page.get_by_role("radio", name="Look").check()
    expect(page.locator("figure.pane")).to_have_count(1)
    page.go_back()
    expect(page.locator("figure.pane")).to_have_count(3)
    expect(page.get_by_role("radio", name="raked")).to_be_checked()
    page.go_back()
    expect(page.locator("#a")).to_have_value("(3,5):(5,1)")
    expect(cell(page, "14")).to_be_visible()
    page.go_forward()
    expect(page.locator("figure.pane")).to_have_count(3)


def test_an_error_is_beside_the_field_and_the_last_picture_stays(explored: Open) -> None:
    page = explored({"a": "(3,4):(4,1)"})
    page.locator("#a").fill("(3,4):(4;1)")
    error = page.locator("#a-error")
    expect(error.locator(".caret")).to_have_text("(3,4):(4;1)\n        ^")
    expect(page.locator("#a")).to_have_attribute("aria-invalid", "true")
    expect(cell(page, "11")).to_be_visible()
    page.locator("#a").fill("(3,4):(1,3)")
    expect(error).to_be_empty()
    expect(page.locator("#picture")).not_to_have_class(re.compile("stale"))


def test_a_verdict_and_the_way_to_where_it_differs(explored: Open) -> None:
    page = explored({"a": "nChw8c", "b": "nhwc", "do": "compare", "shape": "1,16,4,4"})
    expect(page.locator("#verdict")).to_contain_text("different at (0, 8, 0, 0): 128 and 8")
    page.get_by_role("button", name="show where").click()
    expect(page.locator(".where")).to_have_text(["offset 128", "offset 8"])
    page.locator("#b").fill("NCHW8c")
    expect(page.locator("#verdict")).to_have_text("the same function")


def test_a_large_comparison_shows_where_it_differs_or_all(explored: Open) -> None:
    page = explored({"a": "(64,64):(64,1)", "b": "(64,64):(1,64)", "do": "compare"})
    expect(page.locator("#picture .legend")).to_contain_text("placed alike")
    expect(cell(page, "64")).to_be_visible()
    expect(page.locator(".label").get_by_text("63", exact=True)).to_have_count(0)
    page.get_by_role("button", name="show all").click()
    expect(page.locator(".label").get_by_text("63", exact=True)).to_have_count(4)
    page.get_by_role("button", name="show less").click()
    expect(page.locator(".label").get_by_text("63", exact=True)).to_have_count(0)


def test_on_a_phone_both_fields_are_above_the_picture(explored: Open) -> None:
    page = explored({"a": "(4,4):(4,1)", "b": "(4,4):(1,4)", "do": "compare"}, width=400, height=800)
    tops = []
    for where in ("#a", "#b", "figure.pane >> nth=0", "figure.pane >> nth=1", "#doing"):
        box = page.locator(where).bounding_box()
        assert box is not None
        tops.append(box["y"])
    assert tops == sorted(tops)
    drawn = "found => found.map(x => [x.getBoundingClientRect().width, Number(x.getAttribute('width'))])"
    widths = page.locator(".legend svg").evaluate_all(drawn)
    assert widths
    assert all(seen == whole for seen, whole in widths), "no colour of the legend is cut"


def test_on_a_phone_a_field_that_is_to_be_filled_in_comes_into_sight(explored: Open) -> None:
    page = explored({"a": "(16,4):(4,1)"}, width=400, height=600)
    page.get_by_role("radio", name="Compare").check()
    expect(page.locator("#b")).to_be_in_viewport()


def test_strides_are_drawn_beside_the_labels(explored: Open) -> None:
    page = explored({"a": "((4,2),2):((1,4),8)"})
    page.get_by_label("draw the strides").check()
    expect(page.locator("figure.pane .stride")).to_have_text(["+8", "+1", "+4"])
    page.get_by_label("draw the strides").uncheck()
    expect(page.locator("figure.pane .stride")).to_have_count(0)


def test_slices_without_room_are_fetched(explored: Open) -> None:
    page = explored({"a": "(300,64,64):(4096,64,1)", "rows": "1", "columns": "2"})
    slider = page.locator("#at input")
    slider.focus()
    page.keyboard.press("End")
    box = page.locator("canvas, .stage svg.rl").first
    expect(page.locator("#picture .caption")).to_have_text(re.compile("299"))
    box.hover(position={"x": 60, "y": 30})
    expect(page.locator(".where")).to_contain_text(re.compile(r"offset 12\d\d\d\d\d"))
    page.get_by_role("radio", name="Compare").check()
    page.locator("#b").fill("((100,3),64,64):((4096,409601),64,1)")
    page.get_by_role("button", name="show where").click()
    expect(page.locator(".where")).to_have_text(["offset 409600", "offset 409601"])
    expect(page.locator("#at output")).to_have_text("100")
    expect(slider).to_have_value("100")


def test_the_algebra_is_a_button_away(explored: Open) -> None:
    page = explored({"a": "(4,2):(1,4)"})
    page.get_by_role("radio", name="zipped ÷").check()
    expect(page.locator("#b-error")).to_contain_text("zipped_divide has a second operand")
    page.locator("#b").fill("2,2")
    expect(page.locator("figure.pane")).to_have_count(3)
    result = rl.zipped_divide(rl.Layout((4, 2), (1, 4)), (2, 2))
    expect(page.locator("figure.pane .title").last).to_contain_text(str(result))
    page.get_by_role("radio", name="coalesce").check()
    expect(page.locator("figure.pane")).to_have_count(2)


def test_a_name_is_picked_from_the_catalog(explored: Open) -> None:
    page = explored()
    page.locator("#catalog summary").click()
    page.locator("#search").fill("tensor")
    expect(page.locator("#names button").first).to_contain_text(re.compile("^ten"))
    page.locator("#search").fill("tensorrt chw32")
    page.keyboard.press("Enter")
    expect(page.locator("#a")).to_have_value("tensorrt:kCHW32")
    expect(page.locator("#a-notation")).to_have_text("catalog")
    expect(page.locator("figure.pane .title").first).to_contain_text("tensorrt:kCHW32")


def test_a_shape_keeps_its_meaning_when_another_format_is_picked(explored: Open) -> None:
    """By the names of the axes where both have the same; a format with other axes comes with a shape of its own."""
    page = explored({"a": "htp:R4Crouton", "shape": "1,10,13,32"})
    page.locator("#catalog summary").click()
    for search, name, shape in (
        ("tensorrt kchw32", "tensorrt:kCHW32", "1,32,10,13"),
        ("htp r4flat", "htp:R4Flat", "1,10,13,32"),
        ("htp weights", "htp:weights", None),
    ):
        page.locator("#search").fill(search)
        page.locator("#names button:visible", has_text=name).first.click()
        expect(page.locator("#a")).to_have_value(re.compile(f"^{name}"))
        expect(page.locator("figure.pane .title").first).to_contain_text(name)
        found = page.locator("#shape").input_value()
        assert found == (shape or found)
    assert sorted(found.split(",")) != ["1", "10", "13", "32"], "1 x 10 x 13 x 32 was no kernel"


def test_dimensions_taken_by_position_are_told(explored: Open) -> None:
    page = explored({"a": "(1,16,4,4):(256,16,4,1)", "b": "(1,16,4,4):(1,1,1,1)", "do": "beside"})
    expect(page.locator(".notes")).to_have_count(0)
    page.locator("#b").focus()
    page.locator("#catalog summary").click()
    page.locator("#search").fill("tensorrt kchw32")
    page.keyboard.press("Enter")
    expect(page.locator("#b")).to_have_value("tensorrt:kCHW32")
    expect(page.locator(".notes")).to_contain_text(
        "A names no axes: its dimensions are taken for n, c, h, w, by position."
    )


def test_the_picture_is_copied_in_every_form(explored: Open) -> None:
    page = explored({"a": TILED}, permissions=["clipboard-read", "clipboard-write"])
    drawing = rl.draw(TILED)
    forms = {"text": drawing.text(), "SVG": drawing.svg(), "HTML": drawing.html(), "TikZ": drawing.tikz()}
    forms["Python"] = f'import relayout as rl\n\nrl.draw({TILED!r}).save("picture.svg")\n'
    for name, text in forms.items():
        button = page.locator(".copies").get_by_role("button", name=name, exact=True)
        button.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".copies button:focus")).to_have_text("copied")
        assert page.evaluate("navigator.clipboard.readText()") == text
    expect(page.locator(".copies button:focus")).to_have_text(name)
    page.locator(".rosetta tr", has_text="cute").get_by_role("button").click()
    expect(page.locator(".rosetta").get_by_text("copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == TILED


def test_the_first_drawing_is_there_at_once(opened: Open, server: Explorer) -> None:
    page = opened(server.url)
    expect(page.locator("figure.pane").first).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_every_example_fits_its_page(explored: Open, width: int) -> None:
    page = explored(width=width)
    for name, state in PRESETS.items():
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator("#a")).to_have_value(state["a"])
        expect(page.locator("figure.pane").first).to_be_visible()
        expect(page.locator(".error:not(:empty)")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


def test_code_is_written_in_any_language_and_copied(explored: Open) -> None:
    state = {"a": "nhwc", "b": "htp:R4Crouton", "do": "code", "dtype": "uint8", "axes": "nhwc"}
    page = explored(state, permissions=["clipboard-read", "clipboard-write"])
    text = page.locator("#text pre")
    expect(text).to_contain_text("void pack_htp_r4_crouton_u8(const uint8_t *src, uint8_t *dst, int64_t n0,")
    expect(text.locator(".comment").first).to_have_text("// Moves uint8 from nhwc to htp:R4Crouton.")
    page.get_by_label("with the way back").check()
    expect(text).to_contain_text("pack_htp_r4_crouton_u8_inverse")
    page.get_by_role("button", name="copy the code").click()
    expect(page.locator("#text").get_by_text("copied")).to_be_visible()
    expected = rl.code("nhwc", "htp:R4Crouton", "uint8", axes="nhwc", inverse=True)
    assert page.evaluate("navigator.clipboard.readText()") == expected
    page.locator("#b").fill("")
    expect(text).to_contain_text("nhwc_offset(")
    page.locator("#a").fill("(3,4):(1,1)")
    page.locator("#b").fill("(3,4):(1,1)")
    page.locator("#axes").fill("")
    expect(page.locator("#text .refused")).to_contain_text("are the same place in memory")


def test_code_fits_a_phone(explored: Open) -> None:
    page = explored({"a": "0 1", "b": "1 0", "do": "code", "dtype": "float32"}, width=390)
    expect(page.locator("#text pre")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_audit_is_pasted_and_a_move_is_drawn(
    server: Explorer, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from relayout.auditing import readers
    from test_audit import SAMPLE, Point

    monkeypatch.setattr(readers, "_entry_points", lambda: {"acme": Point()})
    page = opened(server.url)
    page.click("#audit summary")
    page.fill("#audit-text", SAMPLE + "what\n")
    expect(page.locator("#audit tr.pair")).to_have_count(2)
    expect(page.locator("#audit .trouble")).to_contain_text("pasted text:11")
    page.click("#audit tr.pair >> nth=0 >> button")
    expect(page.locator("#verdict")).to_contain_text("different at (0, 1, 0, 0): 1 and 784")
    assert page.input_value("#dtype") == "float32"


def test_the_page_of_an_audit_leads_from_a_move_to_what_undoes_it(tmp_path: Path, opened: Open) -> None:
    from relayout.auditing.artefact import Artefact
    from relayout.auditing.audit import gather
    from test_audit import SAMPLE, TRACE

    where = tmp_path / "audit.html"
    where.write_text(gather(TRACE, Artefact(None, SAMPLE, "run.trace")).html())
    page = opened(where.as_uri())
    page.click("tr.pair >> nth=0 >> a:text-is('8')")
    shown = page.locator("article:target")
    expect(shown).to_contain_text("undoes 6")
    expect(shown.locator("mark")).to_contain_text("dma %z nchw -> %q nChw16c")
    sizes = page.evaluate("[...document.images].map((x) => x.naturalWidth)")
    assert len(sizes) == 4
    assert all(sizes)
