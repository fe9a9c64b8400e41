"""Tests of ExtensionTypes."""
