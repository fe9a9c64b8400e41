"""`Numeric`: a function of a Tensor as SciPy calls it, with values and derivatives as NumPy arrays
in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.core.walk import finished
from gradtape.scipy.examples import Example

ZERO = UnconnectedGradients.ZERO


class Numeric:
    """A function of one vector, at a fixed example of the batches that are running.

    Nothing records its calls. Values and derivatives at the point of the last call are kept, as
    SciPy asks for one after the other.
    """

    def __init__(self, who: str, function: Callable[[Tensor], Tensor], example: Example) -> None:
        self.who = who
        self._function, self._example = function, example
        self._at: Any = None
        self._tape: Any = None
        self._x: Any = None
        self._y: Any = None
        self.evaluations = 0

    def _evaluate(self, x: Any, *, records: bool) -> None:
        """Calls the function, recorded if a derivative is wanted."""
        x = np.array(x, np.float64)
        same = self._at is not None and np.array_equal(self._at, x)
        if same and (self._tape is not None or not records):
            return
        self.evaluations += 1
        self._at, self._x, self._tape = x, Tensor(x.copy()), None
        with here.state.only([]):
            if not records:
                self._y = as_tensor(self._function(self._x), argument=f"{self.who}: a result")
                return
            with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
                tape.watch(self._x)
                self._y = as_tensor(self._function(self._x), argument=f"{self.who}: a result")
            self._tape = tape

    def read(self, tensor: Any) -> Any:
        """A Tensor's values for the example."""
        array = self._example.of(finished(tensor) if not isinstance(tensor, Tensor) else tensor)
        if array.dtype.kind == "c":
            raise TypeError(
                f"{self.who}: the function returned complex values: return real and imaginary "
                "parts."
            )
        return np.asarray(array, np.float64)

    @property
    def is_alone(self) -> bool:
        """Whether it is that of no batch."""
        return not here.state.levels

    def value(self, x: Any) -> Any:
        self._evaluate(x, records=False)
        return self.read(self._y)

    def value_and_gradient(self, x: Any) -> tuple[float, Any]:
        """For a function with one value."""
        self._evaluate(x, records=True)
        with here.state.only([]):
            gradient = self._tape.gradient(self._y, self._x, unconnected_gradients=ZERO)
        return self.scalar(self.read(self._y)), self.read(gradient)

    def scalar(self, value: Any) -> float:
        if value.size != 1:
            raise ValueError(
                f"{self.who}: the function must return one number, got shape {value.shape}."
            )
        return float(value.reshape(()))

    def jacobian(self, x: Any) -> Any:
        """The matrix of derivatives, dense."""
        self._evaluate(x, records=True)
        with here.state.only([]):
            found = self._tape.jacobian(self._y, self._x, unconnected_gradients=ZERO)
        return self.read(found)

    def sparse_jacobian(self, x: Any) -> Any:
        """The same as a SciPy CSR array, with the entries that can be nonzero."""
        self._evaluate(x, records=True)
        with here.state.only([]):
            return self._tape.jacobian(
                self._y, self._x, unconnected_gradients=ZERO, sparse=True
            ).astype(np.float64)

    def hessian_product(self, x: Any, v: Any) -> Any:
        """The Hessian of a function with one value, times a vector."""
        at = Tensor(np.array(x, np.float64))
        with here.state.only([]):
            with ForwardAccumulator(at, Tensor(np.array(v, np.float64))) as accumulator:
                with GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch(at)
                    y = as_tensor(self._function(at))
                gradient = tape.gradient(y, at, unconnected_gradients=ZERO)
            return self.read(accumulator.jvp(gradient, unconnected_gradients=ZERO))

    def hessian(self, x: Any) -> Any:
        at = Tensor(np.array(x, np.float64))
        with here.state.only([]):
            with GradientTape(watch_accessed_variables=False) as outer:
                outer.watch(at)
                with GradientTape(watch_accessed_variables=False) as tape:
                    tape.watch(at)
                    y = as_tensor(self._function(at))
                gradient = tape.gradient(y, at, unconnected_gradients=ZERO)
            return self.read(outer.jacobian(gradient, at, unconnected_gradients=ZERO))
