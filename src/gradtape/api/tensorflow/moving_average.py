"""`tf.train.ExponentialMovingAverage`: averages of Variables that follow them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.creation import cast
from gradtape.api.tensorflow.elementwise import minimum
from gradtape.core.variable import Variable
from gradtape.core.xla.trace import outside_programs
from gradtape.published import published


@published("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """An average of each Variable, `average = decay * average + (1 - decay) * variable` at every
    `apply`.

    With `num_updates`, the number of steps so far, the decay is at most `(1 + num_updates) / (10 +
    num_updates)`, so that the averages move faster at the beginning.

    >>> import gradtape as tf
    >>> w = tf.Variable(1.0)
    >>> ema = tf.train.ExponentialMovingAverage(0.9)
    >>> ema.apply([w])
    >>> w.assign(2.0).numpy()
    np.float32(2.0)
    >>> ema.apply([w])
    >>> ema.average(w).numpy()
    np.float32(1.1)
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._name = name
        self._averages: dict[Any, Variable] = {}

    @property
    def name(self) -> str:
        """What the names of the averages end in."""
        return self._name

    def apply(self, var_list: Iterable[Variable]) -> None:
        """Moves the average of each Variable towards its value; the first time it begins there.

        >>> import gradtape as tf
        >>> w = tf.Variable([1.0, 2.0])
        >>> ema = tf.train.ExponentialMovingAverage(decay=0.5)
        >>> ema.apply([w])
        >>> ema.average(w).numpy()
        array([1., 2.], dtype=float32)
        """
        variables = list(var_list)
        for variable in variables:
            if not isinstance(variable, Variable):
                raise TypeError(
                    "ExponentialMovingAverage.apply: var_list must hold tf.Variables, got "
                    f"{variable!r}: an average follows a Variable from step to step; for a Tensor, "
                    "assign it to a Variable first."
                )
            if not variable.dtype.is_floating:
                raise TypeError(
                    "ExponentialMovingAverage.apply: the average of a Variable of dtype "
                    f"{variable.dtype.name} is not of this dtype: cast it to a floating one."
                )
        for variable in variables:
            if variable.ref() not in self._averages:
                with outside_programs():
                    self._averages[variable.ref()] = Variable(
                        variable.read_value(),
                        trainable=False,
                        name=f"{variable.name.partition(':')[0]}/{self._name}",
                    )
        for variable in variables:
            average = self._averages[variable.ref()]
            moved = cast(1.0 - self._current_decay(), average.dtype)
            average.assign_sub((average - variable) * moved)

    def _current_decay(self) -> Any:
        if self._num_updates is None:
            return self._decay
        steps = cast(self._num_updates, dtypes.float32)
        return minimum(self._decay, (1.0 + steps) / (10.0 + steps))

    def average(self, var: Variable) -> Variable | None:
        """The Variable that holds the average of another one; None before `apply` has met it.

        >>> import gradtape as tf
        >>> tf.train.ExponentialMovingAverage(0.9).average(tf.Variable(1.0)) is None
        True
        """
        return self._averages.get(var.ref())

    def average_name(self, var: Variable) -> str:
        """The name that the average of a Variable has.

        >>> import gradtape as tf
        >>> tf.train.ExponentialMovingAverage(0.9).average_name(tf.Variable(1.0, name="w"))
        'w/ExponentialMovingAverage'
        """
        return f"{var.name.partition(':')[0]}/{self._name}"

    def variables_to_restore(
        self, moving_avg_variables: Iterable[Variable] | None = None
    ) -> dict[str, Variable]:
        """The Variables by the names under which their averages are saved, so that a program that
        evaluates restores the averages into them.

        >>> import gradtape as tf
        >>> w = tf.Variable(1.0, name="w")
        >>> list(tf.train.ExponentialMovingAverage(0.9).variables_to_restore([w]))
        ['w/ExponentialMovingAverage']
        """
        if moving_avg_variables is None:
            variables = [reference.deref() for reference in self._averages]
        else:
            variables = list(moving_avg_variables)
        return {self.average_name(variable): variable for variable in variables}
