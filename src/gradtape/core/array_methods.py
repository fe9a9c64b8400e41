"""`ArrayMethods`: what NumPy's arrays have besides operators, as `Tensor` and `Variable` inherit it.

Here it is declared for type checkers; `gradtape.api.numpy.methods` defines it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradtape.core.tensor import Tensor

    Method = Callable[..., Tensor]


class ArrayMethods:
    """The methods and attributes of NumPy's arrays."""

    __slots__ = ()

    if TYPE_CHECKING:
        T: Tensor
        flat: Tensor
        imag: Tensor
        itemsize: int
        nbytes: int
        real: Tensor
        size: int

        all: Method
        any: Method
        argmax: Method
        argmin: Method
        argpartition: Method
        argsort: Method
        astype: Method
        choose: Method
        clip: Method
        compress: Method
        conj: Method
        conjugate: Method
        copy: Method
        cumprod: Method
        cumsum: Method
        diagonal: Method
        dot: Method
        flatten: Method
        max: Method
        mean: Method
        min: Method
        prod: Method
        ravel: Method
        repeat: Method
        reshape: Method
        round: Method
        searchsorted: Method
        squeeze: Method
        std: Method
        sum: Method
        swapaxes: Method
        take: Method
        trace: Method
        transpose: Method
        var: Method
        view: Method

        @property
        def mT(self) -> Tensor: ...  # noqa: N802 - the Array API's name
        def nonzero(self) -> tuple[Tensor, ...]: ...
        def item(self, *args: Any) -> Any: ...
        def tolist(self) -> Any: ...
        def tobytes(self, order: Any = "C") -> bytes: ...
        def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
        def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
        def __lshift__(self, other: Any) -> Tensor: ...
        def __rlshift__(self, other: Any) -> Tensor: ...
        def __rshift__(self, other: Any) -> Tensor: ...
        def __rrshift__(self, other: Any) -> Tensor: ...
        def __len__(self) -> int: ...
        def __contains__(self, value: Any) -> bool: ...
