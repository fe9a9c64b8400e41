"""`tf.compat.v1.logging`: messages to the logger of `tf.get_logger()`."""

from __future__ import annotations

import logging as _logging
from collections import Counter
from typing import Any

from gradtape.absent import absent_from
from gradtape.api.tensorflow.environment import get_logger

DEBUG, INFO, WARN, ERROR, FATAL = (
    _logging.DEBUG,
    _logging.INFO,
    _logging.WARNING,
    _logging.ERROR,
    _logging.CRITICAL,
)
_said: Counter[str] = Counter()


def set_verbosity(v: int | str) -> None:
    """Lets only messages of a level or above it pass."""
    get_logger().setLevel(v)


def get_verbosity() -> int:
    """The level that messages must have."""
    return get_logger().getEffectiveLevel()


def log(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """A message of any level."""
    get_logger().log(level, msg, *args, **kwargs)


vlog = log


def debug(msg: str, *args: Any, **kwargs: Any) -> None:
    """A message for those who look for an error."""
    log(DEBUG, msg, *args, **kwargs)


def info(msg: str, *args: Any, **kwargs: Any) -> None:
    """A message about what goes on."""
    log(INFO, msg, *args, **kwargs)


def warning(msg: str, *args: Any, **kwargs: Any) -> None:
    """A warning."""
    log(WARN, msg, *args, **kwargs)


warn = warning


def error(msg: str, *args: Any, **kwargs: Any) -> None:
    """An error."""
    log(ERROR, msg, *args, **kwargs)


def fatal(msg: str, *args: Any, **kwargs: Any) -> None:
    """An error after which nothing can go on; the program goes on all the same."""
    log(FATAL, msg, *args, **kwargs)


def log_if(level: int, msg: str, condition: bool, *args: Any) -> None:
    """A message on a condition."""
    if condition:
        log(level, msg, *args)


def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """The first `n` of a message."""
    _said[msg] += 1
    log_if(level, msg, _said[msg] <= n, *args)


def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Every `n`th of a message, the first among them."""
    _said[msg] += 1
    log_if(level, msg, (_said[msg] - 1) % n == 0, *args)


def flush() -> None:
    """Lets all messages reach their destination."""
    logger: _logging.Logger | None = get_logger()
    while logger is not None:
        for handler in logger.handlers:
            handler.flush()
        logger = logger.parent if logger.propagate else None


__getattr__ = absent_from(__name__)
