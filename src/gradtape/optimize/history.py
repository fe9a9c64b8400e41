"""`History`: what a minimisation has done, iteration by iteration."""

from __future__ import annotations

import time
from typing import Any

from gradtape.published import published


@published("optimize.History")
class History:
    """What `optimize.minimize` has done. The lists have an entry for the start and one for each
    iteration.

    >>> import gradtape as tf
    >>> x = tf.Variable([3.0, 4.0])
    >>> history = tf.optimize.minimize(lambda: tf.reduce_sum(x**2), x)
    >>> history.loss[0], history.iterations == len(history.loss) - 1
    (25.0, True)
    """

    loss: list[float]
    """The loss."""
    gradient_norm: list[float]
    """The largest element of the gradient, without its sign."""
    seconds: list[float]
    """The time since the start."""
    best: float
    """The lowest loss that was met."""
    evaluations: int
    """How often the loss and its gradient were computed."""
    restarts: int
    """How often the method began again with an empty memory, where rounding had ended it."""
    success: bool
    """Whether the method says that it has converged."""
    message: str
    """Why it ended."""

    def __init__(self) -> None:
        self.loss, self.gradient_norm, self.seconds = [], [], []
        self.best = float("inf")
        self.evaluations = self.restarts = 0
        self.success, self.message = False, ""
        self._began = time.perf_counter()

    @property
    def iterations(self) -> int:
        """How many iterations there were."""
        return max(len(self.loss) - 1, 0)

    def add(self, loss: float, gradient_norm: float) -> None:
        """Adds an iteration."""
        self.loss.append(loss)
        self.gradient_norm.append(gradient_norm)
        self.seconds.append(time.perf_counter() - self._began)

    def line(self) -> str:
        """The last iteration in a line."""
        return (
            f"iteration {self.iterations}: loss {self.loss[-1]:.6g}, gradient "
            f"{self.gradient_norm[-1]:.1e}, {self.evaluations} evaluations, "
            f"{self.seconds[-1]:.1f} s"
        )

    def plot(self, path: Any = None) -> Any:
        """A picture of the loss and the gradient over the iterations, as Matplotlib's figure, saved
        to `path` if there is one.

        >>> import gradtape as tf
        >>> x = tf.Variable([3.0, 4.0])
        >>> figure = tf.optimize.minimize(lambda: tf.reduce_sum(x**2), x).plot()
        >>> figure.axes[0].get_xlabel()
        'iteration'
        """
        try:
            from matplotlib.figure import Figure  # noqa: PLC0415 - few programs need it
        except ImportError:
            raise ImportError(
                "History.plot: Matplotlib draws the picture: install it with `pip install "
                "matplotlib`, or draw history.loss with anything else."
            ) from None
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.add_subplot()
        logarithmic = axes.semilogy if min(self.loss, default=1) > 0 else axes.plot
        logarithmic(self.loss, label="loss")
        if min(self.gradient_norm, default=1) > 0:
            logarithmic(self.gradient_norm, label="largest element of the gradient", alpha=0.6)
        axes.set_xlabel("iteration")
        axes.legend()
        if path is not None:
            figure.savefig(path)
        return figure

    def __repr__(self) -> str:
        found = f"loss={self.loss[-1]:.6g}" if self.loss else "nothing yet"
        return f"<History {self.iterations} iterations, {found}: {self.message}>"
