"""BLAS has one thread for large work while other programs want the cores, and what the user has set
before and after it.
"""

from __future__ import annotations

import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.numpy import blas, crowding, products, threads, triangular
from gradtape.engines.numpy.blas import OneThread
from gradtape.ops import attention
from gradtape.ops.registry import registry
from tests.moments import RAISES_WHERE_SIGNALS_DO, at_moment

SIZE = 80  # cubed, enough to be shared


@pytest.fixture(autouse=True)
def three_threads():
    """What a user may have set; CI has one."""
    found = blas._settings()
    before = [setting.get() for setting in found]
    for setting in found:
        setting.set(3)
    yield
    for setting, count in zip(found, before, strict=True):
        setting.set(count)


@pytest.fixture
def crowd(monkeypatch):
    """Others want the cores."""
    crowd = crowding.Crowd()
    crowd.ignored = True  # real ones do not matter
    crowd.until = time.perf_counter() + 1000.0
    for module in (blas, threads):
        monkeypatch.setattr(module, "crowd", crowd)
    monkeypatch.setattr("gradtape.core.walk.crowd", crowd)
    return crowd


@pytest.fixture
def changes(monkeypatch):
    """What is set in place of the threads of NumPy's BLAS."""
    found = []
    setting = blas._Setting(lambda: 3, found.append)
    monkeypatch.setattr(blas, "_of_numpy", lambda: setting)
    monkeypatch.setattr(blas, "_of_scipy", lambda: None)
    return found


def counts():
    return {setting.get() for setting in blas._settings()}


def test_the_settings_of_numpy_and_scipy_are_found():
    """The wheels of both have an OpenBLAS."""
    import scipy.linalg  # noqa: F401

    found = blas._settings()
    assert len(found) == 2
    for setting in found:
        before = setting.get()
        setting.set(2)
        assert setting.get() == 2
        setting.set(before)


def test_a_library_without_the_setting_is_left_alone(crowd, monkeypatch):
    assert blas._setting(None) is None
    assert blas._setting("no such file") is None
    assert blas._setting(sys.modules["numpy.random._common"].__file__) is None
    monkeypatch.setattr(blas, "_setting", lambda file: None)
    assert blas._settings() == []
    np.testing.assert_array_equal(products.matmul(np.eye(SIZE), np.eye(SIZE)), np.eye(SIZE))
    np.testing.assert_array_equal(tf.linalg.inv(np.eye(SIZE)), np.eye(SIZE))


def test_one_thread():
    with OneThread():
        assert counts() == {1}
        with OneThread():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {3}
    with pytest.raises(ZeroDivisionError), OneThread():
        raise ZeroDivisionError
    assert counts() == {3}


@RAISES_WHERE_SIGNALS_DO
def test_an_interrupt_anywhere_leaves_the_setting_as_it_was(crowd):
    def stop():
        raise KeyboardInterrupt

    x = np.ones((SIZE, SIZE), np.float32)
    kernel = blas.sharing(np.linalg.inv, blas.of_matrices)
    calls = (
        partial(blas.run, np.matmul, x, x),
        partial(kernel, x + np.eye(SIZE)),
        partial(triangular.solve, x, x, lower=True),
    )
    for call in calls:
        moments = at_moment(0, stop, call).count
        assert moments > 8
        for number in range(1, moments + 1):
            with pytest.raises(KeyboardInterrupt):
                at_moment(number, stop, call)
            assert counts() == {3}, number


def seen_by(kernel):
    """The kernel, and the numbers of threads that BLAS had in it."""
    seen = []

    def noted(*args, **params):
        seen.append(blas._of_numpy().get())
        return kernel(*args, **params)

    return noted, seen


def test_large_work_has_one_thread_in_a_crowd(crowd):
    x = np.random.default_rng(0).normal(size=(SIZE, SIZE))
    kernel, seen = seen_by(np.matmul)
    np.testing.assert_array_equal(blas.run(kernel, x, x), np.matmul(x, x))
    assert (seen, counts()) == ([1], {3})
    crowd.until = 0.0
    blas.run(kernel, x, x)
    assert (seen, counts()) == ([1, 3], {3})


def test_scipys_blas_has_one_thread_beside_numpys():
    import scipy.linalg  # noqa: F401

    def seen():
        return blas._of_scipy().get(), blas._of_numpy().get()

    before = blas._of_scipy().get()
    blas._of_scipy().set(3)
    try:
        assert blas.by_scipy(seen) == (1, 3)
        assert seen() == (3, 3)
        with pytest.raises(ZeroDivisionError):
            blas.by_scipy(lambda: 1 / 0)
        assert seen() == (3, 3)
    finally:
        blas._of_scipy().set(before)


@pytest.mark.parametrize("first_to_end", ["block", "call"])
@pytest.mark.parametrize("first_to_begin", ["block", "call"])
def test_work_of_two_threads_that_overlaps_leaves_the_setting_as_it_was(
    first_to_begin, first_to_end
):
    import scipy.linalg  # noqa: F401

    began, end = threading.Event(), threading.Event()

    def work():
        began.set()
        assert end.wait(10)

    calls = threading.Thread(target=blas.by_scipy, args=(work,))
    before = blas._of_scipy().get()
    blas._of_scipy().set(3)
    try:
        block = OneThread()
        steps = {"block": block.enter, "call": lambda: (calls.start(), began.wait(10))}
        steps.pop(first_to_begin)()
        (step,) = steps.values()
        step()
        steps = {"block": block.leave, "call": lambda: (end.set(), calls.join())}
        steps.pop(first_to_end)()
        (step,) = steps.values()
        step()
        assert blas._of_scipy().get() == 3
    finally:
        end.set()
        blas._of_scipy().set(before)


def test_other_threads_change_nothing(crowd):
    kernel, seen = seen_by(np.matmul)
    thread = threading.Thread(target=blas.run, args=(kernel, np.eye(2), np.eye(2)))
    thread.start()
    thread.join()
    assert seen == [3]


def test_what_the_kernel_raises_arrives(crowd):
    with pytest.raises(ValueError, match="mismatch"):
        blas.run(np.matmul, np.ones((2, 3)), np.ones((2, 3)))
    assert counts() == {3}


def test_waiting_is_noticed(monkeypatch):
    crowd = crowding.Crowd()
    monkeypatch.setattr(blas, "crowd", crowd)
    blas.run(time.sleep, 0.01)  # it took long, so the next one is measured
    assert not crowd.is_here()
    blas.run(time.sleep, 0.01)
    assert crowd.is_here()


def hermitian(x):
    return x @ x.mT + SIZE * np.eye(SIZE)


def filters(x):
    return tf.reshape(x[:9, :64], [3, 3, 8, 8])


def by_filters(w):
    with tf.GradientTape() as tape:
        tape.watch(w)
        y = tf.nn.conv2d(IMAGES, w, 1, "SAME") ** 2
    return tape.gradient(y, w)


def attending(x):
    """Queries, keys and values of one head."""
    return [tf.reshape(x, [1, SIZE, 1, SIZE]) / SIZE] * 3


X = np.random.default_rng(0).normal(size=(SIZE, SIZE))
IMAGES = np.random.default_rng(0).normal(size=(32, 16, 16, 8))
CALLS = {
    "matmul": lambda x: x @ x,
    "matmul of batches": lambda x: tf.stack([x, x]) @ tf.stack([x, x]),
    "einsum": lambda x: tf.einsum("ij,kj->ik", x, x),
    "inverse": lambda x: tf.linalg.inv(hermitian(x)),
    "solve": lambda x: tf.linalg.solve(hermitian(x), x),
    "cholesky": lambda x: tf.linalg.cholesky(hermitian(x)),
    "triangular_solve": lambda x: tf.linalg.triangular_solve(hermitian(x), x),
    "pseudoinverse": lambda x: tf.linalg.pinv(hermitian(x)),
    "lu": lambda x: tf.linalg.lu(hermitian(x))[0],
    "qr": lambda x: tf.linalg.qr(hermitian(x))[1],
    "svd": lambda x: tf.linalg.svd(x)[0],
    "singular_values": lambda x: tf.linalg.svd(x, compute_uv=False),
    "eigh": lambda x: tf.linalg.eigh(hermitian(x))[0],
    "eigvalsh": lambda x: tf.linalg.eigvalsh(hermitian(x)),
    "eig": lambda x: tf.math.real(tf.linalg.eig(hermitian(x))[0]),
    "eigvals": lambda x: tf.math.real(tf.linalg.eigvals(hermitian(x))),
    "conv": lambda x: tf.nn.conv2d(IMAGES, filters(x), 1, "SAME"),
    "conv_by_input": lambda x: tf.nn.conv2d_transpose(
        IMAGES, filters(x), IMAGES.shape, 1, "SAME"
    ),
    "conv_by_filter": lambda x: by_filters(filters(x)),
    "attention": lambda x: attention.attention(*attending(x), scale=1.0, is_causal=True),
    "attention_pull": lambda x: attention.attention_pull(
        x[None, :, None], *attending(x), scale=1.0, is_causal=False, by_bias=False
    )[1],
}  # fmt: skip


def value_and_gradient(function):
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return y, tape.gradient(y, x)


@pytest.mark.parametrize("name", CALLS)
def test_what_calls_blas_has_one_thread(crowd, changes, name):
    crowd.until, until = 0.0, crowd.until
    alone = value_and_gradient(CALLS[name])
    assert not changes
    crowd.until = until
    found = value_and_gradient(CALLS[name])
    assert changes.count(1) == changes.count(3) > 1  # the call, and the walk back
    for ours, theirs in zip(found, alone, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-7)


def test_every_op_that_says_its_work_is_among_them():
    named = {name for name, op in registry.items() if op.work is not None}
    assert named <= CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_small_work_is_not_looked_at(crowd, changes, monkeypatch, name):
    monkeypatch.setattr(blas, "SHARED", 10**9)
    monkeypatch.setattr(products, "_LARGE", 10**9)
    monkeypatch.setattr("gradtape.core.walk.crowd", crowding.Crowd())
    CALLS[name](tf.constant(X))
    assert not changes


def test_depthwise_convolutions_do_without_blas(crowd, changes):
    tf.nn.depthwise_conv2d(IMAGES.repeat(4, 1), np.ones((3, 3, 8, 2)), [1, 1, 1, 1], "SAME")
    assert not changes


def test_user_code_keeps_its_threads(crowd):
    seen = []

    @tf.custom_gradient
    def noted(x):
        seen.append(counts())
        return x, lambda g: g

    x = tf.Variable(X)
    with tf.GradientTape() as tape:
        y = noted(x @ x) @ x
        seen.append(counts())
    tape.gradient(y, x)
    seen.append(counts())
    assert seen == [{3}] * 3


def test_elementwise_work_is_not_shared_in_a_crowd(crowd):
    threads.set_threads(3)
    try:
        assert threads.threads() == 1
        crowd.until = 0.0
        assert threads.threads() == 3
    finally:
        threads.set_threads(0)
