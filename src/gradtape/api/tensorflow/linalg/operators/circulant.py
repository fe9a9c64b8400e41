"""Circulant matrices, nested up to three times: Fourier transforms diagonalise them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.creation import constant
from gradtape.api.tensorflow.debugging.printing import assert_less, assert_positive
from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.hints import Hint, always, implied, own
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    assert_nonzero,
    assert_zero_imag_part,
    conjugate,
    conjugate_if,
    dtype_of,
    filled,
    in_dtype,
    log_size,
    parameter,
    product,
    read,
    reshaped,
    shape_of,
    spread,
    total,
)
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, broadcasting, fourier, shaping
from gradtape.published import published
from gradtape.shapes import TensorShape


class CirculantOperator(LinearOperator):
    """What circulant operators of all depths share."""

    def __init__(
        self,
        spectrum: Any,
        block_depth: int,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        parameters: dict[str, Any] | None = None,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        self._spectrum = spectrum
        self._block_depth = block_depth
        super().__init__(
            dtype=dtypes.as_dtype(input_output_dtype),
            is_non_singular=is_non_singular,
            is_self_adjoint=implied(
                is_self_adjoint,
                "is_self_adjoint",
                not dtype_of(spectrum).is_complex,
                "a circulant operator with a real spectrum",
            ),
            is_positive_definite=is_positive_definite,
            is_square=always(is_square, "is_square", "a circulant operator"),
            parameters=parameters,
            name=name,
        )

    @property
    def spectrum(self) -> Any:
        """The Fourier transform of the convolution kernel: the eigenvalues."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """How often it is nested."""
        return self._block_depth

    @property
    def block_shape(self) -> TensorShape:
        """The sizes of the nested blocks."""
        return TensorShape(self._block())

    def block_shape_tensor(self) -> Tensor:
        """The sizes of the nested blocks, as a tensor."""
        return constant(list(self._block()), dtypes.int32)

    def _block(self) -> tuple[int, ...]:
        return shape_of(self._spectrum)[-self._block_depth :]

    def _shape(self) -> tuple[int, ...]:
        size = math.prod(self._block())
        return (*shape_of(self._spectrum)[: -self._block_depth], size, size)

    def with_spectrum(self, spectrum: Tensor, **hints: Any) -> Any:
        """An operator of this class with another spectrum."""
        # The classes that are made have no `block_depth` among their arguments.
        made: Any = type(self)
        return made(spectrum, input_output_dtype=self.dtype, **hints)

    def _linop_adjoint(self) -> Any:
        return self.with_spectrum(conjugate(read(self.spectrum)), **own(self))

    def _linop_inverse(self) -> Any:
        return self.with_spectrum(1.0 / read(self.spectrum), **own(self))

    # Transforms

    def _transformed(self, x: Tensor, transform: Any) -> Tensor:
        """The Fourier transform over the block axes, which are the last ones."""
        rank = x.array.ndim
        found: Tensor = transform(x, axes=tuple(range(rank - self._block_depth, rank)))
        return found

    def _filtered(self, x: Tensor, adjoint: bool, adjoint_arg: bool, solve: bool) -> Tensor:
        """The product with the spectrum, or the quotient, where the operator is diagonal."""
        spectrum = conjugate_if(adjoint, as_complex(read(self.spectrum)))
        x = shaping.matrix_transpose(adjoint_if(adjoint_arg, x))
        *batch, columns, size = x.array.shape
        block = self._block()
        x = reshaped(broadcasting.cast(x, dtype=spectrum.array.dtype), *batch, columns, *block)
        modes = self._transformed(x, fourier.fft)
        shape = spectrum.array.shape
        beside = reshaped(spectrum, *shape[: len(shape) - len(block)], 1, *block)
        found = self._transformed(modes / beside if solve else modes * beside, fourier.ifft)
        flat = reshaped(found, *found.array.shape[: found.array.ndim - len(block)], size)
        return in_dtype(shaping.matrix_transpose(flat), self.dtype)

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The kernel with which the operator convolves: the first column, in the block shape."""
        kernel = self._transformed(as_complex(read(self.spectrum)), fourier.ifft)
        return in_dtype(kernel, self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._filtered(x, adjoint, adjoint_arg, solve=False)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._filtered(rhs, adjoint, adjoint_arg, solve=True)

    # Numbers

    def _flat(self) -> Tensor:
        """The spectrum as vectors."""
        return reshaped(read(self.spectrum), *self._shape()[:-1])

    def _determinant(self) -> Any:
        return in_dtype(product(self._flat()), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return in_dtype(total(log_size(self._flat())), self.dtype)

    def _trace(self) -> Any:
        return in_dtype(total(self._flat()), self.dtype)

    def _diag_part(self) -> Any:
        size = self._shape()[-1]
        return (self.trace() / size)[..., None] * filled(1, (size,), self.dtype)

    def _eigvals(self) -> Any:
        return self._flat()

    def _cond(self) -> Any:
        return spread(arithmetic.absolute(self._flat()))

    # Assertions

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> None:
        """Raises an InvalidArgumentError if the convolution kernel is not real."""
        kernel = self.convolution_kernel()
        if not self.dtype.is_complex:
            return
        size = arithmetic.absolute(broadcasting.imag(kernel))
        limit = np.finfo(size.array.dtype).eps * self._shape()[-1]
        assert_less(
            size, filled(float(limit), (), size.dtype), message="Spectrum was not Hermitian"
        )

    def _assert_non_singular(self) -> None:
        assert_nonzero(read(self.spectrum), "Singular operator: Spectrum contained zero values.")

    def _assert_positive_definite(self) -> None:
        assert_positive(
            broadcasting.real(read(self.spectrum)),
            message="Not positive definite: Real part of spectrum was not all positive.",
        )

    def _assert_self_adjoint(self) -> None:
        assert_zero_imag_part(
            read(self.spectrum),
            "Not self-adjoint: The spectrum contained non-zero imaginary part.",
        )

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("spectrum", "input_output_dtype")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"spectrum": self._block_depth}


def as_complex(x: Tensor) -> Tensor:
    """A Tensor in the complex dtype that has its precision."""
    if x.array.dtype.kind == "c":
        return x
    wide = x.array.dtype == np.dtype(np.float64)
    return broadcasting.cast(x, dtype=np.dtype(np.complex128 if wide else np.complex64))


@published("linalg.LinearOperatorCirculant")
class LinearOperatorCirculant(CirculantOperator):
    """A circulant matrix: each column is the one before it, one step further down.

    `spectrum` is the Fourier transform of the first column. `input_output_dtype` is the dtype of
    the operator; a real one stands for a matrix that is real.

    >>> import gradtape as tf
    >>> column = tf.constant([1.0, 2.0, 0.0])
    >>> spectrum = tf.signal.fft(tf.cast(column, tf.complex64))
    >>> operator = tf.linalg.LinearOperatorCirculant(spectrum, input_output_dtype=tf.float32)
    >>> tf.round(operator.to_dense()).numpy()
    array([[1., 0., 2.],
           [2., 1., 0.],
           [0., 2., 1.]], dtype=float32)
    """

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        spectrum = parameter(spectrum, "LinearOperatorCirculant: spectrum", axes=1)
        given = as_given(locals())
        super().__init__(block_depth=1, parameters=given, **given)


@published("linalg.LinearOperatorCirculant2D")
class LinearOperatorCirculant2D(CirculantOperator):
    """A block circulant matrix of circulant blocks: a convolution over two axes that wraps around.

    >>> import gradtape as tf
    >>> operator = tf.linalg.LinearOperatorCirculant2D(tf.ones([2, 2]))
    >>> operator.shape, operator.block_shape
    (TensorShape([4, 4]), TensorShape([2, 2]))
    """

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        spectrum = parameter(spectrum, "LinearOperatorCirculant2D: spectrum", axes=2)
        given = as_given(locals())
        super().__init__(block_depth=2, parameters=given, **given)


@published("linalg.LinearOperatorCirculant3D")
class LinearOperatorCirculant3D(CirculantOperator):
    """The same for convolutions over three axes.

    >>> import gradtape as tf
    >>> tf.linalg.LinearOperatorCirculant3D(tf.ones([2, 3, 2])).shape
    TensorShape([12, 12])
    """

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        spectrum = parameter(spectrum, "LinearOperatorCirculant3D: spectrum", axes=3)
        given = as_given(locals())
        super().__init__(block_depth=3, parameters=given, **given)
