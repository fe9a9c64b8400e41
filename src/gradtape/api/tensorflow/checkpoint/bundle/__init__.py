"""Checkpoints that TensorFlow wrote, read without TensorFlow.

Such a checkpoint is a file `prefix.index`, a sorted table from keys to small messages, and files
`prefix.data-00000-of-00001` with the bytes of the arrays. `wire` reads the messages, `table` the
table, `reader` the arrays, `slices` those in parts, and `graph` the objects that the arrays belong
to; `attributes` finds those of Keras. Nothing is written here: gradtape saves safetensors files.
"""
