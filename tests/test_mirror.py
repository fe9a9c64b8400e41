"""Tests lie where their sources lie: `core/tape.py` is tested in `tests/core/test_tape.py`, or the
table here says where, and why there.

This holds for the folders of FOLDERS. What is in `ops/` and `api/` is tested by tables, which have
a row for each op and function.
"""

from pathlib import Path

import pytest

import gradtape

SOURCES = Path(gradtape.__file__).parent
TESTS = Path(__file__).parent
FOLDERS = (
    "core", "data", "distribute", "engines", "transforms", "functions", "inspect", "compat", "io",
    "summary",
)  # fmt: skip
AUTOGRAPH = [f"functions/autograph/{name}" for name in (
    "blocks", "branches", "builtins", "calls", "conversion", "fallback", "loop_variables", "loops",
    "marks", "operators", "prepare", "requests", "rows", "source", "truth", "values",
)]  # fmt: skip

ELSEWHERE = {
    "api/numpy/test_methods.py": ("core/array_methods", "they are NumPy's methods"),
    "api/tensorflow/test_environment.py": ("core/settings", "values that tf.config sets and reads"),
    "api/tensorflow/test_memory_info.py": (
        "engines/numpy/process_memory",
        "what tf.config.experimental says of the CPU",
    ),
    "api/tensorflow/test_profiler.py": (
        "engines/xla/profiler",
        "tf.profiler.experimental is JAX's profiler",
    ),
    "api/tensorflow/test_sparse.py": (
        "core/sparse_tensor",
        "what it promises shows in the functions of tf.sparse",
    ),
    "distribute/test_layouts.py": (
        "functions/relaid",
        "how a tensor of a program is divided shows on several devices",
    ),
    "distribute/test_workers.py": (
        "engines/xla/processes core/xla/joining",
        "what processes tell each other shows where several run",
    ),
    "distribute/test_strategy.py": (
        "core/replicas functions/replicated distribute/contexts distribute/lockstep",
        "what replicas do shows in what a strategy runs",
    ),
    "core/xla/test_layouts.py": (
        "engines/xla/meshes",
        "what it does with arrays shows where several devices share a program",
    ),
    "compat/audit/test_command.py": (
        "compat/audit/report compat/audit/verdicts",
        "what is said of names shows in what the command writes",
    ),
    "compat/audit/test_uses.py": ("compat/audit/sources", "names are found in files and cells"),
    "compat/test_adapters.py": (
        "compat/tensorflow_probability compat/tf_keras",
        "they show where a library is imported",
    ),
    "compat/test_aliases.py": ("compat/v2", "it is an alias of gradtape"),
    "compat/test_private_modules.py": (
        "compat/decorators compat/local_devices",
        "what private modules of TensorFlow's have",
    ),
    "compat/test_respelled.py": ("compat/v1/spellings", "a table of other spellings"),
    "compat/test_running.py": (
        "compat/installed",
        "it is for processes that a program starts with a server",
    ),
    "compat/test_sentences.py": (
        "compat/tensorflow_names",
        "the list of names that need a sentence",
    ),
    "compat/v1/test_namespace.py": (
        "compat/v1/flags compat/v1/logging",
        "namespaces that are those of other libraries",
    ),
    "core/limit/test_plan.py": (
        "core/limit/amount core/limit/calls core/limit/recording core/limit/segments",
        "the parts of one mechanism, which show in what the tape gives and keeps",
    ),
    "core/test_walk.py": (
        "core/needed_ops core/path",
        "ops that the walk calls, and the way that it takes",
    ),
    "core/test_device.py": (
        "core/xla/placement engines/xla/devices",
        (
            "tf.device names a device, finds it and computes there; it also runs "
            "core/xla/on_a_device.py with two devices"
        ),
    ),
    "core/test_gradient.py": ("core/unconnected core/tape_arguments", "arguments of gradient()"),
    "core/test_nested_tapes.py": (
        "core/recording core/scopes core/sweeping core/thread core/record",
        "which recordings are open shows where tapes meet",
    ),
    "core/test_node.py": ("core/location", "a Node knows the line of the user's code"),
    "core/test_tensor.py": (
        "core/values core/operators core/reference core/tensor_values",
        "plain values become Tensors, which have operators and give values away",
    ),
    "core/test_tape.py": (
        "core/pause core/tape_control",
        "what it does shows in what the tape records; signals: test_interrupted_features.py",
    ),
    "core/test_threads.py": (
        "core/writing",
        "the lock matters where threads write and read the same Variables",
    ),
    "core/test_variable.py": ("core/variable_options", "options of a Variable"),
    "core/xla/test_host_calls.py": (
        "engines/xla/host",
        "prints, checks and Python functions are its users",
    ),
    "data/test_dataset.py": (
        (
            "data/calling data/experimental data/holder data/making data/optional data/options "
            "data/spellings data/stage data/structure data/together data/transforming "
            "data/stages/batching data/stages/files data/stages/generators data/stages/grouping "
            "data/stages/lasting data/stages/mapping data/stages/memory data/stages/nesting "
            "data/stages/padding data/stages/resampling"
        ),
        "stages show in datasets; tests_tf/test_data.py compares pipelines of all of them",
    ),
    "data/test_rows.py": (
        "data/stages/combining data/stages/counting data/stages/shuffling",
        "random chains of them, by rows and one by one",
    ),
    "data/test_ragged_batching.py": (
        "data/stages/ragged_batching",
        "RaggedTensors and text show in whole pipelines, as for the stages beside it",
    ),
    "summary/test_tracing.py": (
        "functions/drawing inspect/drawing",
        "what is drawn is read from TensorBoard's files",
    ),
    "data/test_grain.py": (
        "data/to_grain data/stages/of_grain",
        "the two directions undo each other",
    ),
    "data/test_block_files.py": ("data/stages/storing", "what is written is read again"),
    "functions/autograph/test_autograph.py": (
        " ".join(AUTOGRAPH),
        (
            "each case of autograph_cases.py is a program as users write it, and goes through "
            "most of them"
        ),
    ),
    "functions/test_calls.py": (
        "functions/shortcut",
        "counts what a call does, which is least where there is a shortcut",
    ),
    "functions/test_control_flow.py": (
        "functions/traced functions/switch functions/scan functions/loop",
        "XLA's branches and loops against those of eager code",
    ),
    "functions/test_beside.py": (
        "functions/ahead",
        "random numbers drawn ahead show in calls that run while XLA compiles",
    ),
    "functions/test_bodies.py": (
        "functions/structured",
        "every construct crossed with what its body may do",
    ),
    "functions/test_every_function_runs.py": (
        "functions/eager functions/eager_function functions/kept_states core/xla/beyond",
        "programs whose shapes or loop lengths are known only when they run",
    ),
    "functions/test_function.py": (
        (
            "functions/concrete_function functions/decorator functions/results core/xla/trace "
            "core/xla/tensor"
        ),
        (
            "when a function is traced, what it reads, writes and returns: all of them are in "
            "every call"
        ),
    ),
    "functions/test_gradients.py": (
        "functions/program functions/tracing functions/call_rule",
        "a program is one op for tapes, accumulators and vmap",
    ),
    "functions/test_random.py": (
        "engines/xla/random",
        "its numbers are compared with the distributions of eager code",
    ),
    "functions/test_second_orders_of_effects.py": (
        "functions/replay",
        "a replay with assignments and random numbers in it",
    ),
    "functions/test_watching.py": (
        "functions/constants",
        "Tensors of eager code become inputs of a program when a tape follows them",
    ),
    "functions/test_without_jax.py": (
        "engines/xla/loading",
        "where JAX is not installed, a function says so; for forks see core/test_threads.py",
    ),
    "inspect/test_explain.py": (
        (
            "core/endings core/tape_notes functions/looking_inside inspect/code "
            "inspect/explanation inspect/in_code inspect/in_endings inspect/in_recording "
            "inspect/question"
        ),
        (
            "where chains end, also inside functions, and what the source code says is what "
            "explanations are made of"
        ),
    ),
    "inspect/test_flow.py": (
        "inspect/bindings",
        "what is bound and read shows in what reaches where",
    ),
    "inspect/test_memory.py": (
        "inspect/tables",
        "a report of memory is such a table; those of a profile are made in the same way",
    ),
    "inspect/test_nonfinite.py": (
        (
            "inspect/advice inspect/backward inspect/backward_steps inspect/causes "
            "inspect/evidence inspect/forward_steps inspect/search inspect/values"
        ),
        "one search goes through all of them; test_every_op.py makes one for each op",
    ),
    "inspect/test_show.py": (
        "inspect/findings inspect/listing inspect/norms inspect/picture",
        "what a page shows is collected in them; tests_browser/ looks at the page itself",
    ),
    "inspect/test_profile.py": (
        "core/observers inspect/profile_tables inspect/timed inspect/timeline",
        (
            "a profile is an observer, which meets others and checks of numbers in every order, "
            "and these are what it measures, keeps and shows"
        ),
    ),
    "io/test_file_system.py": (
        "io/gfile io/open_files io/paths io/whole_files",
        "each test is made with local files and with those of fsspec",
    ),
    "io/test_images.py": (
        "io/image_codecs io/png_files",
        "an image goes through all of them",
    ),
    "io/test_messages.py": (
        "io/examples",
        "the classes of tf.train, and what they need",
    ),
    "io/test_parsing.py": ("io/features", "they say what is parsed, and how"),
    "io/test_raw.py": (
        "io/byte_strings io/csv_records io/tensors",
        "what strings stand for, and what is refused",
    ),
    "io/test_tfrecord.py": ("io/inflating", "what TFRecords are made of"),
    "ops/test_written.py": (
        "core/late",
        "an op's call, and an operator's, is written when it is first called",
    ),
    "ragged/test_tensor.py": (
        "core/composite",
        "a RaggedTensor is such a composite, given to every public function",
    ),
    "summary/test_recording.py": (
        "summary/experimental summary/kinds summary/state",
        "what is written, when and at which step shows in what TensorBoard reads",
    ),
    "test_copies.py": (
        "functions/copying",
        "copies of functions, of what has them, and of what a function uses",
    ),
    "transforms/jacobians/test_modes.py": (
        (
            "transforms/jacobians/probes transforms/jacobians/pulls transforms/jacobians/row_walk "
            "transforms/jacobians/seeds"
        ),
        "one Jacobian in every way must be the same, and each of these is one of the ways",
    ),
    "transforms/jacobians/test_tape_jacobian.py": (
        "core/tape_methods",
        "methods of the tape that call the transforms",
    ),
    "transforms/taylor_mode/test_derivatives.py": (
        "transforms/taylor_mode/jets transforms/taylor_mode/rules",
        "one sweep: its rules are compared with nested tapes for every op",
    ),
    "transforms/test_vectorize.py": ("core/batching", "BatchedTensors exist only inside a vmap"),
}
"""Which modules have no test file of their name, by the file that tests them, with the reason."""

MODULES = sorted(
    path.relative_to(SOURCES).with_suffix("").as_posix()
    for folder in FOLDERS
    for path in (SOURCES / folder).rglob("*.py")
    if path.stem != "__init__"
)
TESTED_ELSEWHERE = {
    module: file for file, (modules, _) in ELSEWHERE.items() for module in modules.split()
}


def own_file(module):
    """Where a module's own tests are: `core/test_tape.py` for `core/tape`."""
    folder, _, name = module.rpartition("/")
    return f"{folder}/test_{name}.py"


def complaint(module, elsewhere, exists):
    """What is wrong with the place of a module's tests; None if nothing is."""
    own, other = own_file(module), elsewhere.get(module)
    if exists(own):
        return (
            None
            if other is None
            else f"{module} has tests of its own, so the row that names {other} must go"
        )
    if other is None:
        return (
            f"{module} has no tests/{own}: write it, or say in ELSEWHERE where it "
            "is tested and "
            "why there"
        )
    return (
        None
        if exists(other)
        else f"{module} is said to be tested in tests/{other}, which does not exist"
    )


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_its_tests(module):
    assert complaint(module, TESTED_ELSEWHERE, lambda file: (TESTS / file).exists()) is None


def test_the_table_names_modules_that_exist_each_once():
    listed = [module for modules, _ in ELSEWHERE.values() for module in modules.split()]
    assert sorted(set(listed)) == sorted(listed)
    assert set(listed) <= set(MODULES)


@pytest.mark.parametrize(
    ("files", "elsewhere", "says"),
    [
        ({"core/test_a.py"}, {}, None),
        ({"core/test_b.py"}, {"core/a": "core/test_b.py"}, None),
        (set(), {}, "has no tests/core/test_a.py"),
        (set(), {"core/a": "core/test_b.py"}, "which does not exist"),
        ({"core/test_a.py", "core/test_b.py"}, {"core/a": "core/test_b.py"}, "must go"),
    ],
)
def test_the_check_finds_what_is_wrong(files, elsewhere, says):
    found = complaint("core/a", elsewhere, files.__contains__)
    assert found is None if says is None else says in found


def test_folders_of_tests_are_folders_of_sources():
    """But for those of the Keras backend, of types, and of what tests themselves are made of."""
    own = {"keras", "keras/data", "typing", "typing/programs", "functions/bodies"}
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py")} - own
    assert sorted(folder for folder in folders if not (SOURCES / folder).is_dir()) == []
