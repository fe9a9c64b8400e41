"""Keras on gradtape for the tests in this folder, with its settings in a folder of their own."""

import os
import tempfile
from pathlib import Path

import keras_gradtape

os.environ.setdefault("KERAS_HOME", str(Path(tempfile.gettempdir()) / "gradtape-keras-home"))
keras_gradtape.install()
