"""`tf.saved_model.SaveOptions` and `LoadOptions`, and the keys that programs pass as tags and
signatures.
"""

from __future__ import annotations

from typing import Any

from gradtape.published import published

SERVING = "serve"
TRAINING = "train"
GPU = "gpu"
TPU = "tpu"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"


@published("saved_model.SaveOptions")
class SaveOptions:
    """Options of `saved_model.save`. They speak of TensorFlow's files and devices: gradtape's files
    are the same whatever they say, always with the gradients of custom functions.

    >>> import gradtape as tf
    >>> tf.saved_model.SaveOptions(experimental_custom_gradients=True).save_debug_info
    False
    """

    def __init__(
        self,
        namespace_whitelist: Any = None,
        save_debug_info: bool = False,
        function_aliases: Any = None,
        experimental_debug_stripper: bool = False,
        experimental_io_device: str | None = None,
        experimental_variable_policy: Any = None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
        experimental_sharding_callback: Any = None,
        extra_tags: Any = None,
    ) -> None:
        self.namespace_whitelist = list(namespace_whitelist or ())
        self.save_debug_info = save_debug_info
        self.function_aliases = dict(function_aliases or {})
        self.experimental_debug_stripper = experimental_debug_stripper
        self.experimental_io_device = experimental_io_device
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        self.experimental_skip_saver = experimental_skip_saver
        self.experimental_sharding_callback = experimental_sharding_callback
        self.extra_tags = extra_tags


@published("saved_model.LoadOptions")
class LoadOptions:
    """Options of `saved_model.load`. They speak of TensorFlow's files and devices: gradtape reads
    the same whatever they say.

    >>> import gradtape as tf
    >>> tf.saved_model.LoadOptions(experimental_io_device="/job:localhost").allow_partial_checkpoint
    False
    """

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: str | None = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: Any = None,
        experimental_load_function_aliases: bool = False,
    ) -> None:
        self.allow_partial_checkpoint = allow_partial_checkpoint
        self.experimental_io_device = experimental_io_device
        self.experimental_skip_checkpoint = experimental_skip_checkpoint
        self.experimental_variable_policy = experimental_variable_policy
        self.experimental_load_function_aliases = experimental_load_function_aliases


PUBLISHED = {
    "saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY": DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    "saved_model.GPU": GPU,
    "saved_model.SERVING": SERVING,
    "saved_model.TPU": TPU,
    "saved_model.TRAINING": TRAINING,
}
