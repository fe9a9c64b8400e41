"""`python -m gradtape`: runs a program with `tensorflow` meaning gradtape, in one process or in
several, or audits a project.
"""

from __future__ import annotations

import sys

_USAGE = """\
usage: python -m gradtape script.py [arguments]
       python -m gradtape -m module [arguments]
       python -m gradtape -c code [arguments]
       python -m gradtape audit [--json | --html] path...
       python -m gradtape launch -n 4 script.py [arguments]

The first three run a program in which `import tensorflow` imports gradtape; the script - is the
standard input, and Python's own options stand before -m gradtape.
The fourth lists the names of TensorFlow that a project uses, and which of them are there.
The fifth runs a script in 4 processes that work together."""


def main(arguments: list[str]) -> int:
    """What the command line asks for; the exit status, if the program gives none."""
    from gradtape.compat.running import (  # noqa: PLC0415
        UsageError,
        run_module,
        run_script,
        run_text,
    )

    try:
        match arguments:
            case [] | ["-h" | "--help", *_]:
                print(_USAGE)  # noqa: T201 - it is what was asked for
                return 0 if arguments else 2
            case ["audit", *rest]:
                from gradtape.compat.audit.command import audit  # noqa: PLC0415

                return audit(rest)
            case ["launch", *rest]:
                from gradtape.distribute.launching import launch  # noqa: PLC0415

                return launch(rest)
            case ["-m", module, *rest]:
                run_module(module, rest)
            case ["-c", code, *rest]:
                run_text(code, "-c", rest)
            case ["-", *rest]:
                run_text(sys.stdin.buffer.read(), "-", rest)
            case ["-m" | "-c" as option]:
                what = "the name of a module" if option == "-m" else "code"
                raise UsageError(f"{option} needs {what}.")
            case [option, *_] if option.startswith("-"):
                raise UsageError(
                    f"there is no option {option}: Python's own options stand before -m gradtape."
                )
            case [script, *rest]:
                run_script(script, rest)
    except UsageError as error:
        print(f"gradtape: {error}\n\n{_USAGE}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


if __name__ == "__main__":
    _status = main(sys.argv[1:])
    if _status:  # Python's option -i shows every SystemExit
        sys.exit(_status)
