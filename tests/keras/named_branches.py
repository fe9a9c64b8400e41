"""Gives Keras's tests a branch for this backend where they have one for TensorFlow and one for JAX, such as to make sparse tensors.

gradtape's names are TensorFlow's: the branch is the one for TensorFlow, and imports gradtape in its place. A module is compiled
from such a source when the tests import it; nothing is written to Keras's folder.
"""

import ast
import sys
from copy import deepcopy
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader

BACKEND = "gradtape"


def install():
    """Must come after pytest's own hook, to be asked before it."""
    sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if not name.startswith("keras.src.") or not (name.endswith("_test") or name == "keras.src.testing.test_case"):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or b"import tensorflow" not in spec.loader.get_data(spec.origin) or name.endswith("trainer_test"):
            return None  # the backend's own hook compiles the test of trainers
        spec.loader = _WithBranches(name, spec.origin)
        return spec


class _WithBranches(SourceFileLoader):
    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return compile(with_branches(self.get_data(path)), path, "exec", dont_inherit=True)


def with_branches(source):
    """A module's syntax tree with a branch for gradtape in every choice between TensorFlow and JAX."""
    tree = ast.parse(source)
    for choice in [node for node in ast.walk(tree) if isinstance(node, ast.If) and _is_choice(node)]:
        test = deepcopy(choice.test)
        test.comparators = [ast.Constant(BACKEND)]
        body = deepcopy(choice.body)
        for node in ast.walk(ast.Module(body, [])):
            if isinstance(node, ast.Import):
                for name in node.names:
                    name.name, name.asname = name.name.replace("tensorflow", BACKEND), name.asname or None
        choice.orelse = [ast.copy_location(ast.If(test, body, choice.orelse), choice)]
    return ast.fix_missing_locations(tree)


def _is_choice(node):
    """Whether an `if` imports TensorFlow for its backend, and has something else for JAX's."""
    asked = ast.unparse(node.test) == "backend.backend() == 'tensorflow'"
    imports = any(isinstance(inner, ast.Import) and inner.names[0].name == "tensorflow" for inner in node.body)
    return asked and imports and "backend.backend() == 'jax'" in ast.unparse(node.orelse[0] if node.orelse else node.test)
