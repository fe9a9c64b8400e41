"""examples/lotka_volterra.py: the gradient, what it finds, and the picture that it leaves."""

import importlib.util
import re
from pathlib import Path

import numpy as np

import gradtape as tf

PROGRAM = Path(__file__).parent.parent / "examples" / "lotka_volterra.py"


def example():
    spec = importlib.util.spec_from_file_location("lotka_volterra_example", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_lotka_volterra(capsys, monkeypatch, tmp_path):
    module = example()
    data = module.noisy_data()
    x = np.log(np.array(list(module.TRUTH.values())))
    slope = module.jacobian(x, data) @ np.ones(6)
    step = 1e-4
    plain = [module.residuals(tf.constant(x + s), data).numpy() for s in (step, -step)]
    np.testing.assert_allclose(slope, (plain[0] - plain[1]) / (2 * step), rtol=1e-2, atol=1e-1)

    monkeypatch.setattr("sys.argv", ["lotka_volterra.py", "--out", str(tmp_path)])
    module.main()
    printed = capsys.readouterr().out
    found = re.findall(r"^(.*): ([\d.]+) ± ([\d.]+), in truth ([\d.]+)$", printed, re.MULTILINE)
    assert [name for name, *_ in found] == list(module.TRUTH)
    for _, value, error, truth in found:
        assert abs(float(value) - float(truth)) < 4 * float(error)
        assert float(error) < 0.1 * float(truth)
    chi2 = float(re.search(r"chi2: ([\d.]+) for 82 counts", printed).group(1))
    assert 45 < chi2 < 120
    assert "forward sensitivities" in printed
    assert (tmp_path / "lotka_volterra.png").read_bytes()[:4] == b"\x89PNG"
