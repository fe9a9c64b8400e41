"""The backend's base class of Keras's optimizers: how variables are identified and updated, and
`minimize`.

Inside a function an update is traced as Keras writes it. In eager code that of SGD, Adam and AdamW
runs in place, on NumPy. Sparse gradients (IndexedSlices) stay sparse wherever Keras's formulas
allow it, as on TensorFlow.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from keras.src.backend.common.stateless_scope import in_stateless_scope
from keras.src.optimizers import base_optimizer

import gradtape as tf
from gradtape.extend import replica_context, trace_again, variables_made, why_none
from keras_gradtape.src import in_place
from keras_gradtape.src.ops.core import cast


class BackendOptimizer(base_optimizer.BaseOptimizer):
    """The base of Keras's optimizers.

    Gradients may be IndexedSlices, variables may be gradtape's own.
    """

    _unscaled_from: tuple[Any, ...] | None = None
    """The gradients that `get_unscaled_gradients` was given, until the next update."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # An optimizer around another, which divides by the scale itself.
        if "apply" in cls.__dict__:
            cls.apply = _of_scaled_gradients(cls.apply)  # type: ignore[method-assign]
        if "build" in cls.__dict__:
            cls.build = _telling(cls.build)  # type: ignore[method-assign]

    def minimize(self, loss: Any, var_list: Any, tape: tf.GradientTape | None = None) -> Any:
        """One step towards a smaller loss: a function without arguments,
        or a tensor and the tape that recorded it.
        """
        if callable(loss):
            tape = tf.GradientTape() if tape is None else tape
            with tape:
                if not callable(var_list):
                    tape.watch(var_list)
                loss = loss()
        elif tape is None:
            raise ValueError(
                "minimize: if loss is a tensor, give the tape that recorded it: minimize(loss, "
                "var_list, tape=tape)."
            )
        variables = tf.nest.flatten(var_list() if callable(var_list) else var_list)
        scales = tf.nest.map_structure(lambda one: self.scale_loss(tf.ones_like(one)), loss)
        gradients = tape.gradient(loss, variables, output_gradients=scales)
        return self.apply_gradients(list(zip(gradients, variables, strict=True)))

    def get_scaled_loss(self, loss: Any) -> Any:
        """A loss, or a function that gives one, multiplied by the scale that keeps small gradients
        from vanishing in half precision.
        """
        object.__setattr__(self, "_unscaled_from", None)
        return (lambda: self.scale_loss(loss())) if callable(loss) else self.scale_loss(loss)

    def get_unscaled_gradients(self, grads: Sequence[Any]) -> list[Any]:
        """The gradients of the loss, from those of the scaled loss;
        the next update takes them as they are.
        """
        # Keras would follow what is assigned.
        object.__setattr__(self, "_unscaled_from", tuple(grads))
        return [
            None if gradient is None else _times(gradient, 1 / self._scale()) for gradient in grads
        ]

    def _scale(self) -> Any:
        """What `scale_loss` multiplies by."""
        return self.scale_loss(tf.ones([]))

    def build(self, variables: Any) -> None:
        """Makes the optimizer's own variables."""
        super().build(variables)
        if type(self).scale_loss is not base_optimizer.BaseOptimizer.scale_loss:
            trace_again()  # before it was built, it may have scaled a loss in another way

    def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> None:
        """Updates the variables by their gradients: in a replica of a strategy, by the sum of those
        of all replicas.
        """
        context = replica_context()
        if context is not None:
            grads = context.all_reduce("sum", list(grads))
        grads = _scaled_again(self, grads)
        super().apply(
            grads if self.loss_scale_factor is None else [_dense(g) for g in grads],
            trainable_variables,
        )

    def _filter_empty_gradients(self, grads: Sequence[Any], vars: Sequence[Any]) -> Any:
        """The gradients that are not None, with their variables; the message about the others says
        what the tape has found.
        """
        if not any(gradient is None for gradient in grads):
            return list(grads), list(vars)
        kept = [pair for pair in zip(grads, vars, strict=True) if pair[0] is not None]
        missing = [v for gradient, v in zip(grads, vars, strict=True) if gradient is None]
        why = why_none(missing)
        if not kept:
            raise ValueError(f"No gradients provided for any variable. {why}".rstrip())
        names = [getattr(v, "path", v.name) for v in missing]
        warnings.warn(
            f"Gradients do not exist for variables {names} when minimizing the loss. If using "
            f"`model.compile()`, did you forget to provide a `loss` argument? {why}".rstrip(),
            stacklevel=2,
        )
        return [gradient for gradient, _ in kept], [v for _, v in kept]

    def assign(self, variable: Any, value: Any) -> None:
        """Sets a variable, or the rows that a value names."""
        self._change(variable, value, "assign", "scatter_update")

    def assign_add(self, variable: Any, value: Any) -> None:
        """Adds to a variable, or to the rows that a value names."""
        self._change(variable, value, "assign_add", "scatter_add")

    def assign_sub(self, variable: Any, value: Any) -> None:
        """Subtracts from a variable, or from the rows that a value names."""
        self._change(variable, value, "assign_sub", "scatter_sub")

    def _change(self, variable: Any, value: Any, whole: str, rows: str) -> None:
        if isinstance(value, tf.IndexedSlices) and not in_stateless_scope():
            inner = getattr(variable, "__gradtape_variable__", variable)
            getattr(inner, rows)(cast(value, inner.dtype.name))
        else:
            getattr(variable, whole)(_dense(value))

    def _var_key(self, variable: Any) -> int:
        """A Keras variable and the gradtape Variable inside it are the same to an optimizer."""
        return id(getattr(variable, "__gradtape_variable__", variable))

    def _backend_update_step(
        self, grads: Sequence[Any], trainable_variables: Sequence[Any], learning_rate: Any
    ) -> None:
        plain = tf.inside_function() or in_stateless_scope()
        update = in_place.nothing if plain else in_place.rule_of(self)
        for gradient, variable in zip(grads, trainable_variables, strict=True):
            if update(self, gradient, variable, learning_rate):
                in_place.note(gradient, variable)
            else:
                self.update_step(gradient, variable, learning_rate)

    def _apply_weight_decay(self, variables: Sequence[Any]) -> None:
        if self.weight_decay is not None and not tf.inside_function() and not in_stateless_scope():
            variables = [
                v for v in variables if self._use_weight_decay(v) and not in_place.decay(self, v)
            ]
        super()._apply_weight_decay(variables)


def _telling(build: Callable[..., None]) -> Callable[..., None]:
    """An optimizer's `build` that tells checkpoints when all variables are there: the outermost."""

    @wraps(build)
    def wrapped(self: BackendOptimizer, *args: Any, **kwargs: Any) -> None:
        build(self, *args, **kwargs)
        if getattr(type(self).build, "__wrapped__", None) is build:
            variables_made(self)

    return wrapped


def _of_scaled_gradients(apply: Callable[..., None]) -> Callable[..., None]:
    """An optimizer's own `apply`, given gradients of the scaled loss whether they have been
    unscaled before or not.
    """

    @wraps(apply)
    def wrapped(
        self: BackendOptimizer, grads: Sequence[Any], trainable_variables: Any = None
    ) -> None:
        return apply(self, _scaled_again(self, grads), trainable_variables)

    return wrapped


def _scaled_again(optimizer: BackendOptimizer, grads: Sequence[Any]) -> Sequence[Any]:
    """Gradients as `apply` divides them: those that come from `get_unscaled_gradients` get their
    scale back.
    """
    given = optimizer._unscaled_from
    if given is None:
        return grads
    object.__setattr__(optimizer, "_unscaled_from", None)
    if any(gradient is before for gradient in grads if gradient is not None for before in given):
        return grads
    return [
        None if gradient is None else _times(gradient, optimizer._scale()) for gradient in grads
    ]


def _times(gradient: Any, factor: Any) -> Any:
    if isinstance(gradient, tf.IndexedSlices):
        return gradient.with_values(gradient.values * tf.cast(factor, gradient.values.dtype))
    return gradient * tf.cast(factor, gradient.dtype)


def _dense(gradient: Any) -> Any:
    """A gradient without the form of rows."""
    return tf.convert_to_tensor(gradient) if isinstance(gradient, tf.IndexedSlices) else gradient
