"""Restoring: gives a checkpoint's values to a program's objects, at once, and later to attributes
that are set after `restore` and to variables that Keras makes then.

Objects and file are followed together from their roots, by name. All shapes and dtypes are compared
before the first value is assigned, and whatever happens meanwhile, including a signal, afterwards
either all Variables have their new values or all have their old ones.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Sequence, Set
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.checkpoint.bundle.attributes import by_attribute
from gradtape.api.tensorflow.checkpoint.bundle.graph import by_path
from gradtape.api.tensorflow.checkpoint.growing import GrowingDict, GrowingList, growing
from gradtape.api.tensorflow.checkpoint.keras_attributes import ATTRIBUTES, keras_part
from gradtape.api.tensorflow.checkpoint.late import by_layer, is_unfinished, note
from gradtape.api.tensorflow.checkpoint.object_graph import (
    children,
    graph_of,
    identity,
    is_followed,
    is_keras_like,
    is_seed,
    keras_paths,
    matched_names,
    matched_seeds,
    variable_of,
)
from gradtape.api.tensorflow.checkpoint.tensor_file import Contents
from gradtape.api.tensorflow.environment import get_logger
from gradtape.convert import on_host
from gradtape.core.module import Module
from gradtape.core.variable import Variable
from gradtape.core.writing import writing
from gradtape.core.xla.trace import outside_programs
from gradtape.shapes import TensorShape

_LISTED = 20  # names in a message


class Restoration:
    """One reading of a checkpoint: what has got its value, and what still waits."""

    def __init__(self, root: Any, path: Any, contents: Contents) -> None:
        if not contents.nodes:
            raise ValueError(
                f"restore: '{path}' has values by name only, as TensorFlow 1 saved them: read them "
                "with gradtape.train.load_checkpoint(path).get_tensor(name), and assign them."
            )
        self._root = root
        self._path = path
        self._nodes = contents.nodes
        self._full_names = contents.full_names
        self._arrays = contents.arrays
        self._keys = list(contents.arrays)
        self._used: set[str] = set()
        # By identity, and kept alive so that no other object gets the same.
        self._restored: dict[int, Any] = {}
        self._grown: dict[int, tuple[Any, Any]] = {}
        # Variables of Keras's without a value, and what they were when they were first met.
        self._unmatched: dict[int, tuple[Variable, Any]] = {}
        self._late = False
        self._give(root, 0)
        self._late = True
        self.left = _Left(path, self._keys, self._used)
        if self.left.keys():
            weakref.finalize(self, self.left.warn)

    def _give(self, thing: Any, number: int) -> None:
        """Gives values to all objects below one, or raises and gives none."""
        places, holders = self._follow(thing, number)
        for leaf, key in places:
            if self._full_names:
                self._fit_integers(leaf, key)
            self._check(leaf, key)
        # A compiled function in another thread sees all old values or all new ones.
        with outside_programs(), writing.lock:
            _assign_all([(leaf, self._arrays[key]) for leaf, key in places])
        self._restored.update((identity(leaf), leaf) for leaf, _ in places)
        self._used.update(key for _, key in places)
        self._arrays = {key: array for key, array in self._arrays.items() if key not in self._used}
        for holder, at in holders:
            held = keras_part(holder)
            below = at if held is None else self._place_of_values(at)
            waiting = Waiting(self, at) if self._some_wait_below(below) else None
            if held is not None:
                self._wait_for(held, waiting)
            if holder is held:
                continue
            if isinstance(holder, (GrowingList, GrowingDict)):
                holder.waiting = waiting
                continue
            vars(holder).pop("_waiting", None)
            if waiting is not None:
                object.__setattr__(holder, "_waiting", waiting)
                self._exchange(vars(holder), self._names(at))

    def give_late(self, thing: Any, number: int) -> None:
        """Gives the values that wait below a node to what a Keras object has there now."""
        if self._arrays:
            self._give(thing, number)

    def _wait_for(self, held: Any, waiting: Waiting | None) -> None:
        """Has a Keras object tell when it has made variables, while values wait."""
        note(held, None if waiting is None else waiting.made)
        for child in children(held).values() if waiting is not None else ():
            variable = variable_of(child)
            if variable is not None and id(variable) not in self._restored:
                before = variable, np.array(on_host(variable.array))
                self._unmatched.setdefault(id(variable), before)

    def _is_changed(self, thing: Any) -> bool:
        """Whether a variable has been given another value since it was found without one."""
        met = self._unmatched.get(identity(thing))
        return met is not None and not np.array_equal(on_host(met[0].array), met[1])

    def _follow(
        self, thing: Any, number: int
    ) -> tuple[list[tuple[Any, str]], list[tuple[Any, int]]]:
        """The Variables below an object with their keys, and the Modules, Checkpoints and Keras
        objects with their nodes, each object once.
        """
        places, holders = [], []
        seen = {identity(thing)}
        queue = [(thing, number)]
        for thing, number in queue:  # noqa: PLR1704 - the queue grows as the loop goes on
            node = self._nodes[number]
            if variable_of(thing) is not None:
                if (
                    node.tensor is not None
                    and node.tensor in self._arrays
                    and identity(thing) not in self._restored
                    and not self._is_changed(thing)
                ):
                    places.append((thing, node.tensor))
                continue
            held = keras_part(thing)
            follows = hasattr(type(thing), "__gradtape_children__")
            if held is not None or follows or isinstance(thing, (Module, GrowingList, GrowingDict)):
                holders.append((thing, number))
            for found, at in self._by_attribute(thing, number):
                if identity(found) not in seen:
                    seen.add(identity(found))
                    queue.append((found, at))
            unfinished = held is not None and is_unfinished(held)
            if self._late or unfinished:  # numbers in paths say less before all layers have theirs
                queue += self._left_over(thing, number, seen, {at for _, at in queue})
            below = {n: c for n, c in children(thing).items() if identity(c) not in seen}
            in_file = self._below(number, keras_paths(below), {at for _, at in queue})
            if held is None:
                in_file = self._attributes(number) | in_file
            names = matched_names(below, list(in_file))
            if unfinished:
                known = by_layer(held, list(in_file))
                paths = {*keras_paths(below)} if _has_layers(held) else set()
                names = {n: saved for n, saved in names.items() if n not in paths} | {
                    n: known[identity(below[n])] for n in paths if identity(below[n]) in known
                }
                taken = {at for _, at in queue}
                free = [saved for saved, at in in_file.items() if at not in taken]
                names |= matched_seeds(below, free)
            for name, saved in names.items():
                if identity(below[name]) not in seen:
                    seen.add(identity(below[name]))
                    queue.append((below[name], in_file[saved]))
            queue += self._left_over(thing, number, seen, {at for _, at in queue})
        return places, holders

    def _by_attribute(self, thing: Any, number: int) -> list[tuple[Any, int]]:
        """The variables of a Keras object, or of one that is a Checkpoint's root, that a file of
        TensorFlow's has under the same attributes.
        """
        held = thing if is_keras_like(thing) else getattr(thing, "root", None)
        if not self._full_names or not is_keras_like(held):
            return []
        return list(by_attribute(self._nodes, number, held))

    def _left_over(
        self, thing: Any, number: int, seen: set[int], taken: set[int]
    ) -> list[tuple[Any, int]]:
        """The variables of a Keras object that no path in a file of gradtape's has led to, and
        that attributes lead to values of their shapes; they are `seen` and `taken` then.
        """
        held = None if self._full_names else keras_part(thing)
        if held is None:
            return []
        left = {identity(v): variable_of(v) for v in children(held).values()}
        start = self._nodes[number].children.get(ATTRIBUTES, number)
        over = []
        for found, at in by_attribute(self._nodes, start, held):
            if (
                identity(found) not in seen
                and at not in taken
                and (variable := left.get(identity(found))) is not None
                and (array := self._arrays.get(self._nodes[at].tensor or "")) is not None
                and variable.shape.is_compatible_with(array.shape)
                and variable.dtype.numpy == array.dtype
            ):
                seen.add(identity(found))
                taken.add(at)
                over.append((found, at))
        return over

    def _attributes(self, number: int) -> dict[str, int]:
        """The objects of the file that were attributes of a Keras object, by name."""
        at = self._nodes[number].children.get(ATTRIBUTES)
        return {} if at is None else self._nodes[at].children

    def _below(self, number: int, paths: list[str], taken: set[int]) -> dict[str, int]:
        """The objects below one in the file, by name; where the program has Keras's variables
        there, those of a file of TensorFlow's by their paths too, but for those that are `taken`.
        """
        named = self._nodes[number].children
        if not paths or not self._full_names:
            return named
        found = by_path(self._nodes, self._full_names, self._place_of_values(number), paths)
        return {name: at for name, at in found.items() if at not in taken} | named

    def _place_of_values(self, number: int) -> int:
        """The object of a file below which the variables of a Keras object are: TensorFlow saves
        those of a Sequential model below its optimizer alone, so that all objects are asked.
        """
        elsewhere = self._full_names and next(self._keys_below(number), None) is None
        return 0 if elsewhere else number

    def _fit_integers(self, leaf: Any, key: str) -> None:
        """Gives an integer of TensorFlow's the Variable's dtype if it has that value there too:
        Keras counts in int64 on TensorFlow, and in int32 here.
        """
        variable, array = variable_of(leaf), self._arrays[key]
        assert variable is not None
        wanted = variable.dtype.numpy
        if array.dtype.kind in "iu" and np.dtype(wanted).kind in "iu":
            fitted = array.astype(wanted)
            if np.array_equal(fitted, array):
                self._arrays[key] = fitted

    def _check(self, leaf: Any, key: str) -> None:
        variable, array = variable_of(leaf), self._arrays[key]
        assert variable is not None
        if not variable.shape.is_compatible_with(array.shape):
            raise ValueError(
                f"restore: '{key}' has shape {TensorShape(array.shape)} in '{self._path}', but "
                f"the variable '{variable.name}' has shape {variable.shape}: create the variable "
                "with the shape it was saved with. Nothing was restored."
            )
        if variable.dtype.numpy != array.dtype:
            raise ValueError(
                f"restore: '{key}' is {dtypes.from_numpy(array.dtype).name} in '{self._path}', "
                f"but the variable '{variable.name}' is {variable.dtype.name}: create the "
                "variable with the dtype it was saved with, and cast its value. Nothing was "
                "restored."
            )

    def _keys_below(self, number: int) -> Iterator[str]:
        seen, stack = {number}, [number]
        while stack:
            node = self._nodes[stack.pop()]
            if node.tensor is not None:
                yield node.tensor
            new = set(node.children.values()) - seen
            seen |= new
            stack.extend(new)

    def _some_wait_below(self, number: int) -> bool:
        return bool(self._arrays) and any(k in self._arrays for k in self._keys_below(number))

    def _names(self, number: int) -> dict[str, int]:
        """What may be set as attributes of the object at a node."""
        return self._attributes(number) | self._nodes[number].children

    def attached(self, number: int, name: str, value: Any) -> Any:
        """Gives the values that wait for a new attribute or entry of the object at a node, and says
        what to set.
        """
        child = self._names(number).get(name)
        if child is None or not is_followed(value) or not self._some_wait_below(child):
            return value
        self._give(value, child)
        return self._growing(value, child)

    def _growing(self, value: Any, number: int | None) -> Any:
        """A list or dict that tells of new entries if values wait for some; else what it is."""
        if type(value) not in (list, dict) or number is None or not self._some_wait_below(number):
            return value
        original, made = self._grown.get(id(value), (None, None))
        if made is not None and original is value and _was_made_of(made, value):
            return made
        below = self._nodes[number].children
        if isinstance(value, dict):
            entries: Any = {k: self._growing(e, below.get(str(k))) for k, e in value.items()}
        else:
            entries = [self._growing(e, below.get(str(at))) for at, e in enumerate(value)]
        made = growing(entries, Waiting(self, number))
        self._grown[id(value)] = value, made
        return made

    def _exchange(self, attributes: dict[str, Any], below: dict[str, int]) -> None:
        """Puts lists and dicts that tell of new entries in the place of those for which values
        wait; of one that the program has elsewhere too, nobody is told.
        """
        alone = _references({"": []}, "")
        for name in below.keys() & attributes.keys():
            if _references(attributes, name) == alone:
                attributes[name] = self._growing(attributes[name], below[name])

    def unused(self) -> list[str]:
        """Keys of values in the file that no object has got."""
        return self.left.keys()

    def unmatched(self) -> list[str]:
        """Paths to Variables of the program, as it is now, that have got no value."""
        leaves = graph_of(self._root)[1]
        return [
            key
            for key, leaf in leaves.items()
            if identity(leaf) not in self._restored
            and not _is_counter(key)
            and not (self._full_names and is_seed(leaf))  # TensorFlow does not save those
        ]

    def gave_something(self) -> bool:
        return any(not _is_counter(key) for key in self._used)


class Waiting:
    """What a Module or Checkpoint tells its new attributes while values wait for them, and a list
    or dict its new entries.

    A copy of the object does not wait.
    """

    def __init__(self, restoration: Restoration, number: int) -> None:
        self._restoration = restoration
        self._number = number

    def __call__(self, name: str, value: Any) -> Any:
        return self._restoration.attached(self._number, name, value)

    def made(self, thing: Any) -> None:
        """Gives the values that wait to the new variables of the Keras object at the node."""
        self._restoration.give_late(thing, self._number)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


class _Left:
    """Warns of the values that no object has got, when no object can get them any more."""

    def __init__(self, path: Any, keys: Sequence[str], used: Set[str]) -> None:
        self._path = path
        self._keys = keys
        self._used = used
        self.expected = False

    def keys(self) -> list[str]:
        return [key for key in self._keys if key not in self._used and not _is_counter(key)]

    def warn(self) -> None:
        left = [] if self.expected else self.keys()
        if left:
            get_logger().warning(
                "restore: values of '%s' were given to no Variable: %s. Call expect_partial() on "
                "what restore() returned if this is meant.",
                self._path,
                _listed(left),
            )


class RestoreStatus:
    """What `restore` gives: it says whether everything has found its place.

    >>> import gradtape as tf
    >>> import tempfile
    >>> path = tf.train.Checkpoint(w=tf.Variable(1.0)).write(tempfile.mkdtemp() + "/one")
    >>> status = tf.train.Checkpoint(w=tf.Variable(0.0), b=tf.Variable(0.0)).restore(path)
    >>> status.assert_consumed()
    Traceback (most recent call last):
    AssertionError: '.../one' and the program differ.
      Variables without a value in the file: b
    """

    def __init__(self, path: Any, restoration: Restoration | None) -> None:
        self._path = path
        self._restoration = restoration

    def assert_consumed(self) -> RestoreStatus:
        """Raises AssertionError unless every value of the file has a Variable and every Variable a
        value.
        """
        restoration = self._started()
        self._complain(restoration.unmatched(), restoration.unused())
        return self

    def assert_existing_objects_matched(self) -> RestoreStatus:
        """Raises AssertionError unless every Variable that exists now has got a value;
        the file may have more.
        """
        self._complain(self._started().unmatched(), [])
        return self

    def assert_nontrivial_match(self) -> RestoreStatus:
        """Raises AssertionError if no Variable at all has got a value."""
        restoration = self._started()
        if not restoration.gave_something():
            self._complain(restoration.unmatched(), restoration.unused())
        return self

    def expect_partial(self) -> RestoreStatus:
        """Says that values may be left over: no warning names them when the program has let go of
        the objects that they waited for.
        """
        if self._restoration is not None:
            self._restoration.left.expected = True
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Does nothing: values are there when `restore` returns."""

    run_restore_ops = initialize_or_restore

    def _started(self) -> Restoration:
        if self._restoration is None:
            raise AssertionError(
                "restore: save_path was None, as latest_checkpoint() returns for a folder "
                "without checkpoints: nothing was restored."
            )
        return self._restoration

    def _complain(self, unmatched: list[str], unused: list[str]) -> None:
        lines = []
        if unmatched:
            lines.append(f"  Variables without a value in the file: {_listed(unmatched)}")
        if unused:
            lines.append(f"  Values in the file without a Variable: {_listed(unused)}")
            lines.append(
                "  What a Keras object makes after restore() gets its values when it is built; "
                "what is put then into a list or dict that has another name too, gets none."
            )
        if lines:
            raise AssertionError("\n".join([f"'{self._path}' and the program differ.", *lines]))


def _assign_all(values: Sequence[tuple[Any, Any]]) -> None:
    """Gives Variables their values, or raises and leaves all of them as they were."""
    before = [_Before(variable_of(leaf)) for leaf, _ in values]
    try:
        for leaf, array in values:
            if isinstance(leaf, Variable):
                leaf.assign(array, read_value=False)
            else:
                leaf.assign(array)  # Keras's own, which also spreads the value over devices
    except BaseException:
        _put_back(before)
        raise


class _Before:
    """What a Variable was. It holds the array, so that nothing is written into it."""

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.array = variable.array
        self.attributes = dict(vars(variable))

    def put_back(self) -> None:
        vars(self.variable).update(self.attributes)
        for name in vars(self.variable).keys() - self.attributes.keys():
            del vars(self.variable)[name]


def _put_back(before: Sequence[_Before]) -> None:
    try:
        for variable in before:
            variable.put_back()
    except BaseException:  # a signal that came while another was being answered
        _put_back(before)
        raise


def _was_made_of(made: Any, value: Any) -> bool:
    """Whether a list or dict that tells of entries still has those of the one it was made of."""
    if isinstance(value, dict):
        if list(made) != list(value):
            return False
        made, value = list(made.values()), list(value.values())
    return len(made) == len(value) and all(
        one is other or isinstance(one, (GrowingList, GrowingDict))
        for one, other in zip(made, value, strict=True)
    )


def _references(holder: dict[str, Any], name: str) -> int:
    """How many references an object has, that of this dict and those of this call among them."""
    return sys.getrefcount(holder[name])


def _has_layers(held: Any) -> bool:
    """Whether a Keras object's paths are those of layers, not of an optimizer's slots."""
    return hasattr(held, "_layers")


def _is_counter(key: str) -> bool:
    """Whether a key is a Checkpoint's own bookkeeping, which no program has to match."""
    return key.rpartition("/")[2] == "save_counter"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_LISTED]) + (
        f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    )
