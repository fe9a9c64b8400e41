"""`Variable`: a named buffer that tapes watch by themselves when it is read.

A read keeps the array it saw: `assign` writes in place only while nobody else holds the buffer, and
into a new one otherwise, so nothing that was recorded ever changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import getattr_static
from itertools import count
from typing import Any, Literal, Self, overload

import numpy as np

from gradtape import dtypes
from gradtape.core.buffered import Buffered, relying
from gradtape.core.endings import Ending, assignment, joined
from gradtape.core.naming import scoped
from gradtape.core.needed_ops import needed
from gradtape.core.node import Node
from gradtape.core.operators import TensorOperators
from gradtape.core.record import record_same
from gradtape.core.reference import Reference
from gradtape.core.scopes import NOWHERE, scope_of
from gradtape.core.sparse_writes import SparseWrites
from gradtape.core.tensor import Tensor
from gradtape.core.tensor_values import values_text
from gradtape.core.thread import Recorder, here
from gradtape.core.values import array_of, on_host, to_array
from gradtape.core.variable_options import VariableAggregation, VariableSynchronization, member
from gradtape.core.writing import writing
from gradtape.core.xla.trace import NeedsValues
from gradtape.dtypes import DType
from gradtape.engines.engine import XLA, is_traced_array
from gradtape.errors import invalid_argument
from gradtape.published import published, shown
from gradtape.shapes import TensorShape


class ReadRule:
    """A read of a Variable: the cotangent goes to the Variable's Node in every recording that has
    one.
    """

    name = "read_variable"
    keeps_value = True
    takes_slices = True
    shows_nan = True
    pull_into = None

    def pull_arrays(self, node: Node, g: Any, wanted: Sequence[Node | None]) -> Sequence[Any]:
        return [None if parent is None else g for parent in wanted]

    pull_tensors = pull_arrays

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        return next((t for t in tangents if t is not None), None)


READ = ReadRule()
_creation_order = count()
new = object.__new__


@published("Variable")
class Variable(SparseWrites, TensorOperators):
    """A mutable tensor; tapes watch it when it is read, if it is trainable.

    >>> import gradtape as tf
    >>> v = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = v * v
    >>> tape.gradient(y, v)
    <tf.Tensor: shape=(), dtype=float32, numpy=6.0>
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: VariableSynchronization | int | None = VariableSynchronization.AUTO,
        aggregation: VariableAggregation | int | None = VariableAggregation.NONE,
        shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
        *,
        use_resource: bool | None = None,
        layout: Any = None,
    ) -> None:
        if variable_def is not None:
            raise ValueError(
                "Variable: variable_def is for TensorFlow's graphs: give an initial_value."
            )
        if initial_value is None:
            raise ValueError(
                "Variable needs an initial_value: a tensor, an array, a number, or a function that "
                "returns one."
            )
        if constraint is not None and not callable(constraint):
            raise ValueError(f"Variable: constraint must be callable, got {constraint!r}.")
        synchronization = member(VariableSynchronization, synchronization, "synchronization")
        aggregation = member(VariableAggregation, aggregation, "aggregation")
        if layout is not None and not hasattr(layout, "adopt"):
            raise TypeError(
                f"Variable: layout must be a gradtape.experimental.dtensor.Layout, got {layout!r}."
            )
        if not callable(initial_value) or isinstance(initial_value, (Tensor, Variable)):
            self.array = array = _initial_array(initial_value, dtype)
        elif layout is None:
            self.array = array = _initial_array(initial_value(), dtype)
        else:
            array = layout.make(self, initial_value, dtype)
        self._shape = TensorShape(array.shape if shape is None else shape)
        if not self._shape.is_compatible_with(array.shape):
            raise ValueError(
                f"Variable: initial_value has shape {TensorShape(array.shape)}, which does not fit "
                f"shape={self._shape}."
            )
        self._trainable = bool(
            synchronization is not VariableSynchronization.ON_READ
            if trainable is None
            else trainable
        )
        self._name = scoped(name or "Variable") + ":0"
        self.constraint = constraint
        self.synchronization = synchronization
        self.aggregation = aggregation
        self.creation = next(_creation_order)
        self.has_gradient = array.dtype in dtypes.TRAINABLE
        if layout is not None:
            layout.adopt(self)
        if here.state.trace is not None:
            here.state.trace.made.add(id(self))
        elif here.state.device is not None and layout is None:
            here.state.device.adopt(self)
        elif here.state.recorders and isinstance(initial_value, (Tensor, Variable)):
            self.tell_recorders(initial_value)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.keeps_array = getattr_static(cls, "array") is not Buffered.__dict__["array"]
        # A Variable that has none is not to ask a `__getattr__` of the user's for it.
        cls.held = None

    # What it is

    @property
    def dtype(self) -> DType:
        array = self.__dict__.get("array")
        return dtypes.from_numpy((self.outline if array is None else array).dtype)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @property
    def ndim(self) -> int:
        return self.outline.ndim

    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def name(self) -> str:
        return self._name

    @property
    def device(self) -> str:
        return Tensor(self.array).device

    def get_shape(self) -> TensorShape:
        return self.shape

    def ref(self) -> Reference:
        """A hashable reference, for sets and dict keys."""
        return Reference(self)

    experimental_ref = ref

    # Reading

    def tensor(self) -> Tensor:
        """The value now, connected to everything that records on this thread:
        how ops read a Variable.
        """
        state = here.state
        recorders = state.recorders
        if state.trace is not None:
            value = state.trace.value(self)
            return value.with_node(self._joint_node(recorders, value.node))
        tensor = new(Tensor)  # what calling the class does, in half the time
        tensor.array = self.array
        if not recorders:
            tensor.node = None
        else:
            tensor.node = (
                recorders[0].variable_node(self)
                if len(recorders) == 1
                else self._joint_node(recorders)
            )
        return tensor

    def _joint_node(
        self, recorders: Sequence[Recorder], value_node: Node | None = None
    ) -> Node | None:
        """One Node that joins what records the Variable itself and what records its value in a
        program.
        """
        if value_node is not None:
            recorders = [r for r in recorders if r.scope is None or r.scope not in value_node.scope]
        nodes = tuple(node for r in recorders if (node := r.variable_node(self)) is not None)
        if value_node is not None:
            nodes = (value_node, *nodes)
        return _read(nodes) if len(nodes) > 1 else nodes[0] if nodes else None

    def read_value(self) -> Tensor:
        """The value now, as a tensor that can itself be a gradient's source.

        >>> import gradtape as tf
        >>> tf.Variable(2.0).read_value()
        <tf.Tensor: shape=(), dtype=float32, numpy=2.0>
        """
        read = self.tensor()
        if read.node is not None and read.node.scope is not NOWHERE:
            read.node = record_same(READ, (read.node,), read.node.scope)
        return read

    value = read_value

    def numpy(self) -> np.ndarray[Any, Any]:
        """The values as a NumPy array: a copy."""
        return self.tensor().numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self.tensor().__array__(dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self.tensor().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.tensor().__dlpack_device__()

    def __float__(self) -> float:
        return float(self.tensor())

    def __int__(self) -> int:
        return int(self.tensor())

    def __complex__(self) -> complex:
        return complex(self.tensor())

    def __index__(self) -> int:
        return Tensor(self.array).__index__()

    def __bool__(self) -> bool:
        return bool(Tensor(self.array))

    # Writing

    # fmt: off
    @overload
    def assign(self, value: Any, use_locking: bool = False, name: str | None = None,
               read_value: Literal[True] = True) -> Self: ...
    @overload
    def assign(self, value: Any, use_locking: bool, name: str | None,
               read_value: bool) -> Self | None: ...
    @overload
    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, *,
               read_value: bool) -> Self | None: ...
    # fmt: on
    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Replaces the value; no gradient flows back to what was assigned.

        >>> import gradtape as tf
        >>> v = tf.Variable([1.0, 2.0])
        >>> v.assign([3.0, 4.0]).numpy()
        array([3., 4.], dtype=float32)
        """
        values = self._assignable(value)
        self.tell_recorders(value)
        if here.state.trace is not None:
            here.state.trace.write(self, values)
        else:
            array = self.array
            if array.shape == values.shape and self.owns(array):
                array[...] = values
            else:
                with writing.lock:
                    self.replace(_own(values))
        return self._updated(read_value)

    # fmt: off
    @overload
    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None,
                   read_value: Literal[True] = True) -> Self: ...
    @overload
    def assign_add(self, delta: Any, use_locking: bool, name: str | None,
                   read_value: bool) -> Self | None: ...
    @overload
    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, *,
                   read_value: bool) -> Self | None: ...
    # fmt: on
    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds `delta` to the value.

        >>> import gradtape as tf
        >>> tf.Variable(1.0).assign_add(2.0).numpy()
        np.float32(3.0)
        """
        return self._accumulate(np.add, delta, "assign_add", read_value)

    # fmt: off
    @overload
    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None,
                   read_value: Literal[True] = True) -> Self: ...
    @overload
    def assign_sub(self, delta: Any, use_locking: bool, name: str | None,
                   read_value: bool) -> Self | None: ...
    @overload
    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, *,
                   read_value: bool) -> Self | None: ...
    # fmt: on
    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts `delta` from the value.

        >>> import gradtape as tf
        >>> tf.Variable(1.0).assign_sub(2.0).numpy()
        np.float32(-1.0)
        """
        return self._accumulate(np.subtract, delta, "assign_sub", read_value)

    def _accumulate(self, ufunc: np.ufunc, delta: Any, method: str, read_value: bool) -> Any:
        change = self._compatible(delta, method, argument="delta")
        trace = here.state.trace
        # The array itself is not to have another name here, or it could not be written in place.
        shape = self.array.shape if trace is None else self.outline.shape
        if change.shape != shape:
            raise invalid_argument(
                f"{method}: delta has shape {TensorShape(change.shape)}, but the variable "
                f"'{self._name}' has shape {TensorShape(shape)}."
            )
        self.tell_recorders(delta, replaces=False)
        if trace is not None:
            trace.write(
                self,
                XLA.run(XLA.bind(ufunc.__name__), trace.value(self).array, change),
            )
        else:
            here.state.run_on_host(self._combine, ufunc, change)
        return self._updated(read_value)

    def _combine(self, ufunc: np.ufunc, change: Any) -> Any:
        """Makes `ufunc(value, change)` the value, and returns it."""
        array = self.array
        if self.owns(array):
            return ufunc(array, change, array)
        with writing.lock:
            while not self.swap(array := self.array, new := self._combined(ufunc, array, change)):
                pass
        return new

    def _combined(self, ufunc: np.ufunc, array: Any, change: Any) -> Any:
        return ufunc(array, change)

    def _assignable(self, value: Any) -> Any:
        values = self._compatible(value, "assign")
        if not self._shape.is_compatible_with(values.shape):
            raise ValueError(
                f"assign: value has shape {TensorShape(values.shape)}, but the variable "
                f"'{self._name}' has shape {self._shape}."
            )
        return values

    def to_own(self, value: Any) -> Any:
        """`value` as an array that may become this variable's."""
        return _own(self._assignable(value))

    def _compatible(self, value: Any, method: str, *, argument: str = "value") -> Any:
        """`value` as an array of this variable's dtype: a tensor must have it,
        plain values are cast.
        """
        array = array_of(value)
        trace = here.state.trace
        dtype = self.array.dtype if trace is None else self.outline.dtype
        if array is None:
            return _plain_array(value, dtype, argument)
        if array.dtype != dtype:
            raise ValueError(
                f"{method}: {argument} is a tensor of dtype {dtypes.from_numpy(array.dtype).name}, "
                "but the variable "
                f"'{self._name}' is {self.dtype.name}: cast it first."
            )
        return array if trace is not None else on_host(array)

    def tell_recorders(self, value: Any = None, *, replaces: bool = True) -> None:
        """Before a write, of `value` or of something computed from it, which `replaces` all that
        was there.
        """
        recorders = here.state.recorders
        if recorders and isinstance(value, Variable):
            value = value.tensor()
        for recorder in recorders:
            recorder.before_write(self, value, replaces=replaces)

    def _updated(self, read_value: bool) -> Variable | None:
        """The result of a write; handing out the variable counts as an access."""
        if not read_value:
            return None
        for recorder in here.state.recorders:
            recorder.variable_node(self)
        return self

    # Python's own protocols

    def _in_place(self, other: Any) -> Any:
        raise RuntimeError(
            "A Variable cannot be changed with an augmented operator such as +=: use assign_add, "
            "assign_sub or assign."
        )

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = _in_place

    def _graph_only(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("This method is for TensorFlow 1 graphs: use value() or numpy().")

    eval = _graph_only

    @property
    def initial_value(self) -> Any:
        return self._graph_only()

    @property
    def create(self) -> Any:
        return self._graph_only()

    def __getitem__(self, key: Any) -> Tensor:
        return needed.operators.variable_index(self, key)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """The rows of a Variable at `indices`; its gradient is an IndexedSlices.

        >>> import gradtape as tf
        >>> tf.Variable([1.0, 2.0, 3.0]).sparse_read([2, 0]).numpy()
        array([3., 1.], dtype=float32)
        """
        return needed.operators.sparse_read(self, indices)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements or slices of a Variable at the coordinates in the last axis of `indices`.

        >>> import gradtape as tf
        >>> tf.Variable([[1.0, 2.0], [3.0, 4.0]]).gather_nd([[0, 1], [1, 0]]).numpy()
        array([2., 3.], dtype=float32)
        """
        return needed.operators.gather_nd(self, indices)

    def is_initialized(self, name: str | None = None) -> Tensor:
        return Tensor(np.bool_(True))

    def __dir__(self) -> list[str]:
        return shown(
            super().__dir__(),
            "array",
            "aside",
            "creation",
            "divided_as",
            "has_gradient",
            "held",
            "keeps_array",
            "outline",
            "owns",
            "replace",
            "swap",
            "tell_recorders",
            "tensor",
            "to_own",
            "write_at",
        )

    def __copy__(self) -> Variable:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        copied = memo[id(self)] = _restore(*self.__reduce__()[1])
        if self.divided_as is not None:
            copied.__dict__["divided_as"] = self.divided_as
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        settings = (self.constraint, self.synchronization, self.aggregation)
        return _restore, (
            np.array(self.array),
            self._trainable,
            self._name[:-2],
            self._shape.dims,
            *settings,
        )

    def __repr__(self) -> str:
        return (
            f"<tf.Variable '{self._name}' shape={self.shape} dtype={self.dtype.name}, "
            f"numpy={values_text(self.array)}>"
        )


def _read(nodes: Sequence[Node]) -> Node | None:
    """One Node for a read in several recordings, or of what they have assigned."""
    recorded = tuple(node for node in nodes if node.scope is not NOWHERE)
    ends = [end for node in nodes if isinstance(node, Ending) for end in node.each()]
    scope = scope_of(recording for node in recorded for recording in node.scope.recordings)
    if scope is None:
        return joined(ends)
    read = record_same(READ, recorded, scope)
    end = joined(ends)
    if end is not None:
        scope.endings[read.number] = end
    return read


def after_assignment(before: Node | None, value: Node) -> Node | None:
    """The Node of a Variable's value after an assignment, in a program that runs again: connected
    as it was before, with a note of what was assigned.
    """
    end = assignment(value)
    scope = here.state.scope
    if before is None or scope is None:
        return end if before is None else before
    return _read([before, end])


def _restore(
    array: Any, trainable: bool, name: str, shape: Any, constraint: Any, *enums: Any
) -> Variable:
    synchronization, aggregation = enums
    restored = Variable(
        array,
        trainable,
        shape=shape,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )
    restored._name = f"{name}:0"  # as it was, whatever name scope is open now
    return restored


def _initial_array(value: Any, dtype: Any) -> Any:
    """The first buffer: a tensor must have `dtype` already, plain values are cast to it."""
    wanted = None if dtype is None else dtypes.as_dtype(dtype).numpy
    array = array_of(value)
    if array is None:
        array = _plain_array(value, wanted, "initial_value")
    elif is_traced_array(array):
        raise NeedsValues
    elif wanted is not None and array.dtype != wanted:
        raise ValueError(
            f"Variable: initial_value is a tensor of dtype {dtypes.from_numpy(array.dtype).name}, "
            "but dtype is "
            f"{dtypes.from_numpy(wanted).name}: cast it first."
        )
    return _own(on_host(array))


def _plain_array(value: Any, dtype: Any, argument: str) -> Any:
    """Plain values as an array.

    Tensors in a list leave the tape on purpose: no gradient flows back to what is assigned.
    """
    if here.state.scope is None:
        return to_array(value, dtype, argument=argument)
    with here.state.only([]):
        return to_array(value, dtype, argument=argument)


def _own(array: Any) -> Any:
    """An array that may become a buffer: a Tensor's own array may, since it is not written to
    before the Tensor is gone; a view may not.
    """
    if isinstance(array, np.ndarray) and (relying or not array.flags.owndata):
        return np.array(array)
    return array
