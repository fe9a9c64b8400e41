"""examples/numpy: each gradient against differences of the plain NumPy function,
and what each program prints.
"""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / "examples" / "numpy"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def example(name):
    if name == "softmax_regression":
        pytest.importorskip("sklearn")
    spec = importlib.util.spec_from_file_location(f"numpy_example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gradient_by_differences(function, x, step=1e-6):
    """Of a function of one array; by a complex number, the derivatives by both of its parts."""
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            nudge = np.zeros_like(x)
            nudge[place] = step * unit
            gradient[place] += unit * (function(x + nudge) - function(x - nudge)) / (2 * step)
    return gradient


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", text)]


def printed(name, capsys):
    """The numbers in each line that an example's main() prints, by the first word of the line."""
    example(name).main()
    return {
        line.split()[0].rstrip(":"): numbers(line) for line in capsys.readouterr().out.splitlines()
    }


# Gradients


def of_rosenbrock(module, rng):
    return module.value_and_gradient, module.rosenbrock, rng.standard_normal(6), ()


def of_the_kalman_filter(module, rng):
    plain = lambda *args: -module.log_likelihood(*args)
    return (
        module.loss_and_gradient,
        plain,
        0.3 * rng.standard_normal(3),
        (module.simulate(12, rng),),
    )


def of_the_filter(module, rng):
    signals, heard = rng.standard_normal((2, 3, module.SAMPLES))
    response = rng.standard_normal((2, module.SAMPLES // 2 + 1))
    return (
        module.loss_and_gradient,
        module.squared_error,
        response[0] + 1j * response[1],
        (signals, heard),
    )


def of_the_gaussian_process(module, rng):
    plain = lambda *args: -module.log_marginal_likelihood(*args)
    return (
        module.loss_and_gradient,
        plain,
        0.3 * rng.standard_normal(3),
        (rng.standard_normal(8), rng.standard_normal(8)),
    )


def of_k_means(module, rng):
    return (
        module.loss_and_gradient,
        module.loss_of,
        rng.standard_normal((3, 2)),
        (rng.standard_normal((20, 2)),),
    )


def of_the_deconvolution(module, rng):
    module.SIZE = 8
    picture, given = rng.standard_normal((2, 8, 8))
    return module.loss_and_gradient, module.loss_of, picture, (given, 1.0)


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("rosenbrock", of_rosenbrock),
        ("kalman_filter", of_the_kalman_filter),
        ("fft_filter", of_the_filter),
        ("gaussian_process", of_the_gaussian_process),
        ("k_means", of_k_means),
        ("deconvolution", of_the_deconvolution),
    ],
)
def test_value_and_gradient(name, case):
    by_tape, plain, x, data = case(example(name), np.random.default_rng(1))
    value, gradient = by_tape(x, *data)
    np.testing.assert_allclose(value, plain(x, *data), rtol=1e-12)
    assert gradient.dtype == x.dtype
    np.testing.assert_allclose(
        gradient, gradient_by_differences(lambda x: plain(x, *data), x), rtol=1e-5, atol=1e-7
    )


def test_gradients_of_softmax_regression():
    module, rng = example("softmax_regression"), np.random.default_rng(1)
    digits, labels = rng.random((6, 4)), rng.integers(0, 3, 6)
    weights, bias = rng.standard_normal((4, 3)), rng.standard_normal(3)
    variables = module.tf.Variable(weights), module.tf.Variable(bias)
    loss, (by_weights, by_bias) = module.loss_and_gradients(*variables, digits, labels)
    plain = lambda weights, bias: module.cross_entropy(weights, bias, digits, labels)
    np.testing.assert_allclose(loss, plain(weights, bias), rtol=1e-12)
    np.testing.assert_allclose(
        by_weights, gradient_by_differences(lambda w: plain(w, bias), weights), rtol=1e-5, atol=1e-8
    )
    np.testing.assert_allclose(
        by_bias, gradient_by_differences(lambda b: plain(weights, b), bias), rtol=1e-5, atol=1e-8
    )


def test_hessian_of_rosenbrock_times_a_vector():
    module, rng = example("rosenbrock"), np.random.default_rng(1)
    x, vector = rng.standard_normal((2, 6))
    gradient = lambda x: module.value_and_gradient(x)[1]
    differences = (gradient(x + 1e-6 * vector) - gradient(x - 1e-6 * vector)) / 2e-6
    np.testing.assert_allclose(module.hessian_times(x, vector), differences, rtol=1e-6)


def test_greeks():
    module, rng = example("black_scholes"), np.random.default_rng(1)
    spot, strike, volatility, time, rate = option = rng.uniform(
        [90, 80, 0.1, 0.2, 0], [110, 120, 0.4, 2, 0.1], (4, 5)
    ).T
    by_tapes, in_closed_form = (
        module.greeks_by_tapes(*option),
        module.greeks_in_closed_form(*option),
    )
    assert list(by_tapes) == list(in_closed_form) == ["delta", "gamma", "vega", "theta", "rho"]
    for name, greek in by_tapes.items():
        np.testing.assert_allclose(greek, in_closed_form[name], rtol=0, atol=1e-8)
    price = lambda spot, time: module.call_price(spot, strike, volatility, time, rate)
    step = 1e-3
    up, middle, down = (price(spot + move, time) for move in (step, 0, -step))
    np.testing.assert_allclose(by_tapes["delta"], (up - down) / (2 * step), rtol=1e-6)
    np.testing.assert_allclose(by_tapes["gamma"], (up - 2 * middle + down) / step**2, rtol=1e-4)
    passed = (price(spot, time - 1e-5) - price(spot, time + 1e-5)) / 2e-5
    np.testing.assert_allclose(by_tapes["theta"], passed, rtol=1e-6)


# Programs


def test_rosenbrock_reaches_the_minimum(capsys):
    lines = printed("rosenbrock", capsys)
    for method in ("BFGS", "Newton-CG"):
        value, _, distance = lines[method]
        assert value < 1e-12
        assert distance < 1e-6


def test_the_kalman_filter_finds_its_parameters(capsys):
    lines = printed("kalman_filter", capsys)
    at_the_start, fitted = lines["log"]
    assert fitted > at_the_start + 100
    for name, tolerance in {"friction": 0.3, "push": 0.2, "error": 0.1}.items():
        found, true = lines[name]
        assert found == pytest.approx(true, rel=tolerance)


def test_softmax_regression_reaches_its_accuracy(capsys):
    assert printed("softmax_regression", capsys)["test"][0] > 93


def test_the_filter_is_learnt(capsys):
    lines = printed("fft_filter", capsys)
    assert lines["learnt"] == pytest.approx(lines["true"], abs=0.01)
    assert lines["largest"][0] < 0.01


def test_the_gaussian_process_finds_the_noise_and_the_function(capsys):
    lines = printed("gaussian_process", capsys)
    at_the_start, fitted = lines["log"]
    assert fitted > at_the_start + 50
    assert lines["noise"][0] == pytest.approx(0.1, rel=0.2)
    assert lines["the"][0] < 0.05


def test_k_means_finds_the_centres(capsys):
    example("k_means").main()
    _, *centres = capsys.readouterr().out.splitlines()
    assert len(centres) == 5
    for line in centres:
        true, found = np.reshape(numbers(line), (2, 2))
        np.testing.assert_allclose(found, true, atol=0.2)


def test_the_greeks_agree_with_the_closed_forms(capsys):
    lines = printed("black_scholes", capsys)
    assert lines["largest"][0] < 1e-8
    assert lines["delta"] == sorted(lines["delta"], reverse=True)


def test_the_deconvolution_sharpens(capsys):
    lines = printed("deconvolution", capsys)
    assert lines["sharpened"][0] > lines["blurred"][0] + 10


@pytest.mark.parametrize("name", NAMES)
def test_a_program_knows_gradtape_by_its_tape_alone(name):
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert set(re.findall(r"\btf\.(\w+)", source)) <= {"GradientTape", "Variable", "constant"}
    assert "gradtape.numpy" not in source
