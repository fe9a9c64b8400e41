"""examples/pinn.py: what the network learns, in a shorter run, and the picture."""

import importlib.util
import re
from pathlib import Path

PROGRAM = Path(__file__).parent.parent / "examples" / "pinn.py"


def test_the_network_solves_the_equation(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("pinn_example", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    error = module.main(adam_steps=30, iterations=150, out=tmp_path / "out" / "pinn.png")
    assert error < 0.1
    assert (tmp_path / "out" / "pinn.png").stat().st_size > 10_000
    adam, lbfgs = re.findall(r"loss (\S+) after", capsys.readouterr().out)
    assert float(lbfgs) < 0.1 * float(adam)
