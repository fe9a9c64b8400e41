"""`copy` and `pickle` of functions, Checkpoints, generators and Modules that have them: a copy
works by itself, or is refused clearly.
"""

import copy
import gc
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape as tf
import gradtape.train


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


COPY = pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled], ids=["deepcopy", "pickle"])
COPIES = pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, pickled], ids=["copy", "deepcopy", "pickle"]
)

X = tf.constant([1.0, 2.0])


# Functions


@tf.function
def doubled(x):
    return 2.0 * x


def plain(x):
    return 3.0 * x


tripled = tf.function(plain, reduce_retracing=True)


@COPIES
@pytest.mark.parametrize("traced", [False, True], ids=["new", "traced"])
def test_a_function_of_a_module_is_itself(duplicate, traced):
    if traced:
        doubled(X)
    assert duplicate(doubled) is doubled


@COPIES
def test_a_function_made_from_one_of_a_module(duplicate):
    tripled(X)
    made = duplicate(tripled)
    assert made(X).numpy().tolist() == [3.0, 6.0]
    assert made.python_function is plain
    assert made._options == tripled._options


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
def test_a_copy_of_a_closure_is_itself_as_in_python(duplicate):
    v = tf.Variable(1.0)
    closure = tf.function(lambda x: v * x)
    closure(X)
    assert duplicate(closure) is closure


def test_a_closure_cannot_be_pickled_and_says_what_to_do():
    @tf.function
    def inside(x):
        return x

    for function in (inside, tf.function(lambda x: x)):
        with pytest.raises(
            pickle.PicklingError,
            match=r"(inside|<lambda>): only a function that can be imported by name .* at the top",
        ):
            pickle.dumps(function)


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x


@COPY
def test_a_function_made_from_an_object_has_a_copy_of_it(duplicate):
    scaler = Scaler(tf.Variable(2.0))
    function = tf.function(scaler)
    function(X)
    made = duplicate(function)
    scaler.factor.assign(5.0)
    assert made(X).numpy().tolist() == [2.0, 4.0]
    assert function(X).numpy().tolist() == [5.0, 10.0]


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, pickled], ids=["copy", "deepcopy", "pickle"]
)
@pytest.mark.parametrize(
    "spec", [tf.TensorSpec([2]), tf.TensorSpec([None])], ids=["concrete", "open"]
)
def test_a_program_is_refused(duplicate, spec):
    program = doubled.get_concrete_function(spec)
    with pytest.raises(
        TypeError,
        match=(
            r"cannot be copied or pickled: copy or pickle the tf.function .* "
            r"get_concrete_function"
        ),
    ):
        duplicate(program)


# Modules


class Net(tf.Module):
    def __init__(self, value):
        super().__init__()
        self.w = tf.Variable(value)
        self.step = tf.function(self.by_hand)  # of a bound method
        self.kept = self.method  # a bound function in an attribute

    @tf.function
    def method(self, x):
        self.w.assign_add(1.0)
        return self.w * x

    def by_hand(self, x):
        self.w.assign_add(10.0)
        return self.w * x


CALLS = {
    "method": lambda net: net.method,
    "attribute": lambda net: net.step,
    "kept": lambda net: net.kept,
}


@COPY
@pytest.mark.parametrize("traced", [False, True], ids=["new", "traced"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_modules_functions_belong_to_the_copy(duplicate, traced, call):
    net = Net(1.0)
    if traced:
        for function in CALLS.values():
            function(net)(X)
        net.w.assign(1.0)
    made = duplicate(net)
    result = call(made)(X).numpy().tolist()
    assert float(net.w) == 1.0  # the first one's Variable is left alone
    assert result == [float(made.w), 2 * float(made.w)]
    assert float(made.w) in (2.0, 11.0)
    call(net)(X)
    assert float(net.w) == float(made.w)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(call(made)(X))
    assert float(tape.gradient(loss, made.w)) == 3.0


@COPY
def test_a_bound_function_by_itself(duplicate):
    net = Net(1.0)
    net.method(X)
    made = duplicate(net.method)
    gc.collect()  # a copy by itself keeps the object it belongs to
    assert made(X).numpy().tolist() == [3.0, 6.0]
    assert float(net.w) == 2.0
    assert made(X).numpy().tolist() == [4.0, 8.0]


@COPY
def test_functions_and_modules_that_are_copied_together_stay_together(duplicate):
    net = Net(1.0)
    made, method, step = duplicate((net, net.method, net.step))
    method(X)
    assert float(made.w) == 2.0
    step(X)
    assert (float(made.w), float(net.w)) == (12.0, 1.0)
    assert step is made.step


def test_a_pickle_works_in_another_process(tmp_path):
    program = """
import pickle, sys
import gradtape as tf
import gradtape.train

class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(2.0)
        self.rng = tf.random.Generator.from_seed(1)

    @tf.function
    def __call__(self, x):
        return self.w * x

@tf.function
def f(x):
    return x + 1.0

if sys.argv[1] == "write":
    net = Net()
    net(tf.constant(1.0)), f(tf.constant(1.0)), net.rng.normal([3])
    pickle.dump((net, f, tf.train.Checkpoint(net=net)), open(sys.argv[2], "wb"))
    print(net.rng.normal([3]).numpy().tolist())
else:
    net, f, checkpoint = pickle.load(open(sys.argv[2], "rb"))
    assert float(net(tf.constant(3.0))) == 6.0
    assert float(f(tf.constant(3.0))) == 4.0
    assert checkpoint.net is net
    print(net.rng.normal([3]).numpy().tolist())
"""
    (tmp_path / "program.py").write_text(program)
    printed = [
        subprocess.run(
            [sys.executable, tmp_path / "program.py", mode, tmp_path / "pickle"],
            env=os.environ | {"PYTHONPATH": str(Path(tf.__file__).parent.parent)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for mode in ("write", "read")
    ]
    assert printed[0] == printed[1]


# Generators


@COPIES
def test_a_generator_goes_on_by_itself(duplicate):
    generator = tf.random.Generator.from_seed(3)
    generator.normal([2])
    made = duplicate(generator)
    expected = generator.normal([4]).numpy().tolist()
    assert made.normal([4]).numpy().tolist() == expected
    assert made.state.numpy().tolist() == generator.state.numpy().tolist()
    made.skip(1)
    assert made.state.numpy().tolist() != generator.state.numpy().tolist()
    made.reset_from_seed(3)


@COPY
def test_a_generator_that_is_shared_stays_shared(duplicate):
    generator = tf.random.Generator.from_seed(3)
    one, two = duplicate([generator, generator])
    assert one is two


@COPY
def test_a_generator_in_a_compiled_function(duplicate):
    generator = tf.random.Generator.from_seed(3)
    tf.function(lambda: generator.normal([2]))()  # its state is XLA's
    made = duplicate(generator)
    assert made.normal([2]).numpy().tolist() == generator.normal([2]).numpy().tolist()


# Checkpoints


@COPY
def test_a_checkpoint_has_copies_of_its_objects(duplicate, tmp_path):
    checkpoint = tf.train.Checkpoint(
        tf.Module(), v=tf.Variable(1.0), rng=tf.random.Generator.from_seed(1)
    )
    checkpoint.save(tmp_path / "one")
    made = duplicate(checkpoint)
    assert int(made.save_counter) == 1
    made.v.assign(5.0)
    assert made.save(tmp_path / "other") == str(tmp_path / "other-2")
    assert int(checkpoint.save_counter) == 1
    assert float(checkpoint.v) == 1.0
    checkpoint.restore(tmp_path / "other-2").assert_consumed()
    assert float(checkpoint.v) == 5.0


@COPY
def test_a_checkpoint_copied_with_its_model_belongs_to_the_copy(duplicate, tmp_path):
    net = Net(1.0)
    made, checkpoint = duplicate((net, tf.train.Checkpoint(net=net)))
    made.w.assign(4.0)
    path = checkpoint.write(tmp_path / "made")
    made.w.assign(0.0)
    checkpoint.restore(path)
    assert (float(made.w), float(net.w)) == (4.0, 1.0)


@COPY
def test_a_copy_of_a_checkpoint_that_waits_does_not_wait(duplicate, tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "one")
    checkpoint = tf.train.Checkpoint()
    checkpoint.restore(path)
    made = duplicate(checkpoint)
    made.v = tf.Variable(0.0)
    checkpoint.v = tf.Variable(0.0)
    assert (float(made.v), float(checkpoint.v)) == (0.0, 1.0)


def test_a_shallow_copy_of_a_checkpoint_has_the_same_objects():
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    made = copy.copy(checkpoint)
    assert made.v is checkpoint.v
    made.v = tf.Variable(2.0)
    assert float(checkpoint.v) == 1.0


@COPIES
def test_a_manager_is_refused(duplicate, tmp_path):
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1.0)), tmp_path, 2)
    with pytest.raises(
        TypeError,
        match=(
            r"CheckpointManager cannot be copied or pickled.*make another with "
            r"tf.train.CheckpointManager\("
        ),
    ):
        duplicate(manager)
    assert manager.save() == str(tmp_path / "ckpt-1")


# Blocks, and functions with gradients of their own


def entered_tape():
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.y = x * x
    tape.x = x
    return tape


BLOCKS = {
    "new tape": tf.GradientTape,
    "tape": entered_tape,
    "paused tape": lambda: entered_tape().stop_recording(),
    "accumulator": lambda: tf.autodiff.ForwardAccumulator(X, X),
    "profile": tf.profile,
    "device": lambda: tf.device("CPU:0"),
    "init_scope": tf.init_scope,
}


@COPIES
@pytest.mark.parametrize("make", BLOCKS.values(), ids=BLOCKS.keys())
def test_a_block_is_refused(duplicate, make):
    with pytest.raises(TypeError, match=r"cannot be copied or pickled: (make another|take its)"):
        duplicate(make())


def test_a_refused_copy_leaves_the_tape_as_it_was():
    tape = entered_tape()
    with pytest.raises(TypeError, match="A GradientTape belongs to one thread"):
        copy.copy(tape)
    gc.collect()
    assert float(tape.gradient(tape.y, tape.x)) == 4.0


@tf.custom_gradient
def halved_gradient(x):
    return x * 2.0, lambda g: g


@COPIES
def test_a_function_with_its_own_gradient_is_itself(duplicate):
    assert duplicate(halved_gradient) is halved_gradient


class HasGradient(tf.Module):
    def __init__(self, scale):
        self.scale = tf.Variable(scale)
        self.call = tf.custom_gradient(self.scaled)

    def scaled(self, x):
        return x * self.scale, lambda g, variables=None: (g, [g])


@COPY
def test_a_method_with_its_own_gradient_belongs_to_the_copy(duplicate):
    first = HasGradient(2.0)
    second = duplicate(first)
    second.scale.assign(5.0)
    assert (float(first.call(1.0)), float(second.call(1.0))) == (2.0, 5.0)
