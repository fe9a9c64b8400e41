"""`tf.io.gfile`: files and folders, local ones and those of other file systems."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.io.file_system import (
    copy,
    exists,
    get_registered_schemes,
    glob,
    isdir,
    join,
    listdir,
    makedirs,
    mkdir,
    remove,
    rename,
    rmtree,
    stat,
    walk,
)
from gradtape.io.open_files import GFile

__all__ = [
    "GFile", "copy", "exists", "get_registered_schemes", "glob", "isdir", "join", "listdir",
    "makedirs", "mkdir", "remove", "rename", "rmtree", "stat", "walk",
]  # fmt: skip
