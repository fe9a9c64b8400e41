"""The ops: one declaration each, with kernel and derivative side by side; a file per family.

An op takes Tensors, Variables, NumPy arrays and numbers as positional arguments and parameters as
keywords. With a Tensor among the arguments it returns a Tensor, recorded if something records; with
plain arrays alone it returns the kernel's plain array, so rules run at NumPy's own speed.
"""
