"""The page of `tape.show` in a real browser: it loads, folds, searches, obeys the keyboard, shows
the right numbers, and hostile text does nothing.
"""

import linecache
import math
import re
from itertools import pairwise

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras

ROWS = "#rows .row"


def residual():
    """A tape with a residual block, an op whose gradient is None and one whose gradient is NaN."""
    random = np.random.default_rng(0)
    w = tf.Variable(random.standard_normal((8, 8)).astype("float32"), name="w")
    lost = tf.Variable([1.0], name="lost")
    x = tf.constant(random.standard_normal((4, 8)).astype("float32"))
    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(x @ w)
        added = x + hidden
        scaled = added * tf.round(lost)
        root = tf.sqrt(tf.reduce_sum(scaled) * 0.0)
        loss = tf.reduce_mean(tf.square(scaled)) + root
    return tape, loss


def healthy():
    random = np.random.default_rng(0)
    w = tf.Variable(random.standard_normal((8, 4)).astype("float32"), name="weights")
    x = tf.constant(random.standard_normal((4, 8)).astype("float32"))
    with tf.profile() as p:
        with tf.GradientTape(persistent=True) as tape:
            hidden = tf.tanh(x @ w)
            loss = tf.reduce_sum(hidden * hidden)
        gradient = tape.gradient(loss, w)
    return tape, loss, gradient, p


def long(count):
    """A tape of `count` ops in a loop, and its loss."""
    w = tf.Variable(np.eye(4, dtype="float32"), name="w")
    h = tf.constant(np.ones((2, 4), "float32"))
    with tf.GradientTape() as tape:
        w_now = w + 0.0
        for _ in range((count - 4) // 2):
            h = h @ w_now
            h = h * 0.999
        loss = tf.reduce_sum(h)
    return tape, loss


@pytest.fixture
def opened(browser, tmp_path):
    """Opens the page of a tape; gives its data."""

    def open_(tape, *, dark=False, size=(1440, 900), **asked):
        page = tape.show(tmp_path / "tape.html", **asked)
        browser.open(page.path, dark=dark, size=size)
        return page.data

    return open_


def titles(browser):
    """The rows that are shown: kind and name."""
    return browser.run(
        "return [...document.querySelectorAll('#rows .row')]"
        ".sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)"
        ".map(r => [r.classList[1], r.querySelector('.name').textContent])"
    )


def selected(browser):
    return browser.run("return document.querySelector('.row.selected .name').textContent")


def cell(browser, name, kind):
    """The figure of the row that begins with a name."""
    return browser.run(
        "return [...document.querySelectorAll('#rows .row')].find(r => "
        "r.querySelector('.name').textContent.startsWith(arguments[0]))"
        ".querySelector('.cell.' + arguments[1] + ' .figure').textContent",
        name,
        kind,
    )


def number(text):
    return float(re.match(r"[0-9.e-]+", text)[0])


# Numbers


def test_it_loads_and_shows_the_right_numbers(browser, opened):
    tape, loss, gradient, p = healthy()
    kept = tape.memory()
    data = opened(tape, target=loss, profile=p)
    totals = browser.texts("#totals li")
    assert totals[0] == f"{data['totals']['ops']} ops"
    assert totals[1] == "1 source"
    assert titles(browser) == [
        ["group", "healthy"],
        ["line", "hidden = tf.tanh(x @ w)"],
        ["line", "loss = tf.reduce_sum(hidden * hidden)"],
    ]
    for line in [found for found in kept.lines() if found.line]:
        shown = cell(browser, line.source, "bytes")
        assert shown == f"{line.bytes + line.shared} B"
    for line in ("hidden =", "loss ="):
        code = next(i for i, row in enumerate(data["rows"]) if row_code(data, i).startswith(line))
        time = next(t for t in data["times"] if t["line"] == data["rows"][code]["line"])
        shown = cell(browser, line, "time")
        unit = {"µs": 1e-6, "ms": 1e-3, "s": 1}[shown.split()[-1]]
        assert number(shown) * unit == pytest.approx(time["forward"] + time["backward"], rel=0.02)
    browser.press("s")
    (norm,) = browser.texts("#details .sources em")
    assert number(norm) == pytest.approx(np.linalg.norm(gradient.numpy()), rel=0.01)
    browser.press("3")
    assert cell(browser, "reduce_sum", "norm") == "1"
    assert number(cell(browser, "tanh", "norm")) == pytest.approx(
        2 * math.sqrt(float(loss)), rel=0.01
    )


def row_code(data, i):
    row = data["rows"][i]
    return dict(data["files"][row["file"]]["lines"])[row["line"]].strip()


def test_the_source_stands_beside_it(browser, opened):
    tape, loss, _, p = healthy()
    opened(tape, target=loss, profile=p)
    assert browser.texts("#file option") == ["test_page.py"]
    browser.press("j")
    (chosen,) = browser.texts(".code-line.chosen code")
    assert chosen.strip() == "hidden = tf.tanh(x @ w)"
    assert selected(browser) == "hidden = tf.tanh(x @ w)"
    browser.run(
        "[...document.querySelectorAll('.code-line.recorded')]"
        ".find(l => l.textContent.includes('loss =')).click()"
    )
    assert selected(browser) == "loss = tf.reduce_sum(hidden * hidden)"
    kept = [line for line in tape.memory().lines() if line.line]
    bars = browser.run("return document.querySelectorAll('.code-line .bars i.kept').length")
    assert bars == len(kept) == 1
    assert browser.run("return document.querySelectorAll('.code-line .bars i.forward').length") >= 2


def test_without_a_target_it_says_how_to_see_gradients(browser, opened):
    tape, _ = long(20)
    opened(tape)
    assert browser.texts("#chart-note") == [
        "Give the target, tape.show(target=loss), to see its gradients."
    ]
    assert not browser.run("return document.getElementById('chart').checkVisibility()")


def test_an_empty_tape(browser, opened):
    with tf.GradientTape() as tape:
        pass
    opened(tape)
    assert browser.texts(".empty") == ["This tape has recorded no op so far."]
    browser.press("j", "3", "/", "x", "Enter")


# Folding, keys, search


def test_folding_by_mouse_and_keyboard(browser, opened):
    tape, loss, _, _ = healthy()
    opened(tape, target=loss)
    browser.click(".row.group .caret")
    assert titles(browser) == [["group", "healthy"]]
    browser.press("ArrowRight")
    assert len(titles(browser)) == 3
    browser.press("ArrowRight", "ArrowRight")
    lines = titles(browser)
    assert lines[1][1] == "hidden = tf.tanh(x @ w)"
    assert [name for kind, name in lines if kind == "op"][-2:] == ["matmul", "tanh"]
    assert browser.run(
        "return document.querySelector('.row.selected').getAttribute('aria-expanded')"
    ) == "true"  # fmt: skip
    browser.press("ArrowLeft")
    assert len(titles(browser)) == 3
    browser.press("ArrowLeft")
    assert selected(browser) == "healthy"
    browser.press("ArrowLeft")
    assert len(titles(browser)) == 1
    browser.press("3")
    ops = [name for kind, name in titles(browser) if kind == "op"]
    browser.press("4")
    assert titles(browser) == [["op", name] for name in ops]
    browser.press("ArrowLeft")
    assert selected(browser) == "hidden = tf.tanh(x @ w)"
    for key, count in (("1", 1), ("2", 3)):
        browser.press(key)
        assert len(titles(browser)) == count
        level = browser.run("return document.querySelector('#levels .current').dataset.level")
        assert level == key


def test_moving(browser, opened):
    tape, loss, _, _ = healthy()
    opened(tape, target=loss)
    for keys, name in (
        (["End"], "loss ="), (["Home"], "healthy"), (["ArrowDown"], "hidden ="), (["j"], "loss ="),
        (["k", "ArrowUp"], "healthy"), (["k"], "healthy"),
    ):  # fmt: skip
        browser.press(*keys)
        assert selected(browser).startswith(name)
    active = browser.run(
        "return document.getElementById("
        "document.getElementById('rows').getAttribute('aria-activedescendant')).ariaSelected"
    )
    assert active == "true"


def test_search(browser, opened):
    tape, loss, _, _ = healthy()
    opened(tape, target=loss)
    browser.press("1", "/")
    browser.type("#query", "TANH")
    assert browser.texts("#matches") == ["2"]
    assert browser.texts(".inside") == ["2 inside"]
    browser.type("#query", "Enter")
    assert selected(browser) == "hidden = tf.tanh(x @ w)"
    assert browser.texts("#matches") == ["1 of 2"]
    assert "tanh" in browser.texts("#rows mark")
    browser.type("#query", "Enter")
    assert selected(browser) == "tanh"
    browser.press("Escape")
    assert browser.texts("#matches") == [""]
    assert browser.texts("#rows mark") == []
    browser.press("n")
    assert selected(browser) == "tanh"
    browser.press("/", *"weights")
    assert browser.texts("#matches") == ["1"]
    browser.press("ArrowDown", "n")
    assert "weights" in browser.texts("#rows .row.selected mark")
    browser.press("/", *"nowhere", "Enter")
    assert browser.texts("#matches") == ["nothing"]
    browser.press("Escape", "/", *"tf. hidden x", "Enter")
    assert selected(browser) == "hidden = tf.tanh(x @ w)"


def test_zoom(browser, opened):
    tape, loss = long(200)
    opened(tape, target=loss)
    browser.press("4")
    height = "return document.querySelector('.row').getBoundingClientRect().height"
    heights = [browser.run(height)]
    for key in ("+", "0", "-", "-", "-"):
        browser.press(key)
        heights.append(browser.run(height))
    assert heights == [27, 34, 27, 21, 15, 9]
    assert browser.run("return document.getElementById('rows').classList.contains('far')")
    browser.click("#closer")
    assert browser.run(height) == 15
    browser.run(
        "document.getElementById('rows').dispatchEvent("
        "new WheelEvent('wheel', {ctrlKey: true, deltaY: -1, cancelable: true}))"
    )
    assert browser.run(height) == 21


def test_light_dark_and_help(browser, opened):
    tape, loss, _, _ = healthy()
    colour = "return getComputedStyle(document.body).backgroundColor"
    opened(tape, target=loss)
    light = browser.run(colour)
    browser.press("t")
    dark = browser.run(colour)
    assert light != dark
    browser.press("t")
    assert browser.run(colour) == light
    opened(tape, target=loss, dark=True)
    assert browser.run(colour) == dark
    browser.click("#theme")
    assert browser.run(colour) == light
    browser.press("?")
    assert browser.run("return document.getElementById('help').open")
    assert "search" in browser.texts("#help td")
    browser.press("Escape")
    assert not browser.run("return document.getElementById('help').open")


# What is wrong


def test_none_and_nan_are_marked_at_their_lines(browser, opened):
    tape, loss = residual()
    opened(tape, target=loss)
    assert browser.texts(".finding .mark") == ["Inf", "None"]
    marked = browser.run(
        "return [...document.querySelectorAll('.row.line')].map("
        "r => [r.querySelector('code').textContent.split(' ')[0],"
        " [...r.querySelectorAll('.mark')].map(m => m.textContent)])"
    )
    assert dict(marked) == {
        "hidden": [], "added": [], "scaled": ["None"], "root": ["Inf"], "loss": [],
    }  # fmt: skip
    assert selected(browser) == "sqrt"
    browser.press("f")
    assert selected(browser).startswith("scaled =")
    (chosen,) = browser.texts(".code-line.chosen code")
    assert chosen.strip().startswith("scaled =")
    browser.press("F")
    assert selected(browser) == "sqrt"


def test_every_source_has_a_row_with_the_cause(browser, opened):
    used, left = tf.Variable(1.0, name="used"), tf.Variable(2.0, name="<i>left</i>")
    with tf.GradientTape() as tape:
        tape.watch(left)
        loss = used * 2.0
    opened(tape, target=loss, sources=[used, left, tf.constant(1.0)])
    browser.press("s")
    rows = browser.texts("#details .sources tr td:first-child")
    assert rows == ["<i>left</i>", "used", "a tensor"]
    assert browser.texts("#details .sources em") == [
        "no gradient: not used", "2", "no gradient: not watched",
    ]  # fmt: skip


class Scale:
    """Keras's way to write a layer, and to name its Variables."""

    def __init__(self, name, value):
        self.w = tf.Variable(value, name=f"net/{name}/w")

    def call(self, x):
        return tf.sqrt(x * self.w)


def test_layers_that_share_a_line_share_its_time_but_not_its_findings(browser, opened):
    good, bad = Scale("good", 2.0), Scale("bad", 0.0)
    with tf.profile() as p, tf.GradientTape() as tape:
        loss = good.call(tf.constant(3.0)) + bad.call(tf.constant(4.0))
    opened(tape, target=loss, profile=p)
    browser.press("1")
    marks = browser.run(
        "return [...document.querySelectorAll('.row.group')].map("
        "r => [r.querySelector('.name').textContent,"
        " [...r.querySelectorAll('.mark')].map(m => m.textContent)])"
    )
    assert marks[:2] == [["good", []], ["bad", ["Inf"]]]
    assert cell(browser, "good", "time").startswith("≤ ")
    assert cell(browser, "good", "time") == cell(browser, "bad", "time")


def test_wires_follow_the_graph(browser, opened):
    tape, loss, _, _ = healthy()
    data = opened(tape, target=loss)
    browser.press("4")
    edges = sum(parent >= 0 for found in data["ops"]["parents"] for parent in found)
    assert browser.run("return document.querySelectorAll('.wire').length") == edges
    assert browser.run("return document.querySelectorAll('.dot').length") == data["totals"]["ops"]
    browser.press("End")
    assert browser.run("return document.querySelectorAll('.wire.near').length") == 1
    assert "multiply" in browser.texts("#details .link")[0]
    browser.click("#details .link")
    assert selected(browser) == "multiply"


def test_the_chart_leads_to_the_op(browser, opened):
    tape, loss = long(40)
    opened(tape, target=loss)
    browser.press("4")
    browser.run(
        "const c = document.getElementById('chart'), r = c.getBoundingClientRect();"
        "c.dispatchEvent(new MouseEvent('click', {clientX: r.right - 12, clientY: r.top + 40}))"
    )
    assert selected(browser) == "reduce_sum"


# Much


@pytest.mark.parametrize("level", ["1", "2", "3", "4"])
def test_ten_thousand_ops_stay_few_elements(browser, opened, level):
    tape, loss = long(10_000)
    data = opened(tape, target=loss)
    assert data["totals"]["ops"] >= 9_900
    browser.press(level)
    for key in ("End", "Home", "End"):
        browser.press(key)
        assert browser.run("return document.querySelectorAll('*').length") < 3000
    assert selected(browser) in {"reduce_sum", "loss = tf.reduce_sum(h)", "long"}
    assert browser.run(
        "const r = document.querySelector('.row.selected').getBoundingClientRect();"
        "const s = document.getElementById('rows').getBoundingClientRect();"
        "return r.top >= s.top && r.bottom <= s.bottom + 1"
    )


def test_the_end_of_a_long_list_stays_in_view_when_it_shrinks(browser, opened):
    tape, loss = long(10_000)
    opened(tape, target=loss)
    rows = "return document.querySelectorAll('#rows .row').length"
    browser.press("4", "End")
    for key in ("-", "-", "-", "2", "1"):
        browser.press(key)
        assert browser.console() == []
        assert browser.run(rows) > 0
        assert selected(browser)


# Hostile text

HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<!--<script>",
    "--><img src=x onerror='window.hacked = 1'>",
    "\"'`>&lt;<svg onload=window.hacked=1>",
    "\u2028window.hacked = 1\u2029",
    "{{script}}{{data}}${window.hacked = 1}",
    "\udfff\x1b[31m",
]


def hostile_tape(text):
    """A tape whose Variable, function, file and source are named by `text`."""
    file = f"/{text.replace('/', '∕')}/tape.py"
    source = f"def f(v):\n    return v * v  # {text}\n"
    namespace = {}
    exec(compile("def f(v):\n    return v * v\n", file, "exec"), namespace)
    linecache.cache[file] = (len(source), None, source.split("\n"), file)
    function = namespace["f"]
    function.__code__ = function.__code__.replace(co_name=text, co_qualname=text)
    v = tf.Variable([1.0, math.nan], name=text)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(function(v))
    return tape, loss


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_does_nothing(browser, opened, text):
    tape, loss = hostile_tape(text)
    opened(tape, target=loss)
    browser.press("3", "s", "f", "/", *"window", "Enter")
    assert browser.run("return [typeof window.hacked, document.images.length]") == ["undefined", 0]
    assert browser.run("return document.querySelectorAll('script').length") == 2
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    printable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert any(printable in shown for shown in browser.texts("#rows .row.group .name"))
    code = browser.texts("#rows .row.line code")
    assert any(printable.strip() in shown for shown in code)


@pytest.mark.parametrize("text", ["plain", *HOSTILE[:4]])
def test_a_notebook_shows_it_in_a_frame(browser, tmp_path, text):
    tape, loss = hostile_tape(text)
    notebook = tmp_path / "notebook.html"
    body = tape.show(target=loss)._repr_html_()
    notebook.write_text(f"<!doctype html><title>n</title>{body}", encoding="utf-8")
    browser.open(notebook)
    with browser.frame(0):
        assert len(titles(browser)) == 4
        browser.click(".row.group .caret")
        assert len(titles(browser)) == 3
        assert browser.run("return typeof window.hacked") == "undefined"
    assert browser.run("return typeof window.hacked") == "undefined"


def shared_lines(count=3):
    """A tape in which several layers run the same lines, so that its figures are the longest."""
    names = [f"mmmmmmmmmmmm_{i}" for i in range(count)]
    layers = [keras.layers.Dense(120, activation="relu", name=name) for name in names]
    network = keras.Sequential([keras.Input([200]), *layers], name="net")
    x = np.ones([1000, 200], "float32")
    with tf.profile() as p:
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean(tf.square(network(x)))
        tape.gradient(loss, network.trainable_variables)
    return tape, loss, p


@pytest.mark.parametrize("width", [1920, 1400, 1280, 1024, 700])
@pytest.mark.parametrize("level", ["1", "2", "3"])
def test_no_figure_is_cut_off_before_its_unit(browser, opened, width, level):
    tape, loss, p = shared_lines()
    opened(tape, target=loss, profile=p, size=(width, 900))
    browser.press(level)
    figures = browser.run(
        "return [...document.querySelectorAll('.figure')]"
        ".filter(f => f.offsetParent !== null)"
        ".map(f => [f.textContent, f.scrollWidth <= f.clientWidth])"
    )
    assert any("KiB" in text for text, _ in figures)
    assert [text for text, is_whole in figures if not is_whole] == []


@pytest.mark.parametrize("width", [1400, 1024, 700])
def test_a_long_name_of_a_variable_leaves_room_for_the_code(browser, opened, width):
    w = tf.Variable([1.0, 2.0], name="a_name_that_goes_on_" * 20)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * w)
    opened(tape, target=loss, size=(width, 900))
    browser.press("2")
    widths = browser.run(
        "return [...document.querySelectorAll('.row.line code.name')].map(c => c.clientWidth)"
    )
    assert widths
    assert min(widths) > 100


def test_on_a_narrow_page_the_findings_come_first(browser, opened):
    tape, loss = residual()
    opened(tape, target=loss, size=(700, 900))
    tops = browser.run(
        "return ['findings', 'graph', 'code', 'details']"
        ".map(id => document.getElementById(id).getBoundingClientRect().top)"
    )
    assert tops == sorted(tops)
    rows = browser.run(
        "const rows = document.getElementById('rows');"
        "return [rows.clientHeight, rows.querySelectorAll('.row').length]"
    )
    assert rows[0] > 100
    assert rows[1] > 2


@pytest.mark.parametrize(("width", "count"), [(1400, 10), (700, 5)])
def test_names_below_the_chart_do_not_touch(browser, opened, width, count):
    tape, loss, p = shared_lines(count)
    opened(tape, target=loss, profile=p, size=(width, 900))
    browser.run(
        "const pen = CanvasRenderingContext2D.prototype, before = pen.fillText;"
        "window.drawn = [];"
        "pen.fillText = function (text, x, y) {"
        "  const half = this.measureText(text).width / 2;"
        "  if (this.textAlign === 'center') window.drawn.push([x - half, x + half]);"
        "  return before.call(this, text, x, y);"
        "};"
    )
    browser.press("t")  # draws it again
    found = browser.run("return window.drawn")
    assert len(found) > 1
    assert all(end + 4 <= start for (_, end), (start, _) in pairwise(sorted(found)))
