"""When a function is traced, what it returns, and what it reads and writes:
the contract's section 7.
"""

from __future__ import annotations

import gc
import logging
import threading
import weakref

import numpy as np
import pytest

import gradtape as tf


class Count:
    """A function that counts how often its Python runs."""

    def __init__(self, f, **options):
        self.times = 0

        def counted(*args, **kwargs):
            self.times += 1
            return f(*args, **kwargs)

        counted.__signature__ = __import__("inspect").signature(f)
        self.function = tf.function(counted, **options)

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def test_traces_once_for_each_shape_and_dtype():
    f = Count(lambda x: x * 2)
    for value in ([1.0, 2.0], [3.0, 4.0], [1.0, 2.0, 3.0], [5.0, 6.0]):
        np.testing.assert_array_equal(f(tf.constant(value)), np.multiply(value, 2))
    assert f.times == 2
    assert f(tf.constant([1, 2])).dtype == tf.int32
    assert f(tf.constant([1.0, 2.0], tf.float64)).dtype == tf.float64
    assert f.times == 4 == f.function.experimental_get_tracing_count()


def test_arrays_count_as_tensors_and_python_values_by_equality():
    f = Count(lambda x, n: x * n)
    f(np.ones(2, np.float32), 2)
    f(tf.constant([3.0, 4.0]), 2)
    assert f.times == 1
    f(tf.constant([3.0, 4.0]), 3)
    assert f.times == 2
    f(tf.constant([3.0, 4.0]), 3.0)  # 3 == 3.0
    assert f.times == 2


def test_defaults_and_keywords_are_one_call():
    def f(a, b=1):
        return a + b

    f = Count(f)
    x = tf.constant(1.0)
    for result in (f(x), f(x, 1), f(x, b=1), f(a=x), f(b=1, a=x)):
        assert float(result) == 2.0
    assert f.times == 1


def test_structures():
    f = Count(
        lambda batch, scale=None: {
            "sum": batch["x"] + batch["y"][0],
            "none": scale,
            "list": [batch["x"], (batch["y"][1],)],
        }
    )
    x, y = tf.constant(1.0), (tf.constant(2.0), tf.constant(3.0))
    result = f({"x": x, "y": y})
    assert float(result["sum"]) == 3.0
    assert result["none"] is None
    assert float(result["list"][1][0]) == 3.0
    f({"y": y, "x": x})
    assert f.times == 1
    f({"x": x, "y": list(y)})
    assert f.times == 2


@pytest.mark.parametrize("value", [1, 2.5, True, 3j, np.float64(1.5), np.arange(3)])
def test_numbers_and_arrays_are_returned_as_tensors(value):
    result = tf.function(lambda: value)()
    assert isinstance(result, tf.Tensor)
    np.testing.assert_array_equal(result, value)


def test_structures_of_single_results():
    x = tf.constant([1.0, 2.0])
    nested, pair, single = tf.function(lambda x: ([[x * 2], [x]], (x, [x]), [x]))(x)
    assert [len(part) for part in nested] == [1, 1]
    assert isinstance(pair[1], list)
    assert isinstance(single, list)
    assert tf.function(lambda x: (x,))(x)[0].numpy().tolist() == [1.0, 2.0]


def test_what_cannot_be_returned():
    with pytest.raises(TypeError, match="must return tensors"):
        tf.function(lambda: tf.GradientTape())()


def test_identity_gives_a_new_tensor():
    x = tf.constant([1.0])
    y = tf.function(lambda x: x)(x)
    assert y is not x
    np.testing.assert_array_equal(y, x)


def test_constant_results_and_no_arguments():
    f = tf.function(lambda: (tf.constant([1.0, 2.0]), tf.zeros([0, 3])))
    a, b = f()
    assert a.numpy().tolist() == [1.0, 2.0]
    assert b.shape == (0, 3)


@pytest.mark.parametrize(
    "dtype",
    [
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "int8",
        "int64",
        "bool",
    ],
)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_dtypes_and_shapes(dtype, shape):
    value = np.ones(shape).astype(tf.as_dtype(dtype).numpy)
    result = tf.function(lambda x: tf.reshape(x, [-1]))(tf.constant(value))
    assert result.dtype == tf.as_dtype(dtype)
    assert result.shape == (value.size,)


def test_non_contiguous_arguments():
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(tf.function(lambda x: x + 1)(x[:, ::2]), x[:, ::2] + 1)


@pytest.mark.parametrize("looked_at", [False, True])
def test_a_result_that_a_function_captures_has_a_gradient(looked_at):
    h = tf.function(lambda x: x * 1)(tf.ones(2))
    if looked_at:
        h.numpy()
    f = tf.function(lambda x: x * h)
    f(tf.ones(2))
    with tf.GradientTape() as tape:
        tape.watch(h)
        y = f(3 * tf.ones(2))
    assert tape.gradient(y, h).numpy().tolist() == [3.0, 3.0]


def test_a_result_is_an_output_gradient():
    x, seed = tf.Variable([1.0, 2.0]), tf.function(lambda a: a * 1)(tf.ones(2))
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x, output_gradients=seed).numpy().tolist() == [2.0, 4.0]


def test_a_result_is_a_plain_tensor_once_it_is_looked_at():
    f = tf.function(lambda x: x * 2)
    with tf.device("/CPU:0"):  # on an accelerator it stays one of XLA's
        y = f(tf.constant([1.0, 2.0]))
    z = y + 1
    assert type(y) is tf.Tensor
    assert type(z) is tf.Tensor
    assert f(y).numpy().tolist() == [4.0, 8.0]
    with tf.GradientTape() as tape:
        tape.watch(y)
        loss = tf.reduce_sum(y * y + y)
    assert tape.gradient(loss, y).numpy().tolist() == [5.0, 9.0]
    copy = y.numpy()
    copy[0] = 7
    assert y.numpy().tolist() == [2.0, 4.0]


# Variables


def test_variables_are_read_live():
    v = tf.Variable(2.0)
    f = Count(lambda x: x * v)
    assert float(f(tf.constant(3.0))) == 6.0
    v.assign(5.0)
    assert float(f(tf.constant(3.0))) == 15.0
    assert f.times == 1


def test_assignments_happen_in_order_on_every_call():
    v, w = tf.Variable(1.0), tf.Variable(0.0)

    @tf.function
    def f(x):
        before = v + 0
        v.assign_add(x)
        w.assign(v * 2)
        v.assign_sub(0.5)
        return before, v, w.read_value()

    assert [float(r) for r in f(tf.constant(2.0))] == [1.0, 2.5, 6.0]
    assert (float(v), float(w)) == (2.5, 6.0)
    assert [float(r) for r in f(tf.constant(1.0))] == [2.5, 3.0, 7.0]


def test_eager_writes_between_calls():
    v = tf.Variable([1.0, 2.0])
    f = tf.function(lambda: v.assign_add([1.0, 1.0]))
    f()
    kept = v.value()
    v.assign([10.0, 20.0])
    f()
    assert v.numpy().tolist() == [11.0, 21.0]
    assert kept.numpy().tolist() == [2.0, 3.0]
    v.assign_add([1.0, 1.0])
    v.assign_add([1.0, 1.0])
    assert f().numpy().tolist() == [14.0, 24.0]


def test_sparse_writes():
    v = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def f(rows):
        v.scatter_add(tf.IndexedSlices(tf.constant([10.0, 10.0]), rows))
        return v * 1

    assert f(tf.constant([0, 0])).numpy().tolist() == [21.0, 2.0, 3.0]
    assert f(tf.constant([2, 1])).numpy().tolist() == [21.0, 12.0, 13.0]


@pytest.mark.waits
def test_a_written_variable_is_handed_over_without_a_copy():
    v = tf.Variable(np.zeros((64, 64), np.float32))
    f = tf.function(lambda: v.assign_add(tf.ones([64, 64])) is None)
    for _ in range(3):  # the first ones are given copies
        f()
    assert "array" not in vars(v)
    before = v.held
    address = before.unsafe_buffer_pointer()
    f()
    assert before.is_deleted()
    assert v.held.unsafe_buffer_pointer() == address
    looked_at = v.numpy()
    f()
    assert looked_at[0, 0] == 4.0
    assert v.numpy()[0, 0] == 5.0


def test_variables_as_arguments_share_a_trace():
    f = Count(lambda v, w: v.assign_add(w * 2.0))
    a, b, c = tf.Variable(1.0), tf.Variable(10.0), tf.Variable(100.0)
    f(a, b)
    f(b, c)
    assert f.times == 1
    assert (float(a), float(b), float(c)) == (21.0, 210.0, 100.0)
    f(a, a)  # the same one twice is another pattern
    assert f.times == 2
    assert float(a) == 63.0


def test_variables_created_in_the_first_call():
    class Layer:
        def __init__(self):
            self.w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones([2, 3]))
            return x @ self.w

    layer = Layer()
    for _ in range(3):
        np.testing.assert_array_equal(layer(tf.ones([1, 2])), [[2.0, 2.0, 2.0]])
    layer.w.assign(layer.w * 2)
    np.testing.assert_array_equal(layer(tf.ones([4, 2])), np.full((4, 3), 4.0))


def test_a_first_value_computed_from_an_argument():
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(x * 2))
        return made[0] + x

    assert float(f(tf.constant(3.0))) == 9.0
    assert float(f(tf.constant(1.0))) == 7.0


def test_variables_created_on_every_call_are_refused():
    with pytest.raises(ValueError, match="first call only"):
        tf.function(lambda x: tf.Variable(1.0) * x)(tf.constant(1.0))


def test_variables_created_on_a_later_trace_are_refused():
    made = {}

    @tf.function
    def f(x):
        made.setdefault(x.shape.rank, None)
        if made[x.shape.rank] is None:
            made[x.shape.rank] = tf.Variable(1.0)
        return made[x.shape.rank] * x

    f(tf.constant(1.0))
    with pytest.raises(ValueError, match="first call only"):
        f(tf.constant([1.0]))


def test_tensors_from_outside_are_read():
    c = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(tf.function(lambda x: x + c)(tf.constant(1.0)), [2.0, 3.0])


# Nesting, threads


def test_functions_call_functions():
    inner = Count(lambda x: x * 2)
    outer = Count(lambda x: inner(x) + inner(x + 1))
    assert float(outer(tf.constant(1.0))) == 6.0
    assert float(outer(tf.constant(2.0))) == 10.0
    assert (inner.times, outer.times) == (1, 1)


def test_an_inner_function_writes_for_the_outer_one():
    v = tf.Variable(0.0)
    inner = tf.function(lambda x: v.assign_add(x))

    @tf.function
    def outer(x):
        inner(x)
        inner(x * 10)
        return v * 1

    assert float(outer(tf.constant(1.0))) == 11.0
    assert float(v) == 11.0


def test_threads():
    v = tf.Variable(np.zeros(1000, np.float32))

    @tf.function
    def f(x):
        v.assign_add(x)
        return tf.reduce_sum(x)

    def work(results):
        results.extend(float(f(tf.ones([1000]))) for _ in range(20))

    results: list[float] = []
    threads = [threading.Thread(target=work, args=(results,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1000.0] * 80
    np.testing.assert_array_equal(v, 80.0)


# Signatures and concrete functions


def test_input_signature():
    f = Count(lambda x: x * 2, input_signature=[tf.TensorSpec([2], tf.float32)])
    f(tf.constant([1.0, 2.0]))
    f([3, 4])
    f(np.array([1.0, 2.0]))  # float64 is cast
    assert f.times == 1
    for wrong in (tf.constant([1.0]), tf.constant([1, 2]), tf.constant([[1.0, 2.0]])):
        with pytest.raises(TypeError, match="input_signature"):
            f(wrong)
    with pytest.raises(TypeError):
        f(tf.constant([1.0, 2.0]), tf.constant(1.0))
    with pytest.raises(TypeError, match="TensorSpec"):
        tf.function(lambda x: x, input_signature=[3])


def test_arguments_that_input_signature_leaves_out_have_their_defaults():
    f = Count(
        lambda x, scale=2.0, *, flag=None: x * scale,
        input_signature=[tf.TensorSpec([2], tf.float32)],
    )
    x = tf.constant([1.0, 2.0])
    for found in (f(x), f(x, 2.0), f(x=x), f(x, scale=2.0, flag=None)):
        assert found.numpy().tolist() == [2.0, 4.0]
    assert f.times == 1
    for args, kwargs in (
        ((x, 3.0), {}),
        ((x,), {"scale": 3.0}),
        ((x,), {"flag": True}),
        ((x, tf.constant(2.0)), {}),
    ):
        with pytest.raises(TypeError, match="is not in input_signature, so it must be"):
            f(*args, **kwargs)
    with pytest.raises(TypeError, match="input_signature has 1 entries, but 2 arguments"):
        tf.function(lambda x, y: x, input_signature=[tf.TensorSpec([2])])(x, x)
    assert tf.function(lambda x, y=2.0, **more: x * y, input_signature=[tf.TensorSpec([2])])(
        x
    ).numpy().tolist() == [2.0, 4.0]
    assert f.function.get_concrete_function()(x).numpy().tolist() == [2.0, 4.0]


def test_signatures_of_structures_and_of_keywords_alone():
    spec = tf.TensorSpec([2], tf.float32)
    f = tf.function(
        lambda pair, *rest, last: pair["a"] * pair["b"][0] + last,
        input_signature=[{"a": spec, "b": [spec]}, spec],
    )
    assert f({"a": [1.0, 2.0], "b": [np.ones(2)]}, last=[1, 1]).numpy().tolist() == [2.0, 3.0]
    with pytest.raises(TypeError, match="structure"):
        f({"a": [1.0, 2.0]}, last=[1, 1])
    with pytest.raises(TypeError):
        tf.function(lambda **given: given["x"], input_signature=[spec])(x=tf.ones([2]))


@pytest.mark.parametrize("options",
    [{"jit_compile": True}, {"jit_compile": False}, {"experimental_relax_shapes": True},
                                     {"experimental_implements": "name",
                                         "experimental_attributes": None}])  # fmt: skip
def test_options_of_tensorflow_are_accepted(options):
    f = tf.function(lambda x: x * x, **options)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert [float(y), float(tape.gradient(y, x))] == [9.0, 6.0]
    assert float(tf.function(**options)(lambda x: x + 1.0)(x)) == 4.0


def test_input_signature_with_open_dimensions():
    f = tf.function(lambda x: tf.reduce_sum(x), input_signature=[tf.TensorSpec([None], tf.float32)])
    assert [float(f(tf.ones([n]))) for n in (1, 2, 0, 2)] == [1.0, 2.0, 0.0, 2.0]


def test_concrete_functions():
    v, frozen = tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    f = tf.function(lambda x, n=1: x * v * frozen * n)
    concrete = f.get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert concrete(tf.constant([1.0, 2.0])).numpy().tolist() == [6.0, 12.0]
    assert concrete.variables == (v, frozen) or {id(x) for x in concrete.variables} == {
        id(v),
        id(frozen),
    }
    assert [x is v for x in concrete.trainable_variables] == [True]
    assert f.experimental_get_tracing_count() == 1
    f(tf.constant([1.0, 2.0]))
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError):
        concrete(tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0]), tf.constant(1.0))
    with tf.GradientTape() as tape:
        y = concrete(tf.constant([1.0, 2.0]))
    assert float(tape.gradient(y, v)) == 9.0


def test_run_functions_eagerly():
    f = Count(lambda x: x * 2)
    tf.config.run_functions_eagerly(True)
    try:
        f(tf.constant(1.0))
        f(tf.constant(1.0))
    finally:
        tf.config.run_functions_eagerly(False)
    assert f.times == 2


# What cannot be done while tracing


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda x: x.numpy(), AttributeError),
        (lambda x: float(x), TypeError),
        (lambda x: int(x), TypeError),
        (lambda x: 1.0 if x > 0 else 2.0, tf.errors.OperatorNotAllowedInGraphError),
        (lambda x: [1, 2][tf.cast(x, tf.int32)], TypeError),
        (lambda x: np.asarray(x), NotImplementedError),
    ],
    ids=["numpy", "float", "int", "if", "index", "asarray"],
)
def test_values_are_not_to_be_had(use, error):
    with pytest.raises(error, match="function"):
        tf.function(use, autograph=False)(tf.constant(1.0))


def test_a_tensor_that_leaked():
    kept = []

    @tf.function
    def f(x):
        kept.append(x * 2)
        return x

    f(tf.constant(1.0))
    with pytest.raises(TypeError, match="outside"):
        kept[0] + 1


def test_an_error_in_the_body_keeps_its_type():
    @tf.function
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        f(tf.constant(1.0))
    assert float(tf.function(lambda x: x)(tf.constant(1.0))) == 1.0


def test_a_failed_trace_leaves_nothing_behind():
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        v.assign(x)
        raise ValueError("after the write")

    with pytest.raises(ValueError, match="after the write"):
        f(tf.constant(5.0))
    assert float(v) == 1.0
    assert float(v + 1) == 2.0


def test_python_side_effects_happen_while_tracing():
    seen = []

    @tf.function
    def f(x):
        seen.append("traced")
        return x

    f(tf.constant(1.0))
    f(tf.constant(2.0))
    assert seen == ["traced"]


def test_not_callable():
    with pytest.raises(TypeError, match="callable"):
        tf.function(3)


def test_decorator_with_arguments():
    @tf.function(jit_compile=True, reduce_retracing=True)
    def f(x):
        """A docstring."""
        return x

    assert f.__doc__ == "A docstring."
    assert f.__name__ == "f"
    assert float(f(tf.constant(1.0))) == 1.0


def test_the_first_arguments_are_not_kept():
    x = tf.constant(np.ones(1000, np.float32))
    reference = weakref.ref(x)
    f = tf.function(lambda x: x * 2)
    f(x)
    del x
    gc.collect()
    assert reference() is None


class _Held:
    pass


def test_what_tracing_leaves_behind_holds_nothing_of_the_users():
    """Neither the error that says why a function runs op by op,
    nor a gradient function that was traced.
    """
    held = []

    def something():
        held.append(weakref.ref(found := _Held()))
        return found

    @tf.function
    def beyond_xla(x):
        kept = something()
        return tf.boolean_mask(x, x > 0.0), kept and None

    @tf.custom_gradient
    def custom(x):
        kept = something()
        return x * 1.0, lambda g: (kept, g)[1]

    compiled = tf.function(lambda x: custom(x))
    beyond_xla(tf.ones(3)), compiled(tf.ones(3))
    gc.collect()
    assert len(held) >= 2
    assert [reference() for reference in held] == [None] * len(held)


def test_what_was_compiled_before_is_not_compiled_again_in_an_init_scope(caplog):
    """Where a handler may call it, while JAX is compiling something else."""
    import jax

    squared, two = tf.function(lambda x: x * x), tf.constant(2.0)
    for _ in range(3):
        squared(two)
    found = []

    @tf.function
    def outer(x):
        with jax.log_compiles(), caplog.at_level(logging.WARNING, "jax"), tf.init_scope():
            caplog.clear()
            found.append(float(squared(two)))
            found.append([record.message for record in caplog.records if "ompil" in record.message])
        return x

    outer(two)
    assert found == [4.0, []]
