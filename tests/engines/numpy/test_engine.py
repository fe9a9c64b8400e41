"""Kernels on NumPy: the three forms in which they are written,
and runs in which NumPy does not warn.
"""

import operator
import threading

import numpy as np
import pytest

from gradtape.engines.numpy import engine


def clipped(xp, x, *, most):
    return xp.minimum(x, most)


def plain(x):
    return x + 1


@pytest.mark.parametrize(
    ("kernel", "arguments", "params", "expected"),
    [
        ("tanh", ([0.0],), {}, [0.0]),
        (operator.mul, ([2.0], [3.0]), {}, [6.0]),
        (clipped, ([1.0, 5.0],), {"most": 2.0}, [1.0, 2.0]),
        (lambda xp, x: xp.exp(x) - 1, ([0.0],), {}, [0.0]),
        (plain, ([1.0],), {}, [2.0]),
    ],
    ids=["a name", "an operator", "a function of xp", "a lambda of xp", "a function of arrays"],
)
def test_kernels_are_bound(kernel, arguments, params, expected):
    assert engine.bind(kernel)(*map(np.asarray, arguments), **params).tolist() == expected


def test_numpy_does_not_warn_and_the_users_own_setting_stays():
    run = engine.quiet_runner()
    with np.errstate(all="raise"):
        assert run(np.divide, np.float64(1.0), np.float64(0.0)) == np.inf
        assert np.isnan(run(np.log, np.float64(-1.0)))
        with pytest.raises(FloatingPointError):
            np.divide(np.float64(1.0), np.float64(0.0))


def test_whoever_asks_hears_of_what_has_no_value_and_of_nothing_else():
    heard = []
    run = engine.quiet_runner(lambda kind, flag: heard.append(kind))
    run(np.divide, np.ones(2), np.zeros(2))
    run(np.exp, np.full(2, 1e4))
    assert heard == []
    run(np.multiply, np.zeros(2), np.full(2, np.inf))
    assert heard == ["invalid value"]


def test_a_call_in_the_midst_of_another_is_told_by_its_error_and_has_a_way_of_its_own():
    run = engine.quiet_runner()

    def handler():
        with pytest.raises(RuntimeError) as caught:
            run(np.sqrt, 4.0)
        assert engine.is_reentry(caught.value)
        return engine.run(np.log, np.float64(-1.0))

    assert np.isnan(run(handler))
    assert not engine.is_reentry(RuntimeError("something else"))
    assert not engine.is_reentry(ValueError("cannot enter context"))


def test_a_runner_of_each_thread():
    found = []

    def work():
        run = engine.quiet_runner()
        found.append(run(np.divide, np.float64(1.0), np.float64(0.0)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [np.inf] * 4
