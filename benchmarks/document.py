"""The page that `make bench` writes, docs/benchmarks.md, and its pictures;
`python -m benchmarks.document` makes it of results.json.
"""

from benchmarks import aims, chart, profile, report
from benchmarks.libraries import BY_HAND, FUNCTION, GRADTAPE
from benchmarks.report import as_markdown, quantities, ratios, taking_part
from benchmarks.results import HERE, Results
from benchmarks.sections import SECTIONS
from benchmarks.timing import FULL, SETTLE

DOCS = HERE.parent / "docs"


def aims_table(results: Results) -> report.Table:
    said = {True: "met", False: "**not met**", None: "not measured"}
    lines = [
        [
            report.title(outcome.workload),
            outcome.by,
            outcome.said,
            outcome.figure,
            said[outcome.met],
        ]
        for outcome in aims.outcomes(results)
    ]
    return [["", "by", "aim", "figure", ""], *lines]


def write(results: Results) -> None:
    DOCS.mkdir(exist_ok=True)
    (DOCS / "benchmarks-eager.svg").write_text(
        chart.chart(results.steps, GRADTAPE, compiled=False), encoding="utf-8"
    )
    (DOCS / "benchmarks-compiled.svg").write_text(
        chart.chart(results.steps, FUNCTION, compiled=True), encoding="utf-8"
    )
    (DOCS / "benchmarks.md").write_text(page(results), encoding="utf-8")


def sections(results: Results) -> str:
    """What was measured beside the steps of the workloads, with a heading for each section."""
    parts = []
    for section in SECTIONS:
        tables = [
            f"{heading}\n\n{as_markdown(report.table_of(results.tables[name], section.unit))}"
            for name, heading in section.tables.items()
            if name in results.tables
        ]
        if tables:
            parts.append("\n\n".join([f"## {section.title}", section.said, *tables]))
    return "\n\n".join(parts)


def page(results: Results) -> str:
    steps, memory = results.steps, results.memory
    eager, compiled = taking_part(steps, compiled=False), taking_part(steps, compiled=True)
    versions = ", ".join(f"{name} {number}" for name, number in results.versions.items())
    profiles = "\n\n".join(
        f"{report.title(name)}:\n\n{as_markdown(profile.table(p))}"
        for name, p in results.profile.items()
    )
    met = [outcome.met for outcome in aims.outcomes(results)]
    return f"""# Benchmarks

`make bench` installs the peers in an environment of their own, measures gradtape beside them and beside NumPy written by hand,
and writes this page. `make bench QUICK=1` takes less than two minutes and only prints.
[Every op beside TensorFlow](op-sweep.md) is a page of its own: `.venv-bench/bin/python -m benchmarks.op_sweep --write`.

Machine: {results.machine}; load average {results.load_before:.1f} before the run and {results.load_after:.1f} after it.
Versions: {versions}.

## Eager

![How many times as long as gradtape each library takes](benchmarks-eager.svg)

How many times as long as gradtape each takes: above 1, gradtape is faster. The first column is gradtape's time.

{as_markdown(ratios(steps, eager))}

The times themselves:

{as_markdown(quantities(steps, eager))}

## Compiled

![How many times as long as gradtape.function each library takes](benchmarks-compiled.svg)

{as_markdown(ratios(steps, compiled))}

The times themselves:

{as_markdown(quantities(steps, compiled))}

The first call, which traces and compiles:

{as_markdown(quantities(results.first_calls, compiled, "ms"))}

## Memory, import and size

The most memory that steps take at once, besides their inputs and weights:

{as_markdown(quantities(memory, taking_part(memory), "MB"))}

{as_markdown(report.packages(results))}

{sections(results)}

## Aims

{met.count(True)} of {len(met)} are met in this run.

{as_markdown(aims_table(results))}

{_WHY}
## Where eager time goes

{profiles}

The parts are differences between programs that do a little more each, timed in turns: NumPy forward, gradtape forward without
a tape and under one, the whole step, and NumPy forward and back. `python -m benchmarks.profile` measures them alone.

{_WHAT}
## How

Every library runs in a process of its own, which waits at a pipe while the others run: in one process their thread pools and
memory allocators would disturb each other. All compute in float32 (the Gaussian process in float64) on the CPU with their default
number of threads. Before anything is timed, results are compared with NumPy in float64: all entries where the derivatives were
written by hand, and for the networks and Burgers' equation the change of the loss along a random direction of each weight, and all
entries with those of the first library.

The libraries take turns: {FULL.repeats} rounds of {1000 * FULL.seconds_per_repeat:.0f} ms each, fewer for steps that take long, {1000 * SETTLE:.0f} ms
of rest after each turn, until threads that look for more work have gone to sleep, and a step that is not counted at the
beginning of each. The best turn counts. An import is the median of {FULL.imports} fresh processes.

Memory is measured in a fresh process: a step on tiny arrays loads what the library loads once; then the inputs and weights are
made, freed memory is given back to the system and the resident memory is read; after a first step, which compiles, freed memory is
given back again and the system's record of the peak is reset, three more steps are run, and the peak above that reading counts, the
lowest of {FULL.memory_processes} processes. So it includes what a library keeps for later, and not what compiling takes.

{BY_HAND} is what the work costs without any library: derivatives on paper, then NumPy. It is a process without gradtape, so the
system takes its freed memory back after each step; gradtape asks the C library to keep some. JAX is measured compiled, as it is
used. `torch.compile` is left out: it takes more than ten seconds to compile the smallest network. tinygrad compiles with clang, the
system's or the one in the package `ziglang`, and has three of the workloads.
"""


_WHY = """What stands between gradtape and the aims that it misses, in this run or in others, as far as it was looked into:

- **CNN, compiled**: the second convolution and its two derivatives take 15 of 23 ms of processor time, at the rate of XLA's matrix
  products, about 90 GFLOP/s for each core; TensorFlow calls oneDNN, whose kernels for this processor take less. Winograd's method, windows
  unrolled into products, and the library that XLA calls by default were all slower on two cores. Calls of oneDNN from XLA would
  reach it; the builds of XLA that JAX installs have none.
- **transformer, eager**: on one thread it takes 1.01 times PyTorch's time. PyTorch's attention, normalisation and gelu use the second
  core for the rest. NumPy's do not: a thread of gradtape's own takes 0.1 ms to wake, as long as most of these functions take, and shares
  the core with BLAS's, which look for work for 30 ms after a product. A kernel in C for each of the three would reach it.
- **large MLP and Gaussian process, eager**: here all libraries take turns, and threads that others left looking for work were on the
  cores when gradtape's turn began. It took that for a busy machine and gave BLAS one thread, up to four seconds each time, so that
  turns in between had one too. Beside one other library at a time the MLP takes 6.8 to 7.7 ms, NumPy by hand 6.6; beside all, 12.4.
  A shorter first pause, and one that a good product shortens again, would be the next thing to try.
- **large MLP, compiled**: the program is JAX's own, product by product; 1.00 to 1.04 in five runs. Its memory changes
  more between runs (1.00 to 1.22 of jax.jit's in three); why was not found out.
- **batch Jacobian, compiled**: 1.00 to 1.25 in five runs, 1.02 when it is measured alone; why was not found out.
- **small MLP, compiled**: the program is JAX's own here too. The call around it takes about 2 µs when it is repeated alone, and up to 8 µs beside other work;
  jax.jit does the same in C++ (1.05 to 1.15).
- **embedding, eager**: NumPy's kernels take two thirds of the step, and it is as fast as PyTorch's (0.97 to 1.04).
- **LSTM, compiled**: as fast as jax.jit; tf.function, which runs its loop without XLA, is faster than both.

The small MLP in eager mode: after 500 walks of one structure, the walk is written out as a function, which takes 5 % from
this step and 6 % from the chain. With it the rules of the small MLP take as long as the kernels written by hand when they run alone.
What is left is spread over 6,000 byte codes of the step, of which half belong to recording; each Variable takes half a microsecond
to be read first, and finding shapes that broadcasting changed 0.1 to 0.2 for each sum. Fewer byte codes in the calls and in the walk that
is not written out took 1 % together. About 15 µs are due to the length of the code: the parts take that much less when each is
repeated alone. Steps in C, for the calls as much as for the walk, would be the next step down.
"""


_WHAT = """## What is measured

- **small MLP**: tanh twice, mean squared error, six gradients: the overhead of recording shows most.
- **chain**: 100 times multiply by a constant, add a constant, tanh; the gradient of the sum with respect to the input.
- **large MLP**: relu twice, softmax cross entropy, six gradients: the arithmetic dominates.
- **elementwise**: the sum of the square root of e to the sigmoid of tanh, and its gradient.
- **CNN**: convolutions of 3 × 3, relu, maxima over 2 × 2, twice, and a dense layer. PyTorch has its channels first.
- **LSTM**: a loop over the steps; compiled, `scan`. **transformer**: attention of 4 heads and a layer of 512, twice; PyTorch uses its
  own normalisation and attention.
- **embedding**: rows of a table are looked up, and the table is changed by gradient descent. gradtape, TensorFlow and PyTorch have
  the gradient as rows; in the others it is as large as the table.
- **Gaussian process**: the negative log likelihood of 600 values at points in three dimensions, by a Cholesky factor and a triangular
  solution, and its gradient by the logs of three lengths, the signal and the noise. By hand, it takes the inverse of the factor.
- **Jacobian**, **batch Jacobian**, **Hessian**: by the method that each library has for it; a batch Jacobian has one matrix for
  each example. JAX runs `jacrev`, `vmap` of it, and `hessian`; so does PyTorch.
- **10,000 × 3**: the values of a function of three parameters, and their Jacobian, which takes three passes forward. TensorFlow
  uses its ForwardAccumulator, since its tape would go back 10,000 times; JAX and PyTorch run `jacfwd`.
- **Burgers' equation**: the residual u_t + u u_x - ν u_xx of a 2-20-20-20-20-1 tanh network, its mean square, and the gradient of
  that by all weights. gradtape uses `tape.derivatives`; TensorFlow, PyTorch and autograd nest, JAX nests forward mode. Below it, the
  nested tapes that run on both gradtape and TensorFlow.
- **tridiagonal**: a sparse Jacobian. gradtape finds the pattern by itself in every step; by hand, the three diagonals are known.
- **a call**: of a compiled function that adds one to each of eight arrays, without waiting for the results.
- **update of a variable**: what is above 0 is a copy of it. In JAX the buffer is donated by hand.
- **installed**: the files of the distribution and of all it requires, without byte code.
"""


if __name__ == "__main__":
    write(Results.read())
