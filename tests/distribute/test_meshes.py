"""Meshes: grids of devices with named axes."""

import pytest

import gradtape as tf
from tests.many_devices import run

dtensor = tf.experimental.dtensor


def test_a_mesh_has_names_and_sizes():
    mesh = dtensor.create_mesh([("batch", -1), ("model", 1)])
    assert (mesh.dim_names, mesh.shape, mesh.size) == (["batch", "model"], [1, 1], 1)
    assert mesh.dim_size("model") == 1
    assert repr(mesh) == "Mesh(batch=1, model=1)"
    assert mesh == dtensor.create_mesh([("batch", 1), ("model", 1)], devices=["/cpu:0"])
    assert mesh != dtensor.create_mesh([("model", 1), ("batch", 1)])
    assert len({mesh, dtensor.create_mesh([("batch", 1), ("model", 1)])}) == 1
    assert dtensor.create_distributed_mesh() == dtensor.create_mesh()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: dtensor.create_mesh([("batch", 3)]), "do not fit the 1 devices"),
        (lambda: dtensor.create_mesh([("batch", 0), ("model", -1)]), "do not fit the 1 devices"),
        (lambda: dtensor.create_mesh([("a", 1), ("a", 1)]), "must have different names"),
        (lambda: dtensor.create_mesh([("a", -1), ("b", -1)]), "one -1 at most"),
        (lambda: dtensor.create_mesh(device_type="TPU"), "device_type 'TPU' has no devices"),
        (lambda: dtensor.create_mesh(devices=["/cpu:0", "/cpu:0"]), "must be different"),
        (lambda: dtensor.create_mesh().dim_size("model"), "the axes ['batch'], not 'model'"),
    ],
)
def test_what_is_no_mesh(make, said):
    with pytest.raises(ValueError) as raised:
        make()
    assert said in str(raised.value)


def test_meshes_of_eight_devices():
    found = run(
        """
        dtensor = tf.experimental.dtensor
        found["shapes"] = [
            dtensor.create_mesh([("batch", -1), ("model", 2)]).shape,
            dtensor.create_distributed_mesh([("batch", 2), ("model", 4)]).shape,
            dtensor.create_mesh(device_type="CPU").shape,
            dtensor.create_mesh(devices=["/cpu:3", "/cpu:5"]).shape,
        ]
        found["devices"] = [
            device.id for device in dtensor.create_mesh(devices=["/cpu:3", "/cpu:5"]).grid.devices
        ]
        """
    )
    assert found["shapes"] == [[4, 2], [2, 4], [8], [2]]
    assert found["devices"] == [3, 5]
