"""Where `tf.compat.v1` finds its names: in the modules beside this one, in the tables of
`spellings`, and then in gradtape.

Its namespaces, such as `tf.compat.v1.nn`, have no files: `Finder` makes them when they are
imported or used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import gradtape
from gradtape.absent import found_below
from gradtape.compat.respelled import here, respelled, rows_of
from gradtape.compat.v1.spellings import ALIASES, ROWS

_ROOT = "gradtape.compat.v1"

_DEFINED = """
session: get_default_graph Session InteractiveSession ConfigProto GPUOptions GraphOptions
    OptimizerOptions RunOptions
    enable_eager_execution enable_v2_behavior=already_so enable_resource_variables=already_so
    enable_control_flow_v2=already_so enable_tensor_equality=already_so
    enable_v2_tensorshape=already_so control_flow_v2_enabled=yes resource_variables_enabled=yes
    executing_eagerly_outside_functions=yes keras.backend.set_session=set_session
functions: Dimension name_scope to_bfloat16 to_complex64 to_complex128 to_double to_float to_int32
    to_int64 div where
    clip_by_average_norm batch_gather nn.dropout=dropout nn.xw_plus_b=xw_plus_b
    nn.softmax_cross_entropy_with_logits=softmax_cross_entropy_with_logits
    nn.embedding_lookup=embedding_lookup nn.relu_layer=relu_layer assign assign_add assign_sub
    scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_sub scatter_update
    scatter_nd_add scatter_nd_sub scatter_nd_update Print=print_and_pass colocate_with
    reset_default_graph convert_to_tensor_or_indexed_slices
optimizers: train.Optimizer=Optimizer train.GradientDescentOptimizer=GradientDescentOptimizer
    train.MomentumOptimizer=MomentumOptimizer train.AdagradOptimizer=AdagradOptimizer
    train.AdadeltaOptimizer=AdadeltaOptimizer train.RMSPropOptimizer=RMSPropOptimizer
    train.AdamOptimizer=AdamOptimizer
    train.get_or_create_global_step=get_or_create_global_step
    train.create_global_step=create_global_step train.get_global_step=get_global_step
flags: app.run=run
reading: data.make_one_shot_iterator=make_one_shot_iterator
    data.make_initializable_iterator=make_initializable_iterator
    data.get_output_types=get_output_types data.get_output_shapes=get_output_shapes
    data.get_output_classes=get_output_classes strings.split=strings_split
    io.tf_record_iterator=tf_record_iterator python_io.tf_record_iterator=tf_record_iterator
    io.TFRecordCompressionType=TFRecordCompressionType
    python_io.TFRecordCompressionType=TFRecordCompressionType
"""
"""What is defined in which module beside this one, by its name in `tf.compat.v1`."""

_WHOLE = frozenset(("flags", "logging", "losses"))
"""Modules beside this one that are namespaces themselves."""

_OTHERWISE = """
    initializers layers metrics saved_model summary
    batch_to_space image.extract_glimpse image.resize image.resize_with_pad
    nn.ctc_loss nn.embedding_lookup_sparse nn.fractional_avg_pool nn.fractional_max_pool
    nn.nce_loss nn.safe_embedding_lookup_sparse nn.sampled_softmax_loss nn.space_to_batch
    space_to_batch sparse.concat sparse.split while_loop
"""
"""Names that mean something else in TensorFlow 1: nothing of today's is found there."""


class Tables:
    """The tables, read once."""

    def __init__(self) -> None:
        self.rows = rows_of(ROWS)
        self.aliases = dict(pair.split("=", 1) for pair in ALIASES.split())
        self.defined: dict[str, tuple[str, str]] = {}
        for line in _DEFINED.strip().replace("\n ", " ").split("\n"):
            module, _, names = line.partition(":")
            for name in names.split():
                public, _, own = name.partition("=")
                self.defined[public] = module, own or public

    def __iter__(self) -> Iterator[str]:
        yield from (*self.rows, *self.aliases, *self.defined)

    def is_namespace(self, name: str) -> bool:
        """Whether something is below a name."""
        return any(full.startswith(f"{name}.") for full in self)


tables = cache(Tables)


def _relative(module: str) -> str:
    """`nn.` for the namespace `gradtape.compat.v1.nn`, and nothing for the root."""
    return f"{module.removeprefix(_ROOT).removeprefix('.')}.".removeprefix(".")


def finds(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a namespace of `tf.compat.v1`."""
    prefix = _relative(module)

    def find(name: str) -> Any:
        full = f"{prefix}{name}"
        found = tables()
        if full in found.defined:
            beside, own = found.defined[full]
            value = getattr(import_module(f"{_ROOT}.{beside}"), own)
        elif full in found.rows:
            value = respelled(found.rows[full], "tf.compat.v1.")
        elif full in _WHOLE or is_namespace(full):
            return import_module(f"{_ROOT}.{full}")
        else:
            value = _as_today(full)
        vars(sys.modules[module])[name] = value  # so that it is looked up once
        return value

    return find


def _as_today(full: str) -> Any:
    """What gradtape has, if it means the same in TensorFlow 1."""
    today = tables().aliases.get(full, full)
    parent, _, name = f"compat.v1.{full}".rpartition(".")
    if name.startswith("__") or means_something_else(full):
        raise found_below(parent, name)
    try:
        return here(today)
    except AttributeError:
        raise found_below(parent, name, today) from None


def means_something_else(full: str) -> bool:
    """Whether today's meaning of a name is not that of TensorFlow 1."""
    names = _OTHERWISE.split()
    return full in names or full.partition(".")[0] in names


def is_namespace(full: str) -> bool:
    """Whether `tf.compat.v1` has a namespace of this name."""
    if tables().is_namespace(full) or full in _WHOLE:
        return True
    if full.startswith("__") or means_something_else(full) or full == "compat":
        return False
    if full.partition(".")[0] not in dir(gradtape):  # a folder of definitions
        return False
    try:
        return isinstance(here(full), ModuleType)
    except AttributeError:
        return False


def lists(module: str) -> Callable[[], list[str]]:
    """The `__dir__` of a namespace of `tf.compat.v1`."""
    prefix = _relative(module)

    def listed() -> list[str]:
        below = [full for full in tables() if full.startswith(prefix)]
        own = {full.removeprefix(prefix) for full in below if _leads_somewhere(full)}
        try:
            today = dir(here(prefix.rstrip(".")) if prefix else gradtape)
        except AttributeError:
            today = []
        names = {*own, *(name for name in today if not means_something_else(f"{prefix}{name}"))}
        return sorted({name.partition(".")[0] for name in names if name[0] != "_"})

    return listed


def _leads_somewhere(full: str) -> bool:
    """Whether gradtape has what an alias stands for; other names are always there."""
    today = tables().aliases.get(full)
    if today is None:
        return True
    try:
        here(today)
    except AttributeError:
        return False
    return True


class Finder:
    """Makes the namespaces of `tf.compat.v1` that have no file. It stands behind Python's own
    finder of files.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.startswith(f"{_ROOT}.") and is_namespace(name.removeprefix(f"{_ROOT}.")):
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves it to Python to make a module."""

    def exec_module(self, module: ModuleType) -> None:
        """Gives a namespace its names."""
        vars(module)["__getattr__"] = finds(module.__name__)
        vars(module)["__dir__"] = lists(module.__name__)


sys.meta_path.insert(sys.meta_path.index(PathFinder) + 1, Finder())
