"""NumPy's functions that repeat, reorder, insert and delete elements: `tile`, `repeat`, `flip`,
`roll`, `insert`, `delete`.

Most are a gather, at the indices that NumPy's own function of that name makes of 0, 1, 2, ...
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.numpy.operands import axes_of, axis_of, converted, plain, tensor_of, values_of
from gradtape.api.numpy.shaping import flat, moveaxis, stretched
from gradtape.api.tensorflow.arguments import AxisLike, ShapeLike, TensorLike, as_int, integers
from gradtape.api.tensorflow.joining import repeated
from gradtape.convert import numpy_array
from gradtape.core.tensor import Tensor
from gradtape.ops import shaping
from gradtape.ops.indexing import take
from gradtape.published import published


@published("numpy.tile", "array_api.tile")
def tile(A: TensorLike, reps: ShapeLike) -> Tensor:
    """Copies side by side, `reps[i]` of them along axis i.

    >>> import gradtape as tf
    >>> tf.numpy.tile([1, 2], (2, 2)).numpy()
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    x, counts = tensor_of(A, "tile", "A"), integers(reps, "tile: reps")
    if min(counts, default=0) < 0:
        raise ValueError(f"tile: reps={counts} must not be negative.")
    sizes = x.array.shape
    rank = max(len(sizes), len(counts))
    lined_up = shaping.reshape(x, shape=(1,) * (rank - len(sizes)) + sizes)
    return shaping.tile(lined_up, multiples=(1,) * (rank - len(counts)) + counts)


@published("numpy.repeat", "array_api.repeat")
def repeat(a: TensorLike, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element, or each slice along `axis`, repeated; `repeats` is a number,
    or one for each of them.

    >>> import gradtape as tf
    >>> tf.numpy.repeat([1, 2, 3], [2, 0, 1]).numpy()
    array([1, 1, 3], dtype=int32)
    """
    x, place = _along(tensor_of(a, "repeat", "a"), axis, "repeat")
    sizes = x.array.shape
    counts = integers(repeats, "repeat: repeats")
    if min(counts, default=0) < 0 or len(counts) not in (1, sizes[place]):
        raise ValueError(
            f"repeat: repeats={counts} must be one number, or {sizes[place]} of them, and not "
            "negative."
        )
    return repeated(x, counts, place)


def _along(x: Tensor, axis: Any, function: str) -> tuple[Tensor, int]:
    """A Tensor and an axis of it; without an axis, its elements in one row."""
    return (flat(x), 0) if axis is None else (x, axis_of(axis, x.array.ndim, function))


@published("numpy.resize")
def resize(a: TensorLike, new_shape: ShapeLike) -> Tensor:
    """A new shape filled with the elements row by row, again from the start when they run out.

    >>> import gradtape as tf
    >>> tf.numpy.resize([1, 2, 3], (2, 2)).numpy()
    array([[1, 2],
           [3, 1]], dtype=int32)
    """
    x, sizes = tensor_of(a, "resize", "a"), integers(new_shape, "resize: new_shape")
    if min(sizes, default=0) < 0:
        raise ValueError(f"resize: new_shape={sizes} must not be negative.")
    if not x.array.size:
        return Tensor(np.zeros(sizes, x.array.dtype))
    return take(flat(x), Tensor(np.resize(np.arange(x.array.size), sizes)), axis=0, sparse=False)


@published("numpy.flip", "array_api.flip")
def flip(m: TensorLike, axis: AxisLike = None) -> Tensor:
    """The order along some axes, or all, turned round.

    >>> import gradtape as tf
    >>> tf.numpy.flip([[1, 2], [3, 4]], axis=1).numpy()
    array([[2, 1],
           [4, 3]], dtype=int32)
    """
    x = tensor_of(m, "flip", "m")
    turned = axes_of(axis, x.array.ndim, "flip")
    return shaping.reverse(x, axis=tuple(range(x.array.ndim)) if turned is None else turned)


@published("numpy.fliplr")
def fliplr(m: TensorLike) -> Tensor:
    """The second axis turned round.

    >>> import gradtape as tf
    >>> tf.numpy.fliplr([[1, 2], [3, 4]]).numpy()
    array([[2, 1],
           [4, 3]], dtype=int32)
    """
    return _flipped(m, 1, "fliplr")


@published("numpy.flipud")
def flipud(m: TensorLike) -> Tensor:
    """The first axis turned round.

    >>> import gradtape as tf
    >>> tf.numpy.flipud([[1, 2], [3, 4]]).numpy()
    array([[3, 4],
           [1, 2]], dtype=int32)
    """
    return _flipped(m, 0, "flipud")


def _flipped(m: TensorLike, axis: int, function: str) -> Tensor:
    x = tensor_of(m, function, "m")
    if x.array.ndim <= axis:
        raise ValueError(f"{function}: m must have at least {axis + 1} axes, got shape {x.shape}.")
    return shaping.reverse(x, axis=(axis,))


@published("numpy.roll", "array_api.roll")
def roll(a: TensorLike, shift: Any, axis: AxisLike = None) -> Tensor:
    """Moved by `shift` places along axes; what falls off an end comes in at the other.

    Without an axis, as one row.

    >>> import gradtape as tf
    >>> tf.numpy.roll([1, 2, 3, 4], 1).numpy()
    array([4, 1, 2, 3], dtype=int32)
    """
    x, steps = tensor_of(a, "roll", "a"), integers(shift, "roll: shift")
    if axis is None:
        row = shaping.roll(flat(x), shift=(sum(steps),), axis=(0,))
        return shaping.reshape(row, shape=x.array.shape)
    places = [axis_of(place, x.array.ndim, "roll") for place in integers(axis, "roll: axis")]
    if len(steps) != len(places) and 1 not in (len(steps), len(places)):
        raise ValueError(
            f"roll: shift={steps} and axis={tuple(places)} must have the same number of entries, "
            "or one of them a single entry."
        )
    pairs = np.broadcast(steps, places)
    moved = [(int(step), int(place)) for step, place in pairs]
    return shaping.roll(
        x, shift=tuple(step for step, _ in moved), axis=tuple(place for _, place in moved)
    )


@published("numpy.rot90")
def rot90(m: TensorLike, k: int = 1, axes: AxisLike = (0, 1)) -> Tensor:
    """Turned `k` times by a right angle, from the first of two axes towards the second.

    >>> import gradtape as tf
    >>> tf.numpy.rot90([[1, 2], [3, 4]]).numpy()
    array([[2, 4],
           [1, 3]], dtype=int32)
    """
    x = tensor_of(m, "rot90", "m")
    plane = axes_of(list(integers(axes, "rot90: axes")), x.array.ndim, "rot90", "axes")
    if plane is None or len(plane) != 2:
        raise ValueError(f"rot90: axes must be two different axes, got {axes}.")
    turns = as_int(k, "rot90: k") % 4
    if turns in (2, 3):
        x = shaping.reverse(x, axis=plane if turns == 2 else (plane[0],))
    elif turns:
        x = shaping.reverse(x, axis=(plane[1],))
    if turns % 2:
        order = list(range(x.array.ndim))
        order[plane[0]], order[plane[1]] = plane[1], plane[0]
        x = shaping.transpose(x, perm=tuple(order))
    return x


@published("numpy.insert")
def insert(arr: TensorLike, obj: Any, values: TensorLike, axis: int | None = None) -> Tensor:
    """`values`, in the dtype of `arr`, before the places that `obj` names along an axis.

    >>> import gradtape as tf
    >>> tf.numpy.insert([1, 2, 3], 1, [7, 8]).numpy()
    array([1, 7, 8, 2, 3], dtype=int32)
    """
    x, place = _along(tensor_of(arr, "insert", "arr"), axis, "insert")
    new = converted(tensor_of(values, "insert", "values"), x.array.dtype)
    sizes, where = x.array.shape, _places(obj, "insert")
    if new.array.ndim > len(sizes):
        raise ValueError(
            f"insert: values of shape {new.shape} have more axes than arr of shape {x.shape}."
        )
    single = (
        not isinstance(where, slice) and np.size(where) == 1 and np.asarray(where).dtype.kind != "b"
    )
    if single:  # all values go before one place
        new = shaping.reshape(new, shape=(1,) * (len(sizes) - new.array.ndim) + new.array.shape)
        if not np.ndim(where):
            new = moveaxis(new, 0, place)
        count = new.array.shape[place]
    else:
        count = np.insert(np.zeros(sizes[place], bool), where, True).size - sizes[place]
    new = stretched(new, (*sizes[:place], count, *sizes[place + 1 :]), "insert")
    try:
        order = np.insert(np.arange(sizes[place]), where, sizes[place] + np.arange(count))
    except IndexError as error:
        raise IndexError(
            f"insert: obj={obj} is out of range for an axis of size {sizes[place]}."
        ) from error
    return take(shaping.concat(x, new, axis=place), Tensor(order), axis=place, sparse=False)


@published("numpy.delete")
def delete(arr: TensorLike, obj: Any, axis: int | None = None) -> Tensor:
    """Without the places that `obj` (a number, numbers,
    a slice or truth values) names along an axis.

    >>> import gradtape as tf
    >>> tf.numpy.delete([1, 2, 3, 4], [0, 2]).numpy()
    array([2, 4], dtype=int32)
    """
    x, place = _along(tensor_of(arr, "delete", "arr"), axis, "delete")
    size = x.array.shape[place]
    try:
        kept = np.delete(np.arange(size), _places(obj, "delete"))
    except IndexError as error:
        raise IndexError(
            f"delete: obj={obj} is out of range for an axis of size {size}."
        ) from error
    return take(x, Tensor(kept), axis=place, sparse=False)


def _places(obj: Any, function: str) -> Any:
    """A slice, or numbers or truth values as an array."""
    if isinstance(obj, slice):
        return obj
    found = numpy_array(plain(obj), f"{function}: obj")
    if found.size and found.dtype.kind not in "biu":
        raise TypeError(f"{function}: obj must be a slice, integers or booleans, got {obj!r}.")
    return found.astype(int) if not found.size else found


@published("numpy.trim_zeros")
def trim_zeros(filt: TensorLike, trim: str = "fb", axis: AxisLike = None) -> Tensor:
    """Without the zeros at the front ("f") and the back ("b") of some axes, or of all.

    >>> import gradtape as tf
    >>> tf.numpy.trim_zeros([0, 0, 1, 0, 2, 0]).numpy()
    array([1, 0, 2], dtype=int32)
    """
    x, ends = tensor_of(filt, "trim_zeros", "filt"), trim.lower() if isinstance(trim, str) else None
    if ends not in ("fb", "bf", "f", "b"):
        raise ValueError(f"trim_zeros: trim must be 'f', 'b' or 'fb', got {trim!r}.")
    sizes = x.array.shape
    trimmed = axes_of(axis, len(sizes), "trim_zeros")
    places = np.argwhere(values_of(x, "trim_zeros", "filt"))
    key = []
    for i, size in enumerate(sizes):
        if trimmed is not None and i not in trimmed:
            key.append(slice(0, size))
        elif not len(places):
            key.append(slice(0, 0))
        else:
            low, high = int(places[:, i].min()), int(places[:, i].max()) + 1
            key.append(slice(low if "f" in ends else 0, high if "b" in ends else size))
    return shaping.getitem(x, key=tuple(key))
