"""`GradientTape`: records what runs inside its `with` block and differentiates it.

Its base classes have the rest: `stop_recording`, `reset` and what a tape watches in
`core.tape_control`, Jacobians, higher derivatives and explanations in `core.tape_methods`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from numpy import ndarray

from gradtape import dtypes, nest
from gradtape.blocks import Block
from gradtape.core.departures import Departures, NoDepartures
from gradtape.core.endings import at_gradients
from gradtape.core.late import imported_when_called
from gradtape.core.messages import warn_not_trainable
from gradtape.core.node import Node, variable_node, watch_tensor
from gradtape.core.recording import Recording
from gradtape.core.strong_zeros import Ones, has_nan
from gradtape.core.tape_arguments import (
    in_place_of,
    is_flat,
    leaves_of,
    ones_like,
    seeds_of,
    starting_cotangents,
    unconnected_value,
    watchable,
)
from gradtape.core.tape_control import TapeControl
from gradtape.core.tape_methods import TapeMethods, forget_none, known_none
from gradtape.core.tensor import Tensor
from gradtape.core.thread import ThreadState, here, leave_thread
from gradtape.core.unconnected import NONE, UnconnectedGradients, as_unconnected
from gradtape.core.variable import Variable
from gradtape.core.walk import finished, pull_back
from gradtape.published import published, shown

if TYPE_CHECKING:
    from gradtape.core.tape_methods import Gradient, Key, Source
    from gradtape.core.unconnected import Unconnected

_as_bytes = imported_when_called("gradtape.core.limit.amount", "as_bytes")
_limited = imported_when_called("gradtape.core.limit.recording", "limited")


@published("GradientTape", "autodiff.GradientTape")
class GradientTape(TapeMethods, TapeControl, Block):
    """Records the ops of a `with` block on this thread and computes gradients of what they
    computed.

    Trainable Variables are watched when they are read, other Tensors with `watch`. A tape computes
    one `gradient()`, unless it is `persistent`. A `strict` tape raises where values that it records
    leave it, for example in `y.numpy()`. With a `memory_limit`, in bytes or as a text such as
    "400MB", what is saved beyond it is dropped and computed again in the backward walk; the
    gradients are the same to the last bit.

    >>> import gradtape as tf
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x)
    <tf.Tensor: shape=(), dtype=float32, numpy=6.0>

    >>> x = tf.Variable(tf.ones([100, 100]))
    >>> with tf.GradientTape(memory_limit="500kB") as tape:
    ...     y = x
    ...     for _ in range(30):
    ...         y = tf.tanh(y)
    >>> found = tape.memory()
    >>> found.total < 500_000, found.dropped > 900_000
    (True, True)
    >>> tape.gradient(y, x).shape
    TensorShape([100, 100])
    """

    pushes = False
    scope: Recording | None = None
    _departures: Departures | None = None
    _limit: int | None = None
    _plan: Any = None  # keeps the recording within the limit

    def __init__(
        self,
        persistent: bool = False,
        watch_accessed_variables: bool = True,
        *,
        strict: bool = False,
        memory_limit: int | str | None = None,
    ) -> None:
        self._persistent = persistent
        self._watch_accessed = watch_accessed_variables
        self._new_departures: type[Departures] = NoDepartures if strict else Departures
        self._recording = False
        # What it watches, by identity, and the Nodes of those that have a gradient.
        self._variables: dict[int, Variable] = {}
        self._nodes: dict[int, Node] = {}
        self._ended_by: str | None = None  # what consumed the recording
        if memory_limit is not None:
            self._limit = _as_bytes(memory_limit, "GradientTape: memory_limit")

    # Recording

    def enter(self) -> None:
        if self._recording:
            raise ValueError(
                "This tape is already recording: a GradientTape cannot be entered again before "
                "it is left."
            )
        self._start(here.state)

    def _start(self, state: ThreadState, position: int | None = None) -> None:
        if self.scope is None:
            if self._departures is not None:  # it has recorded before
                self._forget_notes()
            self._departures = self._new_departures()
            self.scope = Recording(self._departures, traced=state.trace is not None)
            if self._limit is not None:
                self.scope, self._plan = _limited(self._limit, self.scope)
            self._variables = {}
            self._ended_by = None
        self._thread = state
        self._go_on(position)

    def _go_on(self, position: int | None) -> None:
        """Records, in its thread; a call that was interrupted is made again."""
        self._recording = True
        self.scope.thread = self._thread  # type: ignore[union-attr]
        if self not in self._thread.recorders:
            self._thread.add(self, position)
        if self._plan is not None:
            self._plan.begin()

    def leave(self) -> None:
        if self._recording:
            self._stop()

    def _stop(self) -> None:
        leave_thread(self, self._thread)
        if self.scope is not None:
            self.scope.thread = None
        if self._plan is not None:
            self._plan.end()
        self._recording = False

    @property
    def recording(self) -> bool:
        """Whether this tape is recording now."""
        return self._recording

    def watch(self, tensor: Any) -> None:
        """Follows `tensor`: a Tensor or Variable, or a structure of them.

        >>> import gradtape as tf
        >>> x = tf.constant(2.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x**3
        >>> tape.gradient(y, x).numpy()
        np.float32(12.0)
        """
        leaves = watchable(tensor)
        if self.scope is None:
            raise AttributeError(
                "watch: this tape is not recording; call watch inside its `with` block."
            )
        for leaf in leaves:
            if leaf.array.dtype not in dtypes.TRAINABLE:
                warn_not_trainable("watched tensor", leaf.dtype)
            if isinstance(leaf, Variable):
                if id(leaf) not in self._variables:
                    self._watch_variable(leaf)
            elif leaf.array.dtype in dtypes.TRAINABLE:
                watch_tensor(leaf, self.scope)

    def variable_node(self, variable: Variable) -> Node | None:
        """The Node of a Variable that is being read; None if this tape does not watch it."""
        node = self._nodes.get(id(variable))
        if node is not None:
            return node
        if self._watch_accessed and variable._trainable:
            return self._watch_variable(variable)
        return None if self._assigned is None else self._assigned_to(variable)

    def _watch_variable(self, variable: Variable) -> Node | None:
        self._variables[id(variable)] = variable
        if not variable.has_gradient:
            return None
        node = self._nodes[id(variable)] = variable_node(self.scope)  # type: ignore[arg-type]
        return node

    # Differentiating

    # fmt: off
    @overload
    def gradient(self, target: Any, sources: Source, output_gradients: Any = None,
                 unconnected_gradients: Unconnected = NONE) -> Gradient: ...
    @overload
    def gradient(self, target: Any, sources: list[Source], output_gradients: Any = None,
                 unconnected_gradients: Unconnected = NONE) -> list[Gradient]: ...
    @overload
    def gradient(self, target: Any, sources: tuple[Source, ...], output_gradients: Any = None,
                 unconnected_gradients: Unconnected = NONE) -> tuple[Gradient, ...]: ...
    @overload
    def gradient(self, target: Any, sources: dict[Key, Source], output_gradients: Any = None,
                 unconnected_gradients: Unconnected = NONE) -> dict[Key, Gradient]: ...
    @overload
    def gradient(self, target: Any, sources: Any, output_gradients: Any = None,
                 unconnected_gradients: Unconnected = NONE) -> Any: ...
    # fmt: on
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of `target` (the sum of its elements) with respect to `sources`,
        in the structure of `sources`.

        >>> import gradtape as tf
        >>> w, b = tf.Variable([1.0, 2.0]), tf.Variable(0.5)
        >>> with tf.GradientTape() as tape:
        ...     loss = tf.reduce_sum(w * w) + b
        >>> dw, db = tape.gradient(loss, [w, b])
        >>> dw.numpy(), db.numpy()
        (array([2., 4.], dtype=float32), np.float32(1.0))
        """
        recording = self._prepare("gradient")
        unconnected = as_unconnected(unconnected_gradients)
        targets = leaves_of(target, "gradient: target")
        flat = is_flat(sources)  # the common case, kept short
        leaves = sources if flat else leaves_of(sources, "gradient: sources")
        given = None if output_gradients is None else seeds_of(output_gradients, targets)
        if given is not None and here.state.trace is not None:
            given = here.state.trace.taken_in(given)
        self._leave_before_differentiating("gradient")
        release = not self._persistent
        try:
            watched = self._nodes
            nodes = [watched.get(id(source)) or self._node_of(source) for source in leaves]
            seeds, by_identity = self._seeds(targets, given)
            if not release:
                self._note_asked(seeds, given)
            found = self._pull(seeds, nodes, recording, release)
            gradients = [
                Tensor(g) if type(g := found.get(node)) is ndarray
                else self._without_path(source, by_identity, unconnected) if g is None
                else finished(g)
                # Equally long, and strict is slow.
                for node, source in zip(nodes, leaves)  # noqa: B905
            ]  # fmt: skip
            if recording.joint:
                at_gradients(recording, seeds, gradients)
            if len(found) < len(leaves):
                self.explain_missing(targets, leaves, gradients)
            elif known_none:
                forget_none(leaves)
        except BaseException as error:
            self._ended_by = f"a gradient() that failed with {type(error).__name__}: {error}"
            raise
        finally:
            if release:
                self._close()
        if flat:
            return gradients if type(sources) is list else tuple(gradients)
        if leaves and leaves[0] is sources:
            return gradients[0]
        each = iter(gradients)
        gradients = [in_place_of(source, each) for source in nest.flatten(sources)]
        return (
            nest.pack_sequence_as(sources, gradients) if nest.is_nested(sources) else gradients[0]
        )

    def _node_of(self, leaf: Any) -> Node | None:
        """The Node of a Tensor or Variable in this tape's recording."""
        node = self._nodes.get(id(leaf))
        if node is not None:
            return node
        node = getattr(leaf, "node", None)
        scope = self.scope
        if node is None or scope is None or (node.scope is not scope and scope not in node.scope):
            trace = here.state.trace
            # What stands for it in the program is what was watched.
            inside = None if trace is None else trace.stand_in(leaf)
            return None if inside is None else self._node_of(inside)
        return node

    def _seeds(
        self, targets: Sequence[Any], given: Sequence[Any] | None
    ) -> tuple[dict[Node, Any], dict[int, Tensor]]:
        """The cotangents to start from, by Node; and, by identity,
        the gradients of targets that the tape does not know.
        """
        state = here.state
        tensors = state.scope is not None or bool(state.levels)
        if given is None and not tensors and len(targets) == 1:  # the common case, kept short
            node = targets[0].node if type(targets[0]) is Tensor else None
            if node is not None and node.scope is self.scope:
                seeds = {node: ones_like(targets[0].array)}
                return seeds if has_nan(targets[0].array) else Ones(seeds), {}
        return starting_cotangents(targets, given, self._node_of, tensors=tensors)

    @staticmethod
    def _without_path(
        source: Any, by_identity: dict[int, Tensor], unconnected: UnconnectedGradients
    ) -> Tensor | None:
        """The gradient of a source that no walk reached: ones if it is itself the target."""
        seed = by_identity.get(id(source))
        return unconnected_value(source, unconnected) if seed is None else seed

    def _pull(
        self, seeds: dict[Node, Any], sources: Sequence[Any], recording: Recording, release: bool
    ) -> dict[Any, Any]:
        """One backward walk, in which NumPy does not warn about infinities."""
        state = here.state
        walk = pull_back if state.around_walk is None else partial(state.around_walk, pull_back)
        return state.walk(recording, walk, seeds, sources, recording, release)

    def _close(self) -> None:
        """Ends the recording: nothing can look connected to it any more.

        Which Variables it watched is still known.
        """
        if self.scope is not None:
            recording, self.scope, self._nodes = self.scope, None, {}
            if self._asked:
                self._asked = ()
            recording.close()

    def __dir__(self) -> list[str]:
        return shown(
            super().__dir__(), "before_write", "ending", "explain_missing", "enter", "leave",
            "pushes", "recording", "scope", "variable_node",
        )  # fmt: skip

    def __del__(self) -> None:
        if self.scope is not None:
            self.scope.close()
