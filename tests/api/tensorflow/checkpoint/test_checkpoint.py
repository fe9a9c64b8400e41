"""`tf.train.Checkpoint`: what it finds, what it stores, and what it gives back."""

import copy
import json
import os
import pickle
import threading
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import gradtape as tf
import gradtape.train
from gradtape.api.tensorflow.checkpoint import atomic_file, tensor_file

PAIR = namedtuple("PAIR", ["first", "second"])


class Net(tf.Module):
    def __init__(self, value=0.0):
        super().__init__()
        self.w = tf.Variable([[value, value + 1]])
        self.label = "not saved"
        self.layers = [tf.Variable(value), {"scale": tf.Variable(value + 2)}]
        self.pair = PAIR(tf.Variable(value + 3), 4)


def values(thing):
    return [v.numpy().tolist() for v in thing.variables]


# What is found


def test_everything_that_holds_variables_comes_back(tmp_path):
    def program(value):
        return tf.train.Checkpoint(
            net=Net(value),
            step=tf.Variable(int(value)),
            rng=tf.random.Generator.from_seed(int(value)),
            extra=OrderedDict(a=(tf.Variable(value),), b=[]),
            inner=tf.train.Checkpoint(x=tf.Variable(value)),
        )

    saved, restored = program(5.0), program(0.0)
    drawn = saved.rng.normal([3])
    path = saved.save(tmp_path / "all")
    expected = saved.rng.normal([3])
    restored.restore(path).assert_consumed()
    assert values(restored.net) == values(saved.net)
    assert int(restored.step) == 5
    assert (
        restored.rng.normal([3]).numpy().tolist()
        == expected.numpy().tolist()
        != drawn.numpy().tolist()
    )
    assert float(restored.extra["a"][0]) == float(restored.inner.x) == 5.0
    assert int(restored.save_counter) == 1


def test_keys_are_paths_that_other_tools_can_read(tmp_path):
    path = tf.train.Checkpoint(net=Net(1.0)).save(tmp_path / "ckpt")
    stored = load_file(f"{path}.safetensors")
    assert sorted(stored) == [
        "net/layers/0",
        "net/layers/1/scale",
        "net/pair/0",
        "net/w",
        "save_counter",
    ]
    assert stored["net/w"].tolist() == [[1.0, 2.0]]


def test_root_is_saved_by_its_own_names(tmp_path):
    net = Net(1.0)
    path = tf.train.Checkpoint(net, step=tf.Variable(3)).write(tmp_path / "root")
    assert {"w", "step"} < set(load_file(f"{path}.safetensors"))
    other, step = Net(), tf.Variable(0)
    tf.train.Checkpoint(other, step=step).read(path).assert_consumed()
    assert (values(other), int(step)) == (values(net), 3)


@pytest.mark.parametrize(
    "make", [lambda v: v, lambda v: [v], lambda v: {"a": v}], ids=["variable", "list", "dict"]
)
def test_any_root_will_do(tmp_path, make):
    path = tf.train.Checkpoint(make(tf.Variable(2.0))).write(tmp_path / "root")
    v = tf.Variable(0.0)
    tf.train.Checkpoint(make(v)).read(path).assert_consumed()
    assert float(v) == 2.0


def test_objects_that_refer_to_each_other_are_saved_once(tmp_path):
    def program(value):
        net = Net(value)
        net.itself, net.child = net, Net(value + 10)
        net.child.parent = net
        return tf.train.Checkpoint(net=net, watched=[net.w, net.child.w])

    saved = program(1.0)
    path = saved.write(tmp_path / "cycle")
    assert len(load_file(f"{path}.safetensors")) == 9
    restored = program(0.0)
    restored.read(path).assert_consumed()
    assert values(restored.net) == values(saved.net)


def test_a_shared_variable_can_become_two(tmp_path):
    shared = tf.Variable(5.0)
    path = tf.train.Checkpoint(a=shared, b=shared).write(tmp_path / "shared")
    split = tf.train.Checkpoint(a=tf.Variable(0.0), b=tf.Variable(0.0))
    split.read(path).assert_consumed()
    assert (float(split.a), float(split.b)) == (5.0, 5.0)


def test_two_variables_that_became_one_are_told(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).write(tmp_path / "two")
    one = tf.Variable(0.0)
    status = tf.train.Checkpoint(a=one, b=one).read(path).assert_existing_objects_matched()
    assert float(one) == 1.0
    with pytest.raises(AssertionError, match="Values in the file without a Variable: b"):
        status.assert_consumed()


def test_names_with_slashes_do_not_collide(tmp_path):
    def program(a, b):
        return tf.train.Checkpoint(d={"a/b": tf.Variable(a), "a": {"b": tf.Variable(b)}})

    path = program(1.0, 2.0).write(tmp_path / "slash")
    restored = program(0.0, 0.0)
    restored.read(path).assert_consumed()
    assert (float(restored.d["a/b"]), float(restored.d["a"]["b"])) == (1.0, 2.0)


def test_whole_numbers_are_keys_others_are_refused(tmp_path):
    path = tf.train.Checkpoint(d={1: tf.Variable(1.0)}).write(tmp_path / "keys")
    v = tf.Variable(0.0)
    tf.train.Checkpoint(d={1: v}).read(path).assert_consumed()
    assert float(v) == 1.0
    with pytest.raises(TypeError, match=r"\(1, 2\)"):
        tf.train.Checkpoint(d={(1, 2): v}).write(tmp_path / "keys")
    with pytest.raises(ValueError, match="'1'"):
        tf.train.Checkpoint(d={1: v, "1": v}).write(tmp_path / "keys")


@pytest.mark.parametrize(
    "thing",
    [3, "text", np.ones(2), tf.constant(1.0), object()],
    ids=["int", "str", "array", "tensor", "object"],
)
def test_what_holds_no_variable_is_refused_by_name(thing):
    with pytest.raises(ValueError, match="Checkpoint: thing must be a Variable"):
        tf.train.Checkpoint(thing=thing)


def test_plain_attributes_are_passed_over(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    checkpoint.epochs = 3
    assert sorted(load_file(f"{checkpoint.write(tmp_path / 'plain')}.safetensors")) == [
        "save_counter",
        "v",
    ]


def test_names_of_its_own_are_refused():
    with pytest.raises(ValueError, match="'save_counter' is used by Checkpoint"):
        tf.train.Checkpoint(save_counter=tf.Variable(1))
    with pytest.raises(ValueError, match="root already has a different 'w'"):
        tf.train.Checkpoint(Net(), w=tf.Variable(1.0))


# What is stored


FLOAT8 = [getattr(tf.dtypes.experimental, name) for name in tf.dtypes.experimental.__all__]
DTYPES = [
    tf.bfloat16, tf.float16, tf.float32, tf.float64, *FLOAT8, tf.int8, tf.int16, tf.int32,
    tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.complex64, tf.complex128, tf.bool,
]  # fmt: skip


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 0, 3), (2, 3)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_every_dtype_comes_back_bit_for_bit(tmp_path, dtype, shape):
    bits = (
        np.random.default_rng(0)
        .integers(0, 2 if dtype == tf.bool else 256, (*shape, dtype.numpy.itemsize))
        .astype(np.uint8)
    )
    array = bits.view(dtype.numpy).reshape(shape)  # NaNs of every kind among them
    v = tf.Variable(array, dtype=dtype)
    path = tf.train.Checkpoint(v=v).write(tmp_path / "bits")
    restored = tf.Variable(np.zeros(shape, dtype.numpy), dtype=dtype)
    tf.train.Checkpoint(v=restored).read(path).assert_consumed()
    assert restored.dtype == dtype
    assert restored.shape == shape
    assert np.asarray(restored.numpy()).tobytes() == np.asarray(v.numpy()).tobytes()


@pytest.mark.parametrize("text", ["", "hello", ["a", "", "\u00fc\0\0"], [["a", "b"]]], ids=repr)
def test_strings_come_back(tmp_path, text):
    path = tf.train.Checkpoint(v=tf.Variable(text)).write(tmp_path / "text")
    restored = tf.Variable(np.full(np.shape(text), "?", object))
    tf.train.Checkpoint(v=restored).read(path).assert_consumed()
    assert np.asarray(restored.numpy()).tolist() == np.asarray(tf.Variable(text).numpy()).tolist()


def test_memory_order_does_not_matter(tmp_path):
    v = tf.Variable(np.arange(6.0).reshape(2, 3).T)
    path = tf.train.Checkpoint(v=v).write(tmp_path / "order")
    assert load_file(f"{path}.safetensors")["v"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_metadata_say_what_the_file_is(tmp_path):
    path = tf.train.Checkpoint(z=tf.Variable(1 + 2j)).save(tmp_path / "meta")
    header = (tmp_path / "meta-1.safetensors").read_bytes()
    metadata = json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])["__metadata__"]
    assert (metadata["format"], metadata["version"], metadata["save_counter"]) == (
        "gradtape.checkpoint",
        "2",
        "1",
    )
    assert json.loads(metadata["tensors"])["z"]["dtype"] == "complex128"
    assert load_file(f"{path}.safetensors")["z"].tolist() == [1.0, 2.0]


def test_a_variable_of_open_shape_takes_another_shape(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(tmp_path / "open")
    v = tf.Variable([0.0], shape=[None])
    tf.train.Checkpoint(v=v).read(path).assert_consumed()
    assert v.numpy().tolist() == [1.0, 2.0]


def test_an_empty_checkpoint(tmp_path):
    path = tf.train.Checkpoint().save(tmp_path / "empty")
    tf.train.Checkpoint().restore(path).assert_consumed()


# Paths and numbers


def test_save_counts_and_makes_folders(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    prefix = str(tmp_path / "new" / "folder" / "model")
    assert [checkpoint.save(prefix), checkpoint.save(prefix)] == [f"{prefix}-1", f"{prefix}-2"]
    assert int(checkpoint.save_counter) == 2
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [
        "checkpoint",
        "model-1.safetensors",
        "model-2.safetensors",
    ]
    assert tf.train.latest_checkpoint(tmp_path / "new" / "folder") == f"{prefix}-2"
    checkpoint.restore(f"{prefix}-1")
    assert int(checkpoint.save_counter) == 1


def test_paths_are_relative_to_where_one_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    assert checkpoint.save("here") == "here-1"
    assert tf.train.latest_checkpoint(".") == f".{os.sep}here-1"
    checkpoint.restore("here-1.safetensors").assert_consumed()


def test_write_leaves_the_latest_alone(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    saved = checkpoint.save(tmp_path / "model")
    assert checkpoint.write(tmp_path / "best") == str(tmp_path / "best")
    assert tf.train.latest_checkpoint(tmp_path) == saved
    assert int(checkpoint.save_counter) == 1


def test_no_path_restores_nothing():
    v = tf.Variable(1.0)
    status = tf.train.Checkpoint(v=v).restore(None).expect_partial()
    status.initialize_or_restore()
    assert float(v) == 1.0
    for check in (
        status.assert_consumed,
        status.assert_existing_objects_matched,
        status.assert_nontrivial_match,
    ):
        with pytest.raises(AssertionError, match="nothing was restored"):
            check()


# What matched


def test_status_names_what_did_not_match(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(1.0), gone=tf.Variable(2.0)).write(tmp_path / "names")
    fits = tf.train.Checkpoint(a=tf.Variable(0.0)).restore(path)
    fits.assert_existing_objects_matched().expect_partial()
    with pytest.raises(AssertionError, match="Values in the file without a Variable: gone"):
        fits.assert_consumed()
    more = tf.train.Checkpoint(a=tf.Variable(0.0), new=[tf.Variable(0.0)]).restore(path)
    more.assert_nontrivial_match()
    for check in (more.assert_consumed, more.assert_existing_objects_matched):
        with pytest.raises(AssertionError, match="Variables without a value in the file: new/0"):
            check()
    with pytest.raises(AssertionError, match="differ"):
        tf.train.Checkpoint(other=tf.Variable(0.0)).restore(path).assert_nontrivial_match()


def test_many_names_are_cut_short(tmp_path):
    path = tf.train.Checkpoint(v=[tf.Variable(0.0) for _ in range(50)]).write(tmp_path / "many")
    with pytest.raises(AssertionError, match="v/19 and 30 more"):
        tf.train.Checkpoint().restore(path).assert_consumed()


# Attributes that come later


def test_a_later_attribute_gets_its_value_when_it_is_set(tmp_path):
    saved = tf.train.Checkpoint(net=Net(1.0), step=tf.Variable(7))
    path = saved.write(tmp_path / "later")

    class Lazy(tf.Module):
        pass

    net = Lazy()
    checkpoint = tf.train.Checkpoint(net=net)
    status = checkpoint.restore(path).assert_existing_objects_matched()
    (tmp_path / "later.safetensors").unlink()
    checkpoint.step = tf.Variable(0)
    assert int(checkpoint.step) == 7
    net.w = tf.Variable([[0.0, 0.0]])
    assert net.w.numpy().tolist() == [[1.0, 2.0]]
    with pytest.raises(AssertionError, match="net/layers/0"):
        status.assert_consumed()
    net.layers = []
    net.layers.append(tf.Variable(0.0))
    net.layers = [*net.layers, {"scale": tf.Variable(0.0)}]
    net.pair = (tf.Variable(0.0),)
    assert values(net) == values(saved.net)
    status.assert_consumed()


def test_a_value_is_given_once(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0), w=tf.Variable(2.0)).write(tmp_path / "once")
    checkpoint = tf.train.Checkpoint(v=tf.Variable(0.0))
    checkpoint.restore(path)
    checkpoint.v = tf.Variable(10.0)
    assert float(checkpoint.v) == 10.0
    checkpoint.w = tf.Variable(0.0)
    checkpoint.w.assign(20.0)
    same = checkpoint.w
    checkpoint.w = same
    assert float(checkpoint.w) == 20.0


def test_a_module_that_comes_later_waits_for_its_own(tmp_path):
    class Outer(tf.Module):
        pass

    saved = Outer()
    saved.inner = Net(1.0)
    path = tf.train.Checkpoint(saved).write(tmp_path / "outer")
    outer = Outer()
    status = tf.train.Checkpoint(outer=outer, inner=outer).read(path)
    outer.w = tf.Variable([[0.0, 0.0]])
    assert outer.w.numpy().tolist() == [[1.0, 2.0]]
    with pytest.raises(AssertionError, match="inner/layers/0"):
        status.assert_consumed()


def test_a_later_attribute_that_does_not_fit_is_refused(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(tmp_path / "misfit")
    checkpoint = tf.train.Checkpoint()
    checkpoint.restore(path)
    with pytest.raises(ValueError, match="'v' has shape"):
        checkpoint.v = tf.Variable(0.0)
    assert not hasattr(checkpoint, "v")
    checkpoint.v = tf.Variable([0.0, 0.0])
    assert checkpoint.v.numpy().tolist() == [1.0, 2.0]


def test_the_last_restore_counts(tmp_path):
    first = tf.train.Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "first")
    second = tf.train.Checkpoint(v=tf.Variable(2.0)).write(tmp_path / "second")
    checkpoint = tf.train.Checkpoint()
    checkpoint.restore(first)
    checkpoint.restore(second)
    checkpoint.v = tf.Variable(0.0)
    assert float(checkpoint.v) == 2.0


def test_a_module_that_waits_can_be_copied(tmp_path):
    path = tf.train.Checkpoint(Net(1.0)).write(tmp_path / "copy")
    net = tf.Module()
    tf.train.Checkpoint(net).restore(path)
    for copied in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        copied.w = tf.Variable([[0.0, 0.0]])
        assert copied.w.numpy().tolist() == [[0.0, 0.0]]


def test_a_variable_made_in_a_compiled_function_gets_its_value(tmp_path):
    class Lazy(tf.Module):
        w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable([0.0, 0.0])
            return self.w * x

    saved = Lazy()
    saved(tf.constant(1.0))
    saved.w.assign([3.0, 4.0])
    path = tf.train.Checkpoint(net=saved).write(tmp_path / "lazy")
    restored = Lazy()
    status = tf.train.Checkpoint(net=restored).restore(path)
    assert restored(tf.constant(2.0)).numpy().tolist() == [6.0, 8.0]
    status.assert_consumed()


# Compiled functions, tapes and threads


def test_restoring_into_a_compiled_function_does_not_trace_again(tmp_path):
    v = tf.Variable([1.0, 2.0])
    checkpoint = tf.train.Checkpoint(v=v)

    @tf.function
    def step(x):
        v.assign_add(x)
        return v * 2.0

    one = tf.constant([1.0, 1.0])
    step(one)
    path = checkpoint.write(tmp_path / "step")  # of a value that only XLA holds
    step(one)
    step(one)
    checkpoint.read(path).assert_consumed()
    assert step(one).numpy().tolist() == [6.0, 8.0]
    assert v.numpy().tolist() == [3.0, 4.0]
    assert step.experimental_get_tracing_count() == 1
    step(one)
    assert load_file(f"{path}.safetensors")["v"].tolist() == [2.0, 3.0]


def test_it_is_not_for_the_inside_of_compiled_functions(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    path = checkpoint.write(tmp_path / "outside")
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, 2)
    for method in (
        checkpoint.save,
        checkpoint.write,
        checkpoint.read,
        checkpoint.restore,
        lambda _path: manager.save(),
    ):

        @tf.function(autograph=False)
        def call(method=method):
            method(path)

        with pytest.raises(NotImplementedError, match="call it outside"):
            call()
    assert int(checkpoint.save_counter) == 0


def test_a_tape_does_not_notice(tmp_path):
    v = tf.Variable(3.0)
    checkpoint = tf.train.Checkpoint(v=v)
    with tf.GradientTape() as tape:
        y = v * v
        path = checkpoint.save(tmp_path / "tape")
        v.assign(5.0)
        checkpoint.restore(path)
    assert float(v) == 3.0
    assert float(tape.gradient(y, v)) == 6.0
    assert tape.watched_variables() == (v,)


def test_saving_while_another_thread_assigns(tmp_path):
    size = 20_000
    v = tf.Variable(np.zeros(size))
    checkpoint = tf.train.Checkpoint(v=v)
    stop = threading.Event()

    def assign():
        number = 0
        while not stop.is_set():
            number += 1
            v.assign(np.full(size, float(number)))

    thread = threading.Thread(target=assign)
    thread.start()
    try:
        for _ in range(20):
            stored = load_file(f"{checkpoint.write(tmp_path / 'threads')}.safetensors")["v"]
            assert (stored == stored[0]).all()
    finally:
        stop.set()
        thread.join()


def test_threads_that_save_get_numbers_of_their_own(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    paths = []
    threads = [
        threading.Thread(target=lambda: paths.append(checkpoint.save(tmp_path / "model")))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(paths) == [str(tmp_path / f"model-{number}") for number in range(1, 7)]
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "model-6")


# Errors


def test_nothing_is_restored_if_one_shape_is_wrong(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable([1.0, 2.0])).write(
        tmp_path / "shapes"
    )
    a, b = tf.Variable(0.0), tf.Variable([0.0, 0.0, 0.0], name="bias")
    with pytest.raises(
        ValueError,
        match=(
            r"'b' has shape \(2,\) in '.*shapes', but the variable 'bias:0' has shape "
            r"\(3,\): create"
        ),
    ):
        tf.train.Checkpoint(a=a, b=b).read(path)
    assert float(a) == 0.0


def test_nothing_is_restored_if_one_dtype_is_wrong(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).write(tmp_path / "dtypes")
    a, b = tf.Variable(0.0), tf.Variable(0.0, dtype=tf.float64, name="bias")
    with pytest.raises(
        ValueError,
        match=r"'b' is float32 in '.*dtypes', but the variable 'bias:0' is float64: create",
    ):
        tf.train.Checkpoint(a=a, b=b).read(path)
    assert float(a) == 0.0


def test_a_missing_file_says_what_is_there(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    checkpoint.save(tmp_path / "model")
    for path, said in [
        ("model", "and wrote model-1 here"),
        ("other", "does not exist"),
        ("", "latest_checkpoint"),
        ("nowhere/model", "the folder '.*nowhere' does not exist"),
    ]:
        with pytest.raises(tf.errors.NotFoundError, match=said):
            checkpoint.restore(tmp_path / path)


def test_files_of_others_are_refused(tmp_path, monkeypatch):
    save_file({"v": np.ones(2)}, tmp_path / "other.safetensors")
    checkpoint = tf.train.Checkpoint(v=tf.Variable([1.0, 1.0]))
    with pytest.raises(ValueError, match="but not a checkpoint"):
        checkpoint.read(tmp_path / "other")
    with monkeypatch.context() as newer:
        newer.setattr(tensor_file, "VERSION", 3)
        checkpoint.write(tmp_path / "newer")
    with pytest.raises(ValueError, match="newer gradtape"):
        checkpoint.read(tmp_path / "newer")


def test_a_folder_without_permission_is_named(tmp_path, monkeypatch):
    def refuse(*_args):
        raise PermissionError(13, "Permission denied")

    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    monkeypatch.setattr(atomic_file.os, "replace", refuse)
    with pytest.raises(
        tf.errors.PermissionDeniedError,
        match=r"model-1.safetensors' cannot be written \(Permission denied\): choose",
    ):
        checkpoint.save(tmp_path / "model")
    assert int(checkpoint.save_counter) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_path_needs_a_name():
    with pytest.raises(ValueError, match="must end with a file name"):
        tf.train.Checkpoint().write("")


DOORS = {
    "save": ("file_prefix", lambda path: tf.train.Checkpoint().save(path)),
    "write": ("file_prefix", lambda path: tf.train.Checkpoint().write(path)),
    "read": ("save_path", lambda path: tf.train.Checkpoint().read(path)),
    "restore": ("save_path", lambda path: tf.train.Checkpoint().restore(path)),
    "latest": ("checkpoint_dir", lambda path: tf.train.latest_checkpoint(path)),
    "manager": (
        "directory",
        lambda path: tf.train.CheckpointManager(tf.train.Checkpoint(), path, max_to_keep=1),
    ),
}


@pytest.mark.parametrize(("argument", "use"), DOORS.values(), ids=DOORS.keys())
def test_what_is_no_path_is_refused_by_name(argument, use):
    for wrong in (5, ["a"], tf.constant("a")):
        with pytest.raises(TypeError, match=f"{argument} must be a path"):
            use(wrong)
    with pytest.raises(ValueError, match=f"{argument} must not contain a null character"):
        use("a\0b")


def test_a_path_may_be_bytes(tmp_path):
    v = tf.Variable(3.0)
    path = tf.train.Checkpoint(v=v).save(os.fsencode(tmp_path / "model"))
    assert path == str(tmp_path / "model-1")
    v.assign(0.0)
    assert tf.train.latest_checkpoint(os.fsencode(tmp_path)) == path
    tf.train.Checkpoint(v=v).restore(os.fsencode(path)).assert_consumed()
    assert float(v) == 3.0


def test_files_are_as_readable_as_others(tmp_path):
    before = os.umask(0o022)
    try:
        tf.train.Checkpoint().write(tmp_path / "mode")
    finally:
        os.umask(before)
    assert (tmp_path / "mode.safetensors").stat().st_mode & 0o777 == 0o644


# Keras's objects, by what they look like


class KerasVariable:
    def __init__(self, path, value):
        self.path = path
        self.inner = tf.Variable(value)

    @property
    def __gradtape_variable__(self):
        return self.inner

    def assign(self, value):
        self.inner.assign(value)


class KerasObject:
    def __init__(self, optimizer=None, **variables):
        self.variables = [
            KerasVariable(path.replace("__", "/"), value) for path, value in variables.items()
        ]
        self.optimizer = optimizer


def test_keras_objects_are_saved_by_path(tmp_path):
    def program(value):
        optimizer = KerasObject(adam__iteration=value, adam__dense_kernel_momentum=value + 1)
        return tf.train.Checkpoint(
            model=KerasObject(optimizer, dense__kernel=value + 2),
            single=KerasVariable("one", value + 3),
        )

    saved, restored = program(1.0), program(0.0)
    path = saved.write(tmp_path / "keras")
    names = [
        "model/dense/kernel",
        "model/optimizer/adam/dense_kernel_momentum",
        "model/optimizer/adam/iteration",
    ]
    assert sorted(load_file(f"{path}.safetensors")) == [*names, "save_counter", "single"]
    restored.read(path).assert_consumed()
    assert [float(v.inner) for v in restored.model.optimizer.variables] == [1.0, 2.0]
    assert [float(restored.model.variables[0].inner), float(restored.single.inner)] == [3.0, 4.0]


def test_a_keras_model_made_again_has_other_numbers_in_its_names(tmp_path):
    path = tf.train.Checkpoint(
        KerasObject(dense__kernel=1.0, dense_1__kernel=2.0, out__kernel=3.0)
    ).write(tmp_path / "again")
    model = KerasObject(dense_1__kernel=0.0, dense_2__kernel=0.0, out__kernel=0.0)
    tf.train.Checkpoint(model).read(path).assert_consumed()
    assert [float(v.inner) for v in model.variables] == [1.0, 2.0, 3.0]


def test_a_keras_model_with_other_layers_matches_by_name_alone(tmp_path):
    path = tf.train.Checkpoint(KerasObject(dense__kernel=1.0, dense_1__kernel=2.0)).write(
        tmp_path / "fewer"
    )
    model = KerasObject(dense_1__kernel=0.0)
    status = tf.train.Checkpoint(model).read(path)
    assert float(model.variables[0].inner) == 2.0
    with pytest.raises(AssertionError, match=r"dense/kernel\n.*a Keras object makes after restore"):
        status.assert_consumed()


def test_keras_variables_of_one_path_are_told_apart(tmp_path):
    def model(a, b):
        made = KerasObject(x=a, y=b)
        made.variables[1].path = "x"
        return made

    path = tf.train.Checkpoint(model(1.0, 2.0)).write(tmp_path / "twice")
    restored = model(0.0, 0.0)
    tf.train.Checkpoint(restored).read(path).assert_consumed()
    assert [float(v.inner) for v in restored.variables] == [1.0, 2.0]
