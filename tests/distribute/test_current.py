"""Which strategy is in force, with one replica, and what it does on one device."""

import threading

import numpy as np
import pytest

import gradtape as tf

ONE = ["OneDeviceStrategy", "MirroredStrategy", "MultiWorkerMirroredStrategy"]


def made(kind):
    arguments = {"OneDeviceStrategy": ["/cpu:0"], "MirroredStrategy": [["/cpu:0"]]}
    if kind == "default":
        return tf.distribute.get_strategy()
    return getattr(tf.distribute, kind)(*arguments.get(kind, []))


@pytest.fixture(params=["default", "OneDeviceStrategy", "MirroredStrategy"])
def strategy(request):
    return made(request.param)


def test_without_a_strategy_there_is_one_replica():
    assert not tf.distribute.has_strategy()
    assert not tf.distribute.in_cross_replica_context()
    assert tf.distribute.get_strategy().num_replicas_in_sync == 1
    context = tf.distribute.get_replica_context()
    assert context.replica_id_in_sync_group == 0
    assert context.strategy is tf.distribute.get_strategy()
    assert context.devices == ("/job:localhost/replica:0/task:0/device:CPU:0",)


def test_scopes_are_those_of_a_thread_and_may_be_nested():
    first, second = made("OneDeviceStrategy"), made("MirroredStrategy")
    seen = []
    with first.scope() as entered:
        assert entered is first is tf.distribute.get_strategy()
        with second.scope():
            assert tf.distribute.get_strategy() is second
            thread = threading.Thread(target=lambda: seen.append(tf.distribute.has_strategy()))
            thread.start()
            thread.join()
        assert tf.distribute.get_strategy() is first
        assert tf.distribute.in_cross_replica_context()
        assert tf.distribute.get_replica_context() is None
    assert seen == [False]
    assert not tf.distribute.has_strategy()


def test_a_scope_ends_with_an_error():
    with pytest.raises(KeyError), made("OneDeviceStrategy").scope():
        raise KeyError
    assert not tf.distribute.has_strategy()


def test_a_strategy_can_be_set():
    strategy = made("OneDeviceStrategy")
    tf.distribute.experimental_set_strategy(strategy)
    assert tf.distribute.get_strategy() is strategy
    tf.distribute.experimental_set_strategy(None)
    assert not tf.distribute.has_strategy()


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "function"])
def test_one_replica_runs_a_function_as_it_is(strategy, compiled):
    with strategy.scope():
        v = tf.Variable(3.0)
        total = tf.Variable(
            0.0,
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    def replica(x, scale=1.0):
        context = tf.distribute.get_replica_context()
        assert context.num_replicas_in_sync == 1
        with tf.GradientTape() as tape:
            loss = v * x * scale
        (gradient,) = context.all_reduce(tf.distribute.ReduceOp.SUM, [tape.gradient(loss, v)])
        v.assign_sub(gradient)
        total.assign_add(loss)
        return loss, context.all_gather(tf.reshape(loss, [1]), axis=0)

    def step(x):
        loss, gathered = strategy.run(replica, args=(x,), kwargs={"scale": 2.0})
        return strategy.reduce("mean", loss, axis=None), strategy.gather(gathered, axis=0)

    step = tf.function(step) if compiled else step
    loss, gathered = step(tf.constant(0.5))
    assert (float(loss), gathered.numpy().tolist()) == (3.0, [3.0])
    step(tf.constant(0.5))
    assert (float(v), float(total)) == (1.0, 5.0)


def test_merge_call_of_one_replica(strategy):
    def merged(given, x):
        assert given is strategy
        assert tf.distribute.get_replica_context() is None
        return x + 1

    call = lambda x: tf.distribute.get_replica_context().merge_call(merged, args=(x,))
    assert float(strategy.run(call, args=(tf.constant(1.0),))) == 2.0


def test_run_in_run_is_refused():
    strategy = made("OneDeviceStrategy")
    with pytest.raises(RuntimeError, match="in a function that it runs"):
        strategy.run(lambda: strategy.run(lambda: 1))


def test_losses_know_how_many_replicas_there_are(strategy):
    losses = tf.constant([1.0, 2.0])
    assert float(strategy.run(tf.nn.compute_average_loss, args=(losses,))) == 1.5
    assert float(strategy.run(tf.nn.scale_regularization_loss, args=(losses,))) == 3.0


@pytest.mark.parametrize("devices", [[], ["/cpu:0", "/cpu:0"]])
def test_devices_must_be_different(devices):
    with pytest.raises(ValueError, match="devices must be different"):
        tf.distribute.MirroredStrategy(devices)


def test_replicas_on_tpus_need_tpus():
    with pytest.raises(RuntimeError, match="JAX finds no TPU"):
        tf.distribute.TPUStrategy()


def test_variables_of_a_scope_with_one_device_are_plain(strategy):
    with strategy.scope():
        v = tf.Variable(np.ones(3, np.float32))
    assert v.divided_as is None
    assert strategy.extended.worker_devices == (v.device,)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ParameterServerStrategy", "Variables are on every device"),
        ("experimental.CentralStorageStrategy", "MirroredStrategy"),
        ("cluster_resolver", "keras.distribution.initialize"),
        ("StrategyExtended", "keras.distribution"),
    ],
)
def test_absent_strategies_say_what_to_use(name, says):
    place = tf.distribute
    *path, last = name.split(".")
    for part in path:
        place = getattr(place, part)
    with pytest.raises(AttributeError) as caught:
        getattr(place, last)
    assert says in str(caught.value)
