"""The collector is off during calls of JAX on Python 3.11, and as it was afterwards, in threads and
after a fork.
"""

import gc
import os
import sys
import threading

import pytest

from gradtape.engines.xla.collector import Uncollected, call_uncollected


def test_threads_leave_the_collector_as_it_was():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work():
        for _ in range(200):
            with Uncollected():
                pass
            call_uncollected(int)

    try:
        for _ in range(20):
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert gc.isenabled()
            assert not Uncollected.entered
    finally:
        sys.setswitchinterval(interval)
        gc.enable()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        call_uncollected(int)
        with Uncollected():
            call_uncollected(int)
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there the collector is not switched off")
def test_a_call_inside_a_block_of_another_thread_leaves_it_off_until_that_ends():
    block = Uncollected()
    seen = []

    def called():
        block.__enter__()
        seen.append(gc.isenabled())

    call_uncollected(called)
    seen.append(gc.isenabled())
    block.leave()
    seen.append(gc.isenabled())
    assert seen == [False, False, True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_a_fork_in_the_midst_of_a_block_collects():
    entered, done = threading.Event(), threading.Event()

    def work():
        with Uncollected():
            entered.set()
            done.wait()

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    child = os.fork()
    if not child:
        os._exit(0 if gc.isenabled() else 1)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
@pytest.mark.parametrize("is_on", [True, False])
def test_a_fork_in_the_midst_of_another_threads_call_leaves_the_collector_as_it_was(is_on):
    inside, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=call_uncollected, args=(lambda: (inside.set(), done.wait()),))
    was_on = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        thread.start()
        inside.wait()
        child = os.fork()
        if child == 0:
            os._exit(int(gc.isenabled()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == is_on
    finally:
        done.set()
        thread.join()
        assert gc.isenabled() == is_on
        (gc.enable if was_on else gc.disable)()
