"""Graphs and traces."""

import logging
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.graph_pb2 import GraphDef

import gradtape as tf
from tests.summary.test_recording import events

summary = tf.summary


def test_a_graph(tmp_path):
    graph = GraphDef()
    graph.node.add(name="x", op="Placeholder")
    assert summary.graph(graph) is False
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default():
        assert summary.graph(graph) is True
        with summary.record_if(False):
            assert summary.graph(graph) is False
    writer.close()
    found = [event.graph_def for event in events(tmp_path) if event.graph_def]
    assert [GraphDef.FromString(data) for data in found] == [graph]


@pytest.mark.parametrize("wrong", [3, None, b"", lambda x: x])
def test_what_is_no_graph(wrong):
    with pytest.raises(ValueError, match=r"must be a tape, a tf.function, .* or a GraphDef, got"):
        summary.graph(wrong)


def drawn(folder, what):
    """The nodes of a graph by name, as TensorBoard reads them from a file."""
    writer = summary.create_file_writer(folder)
    with writer.as_default():
        assert summary.graph(what) is True
    writer.close()
    nodes = EventAccumulator(str(folder)).Reload().Graph().node
    found = {node.name: node for node in nodes}
    assert len(found) == len(nodes)
    assert all(name in found for node in nodes for name in node.input)
    return found


def sizes(node):
    return [[dim.size for dim in shape.dim] for shape in node.attr["_output_shapes"].list.shape]


def test_the_graph_of_a_tape(tmp_path):
    w = tf.Variable([[1.0], [2.0]], name="w")
    x = tf.ones([3, 2])

    def hidden(x):
        return tf.tanh(x @ w)

    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(hidden(x) + hidden(x))
    found = drawn(tmp_path, tape)
    ops = {name.rpartition("/")[2]: node for name, node in found.items()}
    assert ops["w"].op == "Variable"
    assert sizes(ops["w"]) == [[2, 1]]
    assert ops["watched_tensor"].op == "Placeholder"
    assert list(ops["matmul"].input) == ["watched_tensor", "w"]
    assert [node.op for node in found.values()].count("tanh") == 2
    assert all("hidden/" in name for name, node in found.items() if node.op == "tanh")
    assert ops["reduce_sum"].input == [next(n for n, node in found.items() if node.op == "add")]
    assert Path(__file__).name in ops["matmul"].attr["line"].s.decode()
    assert tape.gradient(loss, w).shape == [2, 1]  # it can still be asked


def test_layers_of_keras_are_scopes(tmp_path):
    layer = tf.keras.layers.Dense(2, name="first")
    x = tf.ones([1, 3])
    layer(x)
    with tf.GradientTape() as tape:
        layer(x)
    found = drawn(tmp_path, tape)
    assert {"first/kernel", "first/bias", "first/matmul", "first/add"} <= found.keys()


@pytest.mark.parametrize("concrete", [False, True])
def test_the_graph_of_a_function(tmp_path, concrete):
    v = tf.Variable([1.0, 2.0], name="v")

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.exp(x * v))
        v.assign_sub(tape.gradient(loss, v))
        (i,) = tf.while_loop(lambda i: i < 3, lambda i: (i + 1,), [tf.constant(0)])
        return loss, i

    kept = step.get_concrete_function(tf.TensorSpec([2]))
    found = drawn(tmp_path, kept if concrete else step)
    assert all(name.startswith("step/") for name in found)
    assert found["step/v"].op == "Variable"
    assert sizes(found["step/argument"]) == [[2]]
    assert {"exp", "while", "mul"} <= {node.op for node in found.values()}
    assert set(found["step/mul"].input) == {"step/argument", "step/v"}
    assert [node.op for node in found.values()].count("Result") == 3  # with the Variable's value


def test_each_program_of_a_function_has_a_scope(tmp_path):
    f = tf.function(lambda x: tf.sin(x))
    for size in (2, 3):
        f(tf.ones([size]))
    scopes = {name.partition("/")[0] for name in drawn(tmp_path, f)}
    assert len(scopes) == 2


def test_functions_that_have_no_program():
    with pytest.raises(ValueError, match="has not been traced yet: call it first"):
        summary.graph(tf.function(lambda x: x))

    @tf.function
    def text(x):
        return tf.strings.lower(tf.io.read_file(x))

    with pytest.raises(ValueError, match="runs op by op, so that it has no program: give a tape"):
        text(__file__)
        summary.graph(text)


def profiles(folder):
    return list(Path(folder).rglob("*.xplane.pb"))


@pytest.mark.parametrize("when", ["trace_on", "trace_export"])
def test_a_profile(tmp_path, when):
    place = {"profiler_outdir": tmp_path / "out"}
    summary.trace_on(graph=False, profiler=True, **(place if when == "trace_on" else {}))
    tf.function(lambda x: x + 1.0)(tf.constant(1.0))
    summary.trace_export("step", step=0, **(place if when == "trace_export" else {}))
    assert len(profiles(tmp_path / "out")) == 1
    with pytest.raises(ValueError, match="nothing is traced: call trace_on first"):
        summary.trace_export("step", step=0)


def test_a_trace_that_is_left(tmp_path):
    summary.trace_on(graph=False, profiler=True, profiler_outdir=tmp_path)
    summary.trace_off()
    summary.trace_off()
    assert profiles(tmp_path) == []
    summary.trace_on(graph=False, profiler=True)
    with pytest.raises(ValueError, match="give profiler_outdir"):
        summary.trace_export("step", step=0)
    summary.trace_off()


def test_two_traces(caplog):
    with caplog.at_level(logging.WARNING):
        summary.trace_on(graph=False)
        summary.trace_on(graph=False)
    assert "a trace is running already" in caplog.text
    summary.trace_off()


def test_in_a_function():
    with pytest.raises(RuntimeError, match="cannot be called inside of a function"):
        tf.function(lambda: summary.trace_on(), jit_compile=True)()
