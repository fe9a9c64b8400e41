"""Hashes of strings that are the same everywhere: FarmHash's Fingerprint64, TensorFlow's older
Hash64, and SipHash for keys that others must not guess.

Strings of one length are hashed together: the words of all of them are one array, and arithmetic on
uint64 wraps around as the algorithms want it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.engines.numpy.engine import Quiet

Words = Any
"""A uint64 for each string, as an array."""


def hashes(texts: Sequence[bytes], of_equal_lengths: Callable[[Any], Words]) -> Any:
    """The hash of each string, by a function of strings of one length: a row of bytes for each."""
    places = defaultdict(list)
    for i, text in enumerate(texts):
        places[len(text)].append(i)
    found = np.empty(len(texts), np.uint64)
    with Quiet():
        for length, where in places.items():
            joined = b"".join(texts[i] for i in where)
            rows = np.frombuffer(joined, np.uint8).reshape(len(where), length)
            found[where] = of_equal_lengths(rows)
    return found


def _word(rows: Any, start: int) -> Words:
    """Eight bytes, the lowest first."""
    return np.ascontiguousarray(rows[:, start : start + 8]).view("<u8")[:, 0].astype(np.uint64)


def _half(rows: Any, start: int) -> Words:
    """Four bytes, the lowest first."""
    return np.ascontiguousarray(rows[:, start : start + 4]).view("<u4")[:, 0].astype(np.uint64)


def _byte(rows: Any, place: int) -> Words:
    return rows[:, place].astype(np.uint64)


def _u(value: int) -> np.uint64:
    return np.uint64(value & 0xFFFFFFFFFFFFFFFF)


# FarmHash

_K0, _K1, _K2 = _u(0xC3A5C85C97CB3127), _u(0xB492B66FBE98F273), _u(0x9AE16A3B2F90404F)


def _rotated(x: Words, by: int) -> Words:
    """To the right."""
    return (x >> _u(by)) | (x << _u(64 - by))


def _mixed(x: Words) -> Words:
    return x ^ (x >> _u(47))


def _of_two(u: Words, v: Words, factor: Words) -> Words:
    a = _mixed((u ^ v) * factor)
    return _mixed((v ^ a) * factor) * factor


def fingerprint64(rows: Any) -> Words:
    """FarmHash's Fingerprint64 of strings of one length."""
    length = rows.shape[1]
    if length <= 16:
        return _up_to_16(rows, length)
    if length <= 32:
        return _up_to_32(rows, length)
    return _up_to_64(rows, length) if length <= 64 else _longer(rows, length)


def _up_to_16(rows: Any, length: int) -> Words:
    factor = _K2 + _u(length * 2)
    if length >= 8:
        a, b = _word(rows, 0) + _K2, _word(rows, length - 8)
        return _of_two(_rotated(b, 37) * factor + a, (_rotated(a, 25) + b) * factor, factor)
    if length >= 4:
        first = _u(length) + (_half(rows, 0) << _u(3))
        return _of_two(first, _half(rows, length - 4), factor)
    if length:
        y = _byte(rows, 0) + (_byte(rows, length >> 1) << _u(8))
        z = _u(length) + (_byte(rows, length - 1) << _u(2))
        return _mixed(y * _K2 ^ z * _K0) * _K2
    return np.full(len(rows), _K2)


def _up_to_32(rows: Any, length: int) -> Words:
    factor = _K2 + _u(length * 2)
    a, b = _word(rows, 0) * _K1, _word(rows, 8)
    c, d = _word(rows, length - 8) * factor, _word(rows, length - 16) * _K2
    first = _rotated(a + b, 43) + _rotated(c, 30) + d
    return _of_two(first, a + _rotated(b + _K2, 18) + c, factor)


def _up_to_64(rows: Any, length: int) -> Words:
    factor = _K2 + _u(length * 2)
    a, b = _word(rows, 0) * _K2, _word(rows, 8)
    c, d = _word(rows, length - 8) * factor, _word(rows, length - 16) * _K2
    y = _rotated(a + b, 43) + _rotated(c, 30) + d
    z = _of_two(y, a + _rotated(b + _K2, 18) + c, factor)
    e, f = _word(rows, 16) * factor, _word(rows, 24)
    g = (y + _word(rows, length - 32)) * factor
    h = (z + _word(rows, length - 24)) * factor
    first = _rotated(e + f, 43) + _rotated(g, 30) + h
    return _of_two(first, e + _rotated(f + a, 18) + g, factor)


def _four_words(rows: Any, start: int, a: Words, b: Words) -> tuple[Words, Words]:
    """Two words from 32 bytes and two seeds."""
    w, x, y, z = (_word(rows, start + 8 * i) for i in range(4))
    a = a + w
    b = _rotated(b + a + z, 21)
    c = a
    a = a + x + y
    return a + z, b + _rotated(a, 44) + c


def _longer(rows: Any, length: int) -> Words:
    """Blocks of 64 bytes, and then the last 64, which may overlap the block before."""
    seed = 81
    zeros = np.zeros(len(rows), np.uint64)
    y = _u(seed) * _K1 + _u(113)
    z = _mixed(y * _K2 + _u(113)) * _K2
    v, w = (zeros, zeros), (zeros, zeros)
    x = _u(seed) * _K2 + _word(rows, 0)
    for start in range(0, (length - 1) // 64 * 64, 64):
        x, y, z, v, w = _block(rows, start, (x, y, z, v, w), _K1, _u(1))
    factor = _K1 + ((z & _u(0xFF)) << _u(1))
    w = (w[0] + _u((length - 1) & 63), w[1])
    v = (v[0] + w[0], v[1])
    w = (w[0] + v[0], w[1])
    x, y, z, v, w = _block(rows, length - 64, (x, y, z, v, w), factor, _u(9))
    first = _of_two(v[0], w[0], factor) + _mixed(y) * _K0 + z
    return _of_two(first, _of_two(v[1], w[1], factor) + x, factor)


def _block(rows: Any, start: int, state: Any, factor: Words, weight: Words) -> Any:
    x, y, z, v, w = state
    x = _rotated(x + y + v[0] + _word(rows, start + 8), 37) * factor
    y = _rotated(y + v[1] + _word(rows, start + 48), 42) * factor
    x = x ^ (w[1] * weight)
    y = y + v[0] * weight + _word(rows, start + 40)
    z = _rotated(z + w[0], 33) * factor
    v = _four_words(rows, start, v[1] * factor, x + w[0])
    w = _four_words(rows, start + 32, z + w[1], y + _word(rows, start + 16))
    return z, y, x, v, w


# TensorFlow's Hash64

_M = _u(0xC6A4A7935BD1E995)


def hash64(rows: Any) -> Words:
    """TensorFlow's Hash64 of strings of one length, after MurmurHash64A."""
    length = rows.shape[1]
    found = np.full(len(rows), _u(0xDECAFCAFFE) ^ (_u(length) * _M))
    for start in range(0, length - 7, 8):
        word = _mixed(_word(rows, start) * _M) * _M
        found = (found ^ word) * _M
    rest = length & 7
    if rest:
        for place in range(rest):
            found = found ^ (_byte(rows, length - rest + place) << _u(8 * place))
        found = found * _M
    return _mixed(_mixed(found) * _M)


def combined(first: Words, second: Words) -> Words:
    """One fingerprint of two, in their order."""
    with Quiet():
        found = (first ^ _M ^ (_mixed(second * _M) * _M)) * _M
        return _mixed(_mixed(found) * _M)


# SipHash


def siphash(key: Sequence[int]) -> Callable[[Any], Words]:
    """SipHash-2-4 with a key of two 64-bit words."""

    def of_equal_lengths(rows: Any) -> Words:
        length = rows.shape[1]
        k0, k1 = _u(key[0]), _u(key[1])
        zeros = np.zeros(len(rows), np.uint64)
        state = [
            zeros + (k0 ^ _u(0x736F6D6570736575)), zeros + (k1 ^ _u(0x646F72616E646F6D)),
            zeros + (k0 ^ _u(0x6C7967656E657261)), zeros + (k1 ^ _u(0x7465646279746573)),
        ]  # fmt: skip
        whole = length // 8 * 8
        last = zeros + _u((length & 0xFF) << 56)
        for place in range(whole, length):
            last = last | (_byte(rows, place) << _u(8 * (place - whole)))
        for word in [*(_word(rows, start) for start in range(0, whole, 8)), last]:
            state[3] = state[3] ^ word
            state = _round(_round(state))
            state[0] = state[0] ^ word
        state[2] = state[2] ^ _u(0xFF)
        for _ in range(4):
            state = _round(state)
        return state[0] ^ state[1] ^ state[2] ^ state[3]

    return of_equal_lengths


def _round(state: Sequence[Words]) -> list[Words]:
    a, b, c, d = state
    a = a + b
    b = _rotated(b, 51) ^ a
    a = _rotated(a, 32)
    c = c + d
    d = _rotated(d, 48) ^ c
    a = a + d
    d = _rotated(d, 43) ^ a
    c = c + b
    b = _rotated(b, 47) ^ c
    c = _rotated(c, 32)
    return [a, b, c, d]
