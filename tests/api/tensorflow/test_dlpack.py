"""Memory exchanged with other array libraries through DLPack."""

import gc

import numpy as np
import pytest

import gradtape as tf
from gradtape.api.tensorflow.dlpack import from_capsule, from_dlpack, to_dlpack

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
          "complex64", "complex128"]  # fmt: skip


def holding(values):
    """A tensor that holds the very array."""
    return tf.Tensor(values)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_values_go_out_and_come_in(dtype, shape):
    values = np.ones(shape, dtype)
    out = np.from_dlpack(tf.constant(values))
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, values)
    back = from_dlpack(values)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back.numpy(), values)


def test_numpy_gets_the_memory_itself_but_cannot_write():
    x = tf.constant([1.0, 2.0])
    out = np.from_dlpack(x)
    assert np.shares_memory(out, x.array)
    with pytest.raises(ValueError, match="read-only"):
        out[0] = 5.0


def test_a_copy_may_be_written():
    x = tf.constant([1.0, 2.0])
    out = np.from_dlpack(x, copy=True)
    # read-only by NumPy before 2.2.5, of its own arrays too.
    own = np.from_dlpack(np.ones(2), copy=True)
    assert out.flags.writeable == own.flags.writeable
    assert not np.shares_memory(out, x.array)
    if own.flags.writeable:
        out[0] = 5.0
    np.testing.assert_array_equal(x.numpy(), [1.0, 2.0])


def test_a_consumer_that_knows_no_read_only_memory_gets_a_copy():
    class Consumer:
        def __init__(self, tensor, **options):
            self._capsule = tensor.__dlpack__(**options)

        def __dlpack__(self, **options):
            return self._capsule

        def __dlpack_device__(self):
            return 1, 0

    x = tf.constant([1.0, 2.0])
    assert not np.shares_memory(np.from_dlpack(Consumer(x)), x.array)
    assert not np.shares_memory(np.from_dlpack(Consumer(x, max_version=(0, 8))), x.array)
    assert np.shares_memory(np.from_dlpack(Consumer(x, copy=False)), x.array)
    assert np.shares_memory(np.from_dlpack(Consumer(x, max_version=(1, 0))), x.array)


def test_the_memory_lives_as_long_as_someone_holds_it():
    out = np.from_dlpack(tf.range(1000))
    gc.collect()
    np.testing.assert_array_equal(out, np.arange(1000))


def test_strides_are_kept():
    x = holding(np.arange(12.0).reshape(3, 4)[:, ::2].T)
    np.testing.assert_array_equal(np.from_dlpack(x), x.numpy())
    np.testing.assert_array_equal(from_dlpack(x.array).numpy(), x.numpy())


@pytest.mark.parametrize(
    "dtype", [tf.bfloat16, tf.dtypes.float8_e4m3fn, tf.dtypes.experimental.float8_e5m2fnuz]
)
def test_dtypes_that_numpy_cannot_export(dtype):
    with pytest.raises(BufferError, match=rf"{dtype.name}.*cast the tensor first"):
        np.from_dlpack(tf.cast([1.0], dtype))


def test_strings_are_refused():
    with pytest.raises(BufferError, match="string"):
        np.from_dlpack(tf.constant(["a"]))


def test_other_devices_are_refused():
    x = tf.constant([1.0])
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="no device"):
        from_dlpack(np.ones(2), device="/GPU:0")
    assert from_dlpack(np.ones(2), device=x.device).device == x.device


def test_what_comes_in_is_copied_unless_that_is_forbidden():
    values = np.array([1.0, 2.0])
    copied, shared = from_dlpack(values), from_dlpack(values, copy=False)
    values[0] = 9.0
    assert copied.numpy()[0] == 1.0
    assert shared.numpy()[0] == 9.0


def test_a_tensor_comes_in_as_it_is_and_stays_on_the_tape():
    x, v = tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0])
    assert from_dlpack(x) is x
    assert from_dlpack(x, copy=True) is not x
    with tf.GradientTape(strict=True) as tape:
        y = from_dlpack(v) * from_dlpack(v, copy=True)
    np.testing.assert_array_equal(tape.gradient(y, v).numpy(), [2.0, 4.0])


def test_capsules():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    capsule = to_dlpack(x)
    np.testing.assert_array_equal(from_capsule(capsule).numpy(), x.numpy())
    with pytest.raises(ValueError):
        from_capsule(capsule)  # a capsule serves once
    np.testing.assert_array_equal(from_capsule(np.arange(3)).numpy(), [0, 1, 2])
    np.testing.assert_array_equal(from_capsule(to_dlpack(tf.Variable(2.0))).numpy(), 2.0)


@pytest.mark.parametrize("wrong", [None, [1.0], 2.0])
def test_what_is_no_array_is_refused_by_name(wrong):
    with pytest.raises(TypeError, match=r"from_dlpack: dlcapsule.*gradtape\.constant"):
        from_capsule(wrong)
    with pytest.raises(
        AttributeError, match=r"from_dlpack: x must be an array.*gradtape\.constant"
    ):
        from_dlpack(wrong)


def test_jax_takes_tensors_and_gives_arrays():
    jax = pytest.importorskip("jax")
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    theirs = jax.dlpack.from_dlpack(x)
    assert isinstance(theirs, jax.Array)
    np.testing.assert_array_equal(theirs, x.numpy())
    back = from_dlpack(theirs * 2)
    np.testing.assert_array_equal(back.numpy(), x.numpy() * 2)
    assert back.dtype == tf.float32


def test_a_dtype_of_jax_that_numpy_has_not():
    jax = pytest.importorskip("jax")
    with pytest.raises(BufferError, match="from_dlpack: NumPy cannot take this ArrayImpl"):
        from_dlpack(jax.numpy.ones(2, "bfloat16"))
