"""Sparse Jacobians: where a derivative may be nonzero, and its values there from a few products.

Columns of a Jacobian that share no row can be read from one product with the sum of their unit
vectors, and so can rows that share no column. A tridiagonal Jacobian of any size takes three
products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import nest
from gradtape.blocks import block
from gradtape.core.recording import Recording
from gradtape.core.tape import GradientTape
from gradtape.core.tape_arguments import leaves_of
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.engines.engine import XLA, engine_of
from gradtape.engines.numpy.engine import Quiet
from gradtape.transforms.jacobians.memory import in_chunks
from gradtape.transforms.jacobians.pulls import Pace, Pulls, pull_identity
from gradtape.transforms.jacobians.pushes import RecordedWalk

if TYPE_CHECKING:
    from gradtape.transforms.sparse.colouring import Colours
    from gradtape.transforms.sparse.dependence import Dependence

Product = Callable[[Tensor], Any]

# A Jacobian that is filled to this part, and needs a product for each element, is computed as a
# dense one.
_DENSE_FROM = 0.25


def sparsity(tape: GradientTape, target: Any, source: Any) -> Any:
    """`GradientTape.sparsity`."""
    recording = tape._prepare("sparsity")
    targets = leaves_of(target, "sparsity: target")
    sources = leaves_of(source, "sparsity: source")

    def of(one_target: Any) -> Any:
        found = [_pattern(tape, recording, one_target, one_source)[0] for one_source in sources]
        return nest.pack_sequence_as(source, found) if nest.is_nested(source) else found[0]

    with _alone("sparsity", targets, sources):
        results = [of(one) for one in targets]
    return nest.pack_sequence_as(target, results) if nest.is_nested(target) else results[0]


def sparse_jacobian(
    tape: GradientTape,
    recording: Recording,
    target: Any,
    sources: Sequence[Any],
    unconnected: UnconnectedGradients = UnconnectedGradients.NONE,
    mode: str = "auto",
    pace: Pace = Pace(),  # noqa: B008 - it cannot change
) -> list[Any]:
    """The Jacobian of one target with respect to each source as a SciPy CSR array, with an entry
    wherever `sparsity` has one.

    Its dtype is the source's, like that of a gradient; float32 for half precision, which SciPy does
    not support. Without a path it is None, or has no entries if zeros are wanted. `mode` is
    "forward" for products with columns, "reverse" for products with rows, or "auto" for whatever
    takes fewer.
    """
    with _alone("jacobian", [target], sources):
        return [
            _jacobian(tape, recording, target, source, unconnected, mode, pace)
            for source in sources
        ]


@block
def _alone(method: str, targets: Sequence[Any], sources: Sequence[Any]) -> Iterator[None]:
    """A block that nothing records, and in which NumPy does not warn about infinities."""
    if here.state.levels:
        raise ValueError(
            f"{method}: a sparse Jacobian is not available inside vmap, where there would be one "
            "matrix for each example: call it outside."
        )
    if any(engine_of(leaf.array) is XLA for leaf in (*targets, *sources)):
        raise ValueError(
            f"{method}: a sparse Jacobian is a SciPy array, which needs tensors on the CPU, "
            "outside gradtape.function: call it there, or leave out sparse=True."
        )
    with here.state.only([]), Quiet():
        yield


def _pattern(
    tape: GradientTape, recording: Recording, target: Any, source: Any
) -> tuple[Any, Dependence | None]:
    """The pattern, and the dependence it comes from, which is None without a path, and for a target
    that is the source.
    """
    from scipy.sparse import csr_array, eye_array  # noqa: PLC0415 - scipy is imported at first use

    # Few programs need it.
    from gradtape.transforms.sparse.dependence import Dependence, Spec  # noqa: PLC0415

    size, source_size = target.array.size, source.array.size
    if _is_itself(target, source):
        return eye_array(size, dtype=bool, format="csr"), None
    node, source_node = tape._node_of(target), tape._node_of(source)
    if node is not None and source_node is not None:
        dependence = Dependence(
            recording,
            node,
            source_node,
            Spec(tuple(target.array.shape), target.array.dtype),
            source_size,
        )
        if dependence.connected:
            # From the side with fewer elements, since every pattern on the way has a column for
            # each.
            ones = eye_array(min(size, source_size), dtype=bool, format="csr")
            pattern = (
                dependence.push(ones) if source_size <= size else dependence.pull(ones).T.tocsr()
            )
            pattern.sum_duplicates()
            return pattern, dependence
    return csr_array((size, source_size), dtype=bool), None


def _is_itself(target: Any, source: Any) -> bool:
    """Whether the Jacobian is the identity, recorded or not."""
    return source is target and source.dtype.is_trainable


def _jacobian(
    tape: GradientTape,
    recording: Recording,
    target: Any,
    source: Any,
    unconnected: UnconnectedGradients,
    mode: str,
    pace: Pace,
) -> Any:
    from scipy.sparse import csr_array  # noqa: PLC0415 - scipy is imported at first use

    pattern, dependence = _pattern(tape, recording, target, source)
    given = source.array.dtype
    dtype = given if given.kind in "biufc" and given != np.float16 else np.dtype(np.float32)
    if dependence is None:
        return (
            pattern.astype(dtype)
            if _is_itself(target, source) or unconnected is UnconnectedGradients.ZERO
            else None
        )
    columns, colours, count = _colours(pattern, *_directions(mode, recording, target, source))
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    if (
        not columns
        and count == pattern.shape[0]
        and pattern.nnz >= _DENSE_FROM * math.prod(pattern.shape)
    ):
        found: Any
        (found,) = pull_identity(tape, recording, target, [source], pace)
        data = np.reshape(found.array, pattern.shape)[rows, pattern.indices].astype(dtype)
    else:
        product = _product(tape, recording, target, source, columns, pace)
        seeded, lines, across = (
            (source, pattern.indices, rows) if columns else (target, rows, pattern.indices)
        )
        data = _entries(
            product, seeded.array, lines, across, colours, count, dependence.elements, dtype, pace
        )
    return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


def _directions(mode: str, recording: Recording, target: Any, source: Any) -> tuple[bool, bool]:
    """Whether products with columns may be taken, and whether products with rows may be."""
    complex_numbers = target.dtype.is_complex or source.dtype.is_complex
    if mode == "forward" and (complex_numbers or recording.foreign):
        what = (
            "takes real targets and sources only"
            if complex_numbers
            else "does not go through custom gradients"
        )
        raise ValueError(
            f"jacobian: mode='forward' with sparse=True {what}: use mode='reverse' or 'auto'."
        )
    return mode != "reverse" and not complex_numbers and not recording.foreign, mode != "forward"


def _colours(pattern: Any, columns_allowed: bool, rows_allowed: bool) -> tuple[bool, Colours, int]:
    """Whether columns or rows are coloured, whichever takes fewer colours; the colours; and their
    number.

    Rows are used if both take the same number, since forward products need a recorded walk.
    """
    # Few programs need it.
    from gradtape.transforms.sparse.colouring import colour_columns  # noqa: PLC0415

    def coloured(columns: bool) -> tuple[bool, Colours, int]:
        return columns, *colour_columns(pattern if columns else pattern.T)

    if not (columns_allowed and rows_allowed):
        return coloured(columns_allowed)
    # Columns need at least as many colours as the fullest row has entries, and rows as the fullest
    # column has.
    fewest = {
        True: np.diff(pattern.indptr).max(initial=0),
        False: np.bincount(pattern.indices).max(initial=0),
    }
    first = coloured(bool(fewest[True] < fewest[False]))
    if first[2] <= fewest[not first[0]]:
        return first
    return min(first, coloured(not first[0]), key=lambda found: (found[2], found[0]))


def _product(
    tape: GradientTape, recording: Recording, target: Any, source: Any, columns: bool, pace: Pace
) -> Product:
    """The Jacobian times stacked tangents of the source,
    or its transpose times stacked cotangents of the target.
    """
    if columns:
        walk = RecordedWalk(tape, recording, target, [source])
        return lambda seeds: walk.push(0, seeds, loop=pace.loop)
    node, source_node = tape._node_of(target), tape._node_of(source)
    assert node is not None
    assert source_node is not None
    pulls = Pulls(tape, recording, [source_node], loop=pace.loop)
    return lambda seeds: pulls.many({node: seeds})[source_node]


def _entries(
    product: Product,
    seeded: Any,
    lines: Any,
    across: Any,
    colours: Colours,
    count: int,
    elements: int,
    dtype: Any,
    pace: Pace,
) -> Any:
    """The entries of a Jacobian from products with the sums of the unit vectors of each colour.

    `lines` says on which of the coloured rows or columns each entry lies, and `across` where on it;
    `elements` is how many elements a product computes in all.
    """
    filled = np.unique(lines)
    colour_of = colours[lines]
    data = np.zeros(len(lines), dtype)

    def run(start: int, stop: int) -> Any:
        seeds = np.zeros((stop - start, seeded.size), seeded.dtype)
        chosen = filled[(start <= colours[filled]) & (colours[filled] < stop)]
        seeds[colours[chosen] - start, chosen] = 1
        return product(Tensor(seeds.reshape(stop - start, *seeded.shape)))

    chunks = in_chunks(
        count if len(lines) else 0,
        run,
        limit=pace.limit,
        most=1 if pace.loop else pace.most,
        expected=elements * seeded.dtype.itemsize,
        seed_bytes=seeded.size * seeded.dtype.itemsize,
    )
    for start, stop, found in chunks:
        values = np.reshape(found.array, (stop - start, -1))
        now = (start <= colour_of) & (colour_of < stop)
        data[now] = values[colour_of[now] - start, across[now]]
    return data
