"""`Variable`: Keras's variable, wrapping a `gradtape.Variable` that tapes and functions see
instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keras.src.backend.common import KerasVariable, global_state
from keras.src.backend.common.stateless_scope import get_stateless_scope

import gradtape as tf
from gradtape.extend import block, outside_programs, variables_made
from keras_gradtape.src import conversion, distribution_lib


@block
def at_once() -> Iterator[None]:
    """Computes what nothing records, with values that are there even while a function is traced."""
    with tf.init_scope(), outside_programs():
        yield


class Variable(KerasVariable):
    """Keras's variable.

    `__gradtape_variable__` is what a tape watches, `__gradtape_tensor__()` what an op reads.
    """

    _value: tf.Variable | None
    _given_layout: Any = None

    @property
    def _layout(self) -> Any:
        """How Keras, or else a layout of gradtape, divides it among devices: optimizers divide
        what they keep for it likewise.
        """
        if self._given_layout is not None or vars(self).get("_value") is None:
            return self._given_layout
        return distribution_lib.divided(self.__gradtape_variable__)

    @_layout.setter
    def _layout(self, layout: Any) -> None:
        self._given_layout = layout

    def _initialize(self, value: Any) -> None:
        self._shape = self._validate_shape(value.shape)
        distribution = global_state.get_global_attribute("distribution")
        if self._layout is None and distribution is not None:
            self._layout = distribution.get_variable_layout(self)
        with at_once():
            self._value = tf.Variable(
                value,
                trainable=self._trainable,
                name=self._path,
                synchronization=tf.VariableSynchronization[self._synchronization.upper()],
                aggregation=tf.VariableAggregation[self._aggregation.upper()],
            )
            if self._layout is not None:
                distribution_lib.spread(self._value, self._layout)

    def _initialize_with_initializer(self, initializer: Any) -> None:
        with at_once():
            super()._initialize_with_initializer(initializer)

    def _deferred_initialize(self) -> None:
        super()._deferred_initialize()
        together = global_state.get_global_attribute("uninitialized_variables")
        if together and together[-1] is self:
            variables_made()

    def _direct_assign(self, value: Any) -> None:
        variable = self.__gradtape_variable__
        if self._layout is None:
            variable.assign(value)
        elif tf.inside_function():
            variable.assign(
                distribution_lib.distribute_tensor(value, self._layout), read_value=False
            )
        else:
            variable.assign(value, read_value=False)
            distribution_lib.spread(variable, self._layout)

    def _convert_to_tensor(self, value: Any, dtype: Any = None) -> tf.Tensor:
        return conversion.convert_to_tensor(value, dtype=dtype)

    @property
    def value(self) -> tf.Tensor:
        """The value now, connected to everything that records;
        cast if Keras computes in another dtype here.
        """
        return self._maybe_autocast(self._read())

    def _read(self) -> tf.Tensor:
        scope = get_stateless_scope()
        if scope is not None:
            value = scope.get_current_value(self)
            if value is not None:
                return value
        if self._value is None:  # not yet made: shapes are being found out, and any value will do
            return tf.zeros(self._shape, self._dtype)
        return self._value.tensor()

    @property
    def __gradtape_variable__(self) -> tf.Variable:
        if self._value is None:
            raise ValueError(
                f"The variable '{self.path}' has no value yet: call or build its layer first."
            )
        return self._value

    def __gradtape_tensor__(self) -> tf.Tensor:
        return self.value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.value.__array__(dtype, copy)
