"""The public names: TensorFlow's most used ones are there,
and the namespaces are as their definitions say.

`tier1.txt` lists the symbols that nearly every user of a tape calls. The namespaces are written by
`make names`.
"""

import re
import sys
from functools import reduce
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import gradtape
from gradtape.start import OF_KERAS

HERE = Path(__file__).parent
ROOT = Path(gradtape.__file__).parents[2]
TIER_1 = (HERE / "tier1.txt").read_text(encoding="utf-8").split()
INTERNAL = {
    "absent",
    "api",
    "core",
    "engines",
    "extend",
    "functions",
    "inspect",
    "ops",
    "published",
    "start",
    "transforms",
}


@pytest.fixture(scope="module")
def names():
    """The script that writes the namespaces."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(ROOT / "tools")
        import names

        sys.modules.pop("names")
        yield names


def public_names():
    """Every public name, sorted, such as `exp` and `math.exp`."""
    found = []
    for name in dir(gradtape):
        value = getattr(gradtape, name)
        if name.startswith("_"):
            continue
        found.append(name)
        # Keras's own names are its own matter.
        if isinstance(value, ModuleType) and name not in OF_KERAS:
            found.extend(f"{name}.{member}" for member in value.__all__)
    return sorted(found)


@pytest.mark.parametrize("symbol", TIER_1)
def test_tier_1(symbol):
    assert reduce(getattr, symbol.split("."), gradtape) is not None


def test_namespaces_have_what_they_promise():
    missing = []
    for name in public_names():
        try:
            reduce(getattr, name.split("."), gradtape)
        except AttributeError:
            missing.append(name)
    assert missing == []
    assert len(public_names()) > 1300


def test_the_folders_of_the_definitions_are_not_listed():
    assert not INTERNAL & set(dir(gradtape))
    assert {"Tensor", "math", "numpy", "keras", "__version__", "__name__"} <= set(dir(gradtape))


def test_the_namespaces_are_fresh(names):
    assert [str(path.relative_to(ROOT)) for path in names.stale()] == [], "run `make names`"


def test_everything_published_is_what_its_definition_says(names):
    for name, (module, own) in names.all_published().items():
        found = reduce(getattr, name.split("."), gradtape)
        assert found is getattr(sys.modules[module], own), name


# What an editor completes

ARRAYS = {*dir(np.ndarray), "mT", "to_device"}  # the last two are the Array API's
TENSORFLOWS = {"OVERLOADABLE_OPERATORS", "experimental_ref", "get_shape", "numpy", "ref"}
VARIABLES = {
    "aggregation", "assign", "assign_add", "assign_sub", "batch_scatter_update", "constraint",
    "create", "eval", "gather_nd", "initial_value", "is_initialized", "name", "read_value",
    "sparse_read", "synchronization", "trainable", "value",
    *(f"scatter_{way}" for way in ("add", "div", "max", "min", "mul", "sub", "update")),
    *(f"scatter_nd_{way}" for way in ("add", "max", "min", "sub", "update")),
}  # fmt: skip
TAPES = {
    # TensorFlow's.
    "batch_jacobian", "gradient", "jacobian", "reset", "stop_recording", "watch",
    "watched_variables", "departures", "derivatives", "explain", "gradient_per_example", "memory",
    "show", "sparsity", "why_nonfinite",
}  # fmt: skip


def listed(value):
    """The names that `dir` gives, without those that every object has."""
    found = dir(value)
    assert "__class__" in found
    return {name for name in found if not (name.startswith("__") and name.endswith("__"))}


def tensors():
    """Tensors of every class that a user meets."""
    x = gradtape.constant([1.0, 2.0])
    met = [x, gradtape.Variable([1.0, 2.0])[0]]
    gradtape.vectorized_map(lambda row: met.append(row) or row, x)
    gradtape.function(lambda x: met.append(x) or x, autograph=False)(x)
    met.append(gradtape.function(lambda x: x + 1, autograph=False)(x))
    return met


def test_a_tensor_lists_only_public_names():
    for tensor in tensors():
        found = listed(tensor)
        # v[0].assign.
        assert found - ARRAYS - {"assign"} == TENSORFLOWS | {"set_shape"}, type(tensor)
        assert {"reshape", "shape", "sum"} <= found


def test_a_variable_lists_only_public_names():
    v = gradtape.Variable([1.0, 2.0])
    assert listed(v) - ARRAYS == TENSORFLOWS | VARIABLES
    # Then XLA holds its value.
    gradtape.function(lambda: v.assign_add([1.0, 1.0]), autograph=False)()
    assert listed(v) - ARRAYS == TENSORFLOWS | VARIABLES


def test_tapes_list_only_public_names():
    x = gradtape.constant(1.0)
    with gradtape.GradientTape() as tape, gradtape.autodiff.ForwardAccumulator(x, x) as accumulator:
        assert listed(tape) == TAPES
        assert listed(accumulator) == {"jvp"}
    assert listed(tape) == TAPES


def test_a_class_of_the_users_own_lists_what_it_adds():
    class Counter(gradtape.Variable):
        def count(self):
            return self.assign_add(1)

    assert listed(Counter(0)) - ARRAYS == TENSORFLOWS | VARIABLES | {"count"}


# The script, on a package of two namespaces


SOURCES = {
    "__init__.py": '"""All."""\n',
    "start.py": 'LOADED_WHEN_USED = ("signal",)\n',
    "math.py": '"""Mathematics.\n\nMore of it.\n"""\n\nold = 1\n',
    "signal/__init__.py": '"""Signals."""\n',
    "signal/windows.py": '"""Windows."""\n',
    "api.py": """
import numpy as np

@published("sin", "math.sin")
def sin(x):
    pass

@published("math.Sine")
@other
class Sine:
    pass

@published("math.mod", "math.log10", "math.log2")
def remainder():
    pass

@published("signal.windows.hann")
def hann():
    pass

PUBLISHED = {"math.EPS": EPS, "math.pi": np.pi}
""",
}

MATH = '''"""Mathematics.

More of it.
"""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from numpy import pi

from gradtape.api import EPS, Sine, sin
from gradtape.api import remainder as log2
from gradtape.api import remainder as log10
from gradtape.api import remainder as mod

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["EPS", "Sine", "log2", "log10", "mod", "pi", "sin"]
'''


@pytest.fixture
def package(tmp_path, names, monkeypatch):
    monkeypatch.setattr(names, "HAND_WRITTEN", ())
    folder = tmp_path / "gradtape"
    for path, source in SOURCES.items():
        (folder / path).parent.mkdir(exist_ok=True, parents=True)
        (folder / path).write_text(source, encoding="utf-8")
    return folder


def test_a_namespace_is_written(names, package):
    written = names.namespaces(package)
    assert written[package / "math.py"] == MATH
    assert "from gradtape.signal import windows\n" in written[package / "signal" / "__init__.py"]
    windows = written[package / "signal" / "windows.py"]
    assert "import hann\n" in windows
    assert windows.endswith('\n__all__ = ["hann"]\n')


def test_the_root_loads_some_namespaces_when_they_are_used(names, package):
    root = names.namespaces(package)[package / "__init__.py"]
    assert "\nfrom gradtape import math\nfrom gradtape.api import sin\n" in root
    assert "    from gradtape import signal as signal\n" in root
    assert root.endswith('__all__ = ["math", "sin"]\n')


def test_the_root_finds_some_names_when_they_are_used(names, package):
    start = package / "start.py"
    start.write_text(
        'LOADED_WHEN_USED = ("signal",)\nFOUND_WHEN_USED = {"sin": "gradtape.api"}\n',
        encoding="utf-8",
    )
    root = names.namespaces(package)[package / "__init__.py"]
    assert "\nfrom gradtape import math\n\nif " in root
    assert "    from gradtape.api import sin as sin\n" in root
    assert root.endswith('__all__ = ["math", "sin"]\n')
    source = start.read_text(encoding="utf-8")
    start.write_text(source.replace("gradtape.api", "gradtape.math"), encoding="utf-8")
    with pytest.raises(names.NamesError, match=r"'sin' is not published by gradtape\.math"):
        names.namespaces(package)


def test_a_namespace_imports_what_is_defined_in_some_folders_when_it_is_used(names, package):
    folder = package / "rare"
    folder.mkdir()
    (folder / "waves.py").write_text('@published("math.Wave")\nclass Wave: pass\n', "utf-8")
    start = package / "start.py"
    start.write_text(
        'LOADED_WHEN_USED = ()\nIMPORTED_WHEN_USED = ("gradtape.rare",)\n', encoding="utf-8"
    )
    written = names.namespaces(package)[package / "math.py"]
    now, _, later = written.partition("if _typing.TYPE_CHECKING:\n")
    assert "waves" not in now
    assert later.startswith("    from gradtape.rare.waves import Wave\nelse:\n")
    assert '        "gradtape.rare",\n        {\n            "Wave": "waves",\n' in later
    assert '"Wave"' in written.partition("__all__")[2]


def test_long_lists_are_wrapped_as_ruff_wants_them(names, package):
    defined = [f"name{number}" for number in range(40)]
    (package / "many.py").write_text(
        "".join(f'@published("math.{n}")\ndef {n}(): pass\n' for n in defined), encoding="utf-8"
    )
    written = names.namespaces(package)[package / "math.py"]
    assert "from gradtape.many import (\n    name0,\n    name1,\n    name2,\n" in written
    assert '"name8", "name9", "name10"' in written
    assert written.endswith(",\n]  # fmt: skip\n")
    assert max(map(len, written.splitlines())) <= 100


def test_what_is_not_fresh_is_found(names, package):
    assert len(names.stale(package)) == 4
    for path, text in names.stale(package).items():
        path.write_text(text, encoding="utf-8")
    assert names.stale(package) == {}
    source = (package / "api.py").read_text(encoding="utf-8")
    (package / "api.py").write_text(
        source.replace('@published("signal.windows.hann")\n', ""), encoding="utf-8"
    )
    signal = package / "signal"
    assert names.stale(package) == {signal / "__init__.py": None, signal / "windows.py": None}


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (
            '@published("math.sin")\ndef other(): pass',
            "'math.sin' is published by gradtape.api and by gradtape.more",
        ),
        ('@published("maths.sin")\ndef sin(): pass', "no namespace 'maths'"),
        ("@published(name)\ndef sin(): pass", "must be a string, not name in line 1"),
        ('PUBLISHED = {"two": 1 + 1}', "1 + 1 is no name of this module"),
        ('PUBLISHED = {"two": sp.two}', "sp.two is no name of this module"),
        ("PUBLISHED = {**others}", "must be a string"),
    ],
)
def test_what_cannot_be_published(names, package, source, complaint):
    (package / "more.py").write_text(source, encoding="utf-8")
    with pytest.raises(names.NamesError, match=re.escape(complaint)):
        names.namespaces(package)
