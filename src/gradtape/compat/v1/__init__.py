"""`tf.compat.v1`: TensorFlow 1's names and spellings, as far as they work without graphs and
sessions.

What has the same meaning today is the same object; `namespace` says where the rest is.
"""

from typing import TYPE_CHECKING

from gradtape.compat.v1 import namespace

if not TYPE_CHECKING:  # a type checker would take any name to be there
    __getattr__ = namespace.finds(__name__)
    __dir__ = namespace.lists(__name__)
