"""`ForwardAccumulator`: Jacobian-vector products, computed op by op as the ops run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from gradtape import dtypes, nest
from gradtape.blocks import Block
from gradtape.core.messages import warn_not_trainable
from gradtape.core.node import Node, source_node, watch_tensor
from gradtape.core.recording import Recording
from gradtape.core.tape_arguments import leaves_of, unconnected_value
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here, leave_thread
from gradtape.core.unconnected import UnconnectedGradients, as_unconnected
from gradtape.core.values import to_array
from gradtape.core.variable import Variable
from gradtape.published import published, shown


@published("autodiff.ForwardAccumulator")
class ForwardAccumulator(Block):
    """Carries `tangents` of `primals` through the ops of a `with` block:
    `jvp(y)` is the derivative of y along them.

    >>> import gradtape as tf
    >>> x = tf.constant([1.0, 2.0, 3.0])
    >>> with tf.autodiff.ForwardAccumulator(
    ...     primals=x, tangents=tf.constant([1.0, 0.0, 0.0])
    ... ) as acc:
    ...     y = tf.reduce_sum(x * x)
    >>> acc.jvp(y)
    <tf.Tensor: shape=(), dtype=float32, numpy=2.0>
    """

    pushes = True

    def __init__(self, primals: Any, tangents: Any) -> None:
        try:
            nest.assert_same_structure(primals, tangents)
        except (TypeError, ValueError) as error:
            raise type(error)(
                "ForwardAccumulator: tangents must have the structure of primals, one tangent for "
                f"each primal. {error}"
            ) from None
        leaves = leaves_of(primals, "ForwardAccumulator: primals")
        if len({id(leaf) for leaf in leaves}) < len(leaves):
            raise ValueError(
                "ForwardAccumulator: primals must not contain the same tensor twice: give each "
                "tensor one tangent."
            )
        self.scope = Recording(traced=here.state.trace is not None)
        self._active = False
        self._variables: dict[int, tuple[Variable, Node]] = {}
        self._tangents: WeakKeyDictionary[Node, Any] = WeakKeyDictionary()
        self._primals = leaves  # their Nodes stay alive with them
        for index, (primal, tangent) in enumerate(zip(leaves, nest.flatten(tangents), strict=True)):
            if primal.dtype.numpy not in dtypes.TRAINABLE:
                warn_not_trainable("primal", primal.dtype)
            self._tangents[self._node_for(primal)] = _tangent(primal, tangent, index)

    def _node_for(self, primal: Any) -> Node:
        if isinstance(primal, Variable):
            node = source_node(self.scope)
            self._variables[id(primal)] = primal, node
            return node
        return watch_tensor(primal, self.scope)

    def enter(self) -> None:
        if self._active:
            raise ValueError(
                "This ForwardAccumulator is already active: it cannot be entered again before it "
                "is left."
            )
        self._thread = here.state
        self._active = True
        here.state.add(self)

    def leave(self) -> None:
        if self._active:
            leave_thread(self, self._thread)
            self._active = False

    @property
    def recording(self) -> bool:
        """Whether this accumulator is active now."""
        return self._active

    def before_write(self, variable: Variable, value: Any, *, replaces: bool = True) -> None:
        """Assigning does not change a tangent."""

    def variable_node(self, variable: Variable) -> Node | None:
        entry = self._variables.get(id(variable))
        return None if entry is None else entry[1]

    def push(self, node: Node, args: Sequence[Any], outputs: Any) -> None:
        """The tangent of an op that has just run,
        recorded only by what was entered before this accumulator.
        """
        if self.scope not in node.scope or node.rule is None:
            return
        tangents = [
            None if parent is None else self._tangents.get(parent) for parent in node.parents
        ]
        if all(t is None for t in tangents):
            return
        state = here.state
        position = next(i for i, recorder in enumerate(state.recorders) if recorder is self)
        with state.only(state.recorders[:position]):
            tangent = node.rule.push(node, args, outputs, tangents)
        if tangent is not None:
            self._tangents[node] = tangent

    def jvp(
        self,
        primals: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The tangents of `primals`, in their structure; None or zeros where there is none.

        >>> import gradtape as tf
        >>> v = tf.Variable(3.0)
        >>> with tf.autodiff.ForwardAccumulator(v, 1.0) as acc:
        ...     y = {"square": v * v, "constant": tf.constant(1.0)}
        >>> acc.jvp(y)["square"].numpy(), acc.jvp(y)["constant"]
        (np.float32(6.0), None)
        """
        unconnected = as_unconnected(unconnected_gradients)
        trace = here.state.trace

        def tangent_of(leaf: Any) -> Any:
            (leaf,) = leaves_of(leaf, "jvp: primals")
            if trace is not None:
                (leaf,) = trace.taken_in([leaf])
            node = self.variable_node(leaf) if isinstance(leaf, Variable) else leaf.node
            tangent = None if node is None else self._tangents.get(node)
            return unconnected_value(leaf, unconnected) if tangent is None else tangent

        return nest.map_structure(tangent_of, primals)

    def __dir__(self) -> list[str]:
        return shown(
            super().__dir__(),
            "before_write",
            "ending",
            "enter",
            "leave",
            "push",
            "pushes",
            "recording",
            "scope",
            "variable_node",
        )

    def __del__(self) -> None:
        if hasattr(self, "scope"):
            self.scope.close()


def _tangent(primal: Any, tangent: Any, index: int) -> Tensor:
    """A tangent as a Tensor of its primal's dtype and shape."""
    argument = f"ForwardAccumulator: tangents[{index}]"
    if tangent is None:
        raise ValueError(
            f"{argument} must not be None: give a tensor of shape {primal.shape}, for instance "
            "zeros."
        )
    if isinstance(tangent, Variable):
        tangent = tangent.tensor()
    if not isinstance(tangent, Tensor):
        try:
            tangent = Tensor(to_array(tangent, primal.array.dtype, argument=argument))
        except TypeError as error:
            raise ValueError(str(error)) from None
    if tangent.array.dtype != primal.array.dtype:
        name = dtypes.from_numpy(tangent.array.dtype).name
        raise ValueError(
            f"{argument} has dtype {name}, but its primal has dtype {primal.dtype.name}: "
            "cast it first."
        )
    if tangent.array.shape != primal.array.shape:
        raise ValueError(
            f"{argument} has shape {tangent.shape}, but its primal has shape {primal.array.shape}."
        )
    return tangent
