"""Exporting models: this backend refuses, and says what to do instead."""

from __future__ import annotations


class SavedModelExportArchive:
    """What `model.export()` and `keras.export.ExportArchive` are made of."""

    def __init__(self) -> None:
        raise NotImplementedError(
            "`export_saved_model` only currently supports the tensorflow, jax and torch backends. "
            "Save the model with "
            "model.save('model.keras'), load it in a process where KERAS_BACKEND is one of these, "
            "and export it there."
        )
