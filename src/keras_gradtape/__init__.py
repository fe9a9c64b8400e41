"""Keras 3 on gradtape: the backend named "gradtape", and the import hook that makes Keras find
it.
"""

from __future__ import annotations

__all__ = ["install"]


def install() -> None:
    """Makes the next `import keras` use this backend; refuses if Keras runs on another one,
    or is told to.

    Does nothing if it has been done already.
    """
    # Every Python imports this package at its start, and few use Keras.
    from keras_gradtape import hook  # noqa: PLC0415

    hook.install()
