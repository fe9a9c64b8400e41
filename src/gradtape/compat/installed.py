"""Importing this makes `tensorflow` mean gradtape, for processes that import modules by name."""

import gradtape

gradtape.install_as_tensorflow()
