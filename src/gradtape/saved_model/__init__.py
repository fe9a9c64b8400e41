"""`tf.saved_model`: Variables and functions in a folder, for other processes.

`saving` and `loading` are `save` and `load`; `folder` is the format on the disk, `structures` how
arguments and results are written into it, and `loaded` what a loaded object consists of.
"""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.saved_model.loading import contains_saved_model, load
from gradtape.saved_model.saving import save

__all__ = ["contains_saved_model", "load", "save"]
