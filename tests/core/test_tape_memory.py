"""What a recording keeps alive, and when it lets go of it.

`tracemalloc` sees NumPy's buffers, so sizes are measured in arrays of 4 MB; lifetimes are watched
with weak references.
"""

import contextlib
import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import gradtape as tf
from gradtape.core import repeats

ELEMENTS = 1_000_000
ARRAY = 4 * ELEMENTS  # bytes of a float32 array
SOME = 200_000  # bytes of Nodes, frames and other small things


def large(value=0.5):
    return tf.Variable(np.full(ELEMENTS, value, np.float32))


class Memory:
    """Counts, in large arrays, what is alive now and what was alive at most."""

    def __init__(self):
        self._before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()

    def _arrays(self, size):
        return round((size - self._before - SOME) / ARRAY + 0.4999)

    @property
    def now(self):
        return self._arrays(tracemalloc.get_traced_memory()[0])

    @property
    def peak(self):
        return self._arrays(tracemalloc.get_traced_memory()[1])


@pytest.fixture
def memory():
    gc.collect()
    tracemalloc.start()
    try:
        yield Memory()
    finally:
        tracemalloc.stop()


@contextlib.contextmanager
def without_collector():
    """Leaves everything to reference counting."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def nodes_behind(tensor):
    """Weak references to the Nodes from which a tensor was computed, its own first."""
    seen, stack = [], [tensor.node]
    while stack:
        node = stack.pop()
        if node is not None and all(node is not other for other in seen):
            seen.append(node)
            stack.extend(node.parents)
    return [weakref.ref(node) for node in seen]


def alive(references):
    return sum(reference() is not None for reference in references)


# While recording


def test_the_measure_counts_arrays(memory):
    kept = [np.zeros(ELEMENTS, np.float32) for _ in range(3)]
    assert memory.now == len(kept)
    kept.clear()
    assert (memory.now, memory.peak) == (0, 3)


@pytest.mark.parametrize(
    "step",
    [
        lambda y: y + 1.0,
        lambda y: 1.0 - y,
        lambda y: -y,
        lambda y: tf.reshape(y, [-1]),
        lambda y: tf.cast(y, tf.float32) + y,
    ],
    ids=["y + 1", "1 - y", "-y", "reshape", "y + y"],
)
def test_a_chain_whose_rules_save_nothing_holds_three_arrays(memory, step):
    x = large()
    with tf.GradientTape() as tape:
        y = x + 1.0
        for _ in range(50):
            y = step(y)
    assert memory.peak <= 3
    assert memory.now <= 2  # the variable and the result
    assert tape.gradient(y, x) is not None


def test_a_chain_whose_rule_saves_the_output_holds_one_array_for_each_op(memory):
    x = large()
    with tf.GradientTape() as tape:
        y = x + 0.0
        for _ in range(10):
            y = tf.tanh(y)
    assert memory.now == 1 + 10
    del tape, y


def test_a_product_saves_an_operand_only_if_the_other_one_needs_it(memory):
    x = large()
    with tf.GradientTape():
        y = x + 0.0
        for _ in range(10):
            y = y * 2.0
    assert memory.now <= 2


def test_nothing_is_saved_outside_a_tape(memory):
    y = large()
    for _ in range(10):
        y = tf.tanh(y)
    assert memory.now <= 1


def test_large_branches_that_lead_nowhere_are_freed_while_recording_goes_on(memory):
    x = large()
    with without_collector(), tf.GradientTape() as tape:
        y = tf.tanh(x)
        for _ in range(100):
            tf.tanh(tf.tanh(y))
        assert memory.peak <= 2 + 2 + 2**25 // ARRAY + 2
        z = y * y
    assert tape.gradient(z, x) is not None


def test_branches_that_lead_nowhere_are_freed_beside_large_ones_that_do_not(memory):
    x = large()
    with without_collector(), tf.GradientTape() as tape:
        y = x
        for _ in range(20):
            y = tf.tanh(y)
        for _ in range(100):
            tf.tanh(tf.tanh(y))
        assert memory.peak <= 1 + 20 + 2 + 2 * (20 + 2**25 // ARRAY)
    del tape, y
    assert memory.now <= 1


def test_many_small_branches_that_lead_nowhere_are_freed_while_recording_goes_on():
    x = tf.Variable([0.5])
    with without_collector(), tf.GradientTape() as tape:
        y = tf.tanh(x)
        references = [weakref.ref(tf.exp(y * y).node) for _ in range(5_000)]
        assert alive(references) < 1_000
        z = y * y
    assert tape.gradient(z, x) is not None


def test_a_result_that_no_rule_saved_is_freed_while_recording_goes_on():
    x = tf.Variable([0.5])
    with without_collector(), tf.GradientTape() as tape:
        y = x + 1.0
        z = y + 1.0
        array, node = weakref.ref(y.array), weakref.ref(y.node)
        del y
        assert array() is None
        assert node() is not None  # the path to x goes through it
    assert tape.gradient(z, x).numpy().tolist() == [1.0]


# During and after the backward walk


def tanhs(x):
    y = tf.tanh(x)
    for _ in range(20):
        y = tf.tanh(y)
    return y


def sum_of_products(x):
    y = x * 2.0
    for _ in range(10):
        y = y * 2.0
    return tf.reduce_sum(y)


@pytest.fixture(params=["general", "written"])
def walks(request, monkeypatch):
    """The general walk, or one that is written out for these recordings."""
    monkeypatch.setattr(repeats, "_known", {})
    if request.param == "written":
        monkeypatch.setattr(repeats, "_OFTEN", 1)
        for model in (tanhs, sum_of_products):
            x = tf.Variable([0.5])
            with tf.GradientTape() as tape:
                y = model(x)
            tape.gradient(y, x)
        assert all(walks.written for walks in repeats._known.values())


@pytest.mark.usefixtures("walks")
def test_the_walk_lets_go_of_what_it_has_passed(memory):
    x = large()
    with tf.GradientTape() as tape:
        y = tanhs(x)
    recorded = memory.now
    tracemalloc.reset_peak()
    gradient = tape.gradient(y, x)
    # A cotangent and what the rule of tanh computes on the way to the next.
    assert memory.peak <= recorded + 4
    assert memory.now == 3  # variable, result and gradient
    del gradient


@pytest.mark.usefixtures("walks")
def test_the_walk_holds_a_cotangent_and_the_next_one(memory):
    x = large()
    with tf.GradientTape() as tape:
        loss = sum_of_products(x)
    recorded = memory.now
    tracemalloc.reset_peak()
    tape.gradient(loss, x)
    assert memory.peak <= recorded + 2


def test_nothing_of_the_recording_is_alive_after_the_gradient_although_the_loss_is():
    w, b = tf.Variable([[0.5, 0.25]]), tf.Variable([0.5])
    with without_collector():
        with tf.GradientTape() as tape:
            hidden = tf.tanh(tf.constant([[1.0], [2.0]]) @ w + b)
            loss = tf.reduce_sum(hidden * hidden)
        nodes = nodes_behind(loss)
        arrays = [weakref.ref(hidden.array)]
        del hidden
        assert alive(nodes) == len(nodes) > 5
        assert alive(arrays) == 1
        tape.gradient(loss, [w, b])
        assert alive(nodes[1:]) == 0
        assert alive(arrays) == 0
        assert loss.numpy() > 0


def test_a_persistent_tape_keeps_what_led_to_a_result_while_that_is_kept():
    x = tf.Variable([0.5])
    with without_collector():
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_sum(tf.tanh(tf.tanh(x)))
        nodes = nodes_behind(loss)
        tape.gradient(loss, x)
        assert alive(nodes) == len(nodes)
        del tape, loss
        assert alive(nodes) == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("persistent", [False, True], ids=["once", "persistent"])
@pytest.mark.parametrize(
    "differentiate", [True, False], ids=["differentiated", "never differentiated"]
)
def test_a_result_that_is_kept_keeps_nothing_of_a_recording_that_is_over(differentiate, persistent):
    x = tf.Variable([0.5, 0.25])
    with without_collector():
        with tf.GradientTape(persistent=persistent) as tape:
            hidden = tf.tanh(x)
            loss = tf.reduce_sum(tf.exp(hidden * hidden))
            metric = tf.reduce_max(tf.tanh(hidden))  # not on the way to the loss
        behind = [*nodes_behind(loss), *nodes_behind(metric)][1:]
        arrays = [weakref.ref(hidden.array)]
        own = weakref.ref(metric.node)
        if differentiate:
            tape.gradient(loss, x)
        del hidden, tape, loss
        assert alive(arrays) == 0
        assert [
            reference
            for reference in behind
            if reference() is not None and reference() is not own()
        ] == []
        assert own().parents == ()
        assert own().saved is None
        assert float(metric) > 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("nested", [False, True], ids=["alone", "inside another"])
@pytest.mark.parametrize(
    "differentiate", [True, False], ids=["differentiated", "never differentiated"]
)
def test_steps_that_keep_a_metric_take_no_more_memory(memory, differentiate, nested):
    x, kept = large(), []
    for _ in range(6):
        with (
            tf.GradientTape() as outer,
            tf.GradientTape() if nested else contextlib.nullcontext(outer) as tape,
        ):
            hidden = tf.tanh(x)
            loss = tf.reduce_sum(tf.exp(hidden * hidden))
            kept.append(tf.reduce_mean(tf.tanh(hidden) * hidden))
            kept.append(loss)
        if differentiate:
            tape.gradient(loss, x)
        del tape, outer, hidden
    assert memory.now <= 1


def test_the_inner_gradient_does_not_release_what_the_outer_tape_needs():
    x = tf.constant([2.0, 3.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.exp(x) * x
            z = y * y * x
        dx = inner.gradient(z, x)  # y and z belong to the outer tape too
    e, v = np.exp(np.array([2.0, 3.0])), np.array([2.0, 3.0])
    np.testing.assert_allclose(dx.numpy(), e**2 * v**2 * (3 + 2 * v), rtol=1e-5)
    expected = e**2 * v**2 * (3 + 2 * v) + e**2 * v * (6 + 12 * v + 4 * v**2)  # dz/dx + d(dz/dx)/dx
    np.testing.assert_allclose(outer.gradient([z, dx], x).numpy(), expected, rtol=1e-5)


def test_but_both_together_release_everything():
    x = tf.constant([2.0, 3.0])
    with without_collector():
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.exp(x) * x)
            dx = inner.gradient(y, x)
        nodes = nodes_behind(y) + nodes_behind(dx)
        outer.gradient([y, dx], x)
        kept = {id(tensor.node) for tensor in (x, y, dx)}
        assert [node() for node in nodes if node() is not None and id(node()) not in kept] == []


def test_a_gradient_is_freed_with_its_last_user(memory):
    x = large()
    for _ in range(3):
        with tf.GradientTape() as tape:
            y = tf.tanh(x)
        tape.gradient(y, x)
    del tape, y
    assert memory.now == 1


# Many tapes, long chains


def small_step(x):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.tanh(x * 2.0 + 1.0))
    tape.gradient(y, x)


def small_persistent(x):
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(tf.tanh(x))
        tape.watch(y)
    tape.gradient(y, x)
    tape.gradient(y, x)


def small_nested(x):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(x * x * x)
        dx = inner.gradient(y, x)
    outer.gradient(dx, x)


def small_failure(x):
    with contextlib.suppress(KeyError), tf.GradientTape():
        tf.tanh(x)
        raise KeyError


def small_unused(x):
    with tf.GradientTape():
        tf.tanh(x)


def small_watch(x):
    constant = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(constant)
        y = constant * x
    tape.gradient(y, constant)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "step", [small_step, small_persistent, small_nested, small_failure, small_unused, small_watch]
)
def test_thousands_of_small_tapes_do_not_grow_the_process(step):
    x = tf.Variable([0.5, 0.25])
    for _ in range(repeats._OFTEN + 50):  # so that its walk has been written out
        step(x)
    tracemalloc.start()
    try:
        step(x)
        gc.collect()  # which also empties Python's own lists of free tuples
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            step(x)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 10_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a tape that stays open"])
def test_a_watched_tensor_that_lives_long_does_not_collect_old_recordings(beside):
    x = tf.constant([0.5, 0.25])
    recordings = []
    with without_collector(), contextlib.ExitStack() as stack:
        if beside:
            stack.enter_context(tf.GradientTape()).watch(x)
        for _ in range(500 if beside else 10):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
            recordings.append(weakref.ref(tape.scope))
            tape.gradient(y, x)
        del tape, y
        assert alive(recordings) <= (250 if beside else 1)


def long_chain(length, **options):
    x = tf.Variable(1.0)
    with tf.GradientTape(**options) as tape:
        y = x * 1.0
        first = weakref.ref(y.node)
        for _ in range(length):
            y = y + 1.0
    return tape, x, y, first


@pytest.mark.parametrize("persistent", [False, True])
def test_a_chain_of_100_000_ops_is_differentiated_and_freed(persistent):
    with without_collector():
        tape, x, y, first = long_chain(100_000, persistent=persistent)
        assert first() is not None
        assert tape.gradient(y, x).numpy() == 1.0
        del tape, y
        assert first() is None


@pytest.mark.parametrize("persistent", [False, True])
def test_a_chain_of_100_000_ops_is_freed_without_a_gradient(persistent):
    with without_collector():
        tape, _, y, first = long_chain(100_000, persistent=persistent)
        del tape, y
        assert first() is None


# No reference cycles


def train(v, w):
    """A step of training, with an optimizer's update."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.tanh(tf.constant([[1.0, 2.0]]) @ w) + v) ** 2)
    for variable, gradient in zip((v, w), tape.gradient(loss, [v, w]), strict=True):
        variable.assign_sub(gradient * 0.1)


def evaluate(v, w):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w @ w) * v[0]
    return loss, tape


def second_order(v, w):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_sum(tf.exp(v) * v)
        dv = inner.gradient(loss, v)
    outer.gradient(dv, v)


def second_order_on_one_tape(v, w):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(v)
        dv = tape.gradient(tf.exp(v) * v, v)
    tape.gradient(dv, v)


def several_outputs(v, w):
    with tf.GradientTape() as tape:
        first, second = tf.split(w, 2)
        y = first * second + tf.unstack(w)[0]
    tape.gradient(y, w)


def sparse(v, w):
    with tf.GradientTape() as tape:
        y = tf.gather(w, [0, 0]) * 2.0
    tape.gradient(y, w)


def with_a_custom_gradient(v, w):
    @tf.custom_gradient
    def f(x):
        y = tf.exp(x)
        return y, lambda upstream: upstream * y

    with tf.GradientTape() as tape:
        y = f(v * 2.0)
    tape.gradient(y, v)


def with_recomputation(v, w):
    with tf.GradientTape() as tape:
        y = tf.recompute_grad(lambda x: tf.exp(x) * v)(v * 2.0)
    tape.gradient(y, v)


def jacobian(v, w):
    with tf.GradientTape() as tape:
        y = tf.exp(v)
    tape.jacobian(y, v)


def forward_mode(v, w):
    with tf.autodiff.ForwardAccumulator(v, tf.ones([2])) as accumulator:
        y = tf.exp(v) * v
    accumulator.jvp(y)


def stopped_and_reset(v, w):
    with tf.GradientTape() as tape:
        y = v * v
        with tape.stop_recording():
            z = y * y
        tape.reset()
        y = v * z
    tape.gradient(y, v)


def a_failed_gradient(v, w):
    with tf.GradientTape() as tape:
        y = v * v
    with contextlib.suppress(tf.errors.InvalidArgumentError):
        tape.gradient(y, v, tf.ones([5]))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "step",
    [
        train,
        evaluate,
        second_order,
        second_order_on_one_tape,
        several_outputs,
        sparse,
        with_a_custom_gradient,
        with_recomputation,
        jacobian,
        forward_mode,
        stopped_and_reset,
        a_failed_gradient,
    ],
)
def test_reference_counting_frees_everything(step):
    v, w = tf.Variable([0.5, 0.25]), tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    step(v, w)  # ops write themselves out at their first call
    with without_collector():
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            step(v, w)
            gc.collect()
            assert gc.garbage == []
        finally:
            gc.set_debug(0)
            gc.garbage.clear()


# Variables


def address(variable):
    return variable.array.ctypes.data


@pytest.fixture
def only_thread(monkeypatch):
    """Hides the threads of whatever runs the tests: Variables are written in place only where no
    other thread can read them.
    """
    monkeypatch.setattr("gradtape.core.buffered.other_threads", lambda: 0)


WRITES = {
    "assign": lambda v: v.assign(np.full(8, 7.0, np.float32)),
    "assign_add": lambda v: v.assign_add(np.full(8, 7.0, np.float32)),
    "assign_sub": lambda v: v.assign_sub(tf.ones([8])),
    "scatter_update": lambda v: v.scatter_update(
        tf.IndexedSlices(tf.constant([7.0]), tf.constant([3]))
    ),
    "slice": lambda v: v[2:4].assign([7.0, 7.0]),
}


@pytest.mark.usefixtures("only_thread")
@pytest.mark.parametrize(
    "write", [WRITES[name] for name in ("assign", "assign_add", "assign_sub", "scatter_update")]
)
def test_a_variable_is_written_in_place_if_nobody_else_holds_its_buffer(write):
    v = tf.Variable(np.zeros(8, np.float32))
    before = address(v)
    for _ in range(2):
        write(v)
        assert address(v) == before


@pytest.mark.usefixtures("only_thread")
def test_an_optimizer_step_writes_in_place(memory):
    v = large()
    before = address(v)
    for _ in range(2):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v)
        v.assign_sub(tape.gradient(loss, v))
        assert address(v) == before
    assert memory.peak <= 5


@pytest.mark.usefixtures("only_thread")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize(
    "hold",
    [
        lambda v: v.read_value(),
        lambda v: tf.reshape(v, [2, 4]),
        lambda v: v[::2],
        tf.identity,
        lambda v: tf.transpose(tf.reshape(v, [2, 4])),
    ],
    ids=["read", "reshape", "slice", "identity", "transpose"],
)
def test_a_buffer_that_someone_else_holds_is_not_written_to(hold, write):
    v = tf.Variable(np.arange(8, dtype=np.float32))
    held = hold(v)
    expected = held.numpy().copy()
    before = address(v)
    write(v)
    assert address(v) != before
    np.testing.assert_array_equal(held.numpy(), expected)


@pytest.mark.usefixtures("only_thread")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_buffer_that_a_rule_saved_is_not_written_to(write):
    v = tf.Variable(np.arange(8, dtype=np.float32))
    with tf.GradientTape() as tape:
        y = v * v
    write(v)
    np.testing.assert_array_equal(tape.gradient(y, v).numpy(), 2.0 * np.arange(8))


@pytest.mark.usefixtures("only_thread")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize(
    "written", [0, 1, 2], ids=["the first", "its copy", "what it was assigned to"]
)
def test_variables_made_of_one_another_are_written_apart(written, write):
    variables = [tf.Variable(np.arange(8, dtype=np.float32))]
    variables += [tf.Variable(variables[0]), tf.Variable(np.zeros(8, np.float32))]
    variables[2].assign(variables[0])
    write(variables[written])
    for i, variable in enumerate(variables):
        assert np.array_equal(variable.numpy(), np.arange(8)) == (i != written)


# What ends while a recording is swept


class Ending:
    """Does something when nobody has it any more, once."""

    def __init__(self, act):
        self.act = act

    def __del__(self):
        self.act()


@pytest.mark.parametrize("end", ["close another", "sweep", "close", "record", "gradient"])
@pytest.mark.parametrize("place", [0, 100, 399])
def test_whatever_ends_with_a_node_that_is_swept_the_sweep_goes_on(end, place):
    x = tf.Variable(2.0)
    outer, other = tf.GradientTape(persistent=True), tf.GradientTape()
    ended = []

    def act():
        ended.append(True)
        if end == "close":
            outer.scope.close()
        elif end == "sweep":
            outer.scope.sweep()
        elif end == "close another":
            other.scope.close()
        elif end == "record":
            for _ in range(20):
                _ = x * 3.0
        else:
            with tf.GradientTape() as tape:
                y = x * x
            assert tape.gradient(y, x).numpy() == 4.0

    with outer, other:
        kept = x * x
        for i in range(400):
            y = x * x
            if i == place:
                y.node.saved = (*y.node.saved, Ending(act))
        scope = y.node.scope
        del y
        scope.sweep()
        assert ended
        assert None not in scope.nodes
        late = x * x * x
    if end != "close":
        assert outer.gradient(late, x).numpy() == 12.0
        assert outer.gradient(kept, x).numpy() == 4.0
