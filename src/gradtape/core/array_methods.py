"""`ArrayMethods`: what arrays have besides operators, as `Tensor` and `Variable` inherit it.

What NumPy's arrays have is declared here for type checkers, and defined in `gradtape.api.numpy.methods`.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradtape.core.tensor import Tensor

    Method = Callable[..., Tensor]


VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""Of the Array API standard, those that `gradtape.array_api` fulfils."""


class ArrayMethods:
    """The methods and attributes of NumPy's arrays, and what the Array API standard asks of an array."""

    __slots__ = ()

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """The functions for this tensor, as `gradtape.array_api`.

        >>> import gradtape as tf
        >>> xp = tf.constant([1.0, 2.0]).__array_namespace__()
        >>> xp.sum(xp.asarray([1.0, 2.0])).numpy()
        np.float32(3.0)
        """
        if api_version is not None and api_version not in VERSIONS:
            raise ValueError(f"__array_namespace__: api_version must be one of {', '.join(VERSIONS)}, got {api_version!r}.")
        return import_module("gradtape.array_api")

    def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Tensor:
        """This tensor on `device`; itself if it is there already.

        >>> import gradtape as tf
        >>> x = tf.constant([1.0, 2.0])
        >>> x.to_device("/CPU:0") is x
        True
        """
        from gradtape.core.device import find  # noqa: PLC0415 - which needs Tensors

        if stream is not None:
            raise ValueError(f"to_device: the CPU has no streams; leave stream out, got {stream!r}.")
        tensor, place = self.tensor() if hasattr(self, "tensor") else self, find(device)
        return tensor if place is None else place.move(tensor)

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
