"""`gradtape.profile`: what it counts, what it leaves as it was, and what it writes.

Times are never compared with anything but zero.
"""

import html.parser
import inspect
import itertools
import json
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.thread import here
from gradtape.inspect import profile as profile_module
from gradtape.inspect import timeline
from tests.moments import RAISES_WHERE_SIGNALS_DO, at_moment

RNG = np.random.default_rng(0)


def random(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def line_of(function, text):
    lines, start = inspect.getsourcelines(function)
    (found,) = [start + i for i, line in enumerate(lines) if text in line and "line_of" not in line]
    return found


def hooks():
    """What a thread looks up."""
    state = here.state
    return (
        state.run, state.run_on_xla, state.checker, state.around_walk, state.around_call,
        state.observers,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def everything_as_before():
    before = hooks()
    yield
    assert hooks() == before


def counts(profile):
    """Calls and pulls by op, without what counts neither."""
    found = {}
    for row in profile.rows:
        calls, pulls = found.get(row.op, (0, 0))
        found[row.op] = calls + row.calls, pulls + row.pulls
    return {op: both for op, both in found.items() if any(both)}


def train(x, weights):
    with tf.GradientTape() as tape:
        for w in weights:
            x = tf.tanh(x @ w)
        loss = tf.reduce_sum(x)
    return tape.gradient(loss, weights)


# What it counts


def test_rows_by_line_and_op():
    x, weights = tf.constant(random(10, 20)), [tf.Variable(random(20, 20)) for _ in range(3)]
    with tf.profile() as p:
        train(x, weights)
    assert counts(p) == {"matmul": (3, 3), "tanh": (3, 3), "reduce_sum": (1, 1)}
    (matmul,) = [row for row in p.rows if row.op == "matmul"]
    assert (matmul.file, matmul.function) == (__file__, "train")
    assert matmul.line == line_of(train, "tf.tanh(x @ w)")
    assert min(matmul.forward, matmul.backward) > 0 == matmul.compiling
    # Three results; back, three gradients of weights and two of what came before them.
    assert matmul.bytes == 4 * (3 * 200 + 3 * 400 + 2 * 200)
    (walk,) = [row for row in p.rows if row.op == "gradient"]
    assert walk.line == line_of(train, "tape.gradient")
    assert walk.backward > 0
    assert sum(row.forward + row.backward + row.compiling for row in p.rows) <= p.seconds


def test_the_gradients_are_the_same():
    x, weights = tf.constant(random(10, 20)), [tf.Variable(random(20, 20)) for _ in range(2)]
    plain = train(x, weights)
    with tf.profile():
        profiled = train(x, weights)
    for g, h in zip(plain, profiled, strict=True):
        np.testing.assert_array_equal(g, h)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_dtypes_and_higher_orders(dtype):
    x = tf.Variable(random(4, 4, dtype=dtype))

    def second():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(tf.exp(x) * x)
            g = inner.gradient(y, x)
            z = tf.reduce_sum(g * g)
        return outer.gradient(z, x)

    expected = second()
    with tf.profile() as p:
        found = second()
    np.testing.assert_array_equal(found, expected)
    assert counts(p)["exp"][0] == 1
    assert counts(p)["exp"][1] == 2  # of the inner walk, and of the outer
    assert sum(row.op == "gradient" for row in p.rows) == 2


def test_what_a_rule_calls_is_the_rules_time():
    @tf.custom_gradient
    def f(x):
        return tf.identity(x), lambda upstream: upstream * tf.sin(tf.cos(upstream))

    x = tf.constant(random(5))
    with tf.profile() as p:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        tape.gradient(y, x)
    assert not {"sin", "cos"} & counts(p).keys()
    (rule,) = [row for row in p.rows if row.op.endswith(".f")]
    assert (rule.calls, rule.pulls) == (0, 1)


def test_bytes_of_views_are_not_made():
    x = tf.constant(random(100, 100))
    with tf.profile() as p:
        y = tf.reshape(tf.transpose(x), (50, 200))[:10]
        z = tf.exp(x)
    made = {row.op: row.bytes for row in p.rows}
    assert made["exp"] == z.array.nbytes
    assert made["transpose"] == made["getitem"] == 0
    assert y is not None


def test_large_arrays_that_threads_share_keep_the_name_of_the_op():
    x = tf.constant(np.ones(2**20, np.float32))
    with tf.profile() as p:
        tf.exp(x)
    assert counts(p) == {"exp": (1, 0)}


def test_jacobians_are_the_same_and_have_a_row():
    x = tf.constant(random(6))
    results = []
    for profile in (None, tf.profile()):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) * tf.reduce_sum(x)
        if profile is None:
            results.append(tape.jacobian(y, x))
        else:
            with profile:
                results.append(tape.jacobian(y, x))
            assert [row.op for row in profile.rows if row.backward] == ["jacobian"]
    np.testing.assert_array_equal(*results)


def test_entered_again_it_adds_up():
    p = tf.profile()
    for _ in range(3):
        with p:
            tf.exp(1.0)
    assert counts(p) == {"exp": (3, 0)}


def test_it_can_be_asked_while_it_is_on():
    with tf.profile() as p:
        tf.exp(1.0)
        assert counts(p) == {"exp": (1, 0)}
        assert p.seconds > 0
        tf.exp(1.0)
    assert counts(p) == {"exp": (2, 0)}


def test_of_many_events_the_sums_are_the_same(monkeypatch):
    monkeypatch.setattr(profile_module, "_FULL", 5)
    monkeypatch.setattr(timeline, "_TRACED", 20)
    x, weights = tf.constant(random(4, 4)), [tf.Variable(random(4, 4)) for _ in range(3)]

    @tf.function
    def compiled(x):
        return tf.tanh(x)

    with tf.profile() as p:
        for _ in range(10):
            train(x, weights)
            compiled(x)
    found = {op.rpartition(".")[2]: both for op, both in counts(p).items()}
    assert found == {
        "matmul": (30, 30), "tanh": (30, 30), "reduce_sum": (10, 10), "compiled": (10, 0),
    }  # fmt: skip
    assert len(p._timeline._events) == 20
    assert p._timeline._left_out > 100


# What it leaves as it was


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_ends_it(error):
    before = hooks()
    with pytest.raises(error), tf.profile() as p:
        tf.exp(1.0)
        raise error
    assert hooks() == before
    assert counts(p) == {"exp": (1, 0)}


def test_an_error_of_an_op_is_what_it_was():
    with tf.profile() as p, pytest.raises(tf.errors.InvalidArgumentError, match="matmul"):
        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
    assert counts(p).get("matmul") is None


def test_an_error_in_a_walk_leaves_the_rules():
    @tf.custom_gradient
    def bad(x):
        def grad(upstream):
            raise OSError

        return tf.identity(x), grad

    x = tf.constant(1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.exp(x)
        z = bad(y)
    rules = [node.rule for node in tape.scope.nodes]
    with tf.profile() as p:
        with pytest.raises(OSError):
            tape.gradient(z, x)
        tape.gradient(y, x)
    assert [node.rule for node in tape.scope.nodes] == rules
    assert counts(p)["exp"] == (0, 1)


@RAISES_WHERE_SIGNALS_DO
def test_a_signal_at_any_moment_leaves_nothing_on():
    class Stopped(BaseException):
        pass

    def stop():
        raise Stopped

    def block():
        with tf.profile(), tf.GradientTape() as tape:
            x = tf.Variable(2.0)
            y = tf.exp(x)
        tape.gradient(y, x)

    block()
    before, number = hooks(), 0
    while True:
        number += 1
        try:
            at_moment(number, stop, block)
        except Stopped:
            assert hooks() == before
        else:  # there are no more
            break
    assert number > 50


KINDS = ("first", "second", "checks")
ORDERS = list(itertools.permutations(KINDS))


class Both:
    """Two profiles and the checks of numbers, each on or off."""

    def __init__(self):
        self.profiles = {"first": tf.profile(), "second": tf.profile()}
        self.on = set()
        self.expected = dict.fromkeys(self.profiles, 0)

    def begin(self, kind):
        self.on.add(kind)
        if kind == "checks":
            tf.debugging.enable_check_numerics()
        else:
            self.profiles[kind].enter()

    def end(self, kind):
        self.on.discard(kind)
        if kind == "checks":
            tf.debugging.disable_check_numerics()
        else:
            self.profiles[kind].leave()

    def try_out(self):
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.exp(x)
        tape.gradient(y, x)
        for kind in self.profiles.keys() & self.on:
            self.expected[kind] += 1
        if "checks" in self.on:
            with pytest.raises(tf.errors.InvalidArgumentError, match="Inf"):
                tf.math.log(tf.constant([0.0]))
        else:
            assert np.isinf(tf.math.log(tf.constant([0.0])).numpy())


@pytest.mark.parametrize("out", ORDERS)
@pytest.mark.parametrize("into", ORDERS)
def test_profiles_and_checks_begin_and_end_in_any_order(into, out):
    before, both = hooks(), Both()
    for kind in into:
        both.begin(kind)
        both.try_out()
    for kind in out:
        both.end(kind)
        both.try_out()
    assert hooks() == before
    for kind, profile in both.profiles.items():
        assert counts(profile)["exp"] == (both.expected[kind], both.expected[kind])
        assert "not_finite" not in counts(profile)


def test_a_profile_that_is_on_cannot_be_entered():
    with tf.profile() as p, pytest.raises(ValueError, match="make another one"), p:
        pass


@pytest.mark.parametrize("around", [True, False])
def test_devices_and_profiles_in_either_order(around):
    before = hooks()
    if around:
        with tf.device("CPU:0"), tf.profile() as p:
            tf.exp(1.0)
    else:
        with tf.profile() as p, tf.device("CPU:0"):
            tf.exp(1.0)
    assert counts(p) == {"exp": (1, 0)}
    assert hooks() == before


def test_it_measures_its_own_thread_only():
    found = {}

    def other():
        with tf.profile() as p:
            tf.sin(1.0)
        found["other"] = counts(p)

    with tf.profile() as p:
        tf.exp(1.0)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert counts(p) == {"exp": (1, 0)}
    assert found == {"other": {"sin": (1, 0)}}


def test_it_cannot_end_in_another_thread():
    p, said = tf.profile(), []

    def other():
        try:
            p.leave()
        except RuntimeError as error:
            said.append(str(error))

    p.enter()
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    p.leave()
    assert said
    assert "entered in another thread" in said[0]


# Functions


def calls_of(profile, name):
    return sum(row.calls for row in profile.rows if row.op.endswith(name))


def test_a_function_is_one_call_and_is_not_traced_anew():
    v = tf.Variable(0.0)

    @tf.function
    def step(x):
        v.assign_add(1.0)
        return tf.tanh(x) * v

    x = tf.constant(random(10, 10))
    step(x), step(x)
    with tf.profile() as p:
        results = [step(x) for _ in range(3)]
    assert calls_of(p, "step") == 3
    assert p.compilations == []
    assert step.experimental_get_tracing_count() == 1
    assert v.numpy() == 5.0
    np.testing.assert_allclose(results[-1], np.tanh(x.numpy()) * 5.0, rtol=1e-6)
    (row,) = [row for row in p.rows if row.op.endswith("step")]
    assert row.bytes == 3 * 400


def test_compile_times_and_the_gradient_of_a_function():
    w = tf.Variable(random(5, 5))

    @tf.function
    def layer(x):
        return tf.tanh(x @ w)

    def program():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(tf.ones([3, 5])))
        return tape.gradient(loss, w)

    with tf.profile() as p:
        first = program()
    (row,) = [row for row in p.rows if row.op.endswith("layer")]
    assert (row.calls, row.pulls) == (1, 1)
    assert min(row.forward, row.backward, row.compiling) > 0
    assert row.line == line_of(program, "layer(tf.ones")
    (made,) = p.compilations
    assert min(made.tracing, made.compiling) > 0
    assert made.function.endswith("layer")
    assert (made.file, made.why) == (__file__, "it was called for the first time")
    # The line of the decorator, where the code of a decorated function begins.
    assert made.line == line_of(test_compile_times_and_the_gradient_of_a_function, "@tf.function")
    with tf.profile() as again:
        second = program()
    assert again.compilations == []
    np.testing.assert_array_equal(first, second)


def new_shape():
    f = tf.function(lambda x, n: x * n)
    f(tf.ones([2]), 3)
    return lambda: f(tf.ones([4]), 3), "'x' changed from float32[2] to float32[4]"


def new_dtype():
    f = tf.function(lambda x, n: x * n)
    f(tf.ones([2]), 3)
    return (
        lambda: f(tf.ones([2], tf.float64), 3),
        "'x' changed from float32[2] to float64[2]",
    )


def new_python_value():
    f = tf.function(lambda x, n: x * n)
    f(tf.ones([2]), 3)
    return lambda: f(tf.ones([2]), n=4), "'n' changed from 3 to 4"


def new_structure():
    f = tf.function(lambda parts: tf.add_n(parts))
    f([tf.ones([2])])
    return lambda: f([tf.ones([2]), tf.ones([2])]), "structure changed"


def new_strings():
    f = tf.function(lambda s: tf.shape(s))
    f(tf.constant(["a"]))
    return lambda: f(tf.constant(["b"])), "'s' changed from string[1] [b'a']"


def another_object():
    f = tf.function(lambda x, model: x * model.factor)

    class Model:
        factor = 2.0
        __hash__ = None

    kept = [Model(), Model()]
    f(tf.ones([2]), kept[0])
    return lambda: f(tf.ones([2]), kept[1]), "'model' changed from another object"


def followed_constant():
    factor = tf.constant([2.0, 3.0])
    f = tf.function(lambda x: x * factor)
    f(tf.ones([2]))

    def call():
        with tf.GradientTape() as tape:
            tape.watch(factor)
            f(tf.ones([2]))

    return call, "follows a Tensor of shape (2,) that was a constant"


def captured_variable_as_argument():
    v, w = tf.Variable([1.0]), tf.Variable([2.0])
    f = tf.function(lambda x: x + v)
    f(w)
    return lambda: f(v), "also reaches without its arguments"


def dropped():
    f = tf.function(lambda x: x + 1.0)
    before = tf.config.get_programs_per_function()
    tf.config.set_programs_per_function(2)
    try:
        for size in (1, 2, 3):
            f(tf.ones([size]))
    finally:
        tf.config.set_programs_per_function(before)
    return lambda: f(tf.ones([1])), "was dropped"


REASONS = [
    new_shape, new_dtype, new_python_value, new_structure, new_strings, another_object,
    followed_constant, captured_variable_as_argument, dropped,
]  # fmt: skip


@pytest.mark.parametrize("reason", REASONS)
def test_why_a_function_was_traced_again(reason, caplog):
    call, expected = reason()
    with tf.profile() as p:
        call()
    assert [expected in made.why for made in p.compilations] == [True], p.compilations
    assert expected in p.table(limit=None)


def test_functions_of_every_kind_are_calls():
    def double(x):
        return x * 2.0

    f = tf.function(double)
    concrete = f.get_concrete_function(tf.TensorSpec([2]))
    opened = f.get_concrete_function(tf.TensorSpec([None]))
    x = tf.ones([2])
    with tf.profile() as p:
        f(x), concrete(x), opened(x), f(x=x)
    assert calls_of(p, "double") == 4


def test_functions_with_checks_are_called_with_checks():
    f = tf.function(lambda x: tf.math.log(x))
    f(tf.constant([1.0]))
    tf.debugging.enable_check_numerics()
    try:
        with tf.profile() as p, pytest.raises(tf.errors.InvalidArgumentError, match="Inf"):
            f(tf.constant([0.0]))
    finally:
        tf.debugging.disable_check_numerics()
    assert calls_of(p, "<lambda>") == 1
    assert np.isinf(f(tf.constant([0.0])).numpy())


def test_functions_that_run_op_by_op_show_their_ops():
    @tf.function
    def unique(x):
        return tf.reduce_sum(tf.exp(tf.boolean_mask(x, x > 0.0)))

    x = tf.constant([1.0, -1.0, 2.0])
    unique(x)
    with tf.profile() as p:
        unique(x)
    assert calls_of(p, "unique") == 1
    (exp,) = [row for row in p.rows if row.op == "exp"]
    assert exp.line == line_of(test_functions_that_run_op_by_op_show_their_ops, "tf.exp(tf.boolean")


def test_a_step_of_keras():
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with tf.profile() as p:
        model.fit(random(8, 4), random(8, 1), batch_size=4, verbose=0)
    assert any(row.calls >= 2 and row.compiling > 0 for row in p.rows)
    assert p.compilations


# As text and as HTML


def test_tables():
    x, weights = tf.constant(random(10, 20)), [tf.Variable(random(20, 20)) for _ in range(3)]
    with tf.profile() as p:
        train(x, weights)
    heading, empty, columns, *rows = p.table().splitlines()
    assert heading.startswith("7 calls and 7 pulls took ")
    assert empty == ""
    assert columns.split() == [
        "time", "forward", "backward", "compiling", "calls", "pulls", "made", "op", "line",
        "source",
    ]  # fmt: skip
    assert len(rows) == 4
    assert sum("test_profile.py:" in row for row in rows) == 4
    assert "x = tf.tanh(x @ w)" in str(p)
    by_op = p.table(by="op", sort="calls").splitlines()
    assert "source" not in by_op[2]
    assert {by_op[3].split()[-1], by_op[4].split()[-1]} == {"matmul", "tanh"}
    assert "The first 1 of 4 rows" in p.table(limit=1)
    assert len(p.table(limit=1).splitlines()) == 4


@pytest.mark.parametrize("sort", ["time", "forward", "backward", "compiling", "calls", "bytes"])
def test_rows_are_sorted(sort):
    with tf.profile() as p:
        for size in (1, 10, 100):
            tf.exp(tf.ones([size])) * tf.sin(tf.ones([size]))
    assert p.table(sort=sort).count("test_profile.py") == len(p.rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"by": "file"}, "by must be 'line' or 'op', got 'file'"), ({"sort": "x"}, "sort must be")],
)
def test_wrong_options_of_a_table(options, message):
    with pytest.raises(ValueError, match=message):
        tf.profile().table(**options)


def test_a_profile_of_nothing():
    with tf.profile() as p:
        pass
    assert (p.rows, p.compilations, p.sections) == ([], [], [])
    assert p.table().startswith("0 calls and 0 pulls took 0 of ")
    assert "<table>" not in p._repr_html_()


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = set()

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)


def test_hostile_text_is_escaped(tmp_path):
    hostile = "<script>alert(1)<script>"
    namespace = {"tf": tf, "x": tf.constant(1.0)}
    with tf.profile() as p:
        exec(compile("tf.exp(x)", f'{hostile}\n".py', "exec"), namespace)
    parser = Tags()
    parser.feed(p._repr_html_())
    assert parser.found == {"p", "table", "thead", "tbody", "tr", "th", "td"}
    assert "&lt;script&gt;" in p._repr_html_()
    assert len(p.table().splitlines()) == 4
    p.to_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    assert any(hostile in event["args"].get("line", "") for event in trace["traceEvents"])


# For Perfetto

SCHEMA = {
    "X": {
        "name": str, "cat": str, "ph": str, "ts": (int, float), "dur": (int, float), "pid": int,
        "tid": int, "args": dict,
    },
    "M": {"name": str, "ph": str, "ts": (int, float), "pid": int, "tid": int, "args": dict},
}  # fmt: skip


def check_trace(trace):
    """Refuses what is no trace in Chrome's format, or whose events overlap without nesting."""
    assert trace.keys() >= {"traceEvents", "displayTimeUnit"}
    assert trace["displayTimeUnit"] in ("ms", "ns")
    for event in trace["traceEvents"]:
        fields = SCHEMA[event["ph"]]
        assert event.keys() == fields.keys(), event
        for name, kinds in fields.items():
            assert isinstance(event[name], kinds), (name, event)
        assert event["ts"] >= 0
        assert event.get("dur", 0) >= 0
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    stack = []
    for event in sorted(spans, key=lambda e: (e["tid"], e["ts"], -e["dur"])):
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"] + 1e-6:
            stack.pop()
        if stack:
            outer = stack[-1]
            assert outer["ts"] + outer["dur"] >= event["ts"] + event["dur"] - 1e-3, (outer, event)
        stack.append(event)
    return spans


def inside(outer, event):
    return outer["ts"] <= event["ts"] and (
        event["ts"] + event["dur"] <= outer["ts"] + outer["dur"] + 1e-3
    )


def test_a_trace_for_perfetto(tmp_path):
    w = tf.Variable(random(4, 4))
    layer = tf.function(lambda x: tf.tanh(x @ w))
    with tf.profile() as p:
        for step in range(2):
            with tf.profiler.experimental.Trace("step", step_num=step, note="<&>"):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(tf.exp(layer(tf.ones([2, 4]))))
                tape.gradient(loss, w)
    path = tmp_path / "trace.json"
    p.to_chrome_trace(path)
    spans = check_trace(json.loads(path.read_text(encoding="utf-8")))
    by_kind = {}
    for event in spans:
        by_kind.setdefault(event["cat"], []).append(event)
    assert by_kind.keys() == {
        "forward", "backward", "call", "walk", "trace", "compile", "section",
    }  # fmt: skip
    first, second = by_kind["section"]
    assert (first["name"], second["args"]) == ("step", {"step_num": "1", "note": "<&>"})
    walks = by_kind["walk"]
    assert len(walks) == 2
    for event in by_kind["backward"]:
        assert any(inside(walk, event) for walk in walks)
        assert event["name"].endswith("(backward)")
    for event in by_kind["forward"]:
        assert inside(first, event) or inside(second, event)
        assert f"{__file__}:" in event["args"]["line"]
    (traced,) = by_kind["trace"]
    assert any(inside(call, traced) for call in by_kind["call"])
    assert traced["args"]["why"] == "it was called for the first time"


@pytest.mark.parametrize(
    "wrong",
    [
        {"ts": "0"},
        {"dur": -1.0},
        {"tid": None},
        {"ph": "Z"},
        {"ts": 5.0, "dur": 10.0},
        {"extra": 1},
    ],
)
def test_the_checker_of_traces_refuses_wrong_ones(wrong):
    right = {"name": "a", "cat": "c", "ph": "X", "ts": 0.0, "dur": 9.0, "pid": 1, "tid": 1,
             "args": {}}  # fmt: skip
    check_trace({"traceEvents": [right, right], "displayTimeUnit": "ms"})
    with pytest.raises((AssertionError, KeyError)):
        check_trace({"traceEvents": [right, right | wrong], "displayTimeUnit": "ms"})


def test_sections_without_a_profile_do_nothing():
    with tf.profiler.experimental.Trace("alone"):
        assert tf.exp(0.0).numpy() == 1.0


def test_sections_nest_and_end_with_exceptions():
    with tf.profile() as p, pytest.raises(ValueError), tf.profiler.experimental.Trace("outer"):
        with tf.profiler.experimental.Trace("inner", kind="a") as inner:
            inner.set_metadata(size=3)
        raise ValueError
    assert [section.name for section in p.sections] == ["inner", "outer"]
    assert p.sections[0].about == {"kind": "a", "size": 3}
    assert p.sections[1].seconds >= p.sections[0].seconds > 0


def test_a_limit_below_zero_is_refused():
    with tf.profile() as p:
        tf.exp(tf.constant(1.0))
    with pytest.raises(ValueError, match="limit must be a number of rows, 0 or more"):
        p.table(limit=-1)
