"""Settings of the whole process.

`gradtape.config` reads and changes them; all modules may read them.
"""

from __future__ import annotations


class Settings:
    """What `gradtape.config` can change."""

    functions_run_eagerly: bool = False
    soft_device_placement: bool = True
    tensor_float_32: bool = True
    inter_op_threads: int = 0
    short_tracebacks: bool = True
    programs_per_function: int = 128
    compile_every_shape: bool = False
    wait_for_compilation: bool = False
    hints: bool = True


settings = Settings()
