"""`tf.compat.v1.train`'s optimizers: the formulas of TensorFlow 1, whose constants and starting
values differ from Keras's.

`minimize` takes a function that computes the loss, as in TensorFlow's eager mode. Gradients that
are IndexedSlices are made dense.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gradtape as tf

_Pairs = Iterable[tuple[Any, Any]]


class Optimizer:
    """What all optimizers share. A subclass has `_update`."""

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking: bool = False, name: str = "Optimizer") -> None:
        self._name = name
        self._slots: dict[tuple[str, Any], Any] = {}

    def get_name(self) -> str:
        """Its name."""
        return self._name

    def get_slot_names(self) -> list[str]:
        """The names of the Variables that it keeps beside each one."""
        return sorted({name for name, _ in self._slots})

    def get_slot(self, var: Any, name: str) -> Any:
        """A Variable that it keeps beside another, or None."""
        return self._slots.get((name, var.ref()))

    def variables(self) -> list[Any]:
        """The Variables that it keeps."""
        return list(self._slots.values())

    def minimize(
        self,
        loss: Callable[[], Any],
        global_step: Any = None,
        var_list: Sequence[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> None:
        """One step against the gradient of what the function `loss` computes."""
        pairs = self.compute_gradients(loss, var_list, grad_loss=grad_loss)
        self.apply_gradients(pairs, global_step)

    def compute_gradients(
        self,
        loss: Callable[[], Any],
        var_list: Sequence[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Pairs of gradient and Variable, for those that `loss` reads if none are given."""
        if not callable(loss):
            raise RuntimeError(
                f"tf.compat.v1.train.{type(self).__name__}: loss must be a function without "
                "arguments that computes the loss, since there is no graph that remembers how it "
                "was computed: write minimize(lambda: loss_of(x), var_list=variables), or use a "
                "tf.GradientTape and apply_gradients."
            )
        with tf.GradientTape() as tape:
            if var_list is not None:
                tape.watch(var_list)
            value = loss()
        variables = list(tape.watched_variables()) if var_list is None else list(var_list)
        found = tape.gradient(value, variables, output_gradients=grad_loss)
        return list(zip(found, variables, strict=True))

    def apply_gradients(
        self, grads_and_vars: _Pairs, global_step: Any = None, name: str | None = None
    ) -> None:
        """One step with these gradients."""
        pairs = list(grads_and_vars)
        wanted = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        if not wanted:
            names = ", ".join(variable.name for _, variable in pairs) or "none"
            raise ValueError(
                f"tf.compat.v1.train.{type(self).__name__}: there is no gradient for any Variable "
                f"({names}): tape.explain(loss, variable) says why."
            )
        self._begin()
        for gradient, variable in wanted:
            self._update(tf.convert_to_tensor(gradient), variable)
        if global_step is not None:
            global_step.assign_add(1)

    def _begin(self) -> None:
        """What is done once in each step."""

    def _update(self, gradient: Any, variable: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} must have _update(gradient, variable).")

    def _slot(self, name: str, variable: Any, begin: float = 0.0) -> Any:
        """The Variable that is kept beside another one, made when it is first needed."""
        key = name, variable.ref()
        if key not in self._slots:
            with tf.init_scope():
                self._slots[key] = tf.Variable(
                    tf.fill(variable.shape, tf.cast(begin, variable.dtype)), trainable=False
                )
        return self._slots[key]


def _now(value: Any, like: Any) -> Any:
    """A setting, which may be a function, in the dtype of a Variable."""
    return tf.cast(value() if callable(value) else value, like.dtype)


class GradientDescentOptimizer(Optimizer):
    """`variable -= learning_rate * gradient`."""

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _update(self, gradient: Any, variable: Any) -> None:
        variable.assign_sub(_now(self._learning_rate, variable) * gradient)


class MomentumOptimizer(Optimizer):
    """Steps along a sum of gradients that forgets."""

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum = learning_rate, momentum
        self._use_nesterov = use_nesterov

    def _update(self, gradient: Any, variable: Any) -> None:
        momentum = _now(self._momentum, variable)
        sum_ = self._slot("momentum", variable)
        sum_.assign(momentum * sum_ + gradient)
        step = gradient + momentum * sum_ if self._use_nesterov else sum_
        variable.assign_sub(_now(self._learning_rate, variable) * step)


class AdagradOptimizer(Optimizer):
    """Steps that shrink with the sum of squared gradients."""

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0:
            raise ValueError(
                "AdagradOptimizer: initial_accumulator_value must be positive, got "
                f"{initial_accumulator_value}."
            )
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial_accumulator_value

    def _update(self, gradient: Any, variable: Any) -> None:
        squares = self._slot("accumulator", variable, self._initial)
        squares.assign_add(tf.square(gradient))
        rate = _now(self._learning_rate, variable)
        variable.assign_sub(rate * gradient * tf.math.rsqrt(squares))


class AdadeltaOptimizer(Optimizer):
    """Steps of the size of those before, by the size of the gradients before."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _update(self, gradient: Any, variable: Any) -> None:
        rho, epsilon = self._rho, self._epsilon
        squares, steps = self._slot("accum", variable), self._slot("accum_update", variable)
        squares.assign(rho * squares + (1 - rho) * tf.square(gradient))
        step = tf.sqrt(steps + epsilon) * tf.math.rsqrt(squares + epsilon) * gradient
        steps.assign(rho * steps + (1 - rho) * tf.square(step))
        variable.assign_sub(_now(self._learning_rate, variable) * step)


class RMSPropOptimizer(Optimizer):
    """Gradients by the root of the mean of their squares."""

    def __init__(
        self,
        learning_rate: Any,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum = learning_rate, decay, momentum
        self._epsilon, self._centered = epsilon, centered

    def _update(self, gradient: Any, variable: Any) -> None:
        decay = self._decay
        squares = self._slot("rms", variable, 1.0)
        squares.assign(decay * squares + (1 - decay) * tf.square(gradient))
        spread = squares + self._epsilon
        if self._centered:
            mean = self._slot("mg", variable)
            mean.assign(decay * mean + (1 - decay) * gradient)
            spread -= tf.square(mean)
        step = self._slot("momentum", variable)
        rate = _now(self._learning_rate, variable)
        step.assign(self._momentum * step + rate * gradient * tf.math.rsqrt(spread))
        variable.assign_sub(step)


class AdamOptimizer(Optimizer):
    """Means of the gradients by the roots of means of their squares."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._betas, self._epsilon = learning_rate, (beta1, beta2), epsilon
        self._steps: Any = None

    def _begin(self) -> None:
        if self._steps is None:
            with tf.init_scope():
                self._steps = tf.Variable(0, trainable=False, dtype=tf.int64)
        self._steps.assign_add(1)

    def variables(self) -> list[Any]:
        """The Variables that it keeps, its number of steps among them."""
        return [*super().variables(), *([] if self._steps is None else [self._steps])]

    def _update(self, gradient: Any, variable: Any) -> None:
        beta1, beta2 = (_now(beta, variable) for beta in self._betas)
        mean, squares = self._slot("m", variable), self._slot("v", variable)
        mean.assign(beta1 * mean + (1 - beta1) * gradient)
        squares.assign(beta2 * squares + (1 - beta2) * tf.square(gradient))
        step = tf.cast(self._steps, variable.dtype)
        rate = _now(self._learning_rate, variable) * tf.sqrt(1 - beta2**step) / (1 - beta1**step)
        variable.assign_sub(rate * mean / (tf.sqrt(squares) + self._epsilon))


_GLOBAL_STEP: list[Any] = []


def get_or_create_global_step(graph: Any = None) -> Any:
    """The Variable that counts the steps of the program."""
    if not _GLOBAL_STEP:
        with tf.init_scope():
            step = tf.Variable(0, trainable=False, dtype=tf.int64, name="global_step")
            _GLOBAL_STEP.append(step)
    return _GLOBAL_STEP[0]


def create_global_step(graph: Any = None) -> Any:
    """The same, if there is none yet."""
    if _GLOBAL_STEP:
        raise ValueError(
            "tf.compat.v1.train.create_global_step: there is a global step already: use "
            "get_or_create_global_step."
        )
    return get_or_create_global_step()


def get_global_step(graph: Any = None) -> Any:
    """The Variable that counts the steps of the program; None before it was made."""
    return _GLOBAL_STEP[0] if _GLOBAL_STEP else None
