"""`tape.show`: the data that its page shows, and that nothing of it can break out of the page."""

import base64
import gc
import hashlib
import json
import linecache
import math
import re
import warnings
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from weakref import ref

import numpy as np
import pytest

import gradtape as tf
from gradtape.inspect.show import TapePage

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "gradtape" / "inspect" / "page"


def network():
    """A tape of two lines, its loss and its Variables."""
    random = np.random.default_rng(0)
    x = tf.constant(random.standard_normal((4, 3)).astype("float32"))
    w = tf.Variable(random.standard_normal((3, 2)).astype("float32"), name="w")
    b = tf.Variable([0.5, -0.5], name="b")
    with tf.GradientTape(persistent=True) as tape:
        hidden = tf.tanh(x @ w + b)
        loss = tf.reduce_sum(hidden * hidden)
    return tape, loss, [w, b]


def op_names(data):
    return [data["ops"]["names"][i] for i in data["ops"]["name"]]


def lines_of(data):
    """The text of the line of each row."""
    texts = [dict(file["lines"]) for file in data["files"]]
    return [texts[row["file"]][row["line"]].strip() for row in data["rows"]]


# What is collected


def test_ops_with_their_lines_and_inputs():
    tape, loss, _ = network()
    data = tape.show(target=loss).data
    names = op_names(data)
    assert sorted(names) == sorted(
        ["read_variable"] * names.count("read_variable")
        + ["matmul", "add", "tanh", "multiply", "reduce_sum"]
    )
    assert lines_of(data) == [
        "hidden = tf.tanh(x @ w + b)", "loss = tf.reduce_sum(hidden * hidden)",
    ]  # fmt: skip
    assert [group["title"] for group in data["groups"]] == ["network"]
    add, tanh, multiply = (names.index(name) for name in ("add", "tanh", "multiply"))
    parents = data["ops"]["parents"]
    assert parents[tanh] == [add]
    assert parents[multiply] == [tanh]
    assert data["ops"]["row"][tanh] == 0
    assert data["ops"]["row"][multiply] == 1
    used = {-1 - p for found in parents for p in found if p < 0}
    assert [data["sources"][i]["name"] for i in sorted(used)] == ["w", "b"]
    assert [source["shape"] for source in data["sources"]] == ["float32[3, 2]", "float32[2]"]


def test_norms_are_those_of_the_gradients():
    tape, loss, variables = network()
    data = tape.show(target=loss).data
    gradients = tape.gradient(loss, variables)
    assert [source["norm"] for source in data["sources"]] == [
        pytest.approx(np.linalg.norm(g.numpy()), rel=1e-3) for g in gradients
    ]
    assert data["totals"]["seed"] == 1
    names = op_names(data)
    assert data["ops"]["norm"][names.index("reduce_sum")] == 1
    assert data["ops"]["norm"][names.index("multiply")] == pytest.approx(math.sqrt(8), rel=1e-3)
    shapes = [data["ops"]["shapes"][i] for i in data["ops"]["shape"]]
    assert shapes[names.index("matmul")] == "float32[4, 2]"


def test_a_persistent_tape_takes_the_target_of_its_last_gradient():
    tape, loss, variables = network()
    before = tape.show().data
    assert before["totals"]["seed"] is None
    assert "tape.show(target=loss)" in before["noGradients"]
    assert set(before["ops"]["norm"]) == {None}
    tape.gradient(loss, variables)
    assert tape.show().data["ops"]["norm"] == tape.show(target=loss).data["ops"]["norm"]


def test_bytes_are_those_of_memory():
    tape, loss, _ = network()
    kept = tape.memory()
    data = tape.show(target=loss).data
    assert data["totals"]["bytes"] == kept.total
    assert data["totals"]["shared"] == kept.shared
    by_line = {}
    for row, own, shared in zip(
        data["ops"]["row"], data["ops"]["bytes"], data["ops"]["shared"], strict=True
    ):
        line = data["rows"][row]["line"]
        by_line[line] = by_line.get(line, 0) + own + shared
    wanted = {found.line: found.bytes + found.shared for found in kept.lines() if found.line}
    assert {line: size for line, size in by_line.items() if size} == wanted


def test_times_are_those_of_the_profile():
    with tf.profile() as p:
        tape, loss, variables = network()
        tape.gradient(loss, variables)
        inside = tape.show(target=loss).data
    data = tape.show(target=loss, profile=p).data
    for found in (inside, data):
        lines = {time["line"] for time in found["times"]}
        assert {row["line"] for row in found["rows"]} <= lines
    file = data["files"][data["rows"][0]["file"]]["path"]
    for time in data["times"]:
        rows = [row for row in p.rows if (row.file, row.line) == (file, time["line"])]
        assert time["forward"] == pytest.approx(sum(row.forward for row in rows))
        assert time["backward"] == pytest.approx(sum(row.backward for row in rows))
        assert time["calls"] == sum(row.calls for row in rows)
    assert tape.show(target=loss).data["times"] == []


def test_a_tape_is_as_before():
    tape, loss, variables = network()
    before, total = tape.gradient(loss, variables), tape.memory().total
    page = tape.show(target=loss)
    assert tape.memory().total == total
    for old, new in zip(before, tape.gradient(loss, variables), strict=True):
        assert np.array_equal(old, new)
    recording = ref(tape.scope)
    del tape, loss
    gc.collect()
    assert recording() is None
    assert page.html


def test_nested_tapes_are_shown_each():
    x = tf.Variable(2.0, name="x")
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3
        shown = inner.show(target=y).data
        slope = inner.gradient(y, x)
    assert shown["sources"][0]["norm"] == 12
    assert outer.show(target=slope).data["sources"][0]["norm"] == 12


def test_an_op_with_several_outputs():
    x = tf.Variable([[2.0, 1.0], [1.0, 3.0]], name="x")
    with tf.GradientTape() as tape:
        values, vectors = tf.linalg.eigh(x)
        loss = tf.reduce_sum(values) + 0.0 * tf.reduce_sum(vectors)
    assert tape.show(target=loss).data["sources"][0]["norm"] == pytest.approx(
        math.sqrt(2), rel=1e-3
    )


def test_a_compiled_function_is_one_op():
    @tf.function
    def square(x):
        return tf.reduce_sum(x * x)

    x = tf.Variable([3.0, 4.0], name="x")
    with tf.GradientTape() as tape:
        y = square(x)
    data = tape.show(target=y).data
    assert any("square" in name for name in op_names(data))
    assert data["sources"][0]["norm"] == 10


def test_tiny_and_huge_norms_are_not_lost():
    x = tf.Variable([3e-30, 4e-30], name="x")
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.square(x))
    assert tape.show(target=y).data["sources"][0]["norm"] == pytest.approx(1e-29, rel=1e-3)


def test_an_empty_tape():
    with tf.GradientTape() as tape:
        pass
    assert tape.show().data["totals"]["ops"] == 0


# What is wrong


def shown(program):
    with tf.GradientTape() as tape:
        loss, line = program()
    data = tape.show(target=loss).data
    return data, [(finding["kind"], finding) for finding in data["findings"]], line


def healthy():
    x = tf.Variable([1.0, 2.0])
    return tf.reduce_sum(x * x), None


def none():
    x, y = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])
    return tf.reduce_sum(tf.round(x) * y), "tf.round(x)"


def forward():
    x = tf.Variable([1.0, 0.0])
    logs = tf.math.log(x)
    return tf.reduce_sum(logs), "logs ="


def backward():
    x = tf.Variable([1.0, 0.0])
    roots = tf.sqrt(x)
    return tf.reduce_sum(roots), "roots ="


def vanishing():
    x = tf.Variable(1.0)
    small = x * 1e-4
    smaller = small * 1e-4
    return smaller * 1.0, "small ="


def vanishing_at_once():
    x = tf.Variable(1.0)
    return x * 1e-9, "x * 1e-9"


def exploding():
    x = tf.Variable(1.0)
    for _ in range(4):
        x = x * 1e3
    return x, "x * 1e3"


def zero():
    x = tf.Variable([-1.0, -2.0])
    dead = tf.nn.relu(x * 2.0)
    return tf.reduce_sum(dead), "dead ="


@pytest.mark.parametrize(
    ("program", "kinds"),
    [
        (healthy, []),
        (none, ["none"]),
        (forward, ["nonfinite"]),
        (backward, ["nonfinite"]),
        (vanishing, ["vanishing"]),
        (vanishing_at_once, ["vanishing"]),
        (exploding, ["exploding"]),
        (zero, ["zero"]),
    ],
)
def test_findings_name_the_line(program, kinds):
    data, found, text = shown(program)
    assert [kind for kind, _ in found] == kinds
    for _, finding in found:
        lines = dict(data["files"][finding["place"]["file"]]["lines"])
        assert text in lines[finding["place"]["line"]]


def test_findings_name_the_op_and_the_source():
    data, [(_, nan)], _ = shown(backward)
    assert [op_names(data)[i] for i in nan["ops"]] == ["sqrt"]
    data, [(_, none_found)], _ = shown(none)
    assert none_found["source"] == 0
    assert data["sources"][0]["norm"] is None
    data, [(_, dead)], _ = shown(zero)
    assert [op_names(data)[i] for i in dead["ops"]] == ["relu"]
    assert data["sources"][0]["norm"] == 0
    assert dead["title"] == "The gradient of the Variable 'Variable:0' is exactly zero"


def test_given_sources_are_the_ones_that_are_explained():
    x, y = tf.constant(1.0), tf.Variable(2.0, name="y")
    with tf.GradientTape() as tape:
        loss = x * y
    assert tape.show(target=loss).data["findings"] == []
    (finding,) = tape.show(target=loss, sources=[x, y]).data["findings"]
    assert finding["title"] == "The gradient of x is None: not watched"


def test_every_watched_variable_has_a_row_with_its_cause():
    used, left, whole = (
        tf.Variable(1.0, name="used"),
        tf.Variable(2.0, name="left"),
        tf.Variable([3, 4], name="whole", trainable=True),
    )
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(left)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tape.watch(whole)
        loss = used * 2.0 + tf.reduce_sum(tf.round(used * x))
    data = tape.show(target=loss).data
    rows = {row["name"]: row for row in data["sources"]}
    assert rows["used"]["norm"] == 2.0
    assert rows["used"]["why"] is None
    assert (rows["left"]["norm"], rows["left"]["why"]) == (None, "not used")
    assert rows["whole"]["why"] == "the source's dtype has no gradients"
    assert rows["whole"]["shape"] == "int32[2]"
    assert {data["sources"][f["source"]]["name"] for f in data["findings"]} == {"left", "whole"}


def test_sources_that_are_asked_about_and_not_watched_have_rows():
    x, hostile = tf.constant([1.0, 2.0]), tf.Variable(2.0, name="<b>hostile</b>", trainable=False)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(x) * hostile * tf.Variable(1.0, name="used")
    page = tape.show(target=loss, sources=[x, hostile])
    rows = {row["name"]: row["why"] for row in page.data["sources"]}
    assert rows == {
        "used": None, "a tensor": "not watched",
        "<b>hostile</b>": "a Variable that is not trainable",
    }  # fmt: skip
    assert [f["source"] for f in page.data["findings"]] == [1, 2]
    assert "<b>hostile" not in page.html


def test_a_target_that_nothing_leads_to_still_says_why():
    w = tf.Variable([1.0, 2.0], name="w")
    with tf.GradientTape() as tape:
        loss = tf.constant((w * 2.0).numpy())
    data = tape.show(target=loss).data
    assert data["noGradients"] is not None
    assert [row["why"] for row in data["sources"]] == ["the values left the tape"]


def test_a_small_gradient_beside_a_path_that_carries_it_is_no_finding():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        loss = x + 1e-9 * tf.sin(x)
    assert tape.show(target=loss).data["findings"] == []


def test_a_gradient_function_that_fails_leaves_the_rest():
    calls = []

    @tf.custom_gradient
    def broken(x):
        def grad(g):
            calls.append(1)
            raise KeyError("oh")

        return x * 1.0, grad

    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = broken(x)
    data = tape.show(target=y).data
    assert data["noGradients"] == "The backward walk failed with KeyError: 'oh'"
    (finding,) = data["findings"]
    assert (finding["kind"], finding["mark"]) == ("failed", "fails")
    assert finding["title"].endswith("broken raised KeyError")
    assert finding["ops"]
    assert calls == [1]
    assert data["totals"]["ops"] > 0


def test_a_target_that_was_not_recorded():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        tf.sin(x)
    data = tape.show(target=tf.constant(1.0)).data
    assert data["noGradients"] == "The tape has recorded nothing that leads to the target."
    assert [finding["kind"] for finding in data["findings"]] == ["none"]


def test_many_missing_gradients_are_counted():
    many = [tf.Variable(1.0, name=f"v{i}") for i in range(30)]
    with tf.GradientTape() as tape:
        for variable in many:
            tf.sin(variable)
        loss = tf.constant(1.0) * many[0]
    findings = tape.show(target=loss).data["findings"]
    assert len(findings) == 21
    assert findings[-1]["title"] == "9 more sources have no gradient"


# Refusals


def test_a_tape_that_is_used_up_says_so():
    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="show: this tape was used up by an earlier gradient"):
        tape.show()


def test_a_tape_that_is_traced_says_so():
    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        tape.show(target=y)

    with pytest.raises(RuntimeError, match="show: a tape cannot be shown while a function is"):
        f(tf.constant(1.0))


def test_a_wrong_target_is_refused_by_name():
    with tf.GradientTape() as tape:
        pass
    with pytest.raises(AttributeError, match="show: target must be a Tensor"):
        tape.show(target="loss")


# The page


class Parts(HTMLParser):
    """The scripts, styles and policy of a page, as a browser would read them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.tags, self.policy, self.inside = [], [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]
        if tag in {"script", "style"}:
            self.found.append("")

        self.inside = tag in {"script", "style"}

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.found[-1] += data


HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<!--<script>",
    "--><img src=x onerror='window.hacked = 1'>",
    "\"'`>&lt;&amp;\\",
    "\u2028\u2029\u0085",
    "{{script}}{{data}}",
    "${window.hacked = 1}",
    "\udfff",
    "\x1b[31m\x07",
    "javascript:window.hacked=1",
    "𝔘nicode ✓ \u202egnp.exe",
]


def hostile_tape(text, name="tape"):
    """A tape whose Variable, function, file and source are named by `text`."""
    file = f"/{text}/{name}.py"
    source = f"def f(v):\n    return v * v  # {text!s}\n"
    code = compile(source.replace(text, ""), file, "exec")
    linecache.cache[file] = (len(source), None, source.split("\n"), file)
    namespace = {}
    exec(code, namespace)
    function = namespace["f"]
    function.__code__ = function.__code__.replace(co_name=text, co_qualname=text)
    v = tf.Variable([1.0, math.nan], name=text)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(function(v))
    return tape, loss


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text):
    tape, loss = hostile_tape(text)
    page = tape.show(target=loss)
    parts = Parts(page.html)
    style, data, script = parts.found
    assert json.loads(data) == json.loads(json.dumps(page.data))
    assert text in json.loads(data)["files"][0]["path"]
    assert not re.search("[<>&]", data)
    plain = Parts(TapePage({"totals": {}}).html)
    assert [tag for tag, _ in parts.tags] == [tag for tag, _ in plain.tags]
    assert plain.found[::2] == [style, script]
    frame = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" [^<>]*></iframe>',
                         page._repr_html_(), re.DOTALL)  # fmt: skip
    assert unescape(frame[1]) == page.html


def test_the_page_allows_its_own_script_and_style_and_nothing_else():
    parts = Parts(network()[0].show().html)
    style, _, script = parts.found
    for text, what in ((style, "style"), (script, "script")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{what}-src 'sha256-{digest}';" in parts.policy
    assert parts.policy.startswith("default-src 'none'; ")
    assert "unsafe" not in parts.policy
    assert not [attrs for _, attrs in parts.tags if "src" in attrs or "href" in attrs]


def test_scripts_make_text_and_no_markup():
    for file in PAGE.glob("*.js"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


@pytest.mark.parametrize("path", [1, True, b"page.html", tf.constant(1.0)], ids=type)
def test_only_names_of_files_are_written_to(path):
    tape, loss, _ = network()
    with pytest.raises(TypeError, match="target=loss"):
        tape.show(path, target=loss)


def test_an_empty_source_has_no_zero_gradient():
    v = tf.Variable(np.zeros((0, 3), np.float32))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v)
    assert tape.show(target=loss).data["findings"] == []


@pytest.mark.parametrize(("value", "mark"), [(0.0, "Inf"), (-1.0, "NaN")])
def test_the_mark_says_which_it_is(value, mark):
    v = tf.Variable(value)
    with tf.GradientTape() as tape:
        loss = tf.math.log(v)
    assert tape.show(target=loss).data["findings"][0]["mark"] == mark


def test_a_page_is_saved_and_says_where(tmp_path):
    tape, loss, _ = network()
    path = tmp_path / "tape.html"
    page = tape.show(path, target=loss)
    assert path.read_text(encoding="utf-8") == page.html
    ops = page.data["totals"]["ops"]
    assert repr(page) == f"<TapePage: {ops} ops, nothing found, in {path}>"
    assert repr(tape.show()) == f"<TapePage: {ops} ops, nothing found>"
