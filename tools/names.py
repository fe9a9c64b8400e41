"""`make names`: writes the public namespaces of gradtape, imports and `__all__`,
from the definitions.

`gradtape/published.py` says how a definition is published. A namespace is a file with a docstring;
the docstring is kept, and what follows it is written here.
"""

import ast
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1] / "src" / "gradtape"
WIDTH = 100
INDENT = "    "

HAND_WRITTEN = (
    "array_api.special", "callbacks", "compat.v1", "compat.v2", "dtypes", "errors",
    "experimental.numpy", "nest", "raw_ops", "scipy.special",
)  # fmt: skip
"""Public modules that hold definitions of their own."""

NOTICE = "# Written by `make names`: the decorators at the definitions say what is public."

ABSENT = """
if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)
"""
"""What a namespace has for names that it has not."""


class NamesError(Exception):
    """A publication that cannot be read or followed."""


class Place(NamedTuple):
    """Where something public is imported from: `from module import name`."""

    module: str
    name: str


# Reading


def all_published(package: Path = PACKAGE) -> dict[str, Place]:
    """Every public name of the package, such as `math.sin`, and its place."""
    found: dict[str, Place] = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        for public, place in published(path.read_text(encoding="utf-8"), module):
            if public in found:
                raise NamesError(
                    f"{public!r} is published by {found[public].module} and by {module}."
                )
            found[public] = place
    return found


def published(source: str, module: str) -> Iterator[tuple[str, Place]]:
    """The public names of what a module defines, from its decorators and its dict `PUBLISHED`."""
    if "published(" not in source and "PUBLISHED" not in source:
        return
    tree = ast.parse(source)
    imported = {
        alias.asname or alias.name: alias.name
        for statement in tree.body
        if isinstance(statement, ast.Import)
        for alias in statement.names
    }
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                for decorator in statement.decorator_list:
                    if (
                        isinstance(decorator, ast.Call)
                        and ast.unparse(decorator.func) == "published"
                    ):
                        for public in decorator.args:
                            yield _string(public, module), Place(module, name)
            case ast.Assign([ast.Name("PUBLISHED")], ast.Dict(keys, values)):
                for key, value in zip(keys, values, strict=True):
                    yield _string(key, module), _place(value, imported, module)


def _string(node: ast.expr | None, module: str) -> str:
    match node:
        case ast.Constant(str(text)):
            return text
    where = "**" if node is None else f"{ast.unparse(node)} in line {node.lineno}"
    raise NamesError(f"{module}: a public name must be a string, not {where}.")


def _place(value: ast.expr, imported: dict[str, str], module: str) -> Place:
    """Where a value of `PUBLISHED` is imported from: this module, or another one for `np.pi`."""
    first, *rest = ast.unparse(value).split(".")
    if first.isidentifier() and not rest:
        return Place(module, first)
    if first in imported and all(part.isidentifier() for part in rest):
        return Place(".".join([imported[first], *rest[:-1]]), rest[-1])
    raise NamesError(
        f"{module}: {ast.unparse(value)} is no name of this module or of an imported one."
    )


class Later(NamedTuple):
    """What is imported when it is first used: by `gradtape`, its own namespaces and Keras's, and
    names with their modules; by other namespaces, what is defined in some folders.
    """

    own: Sequence[str]
    of_keras: Sequence[str]
    names: Mapping[str, str]
    folders: Sequence[str]

    def folder(self, place: Place) -> str:
        """The folder of these that something is defined in, if there is one."""
        return next((each for each in self.folders if place.module.startswith(f"{each}.")), "")


def loaded_when_used(package: Path = PACKAGE) -> Later:
    """What `start.py` says of what is not imported at once."""
    found, names = {}, {}
    for statement in ast.parse((package / "start.py").read_text(encoding="utf-8")).body:
        match statement:
            case ast.Assign(
                [ast.Name("LOADED_WHEN_USED" | "OF_KERAS" | "IMPORTED_WHEN_USED" as name)], value
            ):
                found[name] = sorted(ast.literal_eval(value))
            case ast.Assign([ast.Name("FOUND_WHEN_USED")], value):
                names = ast.literal_eval(value)
    if "LOADED_WHEN_USED" not in found:
        raise NamesError(f"{package / 'start.py'} has no LOADED_WHEN_USED.")
    return Later(
        found["LOADED_WHEN_USED"],
        found.get("OF_KERAS", ()),
        names,
        found.get("IMPORTED_WHEN_USED", ()),
    )


# Writing


def namespaces(package: Path = PACKAGE) -> dict[Path, str]:
    """The files of all namespaces, and the text that each should have."""
    names = all_published(package)
    members: dict[str, dict[str, Place]] = defaultdict(dict)
    for public, place in names.items():
        parent, _, name = public.rpartition(".")
        members[parent][name] = place
    for module in _with_parents({*HAND_WRITTEN, *members}):
        parent, _, name = module.rpartition(".")
        members[parent][name] = Place(f"gradtape.{parent}".rstrip("."), name)
    later = loaded_when_used(package)
    for name, module in later.names.items():
        if members[""].get(name) != Place(module, name):
            raise NamesError(f"FOUND_WHEN_USED of start.py: {name!r} is not published by {module}.")
    return {
        (path := _file(package, name)): _text(path, name, found, later)
        for name, found in members.items()
    }


def _with_parents(modules: Iterable[str]) -> set[str]:
    """Dotted names and what comes before their dots: with `config.threading` also `config`."""
    parts = [module.split(".") for module in modules if module]
    return {".".join(part[:length]) for part in parts for length in range(1, len(part) + 1)}


def _file(package: Path, namespace: str) -> Path:
    """The file of a namespace: a module, or a package that other namespaces are in."""
    place = package.joinpath(*namespace.split("."))
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.is_file():
            return path
    raise NamesError(
        f"There is no namespace {namespace!r}: make {place.with_suffix('.py')} with a docstring."
    )


def _text(path: Path, namespace: str, members: dict[str, Place], later: Later) -> str:
    source = path.read_text(encoding="utf-8")
    docstring = ast.parse(source).body[0]
    opening = "\n".join(source.splitlines()[: docstring.end_lineno])
    listed = {name: place for name, place in members.items() if namespace or name not in later.own}
    after = _after(listed, later) if namespace else _root(later)
    before = "import typing as _typing\n\n"
    now = {
        name: place
        for name, place in listed.items()
        if not later.folder(place) and (namespace or name not in later.names)
    }
    return f"{opening}\n\n{NOTICE}\n\n{before}{_imports(now)}{after}\n{_all(listed)}"


def _after(members: dict[str, Place], later: Later) -> str:
    """What a namespace has after its imports."""
    below = {name: place for name, place in members.items() if later.folder(place)}
    if not below:
        return ABSENT
    imports = textwrap.indent(_imports(below, WIDTH - len(INDENT)), INDENT)
    folder = later.folder(next(iter(below.values())))
    modules = "".join(
        f'            "{name}": "{below[name].module.removeprefix(folder)[1:]}",\n'
        for name in sorted(below, key=_order)
    )
    return f"""
if _typing.TYPE_CHECKING:
{imports}else:
    from gradtape.absent import found_when_used as _found_when_used

    __getattr__, __dir__ = _found_when_used(
        __name__,
        "{folder}",
        {{
{modules}        }},
    )
"""


def _root(later: Later) -> str:
    """What `gradtape` itself has beside its imports:
    names that are found when they are first used.
    """
    modules = "".join(f"    from gradtape import {name} as {name}\n" for name in later.own)
    of_keras = "".join(f"    from gradtape.start import {n} as {n}\n" for n in later.of_keras)
    below = sorted(f"    from {m} import {n} as {n}\n" for n, m in later.names.items())
    before = "".join(line for line in below if line < "    from gradtape.start")
    after = "".join(line for line in below if line > "    from gradtape.start")
    return f"""
if _typing.TYPE_CHECKING:
{modules}{before}    from gradtape.start import __version__ as __version__
{of_keras}{after}else:
    from gradtape.start import __dir__ as __dir__
    from gradtape.start import __getattr__ as __getattr__
"""


def _all(names: Iterable[str]) -> str:
    """`__all__`, with as many names in a line as it can hold: the imports have one in each."""
    quoted = ", ".join(f'"{name}"' for name in sorted(names, key=_order))
    if len(line := f"__all__ = [{quoted}]\n") <= WIDTH + 1:
        return line
    lines = textwrap.fill(f"{quoted},", WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
    return f"__all__ = [\n{lines}\n]  # fmt: skip\n"


def _imports(members: dict[str, Place], width: int = WIDTH) -> str:
    """The import statements, in the order and the form that ruff gives them."""
    plain: dict[str, list[str]] = defaultdict(list)
    renamed: dict[str, list[str]] = defaultdict(list)
    for name, place in members.items():
        if name == place.name:
            plain[place.module].append(name)
        else:
            wanted = [f"{place.name} as {name}"]
            renamed[place.module].append(_import(place.module, wanted, width))
    sections: dict[bool, list[str]] = {False: [], True: []}
    for module in sorted({*plain, *renamed}):
        own = sections[module.partition(".")[0] == "gradtape"]
        names = sorted(plain[module], key=_import_order)
        statements = [_import(module, names, width)] if names else []
        own.extend(sorted([*statements, *renamed[module]], key=_statement_order))
    return "\n".join("".join(section) for section in sections.values() if section)


def _import(module: str, names: list[str], width: int) -> str:
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) <= width + 1:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"


def _statement_order(statement: str) -> list[tuple[object, ...]]:
    """By what comes first after `import`, then by what it is renamed to."""
    return [_order(name) for name in re.findall(r"(?:import|as)[ (\n]+(\w+)", statement)]


def _import_order(name: str) -> tuple[object, ...]:
    """The same for imports, where capitals and small letters are alike."""
    kind, _ = _order(name)
    return kind, _order(name.lower()), name


def _order(name: str) -> tuple[object, ...]:
    """Constants, then classes, then the rest; numbers by their size."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]


def stale(package: Path = PACKAGE) -> dict[Path, str | None]:
    """The files that are not as they should be and their right text:
    None for one that should not exist.
    """
    wanted = namespaces(package)
    found: dict[Path, str | None] = {}
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if text != wanted.get(path, text) or (path not in wanted and NOTICE in text):
            found[path] = wanted.get(path)
    return found


def main() -> None:
    """Writes what is stale, and says so."""
    try:
        for path, text in stale().items():
            if text is None:
                path.unlink()
            else:
                path.write_text(text, encoding="utf-8")
            print("removed" if text is None else "written", path.relative_to(PACKAGE.parents[1]))
    except NamesError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
