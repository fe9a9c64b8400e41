"""examples/keras: what each program has learnt, by its own functions and by what it prints."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf

FOLDER = Path(__file__).parent.parent / "examples" / "keras"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def example(name):
    """The module of an example, with the seeds set as its main() sets them."""
    if "sklearn" in (FOLDER / f"{name}.py").read_text(encoding="utf-8"):
        pytest.importorskip("sklearn")
    spec = importlib.util.spec_from_file_location(f"keras_example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.keras.utils.set_random_seed(0)
    tf.random.set_seed(0)
    return module


@pytest.mark.parametrize("way", ["a tape", "fit", "half precision"])
def test_digits_are_learnt_in_three_ways(way):
    module = example("digits_three_ways")
    train_digits, test_digits, train_labels, test_labels = module.load()
    model = module.WAYS[way](train_digits, train_labels)
    assert len(test_labels) == 450
    assert module.accuracy(model, test_digits, test_labels) >= 0.97
    assert {v.dtype for v in model.trainable_variables} == {"float32"}
    hidden = model.layers[1](test_digits[:1])
    assert hidden.dtype == (tf.float16 if way == "half precision" else tf.float32)


def test_the_lstm_learns_to_read():
    module = example("lstm")
    train_digits, test_digits, train_labels, test_labels = module.load()
    by_rows = module.accuracy_by_rows(
        module.train(train_digits, train_labels), test_digits, test_labels
    )
    assert by_rows[-1] >= 0.95
    assert 0.2 < by_rows[0] < by_rows[2] < by_rows[5]


def test_the_convolutions_learn_digits_and_show_why():
    module = example("cnn")
    train_digits, test_digits, train_labels, test_labels = module.load()
    model = module.build()
    history = module.train(model, train_digits, train_labels).history
    assert history["val_loss"][-1] < 0.3 * history["val_loss"][0]
    _, accuracy = model.evaluate(test_digits, test_labels, verbose=0)
    assert accuracy >= 0.97
    scores = model(test_digits).numpy()
    assert accuracy == pytest.approx(np.mean(scores.argmax(axis=1) == test_labels))

    # What gradient times value says of a pixel, against the score with that pixel a little darker.
    digit, label = test_digits[0].astype("float32"), test_labels[0]
    evidence = module.evidence(model, digit, label)
    step = 1e-2
    for row, column in [(2, 3), (4, 4), (6, 3)]:
        more, less = digit.copy(), digit.copy()
        more[row, column] += step
        less[row, column] -= step
        difference = (model(more[None])[0, label] - model(less[None])[0, label]) / (2 * step)
        assert evidence[row, column] == pytest.approx(
            float(difference) * digit[row, column, 0], abs=0.05
        )
    assert set("".join(module.drawn(evidence))) <= set("+-.")


def test_the_transformer_learns_to_sort():
    module = example("transformer")
    rng = np.random.default_rng(0)
    model, losses = module.train(rng)
    assert losses[-1] < 0.05 * losses[0]
    sequences, in_order = module.examples(500, rng)
    found = tf.argmax(model(sequences), axis=2).numpy()
    assert np.mean(found == in_order.numpy()) >= 0.97
    # The order in which the digits come does not matter to the result.
    backwards = tf.argmax(model(tf.reverse(sequences, [1])), axis=2).numpy()
    assert np.mean(found == backwards) >= 0.97


def test_the_generator_finds_the_moments():
    module = example("gan")
    generator, critic = module.build()
    noise = tf.random.normal([5000, module.NOISE])
    true_mean, true_covariance = module.MEAN, module.MIXING @ module.MIXING.T
    before = module.moments(generator(noise).numpy())
    losses = np.array(module.train(generator, critic, np.random.default_rng(0)))
    mean, covariance = module.moments(generator(noise).numpy())
    np.testing.assert_allclose(mean, true_mean, atol=0.2)
    np.testing.assert_allclose(covariance, true_covariance, atol=0.2)
    assert np.abs(before[0] - true_mean).max() > 0.4
    # The critic can no longer tell.
    assert losses[-100:, 1].mean() == pytest.approx(2 * np.log(2), abs=0.15)


def test_the_autoencoder_gives_digits_back():
    module = example("vae")
    train_digits, test_digits = module.load()
    model, history = module.train(train_digits)
    assert history["reconstruction"][-1] < 0.75 * history["reconstruction"][0]
    # The codes say something, and are not far from a normal distribution.
    assert 1.0 < history["divergence"][-1] < 20.0
    by_mean = module.squared_error(test_digits, train_digits.mean(axis=0))
    assert module.squared_error(test_digits, model(test_digits).numpy()) < 0.5 * by_mean
    dreams = model.dream(200).numpy()
    nearest = np.min(np.sum((dreams[:, None] - train_digits[None]) ** 2, axis=2), axis=1)
    between = np.min(
        np.sum((np.random.default_rng(0).random((200, 1, 64)) - train_digits[None]) ** 2, axis=2),
        axis=1,
    )
    assert np.median(nearest) < 0.5 * np.median(between)  # a dream is near some digit, noise is not


def test_the_network_finds_the_goal():
    module = example("dqn")
    network = module.train(150, np.random.default_rng(0))
    path = module.walk(network)
    assert path[0] == module.START
    assert path[-1] == module.GOAL
    assert len(path) - 1 == 8  # there is no shorter way
    assert (
        sum(module.walk(network, tuple(place))[-1] == module.GOAL for place in module.FREE)
        >= len(module.FREE) - 1
    )
    # At the goal's door the value of the right step is its reward.
    door = (module.GOAL[0] - 1, module.GOAL[1])
    values = network(module.seen(door)[None])[0].numpy()
    assert values.argmax() == 2
    assert values.max() == pytest.approx(1.0, abs=0.15)


def test_the_update_follows_the_rule():
    """One update on one step of a walk, against the value that Bellman's equation wants."""
    module = example("dqn")
    network, target = module.build(), module.build()
    state, arrived = (module.seen(place)[None] for place in ((3, 0), (3, 1)))
    wanted = -0.02 + module.DISCOUNT * target(arrived).numpy().max()
    before, slow = network(state).numpy()[0], target.get_weights()
    update = module.make_update(network, target, module.keras.optimizers.SGD(0.1))
    loss = update(
        *map(
            tf.constant,
            (state, np.array([1], "int32"), np.float32([-0.02]), arrived, np.float32([0.0])),
        )
    )
    error = abs(wanted - before[1])
    assert float(loss) == pytest.approx(0.5 * error**2 if error < 1 else error - 0.5, rel=1e-4)
    assert abs(wanted - network(state).numpy()[0, 1]) < error
    for old, new, fast in zip(slow, target.get_weights(), network.get_weights(), strict=True):
        np.testing.assert_allclose(new, old + 0.02 * (fast - old), rtol=1e-4, atol=1e-6)


def test_the_world_has_walls_and_edges():
    module = example("dqn")
    assert module.step((0, 0), 0) == ((0, 0), -0.02, False)  # the edge
    assert module.step((0, 1), 1) == ((0, 1), -0.02, False)  # a wall
    assert module.step((3, 4), 2) == ((4, 4), 1.0, True)  # the goal


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("digits_three_ways", r"half precision: +9[789]\.\d% of the test digits"),
        ("lstm", r"8 of 8 rows read: 9[5-9]\.\d%"),
        ("cnn", r"test accuracy: 9[789]\.\d%"),
        ("transformer", r"70545538 sorted is 03455578"),
        ("gan", r"mean: (0\.[89]|1\.[01])\d -0\.[3-6]\d \(of the real points: 1.00 -0.50\)"),
        ("vae", r"error of the digits that come back: 0\.0[123]"),
        ("dqn", r"the goal is reached after 8 steps\nit is reached from 1[67] of 17 places"),
    ],
)
def test_a_program_prints_its_result(name, result, capsys):
    example(name).main()
    assert re.search(result, capsys.readouterr().out)


@pytest.mark.parametrize("name", NAMES)
def test_a_program_is_written_as_for_tensorflow(name):
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert "import gradtape as tf\nfrom gradtape import keras\n" in source
    assert "tf.GradientTape() as" in source
    assert "keras_gradtape" not in source
    assert len(source.splitlines()) <= 130
