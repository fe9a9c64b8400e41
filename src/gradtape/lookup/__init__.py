"""Tables that give a value for each key, such as a number for each word."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.lookup import experimental
from gradtape.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from gradtape.lookup.static import StaticHashTable, StaticVocabularyTable

__all__ = [
    "KeyValueTensorInitializer", "StaticHashTable", "StaticVocabularyTable", "TextFileIndex",
    "TextFileInitializer", "experimental",
]  # fmt: skip
