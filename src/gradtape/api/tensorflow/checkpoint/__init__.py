"""Checkpoints: the values of Variables in a file, by the place that each has among objects.

`atomic_file` writes a file whole or not at all, `tensor_file` puts arrays into a safetensors file,
`object_graph` says which objects hang from which, `restoring` brings a file's graph and a program's
objects together, `state_file` knows which checkpoint of a folder is the latest. `checkpoint` and
`manager` are the classes of `tf.train`.
"""
