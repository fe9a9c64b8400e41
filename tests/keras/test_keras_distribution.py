"""Models over several devices: four that XLA makes of the CPU, in a Python of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradtape

CODE = """
import json
import keras_gradtape
keras_gradtape.install()
import gradtape
import keras
import numpy as np
from keras import distribution, layers

gradtape.config.set_wait_for_compilation(True)  # what XLA has is looked at
x = np.random.default_rng(0).normal(size=(32, 8)).astype("float32")
y = x.sum(axis=1, keepdims=True)

def trained(chosen):
    distribution.set_distribution(chosen)
    keras.utils.set_random_seed(0)
    hidden = layers.Dense(16, activation="relu", name="first")
    model = keras.Sequential([keras.Input((8,)), hidden, layers.Dense(1)])
    model.compile("adam", "mse")
    losses = model.fit(x, y, epochs=2, batch_size=16, shuffle=False, verbose=0).history["loss"]
    held = model.layers[0].kernel.__gradtape_variable__.held
    shapes = [list(shard.data.shape) for shard in held.addressable_shards]
    result = losses, shapes, model.predict(x, verbose=0)[0].tolist()
    distribution.set_distribution(None)
    return result

mesh = distribution.DeviceMesh((2, 2), ["batch", "model"], distribution.list_devices("cpu"))
layout = distribution.LayoutMap(mesh)
layout[".*first.*kernel"] = (None, "model")
print(json.dumps([
    trained(None),
    trained(distribution.DataParallel()),
    trained(distribution.ModelParallel(layout_map=layout, batch_dim_name="batch")),
]))
"""


@pytest.mark.slow
def test_training_on_many_devices_is_training_on_one():
    environment = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"} | {
        "PYTHONPATH": str(Path(gradtape.__file__).parent.parent),
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "JAX_PLATFORMS": "cpu",
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    one, copies, shards = json.loads(done.stdout)
    assert one[1] == [[8, 16]]
    assert copies[1] == [[8, 16]] * 4
    assert shards[1] == [[8, 8]] * 4
    for spread in (copies, shards):
        np.testing.assert_allclose(spread[0], one[0], rtol=1e-5)
        np.testing.assert_allclose(spread[2], one[2], rtol=1e-5)
