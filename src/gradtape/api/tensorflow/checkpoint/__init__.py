"""Checkpoints: the values of Variables in a file, each under its path through the objects that hold
it.

`atomic_file` writes a file whole or not at all, `tensor_file` puts arrays into a safetensors file,
`object_graph` lists which objects each object holds, `restoring` matches a file's graph with a
program's objects, `state_file` knows the latest checkpoint of a folder. `checkpoint` and `manager`
are the classes of `tf.train`.
"""
