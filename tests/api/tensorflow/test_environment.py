"""Names of graphs that mean little in eager code, initializers, specs, and `tf.config`."""

import pytest

import gradtape as tf

SHAPE = tf.TensorShape


def test_graph_names_do_what_eager_tensorflow_does():
    called = []
    with tf.control_dependencies([tf.constant(1.0), lambda: called.append(1)]):
        pass
    with tf.control_dependencies(None):
        pass
    assert called == [1]
    assert tf.group(tf.constant(1), [tf.constant(2)], name="x") is None
    assert tf.no_op() is None
    assert not tf.inside_function()
    assert not tf.is_symbolic_tensor(tf.constant(1.0))
    assert tf.tuple([tf.constant(1), None])[1] is None
    assert tf.get_logger().name == "gradtape"
    assert tf.AggregationMethod.EXPERIMENTAL_TREE == 1


def test_identity_n():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        same, other = tf.identity_n([x, 1])
    assert isinstance(same, tf.Tensor)
    assert other.dtype == tf.int32
    assert tape.gradient(same, x).numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.identity_n([])


def test_static_values():
    assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert tf.get_static_value(tf.Variable(1.0)) is None
    assert tf.get_static_value(3) == 3


def test_shapes():
    assert [s.numpy().tolist() for s in tf.shape_n([tf.ones([2, 3]), 1])] == [[2, 3], []]
    assert tf.shape_n([tf.ones(2)], out_type=tf.int64)[0].dtype == tf.int64
    assert tf.broadcast_dynamic_shape(tf.constant([2, 1], tf.int64), [3]).dtype == tf.int64
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.broadcast_dynamic_shape([2], [3])


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([2, 1], [3], [2, 3]), ([None, 1], [3], [None, 3]), ([None], [1], [None]),
        ([None], [None], [None]), ([None], [3], [3]), (None, [3], None), ([], [3], [3]),
    ],
)  # fmt: skip
def test_broadcast_static_shape(x, y, expected):
    found = tf.broadcast_static_shape(SHAPE(x), SHAPE(y))
    assert repr(found) == repr(SHAPE(expected))
    assert repr(tf.broadcast_static_shape(SHAPE(y), SHAPE(x))) == repr(found)


def test_broadcast_static_shape_refuses():
    with pytest.raises(ValueError, match="broadcast"):
        tf.broadcast_static_shape(SHAPE([2]), SHAPE([3]))


# Initializers


@pytest.mark.parametrize("make", [tf.zeros_initializer, tf.ones_initializer])
def test_constant_values(make):
    value = 1 if make is tf.ones_initializer else 0
    assert make()([2]).numpy().tolist() == [value, value]
    assert make()([2], dtype=tf.float64).dtype == tf.float64
    assert make()([1], tf.bool).numpy().tolist() == [bool(value)]
    assert make()([2, 2], partition_shape=[1, 2], partition_offset=[0, 0]).shape == (1, 2)
    assert make().get_config() == {}
    with pytest.raises(ValueError, match="dtype"):
        make()([1], tf.string)
    with pytest.raises(TypeError, match="wrong"):
        make()([1], wrong=1)


def test_constant_initializer():
    make = tf.constant_initializer([1.0, 2.0, 3.0, 4.0])
    assert make([2, 2], dtype=tf.float64).numpy().tolist() == [[1, 2], [3, 4]]
    assert tf.constant_initializer.from_config({"value": 2})([2]).numpy().tolist() == [2, 2]
    with pytest.raises(TypeError):
        make([3])
    with pytest.raises(ValueError, match="support_partition"):
        make([2, 2], partition_shape=[1, 2])
    with pytest.raises(TypeError, match="object"):
        tf.constant_initializer(object())


@pytest.mark.parametrize("kind", [tf.random_normal_initializer, tf.random_uniform_initializer])
def test_random_values(kind):
    make = kind(seed=1)
    values = make([100, 100]).numpy()
    assert abs(values.mean()) < 0.002
    assert 0.02 < values.std() < 0.06
    assert (make([100, 100]).numpy() == values).all(), "a seed gives the same values in every call"
    assert (kind.from_config(make.get_config())([100, 100]).numpy() == values).all()
    free = kind()
    assert (free([100]).numpy() != free([100]).numpy()).any()
    assert make([2], dtype=tf.float64).dtype == tf.float64
    with pytest.raises(ValueError, match="dtype"):
        make([2], tf.bool)


def test_random_uniform_integers():
    values = tf.random_uniform_initializer(0, 5)([100], dtype=tf.int32).numpy()
    assert set(values.tolist()) <= set(range(5))


def test_initializers_make_variables():
    v = tf.Variable(lambda: tf.ones_initializer()([2, 3]))
    assert v.shape == (2, 3)


# Specs


def test_type_specs():
    assert tf.type_spec_from_value(tf.ones([2])) == tf.TensorSpec([2], tf.float32)
    assert tf.type_spec_from_value([1.0]) == tf.TensorSpec([1], tf.float32)
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]))
    spec = tf.type_spec_from_value(slices)
    assert (
        repr(spec)
        == "IndexedSlicesSpec(TensorShape([None, 2]), tf.float32, tf.int32, None, TensorShape([1]))"
    )
    assert spec.is_compatible_with(slices)
    assert not spec.is_compatible_with(tf.ones([2]))
    assert spec == tf.type_spec_from_value(slices)
    assert spec != tf.IndexedSlicesSpec([3, 2])
    assert isinstance(spec, tf.TypeSpec)
    assert isinstance(tf.TensorSpec([2]), tf.TypeSpec)
    for wrong in ({}, object()):
        with pytest.raises(TypeError):
            tf.type_spec_from_value(wrong)


# Configuration


def test_devices():
    (cpu,) = tf.config.list_physical_devices()
    assert cpu == tf.config.PhysicalDevice("/physical_device:CPU:0", "CPU")
    assert tf.config.experimental.list_physical_devices("GPU") == []
    assert tf.config.get_visible_devices("CPU") == [cpu]
    assert [d.name for d in tf.config.list_logical_devices()] == ["/device:CPU:0"]
    tf.config.set_visible_devices([], "GPU")
    tf.config.set_visible_devices([cpu], "CPU")
    with pytest.raises(ValueError, match="GPU"):
        tf.config.set_visible_devices([tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")])
    with pytest.raises(RuntimeError, match="CPU"):
        tf.config.set_visible_devices([], "CPU")
    with pytest.raises(ValueError, match="GPU"):
        tf.config.experimental.set_memory_growth(cpu, True)


def test_settings_are_kept():
    config = tf.config
    for get, put, value in (
        (config.functions_run_eagerly, config.run_functions_eagerly, True),
        (config.get_soft_device_placement, config.set_soft_device_placement, False),
        (
            config.experimental.tensor_float_32_execution_enabled,
            config.experimental.enable_tensor_float_32_execution,
            False,
        ),
        (
            config.threading.get_inter_op_parallelism_threads,
            config.threading.set_inter_op_parallelism_threads,
            2,
        ),
        (
            config.threading.get_intra_op_parallelism_threads,
            config.threading.set_intra_op_parallelism_threads,
            2,
        ),
    ):
        before = get()
        try:
            put(value)
            assert get() == value
        finally:
            put(before)
        assert get() == before != value
    assert config.experimental.enable_op_determinism() is None  # test_crowding.py has what it does
