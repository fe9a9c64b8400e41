"""`np.random.choice` with Tensors as probabilities,
as programs that learn by reinforcement call it.
"""

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.departures import DepartureError

LOGITS = np.random.default_rng(0).normal(size=(200, 1, 5)).astype(np.float32)


def squeezed(x):
    return np.squeeze(tf.nn.softmax(x))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("recorded", [True, False])
def test_no_row_of_probabilities_is_refused(dtype, recorded):
    x = tf.Variable(LOGITS, dtype=dtype)
    with tf.GradientTape() as tape, nullcontext() if recorded else tape.stop_recording():
        found = [np.random.choice(5, p=squeezed(x[i])) for i in range(200)]
    assert set(found) == set(range(5))


def test_what_is_drawn_is_what_the_array_would_give():
    row = squeezed(tf.constant(LOGITS[0]))
    np.random.seed(3)
    ours = (
        np.random.choice(5, 10, p=row),
        np.random.choice(5, size=(2, 2), replace=False, p=row.numpy()),
        np.random.choice(5),
    )
    np.random.seed(3)
    plain = np.random.mtrand._rand.choice
    theirs = (
        plain(5, 10, p=row.numpy()),
        plain(5, size=(2, 2), replace=False, p=row.numpy()),
        plain(5),
    )
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert np.random.choice(tf.constant([7, 8])) in (7, 8)


def test_probabilities_that_do_not_add_up_are_refused_still():
    with pytest.raises(ValueError, match="sum to 1"):
        np.random.choice(2, p=tf.constant([0.5, 0.6]))


def test_the_tape_notes_what_leaves_it():
    x = tf.Variable(LOGITS[0])
    with tf.GradientTape() as tape:
        np.random.choice(5, p=squeezed(x))
    (departure,) = tape.departures()
    assert departure.method == "choice"
    assert departure.location.file == __file__
    with pytest.raises(DepartureError), tf.GradientTape(strict=True):
        np.random.choice(5, p=squeezed(x))


def test_it_is_still_numpys_function_to_others():
    assert np.random.choice.__doc__ == np.random.mtrand._rand.choice.__doc__
    assert "choice" in np.random.__all__


@pytest.mark.parametrize(
    "order",
    ["import gradtape\nimport numpy as np", "import numpy as np\nnp.random\nimport gradtape"],
)
def test_whichever_is_imported_first(order):
    code = (
        f"{order}\nimport gradtape as tf\nprint(np.random.choice(3, p=tf.constant([0.7, 0.2, "
        "0.1])) < 3)"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(tf.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "True", done.stderr
