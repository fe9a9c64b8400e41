"""Imports TensorFlow before any test, so that what its import warns about is not an error here."""

import os
import warnings

# It tells on every start which instructions it uses.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what TensorFlow itself imports is not ours to change
    import tensorflow as tf

tf.get_logger().setLevel("ERROR")  # some functions we must call tell that they will change one day

# Programs that tests run in processes of their own, each on one backend of Keras's.
collect_ignore = ["keras_dtypes.py", "keras_losses.py", "keras_restored.py", "keras_text.py"]
