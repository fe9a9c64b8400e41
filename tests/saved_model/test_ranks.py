"""Functions whose arguments have an unknown rank are saved for the ranks that they take."""

import numpy as np
import pytest

import gradtape as tf

UNKNOWN = tf.TensorSpec(None, name="x")


class Scale(tf.Module):
    def __init__(self):
        super().__init__()
        self.factor = tf.Variable(2.0)

    @tf.function
    def __call__(self, x):
        return {"scaled": x * self.factor}

    @tf.function(input_signature=[UNKNOWN])
    def mutate(self, x):
        self.factor.assign(tf.reduce_sum(x))
        return self.factor

    @tf.function(input_signature=[UNKNOWN, tf.TensorSpec(None, tf.int32)])
    def both(self, x, y):
        return [x, tf.cast(x > 0, tf.int32) + y]

    @tf.function(input_signature=[UNKNOWN])
    def rows(self, x):
        return tf.linalg.matrix_transpose(x)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    scale, folder = Scale(), tmp_path_factory.mktemp("scale")
    call = scale.__call__.get_concrete_function(UNKNOWN)
    tf.saved_model.save(scale, folder, signatures={"serving_default": call, "both": scale.both})
    return folder


@pytest.fixture
def loaded(saved):
    return tf.saved_model.load(saved)


@pytest.mark.parametrize("shape", [(), (3,), (1,), (2, 3), (2, 3, 4), (1, 2, 1, 5)])
def test_every_rank_computes_and_differentiates(loaded, shape):
    x = tf.constant(np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape) + 1)
    signature = loaded.signatures["serving_default"]
    for call in (loaded, signature, lambda x: signature(x=x)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x)["scaled"]
        np.testing.assert_array_equal(y, 2 * x.numpy())
        by_x, by_factor = tape.gradient(y, [x, loaded.factor])
        np.testing.assert_array_equal(by_x, np.full(shape, 2))
        assert float(by_factor) == x.numpy().sum()


def test_it_assigns_the_loaded_variable(loaded):
    for shape in [(3,), (2, 2), ()]:
        loaded.mutate(tf.ones(shape))
        assert float(loaded.factor) == np.prod(shape)


def test_a_signature_describes_all_its_ranks(loaded):
    signature = loaded.signatures["serving_default"]
    assert signature.structured_input_signature == ((), {"x": UNKNOWN})
    assert signature.structured_outputs["scaled"].shape.rank is None
    assert [v is loaded.factor for v in signature.variables] == [True]


def test_arguments_of_unknown_rank_have_as_many_axes_as_each_other(loaded):
    both = loaded.signatures["both"]
    for shape in [(), (2,), (2, 3)]:
        found = both(x=tf.ones(shape), y=tf.ones(shape, tf.int32))
        np.testing.assert_array_equal(found["output_1"], np.full(shape, 2))
    with pytest.raises(ValueError, match=r"not saved for x=float32\[2\], y=1"):
        both(x=tf.ones([2]), y=1)
    with pytest.raises(ValueError, match=r"y must be a tensor of the kind .*int32"):
        both(x=tf.ones([2]), y=[0.5])


def test_ranks_that_the_function_does_not_take_are_left_out(loaded):
    assert loaded.rows(tf.ones([2, 3])).shape == (3, 2)
    for shape in [(), (3,), (1,) * 5]:
        with pytest.raises(ValueError, match="not saved for these arguments"):
            loaded.rows(tf.ones(shape))


def test_it_can_be_saved_again(loaded, tmp_path):
    tf.saved_model.save(loaded, tmp_path)
    again = tf.saved_model.load(tmp_path)
    assert again(tf.ones([2, 3]))["scaled"].shape == (2, 3)
    assert again.signatures["serving_default"](x=tf.constant(1.0))["scaled"].shape == ()


def test_where_no_rank_works_the_error_says_what_to_do(tmp_path):
    class Product(tf.Module):
        @tf.function(input_signature=[UNKNOWN])
        def times(self, x):
            return x @ tf.ones([3, 2])

    with pytest.raises(tf.errors.InvalidArgumentError, match="matmul") as raised:
        tf.saved_model.save(Product(), tmp_path / "product")
    assert "unknown rank" in raised.value.__notes__[-1]
    assert not (tmp_path / "product").exists()
