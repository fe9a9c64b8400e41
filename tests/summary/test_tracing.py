"""Graphs and traces."""

import logging
from pathlib import Path

import pytest
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


@pytest.mark.parametrize("wrong", [3, None, b"", tf.function(lambda x: x)])
def test_what_is_no_graph(wrong):
    with pytest.raises(ValueError, match=r"must be a GraphDef.*tape\.show"):
        summary.graph(wrong)


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
