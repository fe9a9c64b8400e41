"""Checkpoints and SavedModels that TensorFlow writes are restored by gradtape."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a program is given

import gradtape

DTYPES = [
    "float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8",
    "uint16", "uint32", "uint64", "bool", "complex64", "complex128", "string", "float8_e5m2",
    "float8_e4m3fn",
]  # fmt: skip
SHAPES = [(), (0,), (3,), (2, 3), (2, 0, 4), (1, 1, 1, 1, 5)]


def values_of(dtype, shape):
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7
    if dtype == "string":
        texts = np.empty(shape, object)
        texts[...] = np.array([b"\0\xff" * n for n in numbers.ravel()], object).reshape(shape)
        return texts
    if dtype.startswith(("complex", "float", "bfloat")):
        numbers = numbers - 1.5
    return numbers


def module(tf, seed):
    """Variables of all dtypes and shapes in lists, dicts and Modules; 0 for seed 0."""
    held = tf.Module()
    held.by_name = {}
    for dtype in DTYPES:
        for number, shape in enumerate(SHAPES):
            array = values_of(dtype, shape)
            if not seed:
                array = np.full(shape, b"", object) if dtype == "string" else array * 0
            value = tf.constant(array) if dtype == "string" else tf.cast(array, dtype)
            held.by_name[f"{dtype}_{number}"] = tf.Variable(value)
    held.nested = [tf.Variable(float(seed)), (tf.Variable(seed), [tf.Variable([seed])])]
    return held


def as_lists(held):
    nested = held.nested[0], held.nested[1][0], held.nested[1][1][0]
    variables = [*held.by_name.values(), *nested]
    return [(v.dtype.name, np.asarray(v.numpy()).tolist()) for v in variables]


@pytest.mark.parametrize("how", ["save", "write", "saved_model"])
def test_every_dtype_and_shape(tmp_path, how):
    theirs = module(tensorflow, 3)
    checkpoint = tensorflow.train.Checkpoint(held=theirs)
    if how == "saved_model":
        outer = tensorflow.Module()
        outer.held = theirs
        tensorflow.saved_model.save(outer, tmp_path / "saved")
        path = tmp_path / "saved"
    else:
        path = getattr(checkpoint, how)(str(tmp_path / "ckpt"))
    ours = module(gradtape, 0)
    assert as_lists(ours) != as_lists(theirs)
    status = gradtape.train.Checkpoint(held=ours).restore(path)
    status.assert_existing_objects_matched()
    assert as_lists(ours) == as_lists(theirs)


def test_many_variables_in_several_blocks_of_the_table(tmp_path):
    theirs = tensorflow.train.Checkpoint(v=[tensorflow.Variable([float(n)]) for n in range(3000)])
    ours = gradtape.train.Checkpoint(v=[gradtape.Variable([-1.0]) for _ in range(3000)])
    ours.restore(theirs.save(str(tmp_path / "ckpt"))).assert_consumed()
    assert [float(v[0]) for v in ours.v] == [*range(3000)]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("sharded", [False, True])
def test_partitioned_variables_of_tensorflow_1(tmp_path, axis, sharded):
    v1 = tensorflow.compat.v1
    with tensorflow.Graph().as_default(), v1.Session() as session:
        for rows in (1, 2, 65, 8200):
            with v1.variable_scope(f"s{rows}", partitioner=v1.fixed_size_partitioner(2, axis)):
                v1.get_variable("a", [rows + 1, 2], initializer=v1.random_normal_initializer())
        session.run(v1.global_variables_initializer())
        path = v1.train.Saver(sharded=sharded).save(session, str(tmp_path / "model"))
    theirs, ours = tensorflow.train.load_checkpoint(path), gradtape.train.load_checkpoint(path)
    assert ours.get_variable_to_shape_map() == theirs.get_variable_to_shape_map()
    for name in ours.get_variable_to_shape_map():
        np.testing.assert_array_equal(ours.get_tensor(name), theirs.get_tensor(name))


@pytest.mark.parametrize("latest", [True, False])
def test_a_folder_of_a_manager(tmp_path, latest):
    step = tensorflow.Variable(0)
    manager = tensorflow.train.CheckpointManager(
        tensorflow.train.Checkpoint(step=step), str(tmp_path / "a b"), max_to_keep=2
    )
    for _ in range(3):
        step.assign_add(1)
        manager.save()
    if not latest:
        for file in (tmp_path / "a b").glob("ckpt-3.*"):
            file.unlink()
    assert gradtape.train.latest_checkpoint(tmp_path / "a b") == str(
        tmp_path / "a b" / ("ckpt-3" if latest else "ckpt-2")
    )
    ours = gradtape.train.Checkpoint(step=gradtape.Variable(0))
    ours.restore(gradtape.train.latest_checkpoint(tmp_path / "a b")).assert_consumed()
    assert int(ours.step) == (3 if latest else 2)


@pytest.mark.parametrize("writer", [tensorflow, gradtape], ids=["theirs", "ours"])
def test_entries_that_come_after_restore(tmp_path, writer):
    values = [writer.Variable(1.0), writer.Variable(2.0), writer.Variable(3.0)]
    part = writer.train.Checkpoint(bias=values[0])
    path = writer.train.Checkpoint(
        net=writer.train.Checkpoint(l1=part), listed=values[1:], mapped={"one": values[0]}
    ).save(str(tmp_path / "ckpt"))

    def restored(tf):
        root = tf.train.Checkpoint()
        root.restore(path)
        root.listed, root.mapped, root.net = [], {}, tf.train.Checkpoint()
        late = [tf.Variable(0.0) for _ in range(4)]
        root.listed.append(late[0])
        root.listed.extend([late[1]])
        root.mapped["one"] = late[2]
        root.net.l1 = tf.train.Checkpoint(bias=late[3])
        return [float(v) for v in late]

    assert restored(gradtape)[:3] == [2.0, 3.0, 1.0]
    if writer is tensorflow:
        assert restored(gradtape) == restored(tensorflow)


def test_keras_that_is_built_after_restore(tmp_path):
    program = Path(__file__).with_name("keras_restored.py")

    def losses(backend):
        done = subprocess.run(
            [sys.executable, str(program), str(tmp_path)],
            env=os.environ | {"KERAS_BACKEND": backend},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    expected = losses("tensorflow")
    got = losses("gradtape")
    assert len(expected) == 8
    assert got.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-4, err_msg=name)
