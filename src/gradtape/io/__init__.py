"""`tf.io`: files, TFRecords, examples, and images as files hold them."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.io.tfrecord import TFRecordOptions, TFRecordWriter

__all__ = ["TFRecordOptions", "TFRecordWriter"]
