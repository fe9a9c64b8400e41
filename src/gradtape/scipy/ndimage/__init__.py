"""`gradtape.scipy.ndimage`: `map_coordinates`, differentiable by the image and by coordinates."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.scipy.ndimage.sampling import map_coordinates

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["map_coordinates"]
