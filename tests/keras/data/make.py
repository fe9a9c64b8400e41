"""Makes tensorflow.zip, which test_keras_saving.py loads: models as Keras on TensorFlow saves them,
and what they predict there.

    KERAS_BACKEND=tensorflow python tests/keras/data/make.py

With another folder as its argument it writes a zip file there, whatever the backend; with
`--check file.zip` it loads what another backend has written and compares. So both directions can be
tried by hand.
"""

import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

import keras

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from small_models import MODELS, batch_for, optimizer_for  # noqa: E402 - it stands beside this file


def write(archive):
    """Each model after two steps, as `.keras` and `.weights.h5`; its predictions then,
    and after two steps more.
    """
    predictions = {}
    with (
        tempfile.TemporaryDirectory() as name,
        zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as files,
    ):
        folder = Path(name)
        for kind, build in MODELS.items():
            keras.utils.set_random_seed(7)
            model, (x, y) = build(), batch_for(kind)
            model.compile(optimizer_for(kind), "mse")
            model.fit(x, y, batch_size=4, shuffle=False, verbose=0)
            predictions[kind] = model.predict(x, verbose=0)
            model.save(folder / f"{kind}.keras")
            model.save_weights(folder / f"{kind}.weights.h5")
            model.fit(x, y, batch_size=4, shuffle=False, verbose=0)
            predictions[f"{kind}.later"] = model.predict(x, verbose=0)
        np.savez_compressed(folder / "predictions.npz", **predictions)
        for path in sorted(folder.iterdir()):
            files.write(path, path.name)


def check(archive):
    """Fails if a model in the file predicts something else here than where it was written,
    or learns something else.
    """
    with tempfile.TemporaryDirectory() as name:
        zipfile.ZipFile(archive).extractall(name)
        folder = Path(name)
        predictions = np.load(folder / "predictions.npz")
        for kind, build in MODELS.items():
            x, y = batch_for(kind)
            model, fresh = keras.saving.load_model(folder / f"{kind}.keras"), build()
            fresh.load_weights(folder / f"{kind}.weights.h5")
            for loaded in (model, fresh):
                np.testing.assert_allclose(
                    loaded.predict(x, verbose=0), predictions[kind], rtol=1e-4, atol=1e-5
                )
            model.fit(x, y, batch_size=4, shuffle=False, verbose=0)
            np.testing.assert_allclose(
                model.predict(x, verbose=0), predictions[f"{kind}.later"], rtol=1e-3, atol=1e-5
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        check(Path(sys.argv[2]))
    else:
        folder = Path(sys.argv[1]) if sys.argv[1:] else HERE
        write(folder / f"{keras.backend.backend()}.zip")
