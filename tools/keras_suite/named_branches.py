"""Compiles Keras's tests from a source that this backend, and an environment without PyTorch, can
run; nothing is written to Keras's folder.

Where tests have a branch for TensorFlow and one for JAX, such as to make sparse tensors, they get
one for gradtape. gradtape's names are TensorFlow's: the branch is the one for TensorFlow, and
imports gradtape in its place. Tests of `FeatureSpace` import TensorFlow for its datasets: they get
gradtape's. Where tests import PyTorch at the top, and it is not installed, only the tests that use
it are skipped.
"""

import ast
import sys
from copy import deepcopy
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader

BACKEND = "gradtape"


def install(backend):
    """Must come after pytest's own hook, to be asked before it."""
    sys.meta_path.insert(0, _Finder(backend))


class _Finder(MetaPathFinder):
    def __init__(self, backend):
        self._backend = backend

    def find_spec(self, name, path=None, target=None):
        if not name.startswith("keras.src.") or not (
            name.endswith("_test") or name == "keras.src.testing.test_case"
        ):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        source = spec.loader.get_data(spec.origin)
        ours = self._backend == BACKEND and (
            b"import tensorflow" in source or name.endswith(("trainer_test", "feature_space_test"))
        )
        without_torch = b"\nimport torch\n" in source and PathFinder.find_spec("torch") is None
        if not ours and not without_torch:
            return None
        spec.loader = _Loader(name, spec.origin, ours=ours, without_torch=without_torch)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name, path, *, ours, without_torch):
        super().__init__(name, path)
        self._ours, self._without_torch = ours, without_torch

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        source = self.get_data(path)
        tree = ast.parse(source)
        if self._ours and fullname.endswith("trainer_test"):
            # It chooses the base of its classes as Keras's own modules do.
            from keras_gradtape.branches import with_branch

            tree = with_branch(source, fullname)
        elif self._ours and fullname.endswith("feature_space_test"):
            tree = with_datasets(source)
        elif self._ours:
            tree = with_branches(source)
        if self._without_torch:
            tree = with_torch_missing(tree)
        return compile(tree, path, "exec", dont_inherit=True)


def with_torch_missing(tree):
    """A module's syntax tree in which imports of PyTorch at the top import what skips the tests
    that use it.
    """
    for statement in tree.body:
        if isinstance(statement, ast.Import) and statement.names[0].name == "torch":
            statement.names = [ast.alias("needs_torch", "torch")]
        elif (
            isinstance(statement, ast.ImportFrom)
            and (statement.module or "").partition(".")[0] == "torch"
        ):
            statement.module = "needs_torch"
            statement.names = [
                ast.alias("Unavailable", name.asname or name.name) for name in statement.names
            ]
    return ast.fix_missing_locations(tree)


def with_datasets(source):
    """A module's syntax tree in which TensorFlow's datasets, imported at the top, are
    gradtape's.
    """
    tree = ast.parse(source)
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "tensorflow":
            statement.module = BACKEND
    return tree


def with_branches(source):
    """A module's syntax tree with a branch for gradtape in every choice between TensorFlow and
    JAX.
    """
    tree = ast.parse(source)
    for choice in [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and _is_choice(node)
    ]:
        test = deepcopy(choice.test)
        test.comparators = [ast.Constant(BACKEND)]
        body = deepcopy(choice.body)
        for node in ast.walk(ast.Module(body, [])):
            if isinstance(node, ast.Import):
                for name in node.names:
                    name.name, name.asname = (
                        name.name.replace("tensorflow", BACKEND),
                        name.asname or None,
                    )
        choice.orelse = [ast.copy_location(ast.If(test, body, choice.orelse), choice)]
    return ast.fix_missing_locations(tree)


def _is_choice(node):
    """Whether an `if` imports TensorFlow for its backend, and has something else for JAX's."""
    asked = ast.unparse(node.test) == "backend.backend() == 'tensorflow'"
    imports = any(
        isinstance(inner, ast.Import) and inner.names[0].name == "tensorflow" for inner in node.body
    )
    return (
        asked
        and imports
        and "backend.backend() == 'jax'"
        in ast.unparse(node.orelse[0] if node.orelse else node.test)
    )
