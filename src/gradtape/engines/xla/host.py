"""Callbacks from XLA programs to the host: kernels that only NumPy has, prints, checks, Python
functions.

An exception on the host ends the program. XLA raises another one with only its text; `original`
returns the original exception.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from typing import Any

import numpy as np

from gradtape.engines.numpy.engine import Quiet
from gradtape.engines.xla.engine import namespace
from gradtape.engines.xla.loading import load

_MOST_KEPT = 64


class HostError(Exception):
    """An exception on its way through XLA: the text is the number under which it is kept."""


_kept: dict[int, BaseException] = {}
_numbers = count()


def host_kernel(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """An XLA kernel that calls a NumPy kernel on the host, for ops that XLA cannot compute.

    The result's shape and dtype come from one run of the kernel on ones.
    """

    def call(*arrays: Any, **params: Any) -> Any:
        with Quiet():
            example = kernel(*[np.ones(a.shape, a.dtype) for a in arrays], **params)
        several = isinstance(example, (list, tuple))
        parts = [np.asarray(part) for part in (example if several else [example])]

        def on_numpy(*given: Any) -> Sequence[Any]:
            with Quiet():
                found = kernel(*given, **params)
            return found if several else [found]

        results = call_host(on_numpy, [(part.shape, part.dtype) for part in parts], arrays)
        return results if several else results[0]

    return call


def call_host(
    function: Callable[..., Sequence[Any]],
    specs: Sequence[tuple[tuple[int, ...], Any]],
    arrays: Sequence[Any],
) -> list[Any]:
    """The results of a function of NumPy arrays, as arrays of the shapes and dtypes `specs`; call
    it inside `wide()`.

    The call may be dropped if its results are not used. 64-bit numbers are passed as 32-bit words,
    because the function may run on one of JAX's own threads, where the switch for them is off.
    """
    jax = load()
    _silence_jax()
    given_as = [(array.shape, np.dtype(array.dtype)) for array in arrays]

    def on_numpy(*words: Any) -> list[Any]:
        given = [
            np.ascontiguousarray(w).reshape(-1).view(dtype).reshape(shape)
            for w, (shape, dtype) in zip(words, given_as, strict=True)
        ]
        try:
            found = function(*given)
        except BaseException as error:  # noqa: BLE001
            # Whatever it is, Ctrl-C too, the caller of the program is to see it.
            raise HostError(_keep(error)) from None
        return [
            _host_words(np.asarray(f, dtype).reshape(shape))
            for f, (shape, dtype) in zip(found, specs, strict=True)
        ]

    carried = [_host_words(np.empty(shape, dtype)) for shape, dtype in specs]
    results = jax.pure_callback(
        on_numpy,
        [jax.ShapeDtypeStruct(words.shape, words.dtype) for words in carried],
        *map(_words, arrays),
        vmap_method="sequential",
    )
    return [
        _from_words(words, np.dtype(dtype))
        for words, (_, dtype) in zip(results, specs, strict=True)
    ]


def _keep(error: BaseException) -> str:
    number = next(_numbers)
    _kept[number] = error
    _kept.pop(number - _MOST_KEPT, None)  # of programs whose errors nobody looked at
    return f"gradtape's exception number {number}"


def original(error: Exception) -> BaseException:
    """The exception on the host that caused XLA's error, or that error itself."""
    text = str(error)
    found = re.search(r"gradtape's exception number (\d+)", text)
    if found is not None:
        return _kept.pop(int(found[1]), error)
    return error if _IN_A_CALLBACK not in text else _in_jax(text) or error


_IN_A_CALLBACK = "error calling callback: Traceback"


def _in_jax(text: str) -> BaseException | None:
    """An exception that a signal handler raised in JAX's own code around a callback, of which XLA
    keeps the text alone; None if it is of a class that Python does not have itself.
    """
    *_, last = re.split(r'\n  File "[^\n]*', text)
    name, _, message = last.strip().partition(":")
    kind = getattr(builtins, name, None)
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        return None
    return kind(message.strip()) if message.strip() else kind()


@cache
def _silence_jax() -> None:
    """Keeps JAX from logging host exceptions: ours are raised again where the program was
    called.
    """
    import logging  # noqa: PLC0415 - for programs alone

    logging.getLogger("jax._src.callback").addFilter(
        lambda record: not (record.exc_info and isinstance(record.exc_info[1], HostError))
    )


def is_wide(dtype: Any) -> bool:
    """Whether its numbers have 64-bit parts, which JAX supports only behind a switch."""
    return dtype in (np.float64, np.int64, np.uint64, np.complex128)


def _host_words(array: Any) -> Any:
    """A NumPy array with the 32-bit words of each number in a new last axis,
    if it has more than one.
    """
    if not is_wide(array.dtype):
        return array
    return (
        np.ascontiguousarray(array)
        .reshape(-1)
        .view(np.uint32)
        .reshape(*array.shape, array.itemsize // 4)
    )


def _words(array: Any) -> Any:
    """The same of a JAX array."""
    if not is_wide(array.dtype):
        return array
    if array.dtype.kind == "c":
        both = namespace().stack([array.real, array.imag], axis=-1)
        return _words(both).reshape(*array.shape, 4)
    return load().lax.bitcast_convert_type(array, np.uint32)


def _from_words(words: Any, dtype: Any) -> Any:
    """The numbers of a JAX array of words."""
    lax = load().lax
    if not is_wide(dtype):
        return words
    if dtype.kind == "c":
        both = lax.bitcast_convert_type(words.reshape(*words.shape[:-1], 2, 2), np.float64)
        return lax.complex(both[..., 0], both[..., 1])
    return lax.bitcast_convert_type(words, dtype)
