"""Keras's image functions, one module for each family."""

from keras_gradtape.src.ops.image.colours import hsv_to_rgb, rgb_to_grayscale, rgb_to_hsv
from keras_gradtape.src.ops.image.filters import gaussian_blur, sobel_edges
from keras_gradtape.src.ops.image.resizing import (
    RESIZE_INTERPOLATIONS,
    SCALE_AND_TRANSLATE_METHODS,
    resize,
    scale_and_translate,
)
from keras_gradtape.src.ops.image.sampling import (
    AFFINE_TRANSFORM_FILL_MODES,
    AFFINE_TRANSFORM_INTERPOLATIONS,
    MAP_COORDINATES_FILL_MODES,
    affine_transform,
    compute_homography_matrix,
    elastic_transform,
    map_coordinates,
    perspective_transform,
)

__all__ = [
    "AFFINE_TRANSFORM_FILL_MODES",
    "AFFINE_TRANSFORM_INTERPOLATIONS",
    "MAP_COORDINATES_FILL_MODES",
    "RESIZE_INTERPOLATIONS",
    "SCALE_AND_TRANSLATE_METHODS",
    "affine_transform",
    "compute_homography_matrix",
    "elastic_transform",
    "gaussian_blur",
    "hsv_to_rgb",
    "map_coordinates",
    "perspective_transform",
    "resize",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "scale_and_translate",
    "sobel_edges",
]
