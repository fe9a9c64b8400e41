"""What Keras's optimizers inherit from this backend: how variables are known, updated and minimised for.

Inside a function an update is traced as Keras writes it. In eager code that of SGD, Adam and AdamW runs in place, on NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras.src.backend.common.stateless_scope import in_stateless_scope
from keras.src.optimizers import base_optimizer

import gradtape as tf
from keras_gradtape.src import in_place


class BackendOptimizer(base_optimizer.BaseOptimizer):
    """The base of Keras's optimizers. Gradients may be IndexedSlices, variables may be gradtape's own."""

    def minimize(self, loss: Any, var_list: Any, tape: tf.GradientTape | None = None) -> Any:
        """One step towards a smaller loss: a function without arguments, or a tensor and the tape that recorded it."""
        if callable(loss):
            tape = tf.GradientTape() if tape is None else tape
            with tape:
                if not callable(var_list):
                    tape.watch(var_list)
                loss = loss()
        elif tape is None:
            raise ValueError(
                "minimize: a loss that is a tensor needs the tape that recorded it: minimize(loss, var_list, tape=tape)."
            )
        variables = list(var_list() if callable(var_list) else var_list)
        return self.apply_gradients(list(zip(tape.gradient(loss, variables), variables, strict=True)))

    def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> None:
        """Updates the variables by their gradients."""
        super().apply(grads if self.loss_scale_factor is None else [_dense(g) for g in grads], trainable_variables)

    def _var_key(self, variable: Any) -> int:
        """A Keras variable and the gradtape Variable inside it are the same to an optimizer."""
        return id(getattr(variable, "__gradtape_variable__", variable))

    def _backend_update_step(self, grads: Sequence[Any], trainable_variables: Sequence[Any], learning_rate: Any) -> None:
        update = in_place.rule_of(self)
        if in_stateless_scope():
            update = in_place.nothing
        elif tf.inside_function():
            update = in_place.rows_only
        for gradient, variable in zip(grads, trainable_variables, strict=True):
            if not update(self, gradient, variable, learning_rate):
                self.update_step(_dense(gradient), variable, learning_rate)

    def _apply_weight_decay(self, variables: Sequence[Any]) -> None:
        if self.weight_decay is not None and not tf.inside_function() and not in_stateless_scope():
            variables = [v for v in variables if self._use_weight_decay(v) and not in_place.decay(self, v)]
        super()._apply_weight_decay(variables)


def _dense(gradient: Any) -> Any:
    """A gradient without the form of rows."""
    return tf.convert_to_tensor(gradient) if isinstance(gradient, tf.IndexedSlices) else gradient
