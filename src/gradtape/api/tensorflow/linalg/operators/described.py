"""What is known of an operator without computing: its dtype, shape, hints and parameters."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.creation import constant
from gradtape.api.tensorflow.linalg.operators import parts
from gradtape.api.tensorflow.linalg.operators.hints import Hint, Hints
from gradtape.api.tensorflow.linalg.operators.values import argument_in
from gradtape.core.module import Module
from gradtape.core.naming import name_scope
from gradtape.core.tensor import Tensor
from gradtape.dtypes import DType
from gradtape.shapes import TensorShape

Shape = tuple[int, ...]


class Dimension(int):
    """The size of an axis: an integer, whose `value` TensorFlow's code asks for."""

    __slots__ = ()

    @property
    def value(self) -> int:
        """The size."""
        return int(self)


class DescribedOperator(Module, metaclass=ABCMeta):
    """The first half of LinearOperator."""

    # NumPy leaves `array @ operator` to the operator.
    __array_ufunc__ = None

    def __init__(
        self,
        dtype: Any,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        # Not Module's own `__init__`: names of operators need not be identifiers.
        self._name = name or type(self).__name__
        self._dtype = dtypes.as_dtype(dtype) if dtype else None
        given = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        # The names that they have in TensorFlow, since libraries set them.
        (
            self._is_non_singular,
            self._is_self_adjoint,
            self._is_positive_definite,
            self._is_square_set_or_implied_by_hints,
        ) = given.completed()
        self._graph_parents = list(graph_parents or ())
        self._parameters = dict(parameters or {})

    @property
    def parameters(self) -> dict[str, Any]:
        """What the operator was made of, as keyword arguments."""
        return dict(self._parameters)

    @property
    def dtype(self) -> Any:
        """The dtype of the matrix's entries."""
        return self._dtype

    @property
    def graph_parents(self) -> list[Any]:
        """What was given as `graph_parents`."""
        return self._graph_parents

    def __repr__(self) -> str:
        dtype = getattr(self.dtype, "name", None)
        return f"<tf.linalg.{type(self).__name__}: shape={self.shape}, dtype={dtype}>"

    # Hints

    @property
    def is_non_singular(self) -> Hint:
        """Whether the operator is promised to be invertible; None if nothing is promised."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> Hint:
        """Whether the operator is promised to equal its adjoint."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> Hint:
        """Whether the real part of xᴴ A x is promised to be positive for every x but zero."""
        return self._is_positive_definite

    @property
    def is_square(self) -> Hint:
        """Whether the operator has as many rows as columns."""
        promised = self._is_square_set_or_implied_by_hints
        really = self.domain_dimension == self.range_dimension
        if promised is False and really:
            raise ValueError(
                f"is_square=False is wrong: the operator has shape {self.shape}, which is square."
            )
        return really if promised is None else promised

    # Shapes

    @abstractmethod
    def _shape(self) -> Any:
        """The shape; subclasses say it."""

    def _shape_tensor(self) -> Tensor:
        """The shape as a tensor, where `_shape` leaves sizes open."""
        raise NotImplementedError(f"{type(self).__name__}: _shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """The batch axes, the number of rows and the number of columns."""
        return TensorShape(self._shape())

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape as a tensor."""
        shape = self.shape
        if shape.is_fully_defined():
            return constant(shape.as_list(), dtypes.int32)
        return self._shape_tensor()

    @property
    def batch_shape(self) -> TensorShape:
        """The batch axes."""
        return self.shape[:-2]

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The batch axes as a tensor."""
        return self.shape_tensor()[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The number of axes of the shape."""
        return self.shape.rank

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """The number of axes of the shape, as a tensor."""
        return constant(self.tensor_rank, dtypes.int32)

    @property
    def domain_dimension(self) -> Any:
        """The number of columns."""
        return _dimension(self.shape, -1)

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """The number of columns as a tensor."""
        return self.shape_tensor()[-1]

    @property
    def range_dimension(self) -> Any:
        """The number of rows."""
        return _dimension(self.shape, -2)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """The number of rows as a tensor."""
        return self.shape_tensor()[-2]

    # Arguments

    def _can_use_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def _check_input_dtype(self, arg: Any) -> None:
        argument_in(arg, self.dtype, "The argument")

    def _columns(self, adjoint: Any) -> int:
        """How many columns the operator has, or its adjoint."""
        return int(self.shape[-2 if adjoint else -1])

    def _check_square(self, function: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                f"{function}: {self.name} has shape {self.shape}, which is not square."
            )

    def _check_solvable(self) -> None:
        if self.is_non_singular is False:
            raise NotImplementedError(
                f"solve: {self.name} has is_non_singular=False: its systems have no unique "
                "solution."
            )
        if self.is_square is False:
            raise NotImplementedError(
                f"solve: {self.name} has shape {self.shape}, which is not square: its systems have "
                "no unique solution."
            )

    def _matrix_argument(self, x: Any, argument: str, adjoint_arg: Any, rows: int) -> Tensor:
        found = argument_in(x, self.dtype, argument)
        if found.array.ndim < 2 or found.array.shape[-1 if adjoint_arg else -2] != rows:
            raise ValueError(
                f"{argument} must have {rows} {'columns' if adjoint_arg else 'rows'} for an "
                f"operator of shape {self.shape}, got shape {found.shape}."
            )
        return found

    def _vector_argument(self, x: Any, argument: str, size: int) -> Tensor:
        found = argument_in(x, self.dtype, argument)
        if not found.array.ndim or found.array.shape[-1] != size:
            raise ValueError(
                f"{argument} must have {size} entries along its last axis for an operator of shape "
                f"{self.shape}, got shape {TensorShape(found.array.shape)}."
            )
        return found

    # For subclasses

    def _name_scope(self, name: str | None = None) -> name_scope:
        """A block in which names begin with the operator's."""
        return name_scope(f"{self.name}/{name}" if name else self.name)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        """The parameters without which an operator like this cannot be made."""
        return ()

    @property
    def _composite_tensor_prefer_static_fields(self) -> tuple[str, ...]:
        """Those of them that stand for shapes."""
        return ()

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        """How many axes of each parameter are no batch axes: 0 for an operator."""
        return {}

    # Parts, for functions and slices

    def __getitem__(self, slices: Any) -> Any:
        return parts.sliced(self, slices)

    def __gradtape_flatten__(self) -> list[Any]:
        return parts.tensors_of(self)

    def __gradtape_unflatten__(self, tensors: Iterator[Any]) -> Any:
        return parts.with_tensors(self, tensors)


def as_given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The `parameters` of an operator, from the local variables at the beginning of its
    `__init__`.
    """
    return {k: v for k, v in arguments.items() if k not in ("self", "__class__")}


def _dimension(shape: TensorShape, axis: int) -> Dimension | None:
    size = None if shape.rank is None else shape[axis]
    return None if size is None else Dimension(size)


def dtype_in_common(operators: Sequence[Any], owner: str) -> DType:
    """The one dtype of the operators that another one is made of."""
    found = [operator.dtype for operator in operators]
    if len(set(found)) > 1:
        shown = ", ".join(f"{operator.name}: {operator.dtype.name}" for operator in operators)
        raise TypeError(f"{owner}: all operators must have the same dtype, got {shown}.")
    dtype: DType = found[0]
    return dtype


def as_operators(operators: Any, owner: str) -> list[Any]:
    """A list of operators that another one is made of."""
    if isinstance(operators, DescribedOperator) or not hasattr(operators, "__iter__"):
        raise TypeError(
            f"{owner}: operators must be a list of operators, got {type(operators).__name__}."
        )
    found = list(operators)
    if not found:
        raise ValueError(f"{owner}: operators must have at least one entry.")
    for operator in found:
        if not isinstance(operator, DescribedOperator):
            raise TypeError(f"{owner}: operators must hold operators, got {operator!r}.")
    return found
