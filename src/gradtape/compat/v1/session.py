"""What remains of sessions: their settings, which many eager programs still make to configure a
GPU, and the switches between TensorFlow 1 and 2.

A Session can be made and closed; it has no graph to run.
"""

from __future__ import annotations

from typing import Any, NoReturn

from gradtape.api.tensorflow.config import (
    list_physical_devices,
    set_memory_growth,
    set_soft_device_placement,
)
from gradtape.api.tensorflow.environment import inside_function

_INSTEAD = (
    "gradtape runs operations when they are called: call the function that computes the value, "
    "decorated with tf.function to compile it, and read a tensor's value with .numpy()."
)


class Settings:
    """Settings by name, as a message of TensorFlow's protocol buffers has them.

    Any name can be set; one that was not set is an empty Settings, so that
    `config.gpu_options.allow_growth = True` works.
    """

    def __init__(self, **settings: Any) -> None:
        vars(self).update(settings)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = vars(self)[name] = Settings()
        return found

    def __bool__(self) -> bool:
        return bool(vars(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in vars(self).items())})"


class ConfigProto(Settings):
    """The settings of a Session."""


class GPUOptions(Settings):
    """The settings of a Session for GPUs."""


class GraphOptions(Settings):
    """The settings of a Session for graphs."""


class OptimizerOptions(Settings):
    """The settings of a Session for the optimizer of graphs."""


class RunOptions(Settings):
    """The settings of one run of a Session."""


class Session:
    """Takes over the settings for devices; it refuses to run anything."""

    def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
        if graph is not None:
            raise ValueError(f"Session: there are no graphs. {_INSTEAD}")
        if not isinstance(config, (ConfigProto, type(None))):
            raise TypeError(f"Session: config must be a tf.compat.v1.ConfigProto, got {config!r}.")
        chosen = vars(config) if config is not None else {}
        if chosen.get("allow_soft_placement") is not None:
            set_soft_device_placement(chosen["allow_soft_placement"])
        if vars(chosen.get("gpu_options", Settings())).get("allow_growth"):
            for gpu in list_physical_devices("GPU"):
                set_memory_growth(gpu, enable=True)

    def run(self, fetches: Any, feed_dict: Any = None, *more: Any, **options: Any) -> NoReturn:
        """Refuses."""
        raise RuntimeError(f"Session.run: there is no graph to run. {_INSTEAD}")

    def make_callable(self, fetches: Any, *more: Any, **options: Any) -> NoReturn:
        """Refuses."""
        raise RuntimeError(f"Session.make_callable: there is no graph to run. {_INSTEAD}")

    @property
    def graph(self) -> NoReturn:
        """Refuses."""
        raise RuntimeError(f"Session.graph: there are no graphs. {_INSTEAD}")

    def close(self) -> None:
        """Does nothing: a Session holds nothing."""

    def as_default(self) -> Session:
        """The Session itself, for a `with` block."""
        return self

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        """Leaves the block."""


class InteractiveSession(Session):
    """A Session for notebooks."""


def set_session(session: Any) -> None:
    """Does nothing: the Session took over its settings when it was made."""


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Does nothing but take over the settings: operations always run when they are called."""
    Session(config=config)


def already_so() -> None:
    """Does nothing: TensorFlow 2's behaviour is the only one."""


def yes() -> bool:
    """True: TensorFlow 2's behaviour is the only one."""
    return True


class DefaultGraph:
    """Stands for the code that runs: there are no graphs, but libraries ask one for names."""

    @property
    def building_function(self) -> bool:
        """Whether a function is being traced."""
        return inside_function()

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """The name: names need not be unique here."""
        return name


def get_default_graph() -> DefaultGraph:
    """What stands for the graph of TensorFlow 1."""
    return DefaultGraph()
