"""Keras 3 on gradtape: the backend named "gradtape", and the import hook that gives it to Keras."""

from keras_gradtape.hook import install

__all__ = ["install"]
