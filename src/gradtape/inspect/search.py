"""The search of a tape for the op that made NaN or infinity of finite numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.node import Node
from gradtape.core.tape_arguments import ones_like, source_object
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.inspect.advice import advice_for
from gradtape.inspect.backward import Backward, as_array, largest_finite
from gradtape.inspect.backward_steps import Cotangent, Passed
from gradtape.inspect.causes import Culprit, Next, Suspect, first_of, trace
from gradtape.inspect.evidence import Evidence, Known, saved_output
from gradtape.inspect.forward_steps import Forward, is_wrong_value
from gradtape.inspect.nonfinite import FORWARD, Ancestor, Carrier, Input, NonFinite, finite
from gradtape.inspect.values import at, first, is_wrong, plain, spread, wrong
from gradtape.ops.derivative import declared


def why_nonfinite(tape: Any, target_or_gradients: Any, sources: Any = None) -> NonFinite:
    """What `GradientTape.why_nonfinite` returns."""
    state = here.state
    if state.trace is not None or state.levels:
        raise RuntimeError(
            "why_nonfinite: it needs the values, which are not there while a function is traced or "
            "inside vmap. Ask outside; a call of a function is looked into op by op."
        )
    given_leaves = [leaf for leaf in nest.flatten(target_or_gradients) if leaf is not None]
    with state.only([]):
        leaves = [
            leaf.__gradtape_tensor__() if isinstance(leaf, IndexedSlices) else source_object(leaf)
            for leaf in given_leaves
        ]
    if not leaves or not all(isinstance(leaf, (Tensor, Variable)) for leaf in leaves):
        raise TypeError(
            "why_nonfinite: give it a Tensor that the tape recorded, such as the loss, or the "
            f"gradients that gradient() returned; got {target_or_gradients!r}."
        )
    if tape.scope is None and tape._ended_by is not None:
        raise RuntimeError(_used_up(tape, leaves))
    recording = tape._prepare("why_nonfinite")
    given_sources = [] if sources is None else [source_object(s) for s in nest.flatten(sources)]
    named = _names(tape, given_sources)
    targets = {node: leaf for leaf in leaves if (node := tape._node_of(leaf)) is not None}
    given = {
        node: source
        for source in given_sources
        if isinstance(source, Tensor) and (node := tape._node_of(source)) is not None
    }
    wanted = [n for s in given_sources if (n := tape._node_of(s)) is not None] or None
    if targets:
        given.update({n: t for n, t in targets.items() if isinstance(t, Tensor)})
        evidence = Evidence([recording], targets, given, names=named)
        evidence.variables = _variables(tape)
        starts = [(n, t) for n, t in targets.items() if n in given and is_wrong(plain(t))]
        if starts:
            return report(
                [(Forward(evidence, n), first(wrong(plain(t)))) for n, t in starts], "the target"
            )
        seeds = {node: ones_like(plain(leaf)) for node, leaf in targets.items()}
        return in_backward(evidence, recording, seeds, wanted)
    asked = {node: seed_from(kept) for known, kept in tape._asked if (node := known()) is not None}
    if not asked:
        raise ValueError(
            "why_nonfinite: this tape did not record what it was given, and has computed no "
            "gradient that it could be. Give it the loss: tape.explain(loss) says whether it is "
            "recorded."
        )
    evidence = Evidence([recording], asked, given, names=named)
    evidence.variables = _variables(tape)
    backward = Backward(evidence, recording, asked, wanted)
    known = [as_array(g) for g in backward.gradients.values()]
    for leaf in leaves:
        array = plain(leaf)
        if is_wrong(array) and not any(_same(array, other) for other in known):
            raise ValueError(
                "why_nonfinite: a tensor of shape "
                f"{leaf.shape} that is not finite was neither recorded by this tape nor is it a "
                "gradient of its last gradient() call. Give it the loss, and the sources."
            )
    return in_backward(evidence, recording, asked, wanted, backward)


def seed_from(kept: Any) -> Any:
    """A cotangent from which a gradient began: ones of a shape and dtype, if none was given."""
    if type(kept) is not tuple:
        return kept
    shape, dtype = kept
    return np.ones(tuple(shape), getattr(dtype, "numpy", dtype))


def in_backward(
    evidence: Evidence,
    recording: Any,
    seeds: dict[Node, Any],
    sources: Iterable[Node] | None,
    backward: Backward | None = None,
) -> NonFinite:
    """What is wrong in the backward pass from some Nodes, or in values before it."""
    backward = backward or Backward(evidence, recording, seeds, sources)
    targets = [
        (Forward(evidence, n), None)
        for n in seeds
        # Made-up constants are finite, so what is not finite with them is not without them.
        if (value := evidence.value(n)) is not None and is_wrong_value(value)
    ]
    if targets:
        return report(targets, "the target")
    bad = [(n, g) for n, g in backward.gradients.items() if is_wrong(g)]
    if not bad:
        return finite("the target, and its gradients")
    name = evidence.names.get(bad[0][0])
    seen = "the gradient" if name is None else f"the gradient of {name}"
    return report([(Cotangent(backward, n), first(wrong(g))) for n, g in bad], seen)


def report(starts: Next, seen: str) -> NonFinite:
    """The first culprit that some steps lead back to."""
    culprits, reached_from = trace(starts)
    culprit = first_of(culprits)
    step, index = culprit.step, culprit.index
    place = index[1] if index and isinstance(index[-1], tuple) else index
    chain = []
    passed: Suspect | None = step
    while passed is not None:
        if passed is not step and passed.shown:
            chain.append(Carrier(passed.name, passed.location, passed.phase))
        chain += [_link(node) for node in passed.through if Forward(passed.evidence, node).shown]
        passed = reached_from.get(passed.key)
    given = culprit.kind in {"source", "input", "seed"}
    value = _value(culprit, place)
    inputs = () if given else _inputs(culprit, index)
    name = step.name
    if culprit.kind == "source":
        name = step.evidence.names.get(step.node, "a source")
    elif culprit.kind == "input":
        name = culprit.argument
    return NonFinite(
        kind=culprit.kind,
        op=name,
        location=step.location,
        phase=step.phase,
        index=place,
        value=value,
        inputs=inputs,
        chain=tuple(chain),
        advice=advice_for(culprit, value),
        certain=culprit.certain,
        missing=tuple(culprit.missing),
        between=tuple(_link(node) for node in culprit.between),
        last_finite=None if culprit.last_finite is None else _link(culprit.last_finite),
        largest=_largest(culprit, value),
        seen=seen,
        layer=_label(step),
        notes=(*([culprit.note] if culprit.note else []), *_now(culprit)),
    )


def _label(step: Suspect) -> str | None:
    """What else is known of the op, or of the call that it is in."""
    evidence, node = step.evidence, step.node
    while evidence.outside is not None:
        (evidence, _), node = evidence.outside, evidence.call
    return None if evidence.label is None else evidence.label(node)


def _now(culprit: Culprit) -> list[str]:
    """What Variables hold now, where the values that were read are not known."""
    variables = culprit.step.evidence.variables
    return [
        f"The Variable '{v.name}' is not finite now, at index {first(wrong(v.array))}; the value "
        "that was read was not kept."
        for v in (variables.get(node) for node in culprit.sources)
        if v is not None and is_wrong(v.array)
    ]


def _value(culprit: Culprit, place: Any) -> Any:
    """The number that is not finite."""
    step = culprit.step
    if culprit.value is not None:
        return culprit.value
    if isinstance(step, Passed):
        return _at(_made(step), culprit.index)
    if isinstance(step, Cotangent):
        return _at(
            step.backward.totals.get(step.node, step.backward.seeds.get(step.node)), culprit.index
        )
    if culprit.kind == "constant":
        number = _number_of(culprit)
        constant: Any = step.evidence.arguments(step.node)[number]
        return _at(constant.array, place)
    known = step.evidence.value(step.node)
    return float("nan") if known is None else _at(known.array, culprit.index)


def _made(step: Passed) -> Any:
    """What a rule passed on."""
    parent = step.node.parents[step.argument]
    passed = step.backward.passed[parent]  # type: ignore[index]
    return next(a for node, k, a in passed if node is step.node and k == step.argument)


def _number_of(culprit: Culprit) -> int:
    op: Any = declared(culprit.step.node.rule)
    names = [*op.arguments]
    if culprit.argument in names:
        return names.index(culprit.argument)
    return int(culprit.argument.rpartition(" ")[2])


def _at(array: Any, index: Any) -> Any:
    if isinstance(array, (list, dict)):
        return at(array[index[0]], index[1])
    return at(array, index)


def _inputs(culprit: Culprit, index: Any) -> tuple[Input, ...]:
    """What the op was given at the place in question."""
    step = culprit.step
    op: Any = declared(step.node.rule)
    found: list[Input] = []
    if culprit.kind == "constant":
        number = _number_of(culprit)
        known = step.evidence.arguments(step.node)[number]
        return (_input(culprit.argument, known.array, index, True),)  # type: ignore[union-attr]
    elementwise = op is not None and op.elementwise
    if isinstance(step, Passed):
        received = step.received
        if type(received) is dict:
            for number, g in received.items():
                found.append(_input(f"gradient of output {number}", g, index, False))
        else:
            found.append(_input("gradient", received, index, elementwise))
    elif isinstance(step, Cotangent):
        return ()
    out = saved_output(step.node) if isinstance(step, Passed) else None
    for k, value in enumerate(step.evidence.arguments(step.node)):
        if value is not None and value.exact and not isinstance(value.array, list):
            names = () if op is None else op.arguments
            name = names[k] if k < len(names) else f"argument {k}"
            found.append(_input(name, value.array, index, elementwise))
    if out is not None and not isinstance(out, list):
        found.append(_input("its result", out, index, elementwise))
    return tuple(found)


def _input(name: str, array: Any, index: Any, elementwise: bool) -> Input:
    array = np.asarray(array)
    value = None
    if array.size == 1:
        value = array.item()
    elif elementwise and index is not None and len(index) >= array.ndim:
        place = spread(index, array.shape)
        if all(i < size for i, size in zip(place, array.shape, strict=True)):
            value = array[place].item()
    least = largest = None
    if array.size and array.dtype.kind in "iufV":
        numbers = array.astype(np.float64)
        numbers = numbers[~np.isnan(numbers)]
        if numbers.size:
            least, largest = float(numbers.min()), float(numbers.max())
    return Input(name, value, tuple(array.shape), least, largest)


def _largest(culprit: Culprit, value: Any) -> Ancestor | None:
    """For an overflow in half precision, the largest finite number that led to it; None if it is
    not known what did.
    """
    step = culprit.step
    is_overflow = isinstance(value, float) and bool(np.isinf(value))
    if not is_overflow or not culprit.certain or culprit.kind not in {"op", "sum"}:
        return None
    if isinstance(step, (Passed, Cotangent)):
        made = _made(step) if isinstance(step, Passed) else step.backward.totals[step.node]
        if type(made) is dict or np.asarray(made).dtype.itemsize != 2:
            return None
        return max(_gradients_before(step), key=lambda found: found.value, default=None)
    evidence, known = step.evidence, step.evidence.value(step.node)
    if (
        known is None
        or isinstance(known.array, list)
        or np.asarray(known.array).dtype.itemsize != 2
    ):
        return None
    best: Ancestor | None = None
    stack, seen = [step.node], {step.node}
    while stack:
        node = stack.pop()
        for parent, argument in zip(evidence.parents(node), evidence.arguments(node), strict=True):
            size = _size(argument)
            if size is not None and (best is None or size > best.value):
                if parent is None:
                    best = Ancestor(f"a constant of {_name(node)}", node.location(), size)
                else:
                    name = evidence.names.get(parent) or _name(parent)
                    best = Ancestor(name, parent.location(), size)
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return best


def _gradients_before(step: Passed | Cotangent) -> Iterable[Ancestor]:
    """The largest numbers of the gradients that one was computed from."""
    backward = step.backward
    stack = [step.node]
    if isinstance(step, Cotangent):
        parts = backward.parts.get(step.node, [])
        stack = [child for child, _ in parts]
        for child, size in parts:
            if size is not None:
                name = f"what the gradient of {_name(child)} passes on"
                yield Ancestor(name, child.location(), size)
    seen = set(stack)
    while stack:
        node = stack.pop()
        if node in backward.largest:
            name = f"the gradient of {_name(node)}"
            yield Ancestor(name, node.location(), backward.largest[node])
        new = {child for child, _ in backward.parts.get(node, ())} - seen
        seen |= new
        stack += new


def _size(value: Known | None) -> float | None:
    """The largest finite number of an argument, if it is known and of floats."""
    if value is None or not value.exact or isinstance(value.array, list):
        return None
    floats = np.asarray(value.array).dtype.kind in "fV"
    return largest_finite(value.array) if floats else None


def _names(tape: Any, sources: Sequence[Any]) -> dict[Node, str]:
    """How the tape's sources are called in a report."""
    found = {node: f"the Variable '{v.name}'" for node, v in _variables(tape).items()}
    for i, source in enumerate(sources):
        node = tape._node_of(source)
        if node is not None and node not in found:
            found[node] = "the source" if len(sources) == 1 else f"source {i}"
    return found


def _variables(tape: Any) -> dict[Node, Variable]:
    found = ((tape._nodes.get(key), variable) for key, variable in tape._variables.items())
    return {node: variable for node, variable in found if node is not None}


def _used_up(tape: Any, leaves: Sequence[Any]) -> str:
    """What to say of a tape that keeps nothing any more."""
    values = [plain(leaf) for leaf in leaves]
    seen = (
        "What you gave is not finite"
        if any(map(is_wrong, values))
        else "What you gave is finite, so if its gradients are not, the backward pass made them so"
    )
    return (
        f"why_nonfinite: this tape was used up by {tape._ended_by}, and keeps nothing any more. "
        f"{seen}. To find the op, ask before gradient(), or record with "
        "GradientTape(persistent=True), or call tf.debugging.enable_check_numerics(), with which "
        "the op raises an error."
    )


def _same(array: Any, other: Any) -> bool:
    other = np.asarray(other)
    return array.shape == other.shape and bool(
        np.array_equal(array.astype(np.complex128), other.astype(np.complex128), equal_nan=True)
    )


def _link(node: Node) -> Carrier:
    return Carrier(_name(node), node.location(), FORWARD)


def _name(node: Node) -> str:
    return "a source" if node.rule is None else node.rule.name
