"""What operators are made of: parameters that are read at each use, and the steps of linear
algebra that several classes share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.debugging.printing import assert_equal, assert_positive
from gradtape.convert import as_tensor, beside, operand
from gradtape.core.module import Module
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.dtypes import DType
from gradtape.ops import (
    arithmetic,
    broadcasting,
    elementary,
    reductions,
    selection,
    shaping,
    solvers,
)
from gradtape.shapes import TensorShape

Shape = tuple[int, ...]


# Parameters


def is_kept(value: Any) -> bool:
    """Whether a parameter is kept as it is, to be read at each use: a Variable, or a Module that
    stands for a tensor.
    """
    return (
        isinstance(value, Variable)
        or hasattr(value, "__gradtape_variable__")
        or (isinstance(value, Module) and hasattr(value, "dtype") and hasattr(value, "shape"))
    )


def parameter(value: Any, argument: str, axes: int = 0) -> Any:
    """A parameter that must have so many axes at least: a Tensor, or what is read at each use."""
    found = value if is_kept(value) else as_tensor(value, argument=argument)
    rank = len(found.shape)
    if rank < axes:
        raise ValueError(
            f"{argument} must have at least {axes} {'axis' if axes == 1 else 'axes'}, got shape "
            f"{TensorShape(found.shape)}."
        )
    return found


def read(value: Any) -> Tensor:
    """The present value of a parameter."""
    return value if type(value) is Tensor else as_tensor(value)


def shape_of(value: Any) -> Shape:
    """The shape of a parameter."""
    return tuple(value.shape)


def dtype_of(value: Any) -> DType:
    """The dtype of a parameter."""
    return dtypes.as_dtype(value.dtype)


def argument_in(value: Any, dtype: DType, argument: str) -> Tensor:
    """An argument as a Tensor of an operator's dtype, which a plain value takes on."""
    found = operand(value)
    if not isinstance(found, Tensor):
        found = Tensor(beside(found, dtype.numpy, argument))
    if found.dtype != dtype:
        raise TypeError(
            f"{argument} must have the operator's dtype {dtype.name}, got {found.dtype.name}: "
            "convert it with gradtape.cast."
        )
    return found


# Shapes


def broadcast_shapes(shapes: Sequence[Shape], what: str) -> Shape:
    """The batch shape of what is computed from batches of these shapes."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shown = ", ".join(str(TensorShape(shape)) for shape in shapes)
        raise ValueError(f"{what} must broadcast against each other, got {shown}.") from None


def in_shape(x: Tensor, shape: Shape) -> Tensor:
    """A Tensor broadcast to a shape."""
    return x if tuple(x.array.shape) == shape else broadcasting.broadcast_to(x, shape=shape)


def in_batch(x: Tensor, batch: Shape) -> Tensor:
    """Matrices broadcast to a batch shape."""
    return in_shape(x, (*batch, *x.array.shape[-2:]))


def in_one_batch(xs: Sequence[Tensor]) -> list[Tensor]:
    """Matrices, broadcast to the batch shape that they have together."""
    batch = np.broadcast_shapes(*[tuple(x.array.shape[:-2]) for x in xs])
    return [in_batch(x, batch) for x in xs]


def reshaped(x: Tensor, *sizes: int) -> Tensor:
    """The same elements in another shape."""
    return shaping.reshape(x, shape=sizes)


def as_column(x: Tensor) -> Tensor:
    """Vectors as matrices of one column."""
    return reshaped(x, *x.array.shape, 1)


def as_vector(x: Tensor) -> Tensor:
    """Matrices of one column as vectors."""
    return reshaped(x, *x.array.shape[:-1])


# Assertions


def assert_nonzero(x: Tensor, message: str) -> None:
    """Raises an InvalidArgumentError if an entry is zero."""
    assert_positive(arithmetic.absolute(x), message=message)


def assert_zero_imag_part(x: Tensor, message: str) -> None:
    """Raises an InvalidArgumentError if an entry is not real."""
    if is_complex(x):
        imaginary = broadcasting.imag(x)
        assert_equal(imaginary, selection.zeros_like(imaginary), message=message)


# Steps


def is_complex(x: Any) -> bool:
    """Whether a Tensor has complex values."""
    return bool(x.array.dtype.kind == "c")


def conjugate(x: Tensor) -> Tensor:
    """The complex conjugate."""
    return broadcasting.conj(x) if is_complex(x) else x


def adjoint_if(condition: Any, x: Tensor) -> Tensor:
    """Matrices, or their adjoints."""
    return solvers.adjoint(x) if condition else x


def conjugate_if(condition: Any, x: Tensor) -> Tensor:
    """A Tensor, or its complex conjugate."""
    return conjugate(x) if condition else x


def in_dtype(x: Tensor, dtype: DType) -> Tensor:
    """A Tensor in a dtype; of complex values, the real part if that is real."""
    if is_complex(x) and not dtype.is_complex:
        x = broadcasting.real(x)
    return x if x.dtype == dtype else broadcasting.cast(x, dtype=dtype.numpy)


def filled(value: float, shape: Sequence[int], dtype: DType) -> Tensor:
    """A constant Tensor."""
    return Tensor(np.full(tuple(shape), value, dtype.numpy))


def total(x: Tensor, axes: int = 1) -> Tensor:
    """The sum over the last axes."""
    return reductions.reduce_sum(x, axis=_last(x, axes))


def product(x: Tensor, axes: int = 1) -> Tensor:
    """The product over the last axes."""
    return reductions.reduce_prod(x, axis=_last(x, axes))


def spread(sizes: Tensor) -> Tensor:
    """How many times greater the greatest of the last axis is than the smallest."""
    return reductions.reduce_max(sizes, axis=_last(sizes, 1)) / reductions.reduce_min(
        sizes, axis=_last(sizes, 1)
    )


def log_size(x: Tensor) -> Tensor:
    """The logarithm of the absolute value."""
    return elementary.log(arithmetic.absolute(x))


def _last(x: Tensor, axes: int) -> Shape:
    return tuple(range(x.array.ndim - axes, x.array.ndim))


def cholesky_solved(factor: Tensor, rhs: Tensor) -> Tensor:
    """The solution of L Lᴴ x = `rhs`."""
    half = solvers.triangular_solve(factor, rhs, lower=True)
    return solvers.triangular_solve(solvers.adjoint(factor), half, lower=False)


def for_all_columns(solve: Callable[[Tensor], Tensor], rank: int, rhs: Tensor) -> Tensor:
    """What `solve` gives for `rhs`, where a matrix of `rank` axes is the same for the further batch
    axes of `rhs`: these become columns, so that each matrix is factored once.
    """
    shape = tuple(rhs.array.shape)
    extra = len(shape) - rank
    if extra < 1 or math.prod(shape[:extra]) < 2:
        return solve(rhs)
    kept, further = tuple(range(extra, len(shape))), tuple(range(extra))
    moved = shaping.transpose(rhs, perm=(*kept, *further))
    columns = reshaped(moved, *shape[extra:-1], shape[-1] * math.prod(shape[:extra]))
    solved = solve(columns)
    apart = reshaped(solved, *solved.array.shape[:-1], shape[-1], *shape[:extra])
    return shaping.transpose(apart, perm=(*(len(kept) + i for i in further), *range(len(kept))))
