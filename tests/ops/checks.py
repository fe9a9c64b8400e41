"""The checkers of the op test table.

Each takes any function of Tensors and raises AssertionError; `test_checks` tests them.

`function` maps Tensors to a Tensor or a list of them, `args` are NumPy arrays (and Python numbers),
`wanted` the positions of the arguments to differentiate by. Derivatives are checked in float64 or
complex128. A complex number counts as its two real parts: the inner product is the real part of the
conjugated one, and the gradient of a real L is dL/dRe + i dL/dIm.
"""

from __future__ import annotations

import inspect
import itertools
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gradtape.autodiff import ForwardAccumulator
from gradtape.convert import operand
from gradtape.core.node import Node
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.dtypes import TRAINABLE
from gradtape.ops.op import Op
from gradtape.transforms.vectorize import vmap

Function = Callable[..., Any]

# Of central differences: their error is then about 1e-10, from rounding and from the third
# derivative alike.
STEP = 1e-5
DIFFERENCE = {"rtol": 1e-6, "atol": 1e-7}
EXACT = {"rtol": 1e-10, "atol": 1e-12}


# Calling and differentiating


def is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


def as_tensors(args: Iterable[Any]) -> list[Any]:
    return [Tensor(arg) if is_array(arg) else arg for arg in args]


def as_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def outputs(function: Function, tensors: Sequence[Any]) -> list[Tensor]:
    """The outputs that can have a gradient."""
    return [out for out in as_list(function(*tensors)) if out.array.dtype in TRAINABLE]


def values(function: Function, args: Sequence[Any]) -> list[Any]:
    return [out.array for out in outputs(function, as_tensors(args))]


def pulled(
    function: Function, tensors: Sequence[Any], wanted: Sequence[int], cotangents: Sequence[Tensor]
) -> list[Any]:
    """The gradients by the wanted arguments: the transpose of the Jacobian times `cotangents`;
    None where there is no path.
    """
    sources = [tensors[i] for i in wanted]
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(sources)
        targets = outputs(function, tensors)
    found = tape.gradient(targets, sources, output_gradients=list(cotangents))
    return [None if g is None else operand(g) for g in found]


def pushed(
    function: Function, tensors: Sequence[Any], wanted: Sequence[int], tangents: Sequence[Tensor]
) -> list[Any]:
    """The tangents of the outputs: the Jacobian times `tangents`; None where there is no path."""
    with ForwardAccumulator([tensors[i] for i in wanted], list(tangents)) as accumulator:
        targets = outputs(function, tensors)
    return accumulator.jvp(targets)


def random_like(rng: np.random.Generator, array: Any) -> Any:
    real = rng.uniform(-1, 1, array.shape)
    return np.asarray(
        real + 1j * rng.uniform(-1, 1, array.shape) if array.dtype.kind == "c" else real
    ).astype(array.dtype)


def inner(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    return float(sum(np.sum((np.conj(x) * y).real) for x, y in zip(xs, ys, strict=True)))


def assert_close(actual: Any, expected: Any, what: str, rtol: float, atol: float) -> None:
    """Equal shapes, and values within the tolerance; NaN equals NaN."""
    actual, expected = _wide(actual), _wide(expected)
    assert actual.shape == expected.shape, (
        f"{what}: shape {actual.shape}, expected {expected.shape}"
    )
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, err_msg=what)


def _wide(value: Any) -> Any:
    array = np.asarray(value)
    return (
        array.astype(np.float64) if array.dtype in TRAINABLE and array.dtype.kind != "c" else array
    )


# First order


def check_gradient(
    function: Function, args: Sequence[Any], wanted: Sequence[int], *, connected: bool = True
) -> None:
    """The gradient, by all wanted arguments together and by each alone,
    against central differences of every element.

    `connected=False` takes None for zero, as when the function is a derivative that may be
    constant.
    """
    rng = np.random.default_rng(0)
    cotangents = [random_like(rng, value) for value in values(function, args)]

    def gradients(by: Sequence[int]) -> list[Any]:
        tensors = as_tensors(args)
        found = pulled(function, tensors, by, as_tensors(cotangents))
        return [
            _array(g, args[i], f"gradient of argument {i}", connected)
            for g, i in zip(found, by, strict=True)
        ]

    together = gradients(wanted)
    for i, gradient in zip(wanted, together, strict=True):
        assert gradient.dtype == args[i].dtype, (
            f"gradient of argument {i}: dtype {gradient.dtype}, expected {args[i].dtype}"
        )
        expected = _central_gradient(lambda *xs: inner(cotangents, values(function, xs)), args, i)
        assert_close(gradient, expected, f"gradient of argument {i}", **DIFFERENCE)
        if len(wanted) > 1:
            (alone,) = gradients([i])
            assert_close(alone, gradient, f"gradient of argument {i} alone", **EXACT)


def _array(tangent: Any, like: Any, what: str, connected: bool) -> Any:
    if tangent is not None:
        return tangent.array
    assert not connected, f"{what}: None, so there is no path"
    return np.zeros(like.shape, like.dtype)


def _central_gradient(loss: Callable[..., float], args: Sequence[Any], index: int) -> Any:
    """The gradient of a real function by one argument, element by element."""
    gradient = np.zeros(args[index].shape, args[index].dtype)
    for where in np.ndindex(gradient.shape):
        for unit in (1, 1j) if gradient.dtype.kind == "c" else (1,):
            nudge = np.zeros_like(gradient)
            nudge[where] = unit * STEP
            above, below = (
                loss(*_with(args, index, args[index] + sign * nudge)) for sign in (1, -1)
            )
            gradient[where] += unit * (above - below) / (2 * STEP)
    return gradient


def _with(args: Sequence[Any], index: int, value: Any) -> list[Any]:
    return [*args[:index], value, *args[index + 1 :]]


def check_jvp(
    function: Function, args: Sequence[Any], wanted: Sequence[int], *, connected: bool = True
) -> None:
    """Jacobian-vector products, along all wanted arguments together and along each alone,
    against a central difference.
    """
    rng = np.random.default_rng(1)
    tangents = {i: random_like(rng, args[i]) for i in wanted}
    for along in [wanted, *([[i] for i in wanted] if len(wanted) > 1 else [])]:
        tensors = as_tensors(args)
        found = pushed(function, tensors, along, as_tensors([tangents[i] for i in along]))
        above, below = (
            values(
                function,
                [x + sign * STEP * tangents[i] if i in along else x for i, x in enumerate(args)],
            )
            for sign in (1, -1)
        )
        for out, (tangent, high, low) in enumerate(zip(found, above, below, strict=True)):
            what = f"tangent of output {out} along arguments {list(along)}"
            actual = _array(tangent, high, what, connected)
            assert actual.dtype == high.dtype, (
                f"{what}: dtype {actual.dtype}, expected {high.dtype}"
            )
            assert_close(actual, (high - low) / (2 * STEP), what, **DIFFERENCE)


def check_adjoint(function: Function, args: Sequence[Any], wanted: Sequence[int]) -> None:
    """<u, J t> = <Jᵀ u, t>: the two modes are each other's transpose."""
    rng = np.random.default_rng(2)
    cotangents = [random_like(rng, value) for value in values(function, args)]
    tangents = [random_like(rng, args[i]) for i in wanted]
    gradients = pulled(function, as_tensors(args), wanted, as_tensors(cotangents))
    forward = pushed(function, as_tensors(args), wanted, as_tensors(tangents))
    forward_arrays = [
        _array(t, u, "tangent", connected=True) for t, u in zip(forward, cotangents, strict=True)
    ]
    gradient_arrays = [
        _array(g, t, "gradient", connected=True) for g, t in zip(gradients, tangents, strict=True)
    ]
    assert_close(
        inner(gradient_arrays, tangents),
        inner(cotangents, forward_arrays),
        "<Jᵀ u, t>, <u, J t>",
        **EXACT,
    )


# Second order


def check_second_order(
    function: Function, args: Sequence[Any], wanted: Sequence[int], *, outer: str, inner_mode: str
) -> None:
    """The derivative of a derivative, in mode `outer` of mode `inner_mode`,
    also along the first one's own direction.
    """
    rng = np.random.default_rng(3)
    first: Function = {"reverse": pulled, "forward": pushed}[inner_mode]
    like = values(function, args) if inner_mode == "reverse" else [args[i] for i in wanted]
    along = [random_like(rng, array) for array in like]
    count = len(args)

    def derivative(*tensors: Any) -> Any:
        return first(function, tensors[:count], wanted, tensors[count:])

    check = {"reverse": check_gradient, "forward": check_jvp}[outer]
    check(
        derivative, [*args, *along], [*wanted, *range(count, count + len(along))], connected=False
    )


# Arguments of other kinds


def check_without_gradient(function: Function, args: Sequence[Any], index: int) -> None:
    """The gradient by an argument, if it has one at all, is None and not zeros."""
    tensors = as_tensors(args)
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([tensors[index]])
        targets = as_list(function(*tensors))
    assert tape.gradient(targets, tensors[index]) is None, f"argument {index} has a gradient"


def check_gradient_dtype(
    function: Function, args: Sequence[Any], wanted: Sequence[int], rtol: float
) -> None:
    """In any dtype: gradients have their arguments' dtypes, tangents their outputs', and both the
    values of double precision.
    """
    wide = [
        a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) if i in wanted else a
        for i, a in enumerate(args)
    ]
    rng = np.random.default_rng(4)
    results = outputs(function, as_tensors(args))
    cotangents = [random_like(rng, out.array) for out in results]
    tangents = [random_like(rng, args[i]) for i in wanted]
    wide_cotangents = [
        u.astype(v.dtype) for u, v in zip(cotangents, values(function, wide), strict=True)
    ]
    found = pulled(function, as_tensors(args), wanted, as_tensors(cotangents))
    expected = pulled(function, as_tensors(wide), wanted, as_tensors(wide_cotangents))
    for i, gradient, reference in zip(wanted, found, expected, strict=True):
        assert gradient.array.dtype == args[i].dtype, (
            f"gradient of argument {i}: dtype {gradient.array.dtype}, not {args[i].dtype}"
        )
        _assert_near(gradient, reference, f"gradient of argument {i}", rtol)
    found = pushed(function, as_tensors(args), wanted, as_tensors(tangents))
    wide_tangents = [t.astype(wide[i].dtype) for t, i in zip(tangents, wanted, strict=True)]
    expected = pushed(function, as_tensors(wide), wanted, as_tensors(wide_tangents))
    for i, (tangent, out, reference) in enumerate(zip(found, results, expected, strict=True)):
        assert tangent.array.dtype == out.array.dtype, (
            f"tangent of output {i}: dtype {tangent.array.dtype}, not {out.array.dtype}"
        )
        _assert_near(tangent, reference, f"tangent of output {i}", rtol)


def _assert_near(actual: Tensor, reference: Tensor, what: str, rtol: float) -> None:
    """Rounding errors count against the largest value,
    since small ones are often differences of large ones.
    """
    scale = np.max(np.abs(reference.array), initial=1.0)
    assert_close(actual.array, reference.array, what, rtol=rtol, atol=rtol * float(scale))


def check_layouts(
    function: Function,
    args: Sequence[Any],
    wanted: Sequence[int],
    layouts: Sequence[Callable[[Any], Any]] = (),
) -> None:
    """Arguments and cotangents in any memory layout give the same values and gradients."""
    rng = np.random.default_rng(5)
    plain = [out.array for out in as_list(function(*as_tensors(args)))]
    cotangents = [random_like(rng, value) for value in values(function, args)] if wanted else []
    expected_gradients = (
        pulled(function, as_tensors(args), wanted, as_tensors(cotangents)) if wanted else []
    )
    for layout in layouts or LAYOUTS:
        name = layout.__name__
        odd = [out.array for out in as_list(function(*as_tensors([layout(arg) for arg in args])))]
        for i, (expected, actual) in enumerate(zip(plain, odd, strict=True)):
            assert_close(actual, expected, f"output {i} of {name} arguments", **EXACT)
        if wanted:
            gradients = pulled(
                function, as_tensors(map(layout, args)), wanted, as_tensors(map(layout, cotangents))
            )
            for i, gradient, expected in zip(wanted, gradients, expected_gradients, strict=True):
                assert_close(
                    gradient.array, expected.array, f"gradient of {name} argument {i}", **EXACT
                )
    if wanted:
        _check_repeated_cotangents(
            function, args, wanted, [np.full_like(c, 1.5) for c in cotangents]
        )


def _check_repeated_cotangents(
    function: Function, args: Sequence[Any], wanted: Sequence[int], cotangents: list[Any]
) -> None:
    """Cotangents that are one number in all places, as the gradient of a sum is,
    give what whole arrays of it give.
    """
    repeated = [
        np.broadcast_to(c.ravel()[:1].reshape(()), c.shape) if c.size else c for c in cotangents
    ]
    expected = pulled(function, as_tensors(args), wanted, as_tensors(cotangents))
    found = pulled(function, as_tensors(args), wanted, as_tensors(repeated))
    for i, gradient, right in zip(wanted, found, expected, strict=True):
        assert_close(
            gradient.array,
            right.array,
            f"gradient of argument {i} from a repeated cotangent",
            **EXACT,
        )


def strided(value: Any) -> Any:
    """The same values, laid out in column order, backwards, in every other place."""
    if not is_array(value) or not value.ndim:
        return value
    wide = np.zeros((*value.shape[:-1], 2 * value.shape[-1]), value.dtype, order="F")
    view = wide[..., ::-2]
    view[...] = value
    return view


def in_columns(value: Any) -> Any:
    """The same values in Fortran's order."""
    return np.asfortranarray(value) if is_array(value) and np.ndim(value) else value


def backwards(value: Any) -> Any:
    """The same values with negative strides in every axis."""
    if not is_array(value) or not value.ndim:
        return value
    every = (slice(None, None, -1),) * value.ndim
    return np.ascontiguousarray(value[every])[every]


def sparse_rows(value: Any) -> Any:
    """The same values with gaps between the rows, and axes exchanged in memory."""
    if not is_array(value) or not value.ndim:
        return value
    wide = np.zeros((3 * value.shape[0], *value.shape[:0:-1]), value.dtype)
    view = wide[::3].transpose(0, *range(value.ndim - 1, 0, -1))
    view[...] = value
    return view


def read_only(value: Any) -> Any:
    """The same values in memory that must not be written to, which begins at an odd address."""
    if not is_array(value) or not value.size or value.dtype == object:
        return value
    memory = np.zeros(value.nbytes + 1, np.uint8)
    view = memory[1:].view(value.dtype).reshape(value.shape)
    view[...] = value
    view.flags.writeable = False
    return view


LAYOUTS = (strided, in_columns, backwards, sparse_rows, read_only)


def check_unmodified(function: Function, args: Sequence[Any], wanted: Sequence[int]) -> None:
    """Neither the call nor its derivatives write into their arguments or cotangents."""
    rng = np.random.default_rng(6)
    args = [np.array(arg) if is_array(arg) else arg for arg in args]
    cotangents = (
        [np.asarray(random_like(rng, value)) for value in values(function, args)] if wanted else []
    )
    given = [arg for arg in args if is_array(arg)] + cotangents
    before = [np.array(array) for array in given]
    function(*as_tensors(args))
    if wanted:
        pulled(function, as_tensors(args), wanted, as_tensors(cotangents))
        pushed(function, as_tensors(args), wanted, as_tensors([args[i] for i in wanted]))
    for array, copy in zip(given, before, strict=True):
        assert np.array_equal(_wide(array), _wide(copy), equal_nan=array.dtype.kind in "fc"), (
            "an argument was written into"
        )


def check_other_kinds(function: Function, args: Sequence[Any], wanted: Sequence[int]) -> None:
    """Plain arrays give plain arrays; Variables give what Tensors give, and are followed."""
    expected = as_list(function(*as_tensors(args)))
    if all(map(is_array, args)):
        for out, result in zip(expected, as_list(function(*args)), strict=True):
            assert is_array(result), f"arrays gave a {type(result).__name__}"
            assert_close(result, out.array, "output of plain arrays", **EXACT)
    variables = [
        Variable(arg) if i in wanted else Tensor(arg) if is_array(arg) else arg
        for i, arg in enumerate(args)
    ]
    sources = [variables[i] for i in wanted]
    with GradientTape() as tape:
        results = as_list(function(*variables))
    for out, result in zip(expected, results, strict=True):
        assert_close(result.array, out.array, "output of Variables", **EXACT)
    if not wanted:
        return
    targets = [out for out in results if out.array.dtype in TRAINABLE]
    found = tape.gradient(targets, sources)
    ones = [Tensor(np.ones(out.array.shape, out.array.dtype)) for out in targets]
    for i, g, reference in zip(
        wanted, found, pulled(function, as_tensors(args), wanted, ones), strict=True
    ):
        assert g is not None, f"argument {i}: a Variable was not followed"
        assert_close(operand(g).array, reference.array, f"gradient of Variable {i}", **EXACT)


# Batching


def check_batching(function: Function, examples: Sequence[Sequence[Any]]) -> None:
    """`vmap` against a loop over `examples`, which are lists of arguments,
    for every choice of the arguments that differ.
    """
    arrays = [i for i, arg in enumerate(examples[0]) if is_array(arg)]
    for choice in itertools.product([True, False], repeat=len(arrays)):
        mapped = {i for i, chosen in zip(arrays, choice, strict=True) if chosen}
        if mapped:
            _check_mapped(function, examples, arrays, mapped)


def _check_mapped(
    function: Function, examples: Sequence[Sequence[Any]], arrays: Sequence[int], mapped: set[int]
) -> None:
    def of_arrays(*tensors: Any) -> list[Any]:
        given = dict(zip(arrays, tensors, strict=True))
        return as_list(function(*[given.get(i, arg) for i, arg in enumerate(examples[0])]))

    batch = [
        np.stack([example[i] for example in examples]) if i in mapped else examples[0][i]
        for i in arrays
    ]
    axes = tuple(0 if i in mapped else None for i in arrays)
    found = vmap(of_arrays, in_axes=axes)(*as_tensors(batch))
    rows = [
        of_arrays(*as_tensors([example[i] if i in mapped else examples[0][i] for i in arrays]))
        for example in examples
    ]
    for i, (outputs_at_once, *outputs_one_by_one) in enumerate(zip(found, *rows, strict=True)):
        expected = np.stack([out.array for out in outputs_one_by_one])
        what = f"output {i} of a batch of arguments {sorted(mapped)}"
        assert outputs_at_once.array.dtype == expected.dtype, (
            f"{what}: dtype {outputs_at_once.array.dtype}, not {expected.dtype}"
        )
        assert_close(outputs_at_once.array, expected, what, **EXACT)
    nothing = [
        np.zeros((0, *array.shape[1:]), array.dtype) if axis == 0 else array
        for array, axis in zip(batch, axes, strict=True)
    ]
    for i, (out, like) in enumerate(
        zip(vmap(of_arrays, in_axes=axes)(*as_tensors(nothing)), found, strict=True)
    ):
        assert out.array.shape == (0, *like.array.shape[1:]), (
            f"output {i} of an empty batch: shape {out.array.shape}"
        )


def check_batched_gradient(
    function: Function, examples: Sequence[Sequence[Any]], wanted: Sequence[int]
) -> None:
    """The gradients of each example, with a tape inside `vmap`, against a loop."""
    rng = np.random.default_rng(8)
    count = len(examples[0])
    cotangents = [
        [random_like(rng, value) for value in values(function, example)] for example in examples
    ]

    def gradients(*tensors: Any) -> list[Any]:
        return pulled(function, tensors[:count], wanted, tensors[count:])

    check_batching(
        gradients, [[*example, *seeds] for example, seeds in zip(examples, cotangents, strict=True)]
    )


# What stays alive


def check_kept_alive(
    op: Op, function: Function, args: Sequence[Any], wanted: Sequence[int]
) -> None:
    """A Node keeps alive exactly those arguments and outputs that the pulls of its connected
    arguments name.
    """
    for connected in [list(wanted), *([i] for i in wanted)]:
        alive, candidates = alive_after(function, args, connected)
        expected = _named(op, connected, candidates)
        assert alive == expected, (
            f"{op.name} recorded for arguments {connected} keeps {sorted(alive)}, but names "
            f"{sorted(expected)}"
        )


def alive_after(
    function: Function, args: Sequence[Any], connected: Sequence[int]
) -> tuple[set[str], set[str]]:
    """Which of the arrays live on when only the Node is left, and which of them can be followed:
    those that are no scalars.
    """
    tensors = as_tensors([np.array(arg) if is_array(arg) else arg for arg in args])
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([tensors[i] for i in connected])
        results = as_list(function(*tensors))
    followed = {f"argument {i}": t.array for i, t in enumerate(tensors) if isinstance(t, Tensor)}
    followed |= {f"output {i}": out.array for i, out in enumerate(results)}
    references = {
        name: weakref.ref(array)
        for name, array in followed.items()
        if isinstance(array, np.ndarray) and array.ndim
    }
    node = node_of(results)
    del tensors, results, followed
    alive = {name for name, reference in references.items() if reference() is not None}
    assert node.rule is not None  # the Node lives until here
    return alive, set(references)


def node_of(results: Sequence[Any]) -> Node:
    """The Node of the op that gave `results`: several outputs have Nodes of their own,
    with the op's as their parent.
    """
    node = next(out.node for out in results if out.node is not None and out.node.scope.any_open())
    return node.parents[0] if node.rule.name.startswith("output_") else node


def _pulls(op: Op, connected: Sequence[int]) -> list[tuple[int, tuple[str, ...]]]:
    """For the pulls that serve the connected arguments: where a Node saves for them,
    and the names of what they need.
    """
    if op.pull_all is not None:
        return [(0, tuple(inspect.signature(op.pull_all).parameters)[2:])]
    pulls = [(i, op.pulls[i]) for i in connected]
    return [
        (i, tuple(inspect.signature(pull).parameters)[1:]) for i, pull in pulls if pull is not None
    ]


def _named(op: Op, connected: Sequence[int], candidates: set[str]) -> set[str]:
    """Those of the arguments and outputs that the pulls name."""
    named = {name for _, names in _pulls(op, connected) for name in names}
    wanted = {f"argument {op.arguments.index(name)}" for name in named if name in op.arguments}
    kinds = {"args": "argument", "out": "output"}
    return {
        c
        for c in candidates
        if c in wanted or any(name in named and c.startswith(kind) for name, kind in kinds.items())
    }


def check_saved_is_needed(
    op: Op, function: Function, args: Sequence[Any], wanted: Sequence[int]
) -> None:
    """Every array that a pull names has a say in the gradient:
    other values in its place change it.
    """
    for connected in [[i] for i in wanted] if op.pull_all is None else [list(wanted)]:
        ((slot, names),) = _pulls(op, connected)
        # A shape that undoes broadcasting may stand before.
        first = len(op.saves[slot]) - len(names)
        for position, name in enumerate(names, first):
            if name in (*op.arguments, "args", "out"):
                needed = _changes_gradient(function, args, connected, slot, position)
                assert needed, (
                    f"{op.name} saves {name}, but the gradient of arguments {connected} does not "
                    "depend on it"
                )


def _changes_gradient(
    function: Function, args: Sequence[Any], connected: Sequence[int], slot: int, position: int
) -> bool:
    """Whether the gradient becomes another one when other values stand in a place of what the Node
    saved.
    """
    tensors = as_tensors(args)
    sources = [tensors[i] for i in connected]
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(sources)
        results = as_list(function(*tensors))
    targets = [out for out in results if out.array.dtype in TRAINABLE]
    rng = np.random.default_rng(7)
    seeds = as_tensors([random_like(rng, out.array) for out in targets])
    before = tape.gradient(targets, sources, seeds)
    node = node_of(results)
    saved = node.saved
    for other in (_unlike, _zeros):
        entries = list(saved[slot])
        entries[position] = _replaced(entries[position], other)
        node.saved = (*saved[:slot], tuple(entries), *saved[slot + 1 :])
        after = tape.gradient(targets, sources, seeds)
        if not all(
            np.array_equal(operand(a).array, operand(b).array)
            for a, b in zip(before, after, strict=True)
        ):
            return True
    return False


def _replaced(value: Any, other: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):
        return [_replaced(v, other) for v in value]
    if isinstance(value, Tensor):
        return Tensor(other(value.array))
    return other(value) if is_array(value) else value


def _unlike(array: Any) -> Any:
    """NaN in the place of floats, the other truth value, other integers of the same range."""
    if array.dtype.kind == "b":
        return ~array
    return np.roll(array, 1) if array.dtype.kind in "iu" else np.full_like(array, np.nan)


def _zeros(array: Any) -> Any:
    return np.zeros_like(array)
