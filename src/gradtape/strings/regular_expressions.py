r"""Regular expressions in the syntax of RE2, TensorFlow's, run by Python's `re`.

A pattern is translated: RE2 has classes that Python spells differently (`[[:alpha:]]`, `\pL`,
`\x{10FFFF}`, `\z`), and refuses what Python alone has (look-around, references back to groups).
Text is UTF-8, as in RE2; a byte that is not stays a character of its own.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

from gradtape.errors import InvalidArgumentError, invalid_argument

_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": r"!-/:-@\[-`{-~", "space": r"\t\n\v\f\r ", "upper": "A-Z", "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_MOST_REPETITIONS = 1000  # RE2's limit
_CATEGORY = re.compile(r"C|Cc|Cf|Co|L|L[lmotu]|M|M[cen]|N|N[dlo]|P|P[cdefios]|S|S[ckmo]|Z|Z[lps]")


@cache
def compiled(pattern: bytes, function: str) -> re.Pattern[str]:
    """The Python pattern of an RE2 pattern."""
    text = decoded(pattern)
    try:
        translated = _Translation(text).whole()
        return re.compile(translated, re.ASCII)
    except (re.error, IndexError, OverflowError, RecursionError) as error:
        raise invalid_argument(f"{function}: invalid pattern {text!r}: {error}.") from error
    except InvalidArgumentError as error:
        raise invalid_argument(f"{function}: invalid pattern {text!r}: {error.message}.") from None


def decoded(text: bytes) -> str:
    """UTF-8 as a str; bytes that are none are kept apart, to be written back as they were."""
    return text.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


class _Translation:
    """One pattern, read from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._place = 0
        self._lines = bool(re.match(r"\(\?[a-zA-Z]*m", pattern))  # `$` also before a line's end

    def whole(self) -> str:
        found = []
        while self._place < len(self._pattern):
            found.append(self._part())
        return "".join(found)

    def _next(self, count: int = 1) -> str:
        taken = self._pattern[self._place : self._place + count]
        self._place += count
        return taken

    def _rest(self) -> str:
        return self._pattern[self._place :]

    def _part(self) -> str:
        sign = self._next()
        if sign == "\\":
            return self._escape(inside=False)
        if sign == "[":
            return self._class()
        if sign == "$":
            return "$" if self._lines else r"\Z"
        if sign == "(":
            return self._group()
        if sign == "{":
            self._check_count()
        if sign in "*+?}" and self._rest()[:1] == "+":
            raise invalid_argument(f"bad repetition operator: {sign}+")
        return sign

    def _check_count(self) -> None:
        counts = re.match(r"(\d+)(?:,(\d*))?\}", self._rest())
        if counts and any(int(n) > _MOST_REPETITIONS for n in counts.groups() if n):
            raise invalid_argument(f"bad repetition count: {{{counts[0]}")

    def _group(self) -> str:
        rest = self._rest()
        if rest.startswith(("?=", "?!", "?<=", "?<!", "?>", "?(", "?#", "?P=", "?P>")):
            raise invalid_argument(f"RE2 has no group of the form ({rest[:3]}...)")
        if rest.startswith("?<"):
            self._next(2)
            return "(?P<"
        flags = re.match(r"\?([a-zA-Z]+)(-[a-zA-Z]+)?\)", rest)
        if flags and self._place > 1:
            # Python sets flags at the beginning only, or for a group: for what is left of this one.
            self._next(flags.end())
            return f"(?{flags[1]}{flags[2] or ''}:{self._until_the_end()})"
        return "("

    def _until_the_end(self) -> str:
        """What is left of the group, or of the pattern."""
        found, depth = [], 0
        while self._place < len(self._pattern):
            sign = self._rest()[0]
            if sign == ")" and not depth:
                break
            depth += (sign == "(") - (sign == ")")
            found.append(self._part())
        return "".join(found)

    def _escape(self, *, inside: bool) -> str:
        sign = self._next()
        if not sign:
            raise invalid_argument("trailing \\")
        if sign == "z" and not inside:
            return r"\Z"
        if sign == "Q":
            text, end, _ = self._rest().partition(r"\E")
            self._place += len(text) + len(end)
            return re.escape(text)
        if sign == "E":
            return ""
        if sign in "pP":
            return self._category(negated=sign == "P", inside=inside)
        if sign == "x" and self._rest().startswith("{"):
            number = re.match(r"\{([0-9A-Fa-f]+)\}", self._rest())
            if not number:
                raise invalid_argument(r"\x{ needs hexadecimal digits and }")
            self._next(number.end())
            return re.escape(chr(int(number[1], 16)))
        if sign in "123456789" and not inside:
            raise invalid_argument(f"RE2 has no references back to a group: \\{sign}")
        if sign in "CXRkgGuUNZ" or (sign.isalpha() and sign not in "aAbBdDfnrsStvwWx"):
            raise invalid_argument(f"invalid escape sequence: \\{sign}")
        return "\\" + sign

    def _category(self, *, negated: bool, inside: bool) -> str:
        r"""`\pL`, `\p{Lu}`, `\p{^L}`."""
        name = self._next()
        if name == "{":
            name, end, _ = self._rest().partition("}")
            self._place += len(name) + len(end)
        if name.startswith("^"):
            negated, name = not negated, name[1:]
        if not _CATEGORY.fullmatch(name):
            raise invalid_argument(
                f"\\p{{{name}}} is not known here: of Unicode's classes, the general categories "
                "such as L, Lu, N, P are, but no scripts"
            )
        characters = _characters(name, negated)
        return characters if inside else f"[{characters}]"

    def _class(self) -> str:
        found = ["["]
        if self._rest().startswith("^"):
            found.append(self._next())
        first = True
        while first or not self._rest().startswith("]"):
            if not self._rest():
                raise invalid_argument("missing ]")
            first = False
            found.append(self._in_class())
        return "".join([*found, self._next()])

    def _in_class(self) -> str:
        posix = re.match(r"\[:(\^?)(\w+):\]", self._rest())
        if posix:
            self._next(posix.end())
            if posix[2] not in _POSIX:
                raise invalid_argument(f"invalid character class: {posix[0]}")
            ranges = _POSIX[posix[2]]
            return _without(ranges) if posix[1] else ranges
        sign = self._next()
        if sign == "\\":
            return self._escape(inside=True)
        return f"\\{sign}" if sign in "[&~|]" else sign


def _without(ranges: str) -> str:
    """The ranges of all characters that are not in a class."""
    inside = re.compile(f"[{ranges}]")
    return _ranges([not inside.match(chr(i)) for i in range(sys.maxunicode + 1)])


@cache
def _characters(category: str, negated: bool) -> str:
    """The ranges of a general category of Unicode."""
    found = [
        unicodedata.category(chr(i)).startswith(category) != negated
        for i in range(sys.maxunicode + 1)
    ]
    return _ranges(found)


def _ranges(chosen: list[bool]) -> str:
    parts, start = [], None
    for i, is_in in enumerate([*chosen, False]):
        if is_in and start is None:
            start = i
        elif not is_in and start is not None:
            parts.append(f"{_code(start)}-{_code(i - 1)}")
            start = None
    return "".join(parts)


def _code(number: int) -> str:
    return f"\\U{number:08x}"


class Replacement:
    r"""What takes the place of a match: text in which `\0` to `\9` stand for its groups."""

    def __init__(self, rewrite: bytes, groups: int) -> None:
        self._parts: list[str | int] = []
        self.is_valid = True
        text, place = decoded(rewrite), 0
        while place < len(text):
            sign = text[place]
            if sign != "\\":
                self._parts.append(sign)
                place += 1
                continue
            following = text[place + 1 : place + 2]
            if following.isdigit():
                self._parts.append(int(following))
                self.is_valid = self.is_valid and int(following) <= groups
            elif following == "\\":
                self._parts.append("\\")
            else:
                break  # TensorFlow leaves out the rest
            place += 2

    def of(self, match: re.Match[str]) -> str:
        return "".join(p if isinstance(p, str) else match[p] or "" for p in self._parts)


def replaced(pattern: re.Pattern[str], rewrite: Replacement, text: bytes, every: bool) -> bytes:
    """A text with its first match replaced, or every one.

    An empty match right behind another one does not count, as in RE2.
    """
    subject = decoded(text)
    found: list[str] = []
    place, last = 0, -1
    while place <= len(subject) and (match := pattern.search(subject, place)):
        if match.end() == match.start() == last:
            found.append(subject[place : place + 1])
            place += 1
            continue
        found += (subject[place : match.start()], rewrite.of(match))
        place = last = match.end()
        if not every:
            break
    return encoded("".join(found) + subject[place:]) if found else text
