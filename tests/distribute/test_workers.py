"""Strategies, layouts and values across processes: two processes with two devices each compute what
one device computes.
"""

import json

import numpy as np
import pytest

import gradtape as tf
from gradtape.distribute.workers import task_of
from tests.many_processes import run

TOGETHER = """
from gradtape.distribute import ReduceOp

strategy = tf.distribute.MultiWorkerMirroredStrategy()
local = strategy.experimental_local_results
context = tf.distribute.get_replica_context
found["replicas"] = strategy.num_replicas_in_sync, strategy.cluster_resolver.task_id

random = np.random.default_rng(0)
x = random.normal(size=(16, 3)).astype("float32")
y = x.sum(1, keepdims=True)

with strategy.scope():
    drawn = tf.Variable(np.random.default_rng(number).normal(size=3))  # what the first one has
    w = tf.Variable(np.zeros((3, 1), "float32"))
    count = tf.Variable(
        0.0, trainable=False, synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.SUM,
    )
found["drawn"] = drawn.numpy().tolist()


def step(x, y):
    with tf.GradientTape() as tape:
        losses = tf.reduce_sum((x @ w - y) ** 2, -1)
        loss = tf.nn.compute_average_loss(losses, global_batch_size=8)
    w.assign_sub(0.1 * context().all_reduce("sum", tape.gradient(loss, w)))
    count.assign_add(1.0)
    return loss


@tf.function
def distributed(x, y):
    return strategy.reduce(ReduceOp.SUM, strategy.run(step, args=(x, y)), axis=None)


dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
batches = strategy.experimental_distribute_dataset(dataset)
found["losses"] = [float(distributed(*batch)) for _ in range(5) for batch in batches]
found["w"] = w.numpy().ravel().tolist(), float(count.numpy())

numbers = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant([float(context.replica_id_in_sync_group)] * 2)
)
more = tf.function(lambda v: strategy.run(lambda one: one + 1.0, args=(v,)))(numbers)
found["local"] = [v.numpy().tolist() for v in local(more)]
found["reduced"] = [
    strategy.reduce("sum", more, axis=None).numpy().tolist(),
    float(strategy.reduce("mean", more, axis=0)),
    strategy.gather(more, axis=0).numpy().tolist(),
]
own = strategy.distribute_datasets_from_function(
    lambda context: tf.data.Dataset.range(18)
    .shard(context.num_input_pipelines, context.input_pipeline_id)
    .batch(context.get_per_replica_batch_size(4))
)
found["own"] = [[int(v) for part in local(element) for v in part] for element in own]
draw = tf.function(lambda: strategy.run(lambda: tf.random.uniform([2])))
found["random"] = strategy.gather(draw(), axis=0).numpy().tolist()
try:
    strategy.run(lambda: 1)
except RuntimeError as error:
    found["eager"] = str(error)

# Layouts: arrays whose parts are in both processes.
dtensor = tf.experimental.dtensor
mesh = dtensor.create_distributed_mesh([("batch", -1)])
rows = dtensor.Layout.batch_sharded(mesh, "batch", rank=2)
values = np.arange(32.0).reshape(8, 4).astype("float32")
v = tf.Variable(values, layout=rows)
add = tf.function(lambda x: v.assign_add(tf.transpose(x) @ x @ tf.ones((8, 4)), read_value=False))
add(np.eye(8, dtype="float32"))
found["parts"] = [list(shard.data.shape) for shard in v.held.addressable_shards]
found["read"] = v.numpy().tolist() == (values + 1).tolist()
add(np.eye(8, dtype="float32"))
found["repr"] = repr(v)[:60], float(tf.reduce_sum(v * 2.0))
double = tf.function(lambda: v * 2.0)
found["result"] = double().numpy().tolist() == (2 * (values + 2)).tolist(), repr(double())[:40]
found["text"] = str(double())[:12], float((double() + 1.0).numpy().sum())
lazy = tf.Variable(lambda: tf.random.normal((8, 4)), layout=rows)
found["lazy"] = "array" in vars(lazy), lazy.numpy().tolist()

import tempfile

folder = os.environ["FOLDER"]
checkpoint = tf.train.Checkpoint(v=v)
path = checkpoint.save(f"{folder}/of_{number}")
v.assign(values)
checkpoint.restore(path)
found["restored"] = v.numpy().tolist() == (values + 2).tolist()
add(np.eye(8, dtype="float32"))
found["after"] = [list(shard.data.shape) for shard in v.held.addressable_shards]

# Where one process asks alone, it does not wait for ever.
os.environ["GRADTAPE_WAIT_SECONDS"] = "1"
if number == 0:
    try:
        v.numpy()
    except RuntimeError as error:
        found["alone"] = str(error)
"""


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    return run(TOGETHER, 2, devices=2, FOLDER=str(tmp_path_factory.mktemp("saved")))


def by_hand():
    x = np.random.default_rng(0).normal(size=(16, 3)).astype("float32")
    y = x.sum(1, keepdims=True)
    w, losses = np.zeros((3, 1)), []
    for _ in range(5):
        for i in (0, 8):
            errors = x[i : i + 8] @ w - y[i : i + 8]
            losses.append((errors**2).sum() / 8)
            w = w - 0.1 * 2 * x[i : i + 8].T @ errors / 8
    return losses, w


def test_replicas_of_two_processes_train_together(together):
    losses, w = by_hand()
    for number, found in enumerate(together):
        assert found["replicas"] == [4, number]
        np.testing.assert_allclose(found["losses"], losses, rtol=1e-5)
        np.testing.assert_allclose(found["w"][0], w.ravel(), rtol=1e-5)
        assert found["w"][1] == 10 * 4


def test_new_variables_have_the_value_of_the_first_process(together):
    expected = np.random.default_rng(0).normal(size=3).tolist()
    assert [found["drawn"] for found in together] == [expected] * 2


def test_values_of_replicas_in_other_processes(together):
    assert [found["local"] for found in together] == [
        [[1.0] * 2, [2.0] * 2],
        [[3.0] * 2, [4.0] * 2],
    ]
    for found in together:
        total, mean, gathered = found["reduced"]
        assert (total, mean) == ([10.0, 10.0], 2.5)
        assert gathered == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]
        assert len(set(found["random"])) == 8
    assert together[0]["random"] == together[1]["random"]


def test_each_process_reads_its_own_dataset(together):
    own = [[0, 2], [4, 6], [8, 10], [12, 14], [16]]  # the last replica of each has nothing left
    assert together[0]["own"] == own
    assert together[1]["own"] == [[value + 1 for value in values] for values in own]


def test_eager_replicas_of_several_processes_are_refused(together):
    assert all("in compiled functions only" in found["eager"] for found in together)


def test_arrays_whose_parts_are_in_several_processes(together):
    for found in together:
        assert found["parts"] == found["after"] == [[2, 4]] * 2
        assert found["read"]
        assert found["restored"]
        text, total = found["repr"]
        assert text.startswith("<tf.Variable 'Variable:0' shape=(8, 4) dtype=float32, numpy=")
        assert total == 2 * (np.arange(32).sum() + 64)
        assert found["result"] == [True, "<tf.Tensor: shape=(8, 4), dtype=float32,"]
        assert found["text"] == ["tf.Tensor([[", 2.0 * (np.arange(32).sum() + 64) + 32]
        assert found["lazy"][0] is False
    assert together[0]["lazy"] == together[1]["lazy"]


def test_a_process_that_reads_alone_is_told_so(together):
    told = together[0]["alone"]
    assert "Reading an array of shape (8, 4)" in told
    assert "process 0 has waited 1 seconds for the others" in told
    assert "the same lines must run in every process" in told


def config(cluster, kind, index):
    return json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})


def test_what_tf_config_says():
    assert task_of("") is None
    assert task_of("{}") is None
    cluster = {"worker": ["b:1", "c:1"], "chief": ["a:1"], "evaluator": ["d:1"]}
    chief = task_of(config(cluster, "chief", 0))
    assert (chief.task_type, chief.number, chief.addresses) == ("chief", 0, ["a:1", "b:1", "c:1"])
    assert task_of(config(cluster, "worker", 1)).number == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "TF_CONFIG must be like"),
        ("[1]", "TF_CONFIG must be like"),
        (config({"worker": ["a:1"]}, "worker", 1), "the task 'worker' 1 is none of the cluster's"),
        (config({"worker": ["a:1"]}, "evaluator", 0), "is none of the cluster's"),
        (config({"worker": ["a:1"], "ps": ["b:1"]}, "worker", 0), "names parameter servers"),
    ],
)
def test_a_tf_config_without_sense(text, said):
    with pytest.raises(ValueError) as raised:
        task_of(text)
    assert said in str(raised.value)


def test_a_cluster_resolver_is_refused():
    with pytest.raises(NotImplementedError, match="TF_CONFIG"):
        tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=object())


def test_a_time_to_wait_without_sense(monkeypatch):
    from gradtape.engines.xla.processes import wait_seconds

    assert wait_seconds() == 300
    for text in ("0", "-1", "soon"):
        monkeypatch.setenv("GRADTAPE_WAIT_SECONDS", text)
        with pytest.raises(ValueError, match="must be a whole number of seconds"):
            wait_seconds()
