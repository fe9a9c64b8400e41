"""Tables whose entries can be changed."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.lookup.mutable import DenseHashTable, MutableHashTable

__all__ = ["DenseHashTable", "MutableHashTable"]
