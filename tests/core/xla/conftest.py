"""As for compiled functions: on an accelerator, products with all bits of float32."""

from tests.functions.conftest import all_bits_of_float32

__all__ = ["all_bits_of_float32"]
