"""`TapeMethods`: the methods of `GradientTape` for Jacobians and higher derivatives, and those that
explain what it recorded.

They are implemented in `gradtape.transforms` and `gradtape.inspect`, above this layer, and imported
when they are called.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from gradtape.core.location import own_files
from gradtape.core.settings import settings
from gradtape.core.unconnected import NONE, UnconnectedGradients

if TYPE_CHECKING:
    from gradtape.core.operators import TensorOperators
    from gradtape.core.tensor import Tensor
    from gradtape.core.unconnected import Unconnected
    from gradtape.inspect.explanation import Explanation
    from gradtape.inspect.memory import TapeMemory
    from gradtape.inspect.nonfinite import NonFinite
    from gradtape.inspect.profile import profile as Profile  # noqa: N812 - it is a class
    from gradtape.inspect.show import TapePage

    Gradient: TypeAlias = Tensor | Any
    """A Tensor; or None where there is no path, or the IndexedSlices of a gather.

    Few programs meet these two, so type checkers do not make every program handle them.
    """

    Key = TypeVar("Key")
    Source = TypeVar("Source", bound=TensorOperators)  # a Tensor or a Variable

# ruff: noqa: PLC0415 - a method imports what it needs when it is called

known_none: dict[int, Any] = {}
"""What is known of Variables whose gradients were None, by identity: see `inspect.hints`."""


def forget_none(sources: Sequence[Any]) -> None:
    """What was known is of an earlier gradient."""
    for source in sources:
        known = known_none.get(id(source))
        if known is not None:
            known.last = None


# What stands between the user's code and the methods that it calls.
_BETWEEN = tuple(
    own_files.root + file
    for file in ("functions/autograph/", "transforms/jacobians/", "core/tape_methods.py")
)


class TapeMethods:
    """Jacobians, higher derivatives and explanations of what a tape has recorded."""

    # fmt: off
    @overload
    def jacobian(self, target: Tensor, sources: Source,
                 unconnected_gradients: Unconnected = NONE,
                 parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
                 *, mode: str = "auto", memory_limit: int | None = None,
                 sparse: Literal[False] = False) -> Gradient: ...
    @overload
    def jacobian(self, target: Tensor, sources: list[Source],
                 unconnected_gradients: Unconnected = NONE,
                 parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
                 *, mode: str = "auto", memory_limit: int | None = None,
                 sparse: Literal[False] = False) -> list[Gradient]: ...
    @overload
    def jacobian(self, target: Tensor, sources: tuple[Source, ...],
                 unconnected_gradients: Unconnected = NONE,
                 parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
                 *, mode: str = "auto", memory_limit: int | None = None,
                 sparse: Literal[False] = False) -> tuple[Gradient, ...]: ...
    @overload
    def jacobian(self, target: Tensor, sources: dict[Key, Source],
                 unconnected_gradients: Unconnected = NONE,
                 parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
                 *, mode: str = "auto", memory_limit: int | None = None,
                 sparse: Literal[False] = False) -> dict[Key, Gradient]: ...
    @overload
    def jacobian(self, target: Any, sources: Any,
                 unconnected_gradients: Unconnected = NONE,
                 parallel_iterations: int | None = None, experimental_use_pfor: bool = True,
                 *, mode: str = "auto", memory_limit: int | None = None,
                 sparse: bool = False) -> Any: ...
    # fmt: on
    def jacobian(
        self: Any,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
        *,
        mode: str = "auto",
        memory_limit: int | None = None,
        sparse: bool = False,
    ) -> Any:
        """The derivative of every element of `target` with respect to every element of `sources`.

        Each result has the target's shape followed by the source's. With a structure of targets,
        the result has its structure, with that of `sources` inside. `mode` is "reverse" (a walk
        with a batch of the target's elements), "forward" (with a batch of the sources' elements) or
        "auto", which takes the smaller batch. The memory used besides the result stays within
        `memory_limit` bytes (None: a quarter of what is free), `parallel_iterations` is the largest
        number of elements at once, and `experimental_use_pfor=False` takes one element after
        another. With `sparse`, the results are SciPy CSR arrays of the entries that can be nonzero,
        as `sparsity` finds them.

        >>> import gradtape as tf
        >>> x = tf.constant([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.jacobian(y, x).numpy()
        array([[2., 0.],
               [0., 4.]], dtype=float32)
        """
        from gradtape.transforms.jacobians.jacobian import jacobian

        return jacobian(
            self,
            target,
            sources,
            unconnected_gradients,
            parallel_iterations,
            experimental_use_pfor,
            mode=mode,
            memory_limit=memory_limit,
            sparse=sparse,
        )

    def batch_jacobian(
        self: Any,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
        *,
        mode: str = "auto",
        memory_limit: int | None = None,
        check_independence: bool = True,
    ) -> Gradient:
        """The Jacobian of each example of a batch: `target[b]` is assumed to depend only on
        `source[b]`.

        `check_independence` warns if that is not the case, at the cost of one more gradient. The
        other options are those of `jacobian`.

        >>> import gradtape as tf
        >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.batch_jacobian(y, x).numpy().tolist()
        [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]]
        """
        from gradtape.transforms.jacobians.jacobian import batch_jacobian

        return batch_jacobian(
            self,
            target,
            source,
            unconnected_gradients,
            parallel_iterations,
            experimental_use_pfor,
            mode=mode,
            memory_limit=memory_limit,
            check_independence=check_independence,
        )

    # fmt: off
    @overload
    def gradient_per_example(self, losses: Any, variables: Source,
                             clip_norm: Any = None, *, unconnected_gradients: Unconnected = NONE,
                             memory_limit: int | None = None) -> Gradient: ...
    @overload
    def gradient_per_example(self, losses: Any, variables: list[Source],
                             clip_norm: Any = None, *, unconnected_gradients: Unconnected = NONE,
                             memory_limit: int | None = None) -> list[Gradient]: ...
    @overload
    def gradient_per_example(self, losses: Any, variables: tuple[Source, ...],
                             clip_norm: Any = None, *, unconnected_gradients: Unconnected = NONE,
                             memory_limit: int | None = None) -> tuple[Gradient, ...]: ...
    @overload
    def gradient_per_example(self, losses: Any, variables: dict[Key, Source],
                             clip_norm: Any = None, *, unconnected_gradients: Unconnected = NONE,
                             memory_limit: int | None = None) -> dict[Key, Gradient]: ...
    @overload
    def gradient_per_example(self, losses: Any, variables: Any,
                             clip_norm: Any = None, *, unconnected_gradients: Unconnected = NONE,
                             memory_limit: int | None = None) -> Any: ...
    # fmt: on
    def gradient_per_example(
        self: Any,
        losses: Any,
        variables: Any,
        clip_norm: Any = None,
        *,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        memory_limit: int | None = None,
    ) -> Any:
        """The gradient of each of the `losses` with respect to `variables`, in their structure,
        with the examples as the first axis.

        `losses` has the shape [examples]. With `clip_norm`, each example's gradient is scaled down
        where its norm, over all variables together, is larger than that. The memory used besides
        the result stays within `memory_limit` bytes (None: a quarter of what is free).

        >>> import gradtape as tf
        >>> w, x = tf.Variable([1.0, 2.0]), tf.constant([[3.0, 4.0], [0.3, 0.4]])
        >>> with tf.GradientTape() as tape:
        ...     losses = tf.linalg.matvec(x, w)
        >>> tape.gradient_per_example(losses, w, clip_norm=1.0).numpy()
        array([[0.6, 0.8],
               [0.3, 0.4]], dtype=float32)
        """
        from gradtape.transforms.jacobians.per_example import gradient_per_example

        return gradient_per_example(
            self,
            losses,
            variables,
            clip_norm,
            unconnected_gradients=unconnected_gradients,
            memory_limit=memory_limit,
        )

    def sparsity(
        self: Any,
        target: Any,
        source: Any,
    ) -> Any:
        """Where the derivative of `target` with respect to `source` may be nonzero, as a boolean
        SciPy CSR array.

        It has a row for each element of the target and a column for each of the source, both read
        row by row. It contains every place where the derivative is nonzero, but may contain others:
        it depends on which elements were computed from which, not on their values. A structure of
        targets or sources gives a structure, as in `jacobian`. The tape is not used up.

        >>> import gradtape as tf
        >>> x = tf.constant([1.0, 2.0, 3.0, 4.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x[1:] * x[:-1]
        >>> tape.sparsity(y, x).toarray().astype(int)
        array([[1, 1, 0, 0],
               [0, 1, 1, 0],
               [0, 0, 1, 1]])
        """
        from gradtape.transforms.sparse.sparsity import sparsity

        return sparsity(self, target, source)

    def memory(self: Any) -> TapeMemory:
        """What the recording keeps alive now: bytes by line, op and shape, the largest first, and
        which rule asked for them.

        `total` is what is freed when the tape goes, and `shared` what something else holds too,
        such as a Variable. The tape is not used up.

        >>> import gradtape as tf
        >>> w = tf.Variable(tf.zeros([100, 1000]))
        >>> with tf.GradientTape() as tape:
        ...     y = tf.reduce_sum(tf.tanh(w))
        >>> found = tape.memory()
        >>> found.total, found.shared
        (400000, 0)
        >>> found.rows[0].op, found.rows[0].shape, [str(asked) for asked in found.rows[0].asked]
        ('tanh', (100, 1000), ['out for x'])
        """
        from gradtape.inspect.memory import memory

        return memory(self)

    def derivatives(
        self: Any,
        target: Any,
        sources: Mapping[str, Any],
        partials: Sequence[Any],
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> dict[Any, Gradient]:
        """Partial derivatives of `target` with respect to named sources: "xxt" is twice with
        respect to x and once to t.

        The sources vary in all examples at once. So a result is the partial derivative, example by
        example, if each example of the target depends only on its own example of every source, as
        the output of a network on a batch does. Names longer than a letter are joined by
        underscores, "pos_pos", or given as a tuple, ("pos", "pos"). A derivative with respect to a
        source that the target does not depend on is None, or zeros; one that vanishes for another
        reason is zeros.

        >>> import gradtape as tf
        >>> x, t = tf.constant([[1.0], [2.0]]), tf.constant([[3.0], [4.0]])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch([x, t])
        ...     u = x * x * x * t
        >>> found = tape.derivatives(u, {"x": x, "t": t}, ["t", "xx", "xt"])
        >>> {name: partial.numpy()[:, 0].tolist() for name, partial in found.items()}
        {'t': [1.0, 8.0], 'xx': [18.0, 48.0], 'xt': [3.0, 12.0]}
        """
        from gradtape.transforms.taylor_mode.derivatives import derivatives

        return derivatives(self, target, sources, partials, unconnected_gradients)

    def explain(self: Any, target: Any, sources: Any = None) -> Explanation:
        """Says for each of `sources` why its gradient is None, or how it is connected with
        `target`: with the lines of code, and what to do.

        Without `sources`, they are the Variables that the tape watches. A tape that `gradient()`
        has used up still explains the sources for which that gradient was None.

        >>> import gradtape as tf
        >>> x = tf.constant([1.0, 3.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = tf.reduce_sum(tf.round(x) * 2.0)
        >>> reason = tape.explain(y, x)[0]
        >>> reason.cause, reason.path[-1].op, reason.location.line
        (<Cause.NO_DERIVATIVE: 'an op without a derivative'>, 'round', 3)
        """
        from gradtape.core.location import caller
        from gradtape.inspect.explain import explain_for_user

        return explain_for_user(self, target, sources, caller())

    def why_nonfinite(self: Any, target_or_gradients: Any, sources: Any = None) -> NonFinite:
        """The first op, forward or backward, that made NaN or infinity of finite numbers.

        Give it what the tape recorded, such as the loss; or, for a persistent tape, what its last
        `gradient()` returned. If the loss is finite, the backward pass to `sources` is looked at
        (None: to everything that the tape watches). The result says which op it was, on which line,
        what it was given, how it reached what you see, and what to do; it is false if everything is
        finite. The tape is not used up.

        >>> import gradtape as tf
        >>> x = tf.constant([1.0, 0.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     loss = tf.reduce_sum(tf.math.log(x))
        >>> why = tape.why_nonfinite(loss)
        >>> why.op, why.phase, why.index, why.inputs[0].value
        ('log', 'forward', (1,), 0.0)
        """
        from gradtape.inspect.search import why_nonfinite

        return why_nonfinite(self, target_or_gradients, sources)

    def show(
        self: Any,
        path: str | PathLike[str] | None = None,
        *,
        target: Any = None,
        sources: Any = None,
        profile: Profile | None = None,
    ) -> TapePage:
        """A page to look at: what was recorded, folded by Keras layer and line of code, beside the
        source, with the bytes that each line keeps alive.

        With a `target`, such as the loss, it also has the norm of the gradient at every op, where
        it vanishes or explodes, and why gradients of `sources` (None: the Variables that the tape
        watches) are None or not finite. A persistent tape takes the target of its last
        `gradient()`. With a `profile`, or inside one, it has the time of each line. The page is
        written to `path`, one HTML file that needs nothing else; a notebook shows what is returned.
        The tape is not used up.

        >>> import gradtape as tf, os, tempfile
        >>> x = tf.constant([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     loss = tf.reduce_sum(tf.square(x))
        >>> path = os.path.join(tempfile.mkdtemp(), "tape.html")
        >>> tape.show(path, target=loss)
        <TapePage: 2 ops, nothing found, in ...tape.html>
        """
        from gradtape.core.location import caller
        from gradtape.inspect.show import show

        return show(self, path, target, sources, profile, caller())

    def explain_missing(
        self: Any,
        targets: Sequence[Any],
        sources: Sequence[Any],
        gradients: Sequence[Any],
        says: tuple[str, str] = ("gradient", "None"),
    ) -> None:
        """Logs why gradients are None, once for each line of the user's code; an optimizer that is
        given them says it too.
        """
        if known_none:
            forget_none(sources)
        missing = [s for s, g in zip(sources, gradients, strict=True) if g is None]
        if not missing or not settings.hints:
            return
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
            frame = frame.f_back
        if frame is None or frame.f_code.co_filename.startswith(own_files.root):
            return  # it is this package that asks
        from gradtape.inspect.hints import hint

        with suppress(Exception):  # a gradient does not fail because it cannot be explained
            by_user = not own_files[frame.f_code.co_filename]
            found = hint(self, targets, sources, missing, says, by_user=by_user)
            if found is not None:
                self._explained = found
