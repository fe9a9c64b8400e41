"""What `Variable` promises: making one, assigning to it, its Python protocols,
and reads inside a tape.
"""

import copy
import inspect
import pickle

import numpy as np
import pytest

import gradtape as tf


def slices(values, indices):
    return tf.IndexedSlices(tf.constant(values), tf.constant(indices))


# Making one


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (
            tf.Variable.__init__,
            (
                "initial_value trainable validate_shape caching_device name variable_def dtype "
                "import_scope constraint "
                "synchronization aggregation shape experimental_enable_variable_lifting "
                "use_resource layout"
            ),
        ),
        (tf.Variable.assign, "value use_locking name read_value"),
        (tf.Variable.assign_add, "delta use_locking name read_value"),
        (tf.Variable.assign_sub, "delta use_locking name read_value"),
        (tf.Variable.scatter_add, "sparse_delta use_locking name"),
        (tf.Variable.scatter_nd_add, "indices updates name"),
        (tf.Variable.sparse_read, "indices name"),
        (tf.Variable.gather_nd, "indices name"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_names_of_the_arguments(function, names):
    assert list(inspect.signature(function).parameters)[1:] == names.split()


def test_a_variable_needs_an_initial_value():
    with pytest.raises(ValueError):
        tf.Variable()
    with pytest.raises(ValueError):
        tf.Variable(None, dtype=tf.float32)


def test_a_function_may_give_the_initial_value():
    assert tf.Variable(lambda: tf.constant([1.0, 2.0])).numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.5, tf.float32),
        (1, tf.int32),
        (2**40, tf.int64),
        (True, tf.bool),
        (1j, tf.complex128),
        ("text", tf.string),
        ([1, 2.5], tf.float32),
        (np.float64(1.5), tf.float64),
        (np.ones(2), tf.float64),
        (np.arange(2, dtype=np.uint8), tf.uint8),
        (tf.constant(1.0, tf.float16), tf.float16),
    ],
    ids=repr,
)
def test_the_dtype_follows_the_value(value, dtype):
    assert tf.Variable(value).dtype == dtype


@pytest.mark.parametrize("value", [1, [1, 2], np.float64(1.0), np.ones(3, np.int64)], ids=repr)
def test_plain_values_are_cast_to_the_dtype(value):
    assert tf.Variable(value, dtype=tf.float32).dtype == tf.float32
    assert tf.Variable(value, dtype="float16").dtype == tf.float16


def test_a_tensor_of_another_dtype_is_a_value_error():
    with pytest.raises(ValueError):
        tf.Variable(tf.constant(1.0), dtype=tf.float64)


def test_the_initial_value_is_copied():
    array = np.ones(2, np.float32)
    v = tf.Variable(array)
    array[0] = 100.0
    assert v.numpy().tolist() == [1.0, 1.0]


def test_a_variable_from_a_variable_is_independent():
    v = tf.Variable([1.0, 2.0])
    w = tf.Variable(v)
    v.assign([5.0, 6.0])
    assert w.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("value", [1.0, 1, "text", True, 1j], ids=repr)
def test_every_variable_is_trainable_by_default(value):
    assert tf.Variable(value).trainable is True
    assert tf.Variable(value, trainable=False).trainable is False


def test_a_variable_synchronised_on_read_is_not_trainable_by_default():
    on_read = tf.VariableSynchronization.ON_READ
    assert tf.Variable(1.0, synchronization=on_read).trainable is False
    assert tf.Variable(1.0, synchronization=on_read, trainable=True).trainable is True


@pytest.mark.parametrize("name", ["trainable", "name", "shape", "dtype"])
def test_its_properties_are_read_only(name):
    v = tf.Variable(1.0)
    with pytest.raises(AttributeError):
        setattr(v, name, getattr(v, name))


def test_the_shape_is_that_of_the_value():
    assert tf.Variable([[1.0, 2.0]]).shape == (1, 2)
    assert tf.Variable(1.0).shape == ()


def test_a_shape_may_be_left_open():
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    v.assign([[1.0], [2.0], [3.0]])
    assert v.shape.rank is None
    with tf.GradientTape() as tape:
        y = v * v
    assert tape.gradient(y, v).shape == (3, 1)


def test_a_shape_may_be_left_open_in_part():
    v = tf.Variable([[1.0, 2.0]], shape=[None, 2])
    v.assign(tf.zeros([5, 2]))
    assert v.numpy().shape == (5, 2)
    with pytest.raises(ValueError):
        v.assign(tf.zeros([5, 3]))


def test_a_shape_that_does_not_fit_the_value_is_a_value_error():
    with pytest.raises(ValueError):
        tf.Variable([1.0, 2.0], shape=[3])


def test_names_need_not_be_unique():
    assert (tf.Variable(1.0, name="a").name, tf.Variable(1.0, name="a").name) == ("a:0", "a:0")
    assert tf.Variable(1.0).name == "Variable:0"


def test_repr():
    assert (
        repr(tf.Variable(1.5, name="w")) == "<tf.Variable 'w:0' shape=() dtype=float32, numpy=1.5>"
    )
    text = "<tf.Variable 'Variable:0' shape=(2,) dtype=int32, numpy=array([1, 2], dtype=int32)>"
    assert repr(tf.Variable([1, 2])) == text


@pytest.mark.parametrize(
    "settings",
    [{"constraint": 5}, {"aggregation": "sum"}, {"synchronization": "now"}],
    ids=lambda s: next(iter(s)),
)
def test_wrong_settings_are_value_errors(settings):
    with pytest.raises(ValueError):
        tf.Variable(1.0, **settings)


def test_a_constraint_is_kept_and_not_applied():
    def positive(value):
        return tf.maximum(value, 0.0)

    v = tf.Variable(1.0, constraint=positive)
    v.assign(-3.0)
    assert v.numpy() == -3.0
    assert v.constraint is positive


def test_the_settings_of_distribution_are_kept():
    v = tf.Variable(
        1.0,
        aggregation=tf.VariableAggregation.SUM,
        synchronization=tf.VariableSynchronization.ON_WRITE,
    )
    assert v.aggregation == tf.VariableAggregation.SUM
    assert v.synchronization == tf.VariableSynchronization.ON_WRITE


# Assigning


@pytest.mark.parametrize(
    ("method", "expected"),
    [("assign", [10.0, 20.0]), ("assign_add", [11.0, 22.0]), ("assign_sub", [-9.0, -18.0])],
)
@pytest.mark.parametrize(
    "value",
    [
        [10.0, 20.0],
        [10, 20],
        np.array([10.0, 20.0]),
        np.array([10, 20]),
        tf.constant([10.0, 20.0]),
        tf.Variable([10.0, 20.0]),
        slices([10.0, 20.0], [0, 1]),
    ],
    ids=["list", "ints", "float64 array", "int array", "Tensor", "Variable", "IndexedSlices"],
)
def test_assign_takes(method, expected, value):
    if isinstance(value, tf.IndexedSlices):
        value = tf.IndexedSlices(value.values, value.indices, tf.constant([2]))
    v = tf.Variable([1.0, 2.0])
    getattr(v, method)(value)
    assert v.numpy().tolist() == expected
    assert v.dtype == tf.float32


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_assign_returns_something_that_reads_as_the_variable(method):
    v = tf.Variable([1.0, 2.0])
    updated = getattr(v, method)([1.0, 1.0])
    assert updated.numpy().tolist() == v.numpy().tolist()
    assert getattr(v, method)([1.0, 1.0], read_value=False) is None


@pytest.mark.parametrize("value", [5.0, [1.0], [1.0, 2.0, 3.0], tf.zeros([2, 1])], ids=repr)
def test_assign_does_not_broadcast(value):
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError):
        v.assign(value)
    for method in (v.assign_add, v.assign_sub):
        with pytest.raises(tf.errors.InvalidArgumentError):
            method(value)
    assert v.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
@pytest.mark.parametrize("dtype", [tf.float64, tf.int32, tf.float16])
def test_a_tensor_of_another_dtype_cannot_be_assigned(method, dtype):
    with pytest.raises(ValueError):
        getattr(tf.Variable([1.0]), method)(tf.constant([1], dtype))


def test_floats_cannot_be_assigned_to_integers():
    with pytest.raises(TypeError):
        tf.Variable(1).assign(1.5)


def test_what_was_assigned_is_copied():
    v, array = tf.Variable([1.0, 2.0]), np.array([3.0, 4.0], np.float32)
    v.assign(array)
    array[0] = 100.0
    assert v.numpy().tolist() == [3.0, 4.0]


def test_assigning_a_variable_to_another_keeps_them_apart():
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
    v.assign(w)
    w.assign_add([1.0, 1.0])
    assert v.numpy().tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    "source",
    [lambda v: v.read_value(), lambda v: v[::-1], tf.convert_to_tensor],
    ids=["itself", "reversed", "read"],
)
def test_assigning_a_variable_its_own_values(source):
    v = tf.Variable([1.0, 2.0, 3.0])
    expected = source(v).numpy().tolist()
    v.assign(source(v))
    assert v.numpy().tolist() == expected


def test_augmented_operators_are_runtime_errors():
    v = tf.Variable(4.0)
    for method in ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__"):
        with pytest.raises(RuntimeError):
            getattr(v, method)(2.0)
    assert v.numpy() == 4.0


def test_floor_division_in_place_rebinds_the_name():
    v = tf.Variable(5.0)
    v //= 2.0
    assert isinstance(v, tf.Tensor)
    assert v.numpy() == 2.0


def test_an_item_cannot_be_set_but_a_slice_assigned():
    v = tf.Variable([1.0, 2.0, 3.0])
    with pytest.raises(TypeError):
        v[0] = 5.0
    v[0:2].assign([10.0, 20.0])
    v[2].assign(30.0)
    assert v.numpy().tolist() == [10.0, 20.0, 30.0]
    with pytest.raises(AttributeError):
        v[0:2].assign_add([1.0, 1.0])


def test_a_slice_of_a_matrix_can_be_assigned():
    v = tf.Variable(tf.zeros([2, 3]))
    v[:, 1].assign([1.0, 2.0])
    v[1, ::2].assign(tf.constant([5.0, 6.0]))
    assert v.numpy().tolist() == [[0.0, 1.0, 0.0], [5.0, 2.0, 6.0]]


# Python's protocols


def test_a_variable_is_no_tensor_and_yet_counts_as_one():
    v = tf.Variable(1.0)
    assert not isinstance(v, tf.Tensor)
    assert tf.is_tensor(v)


def test_a_variable_is_unhashable_but_its_ref_is_not():
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    with pytest.raises(TypeError):
        hash(v)
    assert {v.ref(): "v"}[v.ref()] == "v"
    assert v.ref() != w.ref()
    assert v.ref().deref() is v


def test_equality_is_elementwise():
    v = tf.Variable([1.0, 2.0])
    assert (v == [1.0, 5.0]).numpy().tolist() == [True, False]
    assert (v != tf.Variable([1.0, 5.0])).numpy().tolist() == [False, True]


def test_a_variable_has_a_len_and_can_be_iterated():
    v = tf.Variable([1.0, 2.0])
    assert len(v) == 2
    assert [row.numpy() for row in v] == [1.0, 2.0]
    with pytest.raises(TypeError):
        iter(tf.Variable(1.0))
    with pytest.raises(TypeError):
        len(tf.Variable(1.0))


def test_a_scalar_variable_is_a_python_number():
    v = tf.Variable(2.0)
    assert (float(v), int(v), complex(v), bool(v)) == (2.0, 2, 2 + 0j, True)
    assert bool(tf.Variable(0.0)) is False


def test_copy_gives_the_same_variable():
    v = tf.Variable(1.0)
    assert copy.copy(v) is v


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))],
    ids=["deepcopy", "pickle"],
)
def test_a_duplicate_is_independent(duplicate):
    v = tf.Variable([1.0, 2.0], trainable=False, name="w")
    twin = duplicate(v)
    v.assign([5.0, 6.0])
    assert (twin.numpy().tolist(), twin.trainable, twin.name, twin.dtype) == (
        [1.0, 2.0],
        False,
        "w:0",
        tf.float32,
    )


def test_deepcopy_keeps_shared_variables_shared():
    v = tf.Variable(1.0)
    one, two = copy.deepcopy([v, v])
    assert one is two
    assert one is not v


def test_numpy_gives_a_copy():
    v = tf.Variable([1.0, 2.0])
    v.numpy()[0] = 100.0
    np.asarray(v)[0] = 100.0
    assert v.numpy().tolist() == [1.0, 2.0]


def test_converting_to_another_dtype_is_a_value_error():
    with pytest.raises(ValueError):
        tf.convert_to_tensor(tf.Variable(1.0), dtype=tf.float64)


def test_the_methods_of_graphs_are_runtime_errors():
    v = tf.Variable(1.0)
    with pytest.raises(RuntimeError):
        v.eval()
    with pytest.raises(RuntimeError):
        _ = v.initial_value
    with pytest.raises(RuntimeError):
        _ = v.create


def test_operators_work_from_both_sides():
    v = tf.Variable([2.0, 4.0])
    assert (1.0 + v).numpy().tolist() == [3.0, 5.0]
    assert (np.array([8.0, 8.0], np.float32) / v).numpy().tolist() == [4.0, 2.0]
    assert (v**2 - v % 3.0).numpy().tolist() == [2.0, 15.0]
    assert (-v).numpy().tolist() == [-2.0, -4.0]
    assert isinstance(v + v, tf.Tensor)


# Reads inside a tape


def test_each_read_is_a_tensor_of_its_own():
    v = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        one, two = v.read_value(), v.read_value()
        y = one * one + 5.0 * two
    assert one is not two
    assert tape.gradient(y, one).numpy() == 6.0
    assert tape.gradient(y, two).numpy() == 5.0
    assert tape.gradient(y, v).numpy() == 11.0


@pytest.mark.parametrize(
    "read", [lambda v: v.value(), lambda v: v.read_value(), tf.convert_to_tensor, tf.identity]
)
def test_every_kind_of_read_is_connected(read):
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        x = read(v)
        y = x * x
    dx, dv = tape.gradient(y, [x, v])
    assert (dx.numpy(), dv.numpy()) == (6.0, 6.0)


def test_a_read_before_the_tape_is_a_constant():
    v = tf.Variable(3.0)
    x = v.read_value()
    with tf.GradientTape() as tape:
        y = x * v
    assert tape.gradient(y, [x, v])[0] is None


def test_the_gradient_uses_the_value_at_the_time_of_reading():
    v = tf.Variable([3.0])
    with tf.GradientTape() as tape:
        y = v * v
        v.assign([100.0])
        z = v * y
    assert tape.gradient(z, v).numpy().tolist() == [9.0 + 100.0 * 6.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda v: v.assign([100.0, 100.0]),
        lambda v: v.assign_add([100.0, 100.0]),
        lambda v: v.assign_sub([100.0, 100.0]),
        lambda v: v.scatter_update(slices([100.0], [0])),
        lambda v: v.scatter_nd_add([[0]], [100.0]),
        lambda v: v[0].assign(100.0),
        lambda v: v[0:2].assign([100.0, 100.0]),
    ],
    ids=["assign", "assign_add", "assign_sub", "scatter_update", "scatter_nd_add", "item", "slice"],
)
def test_writing_never_changes_what_was_recorded(write):
    v = tf.Variable([3.0, 4.0])
    with tf.GradientTape() as tape:
        y = v * v
        view = tf.reshape(v, [2, 1])
        z = view * view
    write(v)
    assert view.numpy().tolist() == [[3.0], [4.0]]
    assert tape.gradient([y, z], v).numpy().tolist() == [12.0, 16.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda w, value: w.assign(value),
        lambda w, value: w.assign_add(value),
        lambda w, value: w.scatter_nd_update([[0]], value),
        lambda w, value: w[0:1].assign(value),
    ],
    ids=["assign", "assign_add", "scatter_nd_update", "slice"],
)
def test_nothing_flows_back_to_what_was_assigned(write):
    v, w = tf.Variable([3.0]), tf.Variable([1.0])
    with tf.GradientTape() as tape:
        write(w, v * 2.0)
        z = w * 1.0
    dv, dw = tape.gradient(z, [v, w])
    assert dv is None
    assert dw.numpy().tolist() == [1.0]


def test_what_assign_returns_is_connected_to_the_variable():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v.assign_add(1.0) * 5.0
    assert y.numpy() == 20.0
    assert tape.gradient(y, v).numpy() == 5.0


def test_a_variable_made_from_a_watched_tensor_is_cut_off():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        v = tf.Variable(x * x)
        y = v * v
    dx, dv = tape.gradient(y, [x, v])
    assert dx is None
    assert dv.numpy() == 18.0


def test_init_scope_is_not_recorded():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        with tf.init_scope():
            y = v * v
        z = y * v
    assert tape.gradient(z, v).numpy() == 9.0


def test_sparse_read_and_gather_nd_are_differentiable():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        rows = v.sparse_read(tf.constant([1]))
        entries = v.gather_nd(tf.constant([[0, 1]]))
    assert rows.numpy().tolist() == [[3.0, 4.0]]
    assert entries.numpy().tolist() == [2.0]
    assert tf.convert_to_tensor(tape.gradient(rows, v)).numpy().tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert tf.convert_to_tensor(tape.gradient(entries, v)).numpy().tolist() == [
        [0.0, 1.0],
        [0.0, 0.0],
    ]


@pytest.mark.parametrize(
    ("options", "synchronization", "aggregation", "trainable"),
    [
        ({}, "AUTO", "NONE", True),
        ({"trainable": False}, "AUTO", "NONE", False),
        ({"synchronization": None, "aggregation": None}, "AUTO", "NONE", True),
        ({"synchronization": 3, "aggregation": 3}, "ON_READ", "ONLY_FIRST_REPLICA", False),
        (
            {"synchronization": tf.VariableSynchronization.ON_READ, "trainable": True},
            "ON_READ",
            "NONE",
            True,
        ),
        ({"aggregation": tf.VariableAggregation.MEAN}, "AUTO", "MEAN", True),
        (
            {
                "use_resource": True,
                "import_scope": "scope",
                "caching_device": "CPU:0",
                "validate_shape": False,
            },
            "AUTO",
            "NONE",
            True,
        ),
        (
            {
                "use_resource": False,
                "experimental_enable_variable_lifting": False,
                "variable_def": None,
            },
            "AUTO",
            "NONE",
            True,
        ),
    ],
)
def test_arguments_that_tensorflow_has(options, synchronization, aggregation, trainable):
    v = tf.Variable(1.0, **options)
    assert (v.synchronization.name, v.aggregation.name, v.trainable) == (
        synchronization,
        aggregation,
        trainable,
    )
    with tf.GradientTape() as tape:
        y = v * v
    assert (tape.gradient(y, v) is not None) == trainable


def test_arguments_that_tensorflow_refuses():
    for argument in ("synchronization", "aggregation"):
        for value in (7, "x"):
            with pytest.raises(ValueError, match=f"{argument} must be a Variable"):
                tf.Variable(1.0, **{argument: value})
    with pytest.raises(ValueError, match="variable_def"):
        tf.Variable(1.0, variable_def=object())
