"""`tape.memory()`: its totals are what freeing the tape gives back, and its rows say who asked.

`tracemalloc` sees NumPy's buffers, and JAX counts its own. Arrays are large, so that Python's own
objects do not matter.
"""

import gc
import html.parser
import inspect
import tracemalloc

import numpy as np
import pytest

import gradtape as tf

RNG = np.random.default_rng(0)
TOLERANCE = 0.02


def random(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def line_of(function, text):
    """The number of the line of a function's source that contains `text`."""
    lines, start = inspect.getsourcelines(function)
    (found,) = [start + i for i, line in enumerate(lines) if text in line and "line_of" not in line]
    return found


# Programs: each gives its tape, and what its user keeps beside it.


def mlp():
    x, weights = tf.constant(random(256, 400)), [tf.Variable(random(400, 400)) for _ in range(4)]
    with tf.GradientTape() as tape:
        for w in weights:
            x = tf.nn.relu(x @ w) + tf.tanh(x)
        loss = tf.reduce_mean(tf.square(x))
    return tape, [loss, weights]


def mlp_whose_user_keeps_a_layer():
    x, w = tf.constant(random(500, 400)), tf.Variable(random(400, 400))
    with tf.GradientTape() as tape:
        hidden = tf.tanh(x @ w)
        loss = tf.reduce_sum(tf.exp(hidden) * hidden)
    return tape, [loss, hidden, w]


def convolution():
    images, filters = tf.constant(random(8, 32, 32, 8)), tf.Variable(random(3, 3, 8, 16))
    with tf.GradientTape() as tape:
        y = tf.nn.conv2d(images, filters, strides=1, padding="SAME")
        y = tf.nn.max_pool2d(tf.nn.relu(y), 2, 2, "VALID")
        loss = tf.reduce_sum(y * y)
    return tape, [loss, filters]


def embeddings():
    table = tf.Variable(random(5000, 100))
    words = tf.constant(RNG.integers(0, 5000, (64, 50)))
    with tf.GradientTape() as tape:
        rows = tf.gather(table, words)
        loss = tf.reduce_sum(tf.sigmoid(rows) * tf.nn.embedding_lookup(table, words[:, :1]))
    return tape, [loss, table]


def views():
    x = tf.constant(random(1000, 500))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.exp(x)
        top, rest = y[:100], y[100:]
        z = tf.transpose(top) * tf.reshape(y, (500, 1000))[:, :100]
        parts = tf.split(rest, 3, axis=0)
        loss = tf.reduce_sum(z) + tf.reduce_sum(parts[0] * parts[1]) + tf.reduce_sum(parts[2] ** 3)
    return tape, [loss, x]


def broadcasting():
    x, row = tf.Variable(random(800, 1)), tf.Variable(random(1, 600))
    with tf.GradientTape() as tape:
        y = x * row
        wide = tf.broadcast_to(row, (800, 600))
        loss = tf.reduce_sum(y * wide / (1.0 + row * row))
    return tape, [loss, x, row]


def complex_numbers():
    x = tf.Variable(random(300, 300, dtype="complex64"))
    with tf.GradientTape() as tape:
        y = tf.signal.fft(x * x) * tf.exp(x)
        loss = tf.reduce_sum(tf.abs(y @ x))
    return tape, [loss, x]


def half_precision():
    x, w = (
        tf.constant(random(400, 300, dtype="float16")),
        tf.Variable(random(300, 300).astype("f2")),
    )
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.tanh(x @ w) * tf.cast(tf.exp(x), tf.float16))
    return tape, [loss, w]


def persistent_after_a_gradient():
    x = tf.constant(random(500, 500))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.sin(x) * tf.cos(x)
    tape.gradient(y, x)
    return tape, [x]


def recording_its_own_gradient():
    x = tf.constant(random(400, 400))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.sin(x) * x
        g = tape.gradient(y, x)
        loss = tf.reduce_sum(g * g)
    return tape, [loss, x]


def outer_of_two():
    x = tf.constant(random(400, 400))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.exp(x) * tf.sin(x)
        g = inner.gradient(y, x)
        loss = tf.reduce_sum(tf.square(g))
    return outer, [loss]


def inner_of_two():
    """What both recorded stays with the other one."""
    x, z = tf.constant(random(400, 400)), tf.constant(random(300, 300))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch([x, z])
            y = tf.reduce_sum(tf.exp(x)) + tf.reduce_sum(tf.exp(z) * z)
    return inner, [outer, y]


def assigned_over():
    v = tf.Variable(random(500, 500))
    with tf.GradientTape() as tape:
        y = v * v
        v.assign(random(500, 500))
        loss = tf.reduce_sum(y * v)
    return tape, [loss, v]


def variables_that_only_the_tape_has():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.Variable(random(500, 500)) + 1.0)
    return tape, [loss]


def a_gradient_of_ones_own():
    @tf.custom_gradient
    def f(x):
        e, _unused = tf.exp(x), tf.sin(x)
        return tf.math.log1p(e), lambda upstream: upstream * (e / (1.0 + e))

    x = tf.constant(random(500, 500))
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(f(x))
    return tape, [loss, x]


def recomputed():
    x = tf.constant(random(500, 500))
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.recompute_grad(lambda y: tf.exp(tf.sin(y)))(x + 1.0))
    return tape, [loss, x]


def a_dead_branch():
    x = tf.constant(random(500, 500))
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.exp(x))
        tf.sin(tf.exp(x + 1.0))
    return tape, [loss, x]


def sums_of_many():
    parts = [tf.Variable(random(200, 200)) for _ in range(8)]
    with tf.GradientTape() as tape:
        stacked = tf.stack([tf.tanh(part) for part in parts])
        loss = tf.reduce_sum(tf.einsum("nij,njk->nik", stacked, stacked))
    return tape, [loss, parts]


def keras_model():
    keras = pytest.importorskip("keras")
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="gelu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(10),
        ]
    )
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(random(16, 32, 32, 3), training=True)))
    return tape, [loss, model]


PROGRAMS = [
    mlp, mlp_whose_user_keeps_a_layer, convolution, embeddings, views, broadcasting,
    complex_numbers, half_precision, persistent_after_a_gradient, recording_its_own_gradient,
    outer_of_two, inner_of_two, assigned_over, variables_that_only_the_tape_has,
    a_gradient_of_ones_own, recomputed, a_dead_branch, sums_of_many, keras_model,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_total_is_what_freeing_the_tape_gives_back(program):
    program()  # what is made once, such as written calls, is made
    gc.collect()
    tracemalloc.start()
    try:
        tape, kept = program()
        gc.collect()
        found = tape.memory()
        before = tracemalloc.get_traced_memory()[0]
        del tape
        freed = before - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept
    assert found.total > 100_000
    assert freed == pytest.approx(found.total, rel=TOLERANCE)


def live_bytes():
    import jax

    return sum(array.nbytes for array in {id(a): a for a in jax.live_arrays()}.values())


@pytest.mark.parametrize("orders", [1, 2])
def test_residuals_of_a_compiled_function_are_counted(orders):
    w = tf.Variable(random(400, 400))

    @tf.function
    def f(x):
        for _ in range(3):
            x = tf.tanh(x @ w) * tf.exp(-x)
        return x

    def run():
        with tf.GradientTape() as tape:
            y = tf.constant(random(300, 400))
            for _ in range(orders):
                y = f(y)
            loss = tf.reduce_sum(y)
        return tape, loss

    run()
    gc.collect()
    tape, loss = run()
    del loss
    found = tape.memory()
    on_xla = sum(row.bytes for row in found.rows if "f" in row.op and row.op != "reduce_sum")
    rows = {str(asked) for row in found.rows for asked in row.asked}
    assert "residual" in rows
    assert found.total >= 3 * 300 * 400 * 4
    before = live_bytes()
    del tape
    gc.collect()
    assert before - live_bytes() == pytest.approx(on_xla, rel=TOLERANCE)


# Rows


def test_a_row_says_which_line_and_which_rule():
    def program():
        a, b = tf.Variable(random(100, 200)), tf.Variable(random(200, 300))
        with tf.GradientTape() as tape:
            product = tf.matmul(tf.exp(a), b)
            y = tf.tanh(product)
        del product
        return tape, y, (a, b)

    tape, y, _variables = program()
    found = tape.memory()
    rows = {row.op: row for row in found.rows if row.bytes}
    exp = rows["exp"]
    assert (exp.bytes, exp.shared, exp.shape, exp.dtype) == (80_000, 0, (100, 200), "float32")
    assert exp.file == __file__
    assert exp.line == line_of(program, "tf.matmul(tf.exp(a), b)")
    assert exp.function.endswith("program")
    assert [str(asked) for asked in exp.asked] == ["out for x"]
    assert [where.partition(" ")[0] for where in exp.also] == ["matmul"]
    shared = {row.op: row for row in found.rows if row.shared}
    assert [str(asked) for asked in shared["matmul"].asked] == ["b for a"]
    assert shared["tanh"].shared == y.array.nbytes


def test_rows_and_lines_come_largest_first_and_add_up():
    tape, _kept = views()
    found = tape.memory()
    for rows in (found.rows, found.lines()):
        assert [row.bytes for row in rows] == sorted((row.bytes for row in rows), reverse=True)
        assert sum(row.bytes for row in rows) == found.total
        assert sum(row.shared for row in rows) == found.shared
    assert any("tf.exp(x)" in line.source for line in found.lines())


def test_a_buffer_that_several_ops_saved_counts_once():
    x = tf.constant(random(100, 100))
    with tf.GradientTape() as tape:
        tape.watch(x)
        e = tf.exp(x)
        y = e * e * e * tf.transpose(e) * e[:, :1]
        del e
    (row,) = [row for row in tape.memory().rows if row.op == "exp"]
    assert (row.bytes, row.buffers) == (40_000, 1)
    assert y is not None


def test_a_small_view_keeps_its_whole_buffer():
    x = tf.constant(random(1000, 100))
    with tf.GradientTape() as tape:
        tape.watch(x)
        corner = (x + 1.0)[:2, :3]
        y = corner * corner
    del corner
    (row,) = tape.memory().rows
    assert (row.shape, row.view_of, row.bytes) == ((2, 3), (1000, 100), 400_000)
    assert "view of [1000, 100]" in str(tape.memory())
    assert y is not None


def test_broadcast_views_count_what_they_show():
    x = tf.constant(random(1, 100))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.exp(tf.broadcast_to(x + 1.0, (1000, 100)) * 2.0)
        wide = tf.broadcast_to(x + 2.0, (1000, 100))
        z = wide * wide
    del wide
    (row,) = [row for row in tape.memory().rows if row.op == "multiply"]
    assert (row.bytes, row.shape, row.view_of) == (400, (1000, 100), (1, 100))
    assert y is not None
    assert z is not None


def test_what_a_gradient_function_captures_has_its_name():
    @tf.custom_gradient
    def f(x):
        factor = tf.constant(random(100, 100))
        return tf.identity(x), lambda upstream: upstream * factor

    x = tf.constant(random(100, 100))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    (row,) = [row for row in tape.memory().rows if row.bytes]
    assert row.op.endswith("f")
    assert [str(asked) for asked in row.asked] == ["captured factor"]
    assert y is not None


def test_what_a_user_still_has_is_shared():
    x = tf.constant(random(100, 100))
    with tf.GradientTape() as tape:
        tape.watch(x)
        e = tf.exp(x)
    assert (tape.memory().total, tape.memory().shared) == (0, 40_000)
    del e
    assert (tape.memory().total, tape.memory().shared) == (40_000, 0)


def test_an_array_that_hides_in_an_object_is_found():
    class Box:
        def __init__(self, content):
            self.content = content

    @tf.custom_gradient
    def f(x):
        box = Box({"deep": [random(100, 100)]})
        return tf.identity(x), lambda upstream: upstream * box.content["deep"][0]

    x = tf.constant(random(100, 100))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    found = tape.memory()
    assert found.total == 40_000
    assert found.rows[0].op.endswith("f")
    assert y is not None


def test_asking_changes_nothing():
    x = tf.constant(random(50, 50))
    with tf.GradientTape() as tape:
        tape.watch(x)
        while_recording = tape.memory().total
        y = tf.exp(x) * tf.sin(x)
        assert tape.memory().total > while_recording == 0
    first, second = tape.memory(), tape.memory()
    assert first.rows == second.rows
    expected = np.exp(x.numpy()) * (np.sin(x.numpy()) + np.cos(x.numpy()))
    np.testing.assert_allclose(tape.gradient(y, x), expected, rtol=1e-4, atol=1e-5)


# Tapes that keep nothing


def test_a_tape_that_was_never_entered():
    found = tf.GradientTape().memory()
    assert (found.total, found.shared, found.rows, found.lines()) == (0, 0, [], [])
    assert str(found) == "This tape keeps nothing alive: it has recorded nothing."


def test_an_empty_tape():
    with tf.GradientTape() as tape:
        assert "no op so far" in str(tape.memory())
    assert tape.memory().total == 0


def test_rules_that_need_nothing():
    x = tf.constant(random(100, 100))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x + x
    assert "need no arrays" in str(tape.memory())
    assert y is not None


def test_a_tape_that_is_used_up():
    x = tf.constant(random(100, 100))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.exp(x)
    tape.gradient(y, x)
    assert tape.memory().total == 0
    assert "used up by an earlier gradient()" in tape.memory().why


def test_a_tape_in_a_function_that_is_traced():
    said = []

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.exp(x)
            said.append(str(tape.memory()))
        return tape.gradient(y, x)

    f(tf.constant(random(10)))
    assert said
    assert "XLA plans the memory" in said[0]


# As text and as HTML


def test_the_text_is_a_table():
    tape, _kept = mlp()
    heading, empty, columns, *rows = str(tape.memory()).splitlines()
    assert heading.startswith("This tape alone keeps ")
    assert "have other holders too" in heading
    assert empty == ""
    assert columns.split()[:4] == ["bytes", "shared", "buffers", "line"]
    assert len(rows) == len(tape.memory().rows)
    assert all("test_memory.py:" in row for row in rows)


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)


def test_hostile_text_is_escaped():
    hostile = "<script>alert(1)<script>"
    namespace = {"tf": tf, "x": tf.constant(random(10, 10))}
    code = f"with tf.GradientTape() as tape:\n    tape.watch(x)\n    y = tf.exp(x)  # {hostile}\n"
    exec(compile(code, f"{hostile}\n.py", "exec"), namespace)
    found = namespace["tape"].memory()
    shown = found._repr_html_()
    parser = Tags()
    parser.feed(shown)
    assert set(parser.found) == {"p", "table", "thead", "tbody", "tr", "th", "td"}
    assert "&lt;script&gt;" in shown
    assert len(str(found).splitlines()) == 4  # a line break in a name breaks no row
