"""Tables that give a value for each key, such as a number for each word."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.lookup import experimental
from gradtape.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from gradtape.lookup.static import StaticHashTable, StaticVocabularyTable

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable", "TextFileIndex",
    "TextFileInitializer", "experimental",
]  # fmt: skip
