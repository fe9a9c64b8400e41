"""`tf.compat.v1` and `tf.compat.v2`: where their names lead."""

import importlib

import pytest

import gradtape as tf

v1 = tf.compat.v1


def test_v2_is_gradtape():
    import gradtape.compat.v2 as tf2

    assert tf2 is tf.compat.v2 is tf
    assert tf2.enable_v2_behavior() is None


@pytest.mark.parametrize(
    ("older", "today"),
    [
        ("log", "math.log"), ("matrix_inverse", "linalg.inv"), ("random_normal", "random.normal"),
        ("truncated_normal", "random.truncated_normal"), ("GradientTape", "GradientTape"),
        ("nn.relu", "nn.relu"), ("math.sin", "math.sin"), ("Variable", "Variable"),
        ("keras.layers.Dense", "keras.layers.Dense"), ("errors.OpError", "errors.OpError"),
        ("train.latest_checkpoint", "train.latest_checkpoint"), ("float32", "float32"),
        ("spectral.rfft", "signal.rfft"), ("compat.as_str", "compat.as_str"),
    ],
)  # fmt: skip
def test_what_means_the_same_is_the_same(older, today):
    def at(root, name):
        return importlib.import_module("functools").reduce(getattr, name.split("."), root)

    assert at(v1, older) is at(tf, today)


def test_namespaces_can_be_imported():
    import gradtape.compat.v1.math as older
    from gradtape.compat.v1.keras import layers
    from gradtape.compat.v1.train import AdamOptimizer

    assert older.reduce_max([1, 2], reduction_indices=0).numpy() == 2
    assert layers.Dense is tf.keras.layers.Dense
    assert AdamOptimizer is v1.train.AdamOptimizer
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("gradtape.compat.v1.nonsense")


def test_what_means_something_else_today_is_not_found():
    for name in ("metrics", "layers", "summary", "while_loop", "space_to_batch"):
        assert not hasattr(v1, name), name
        assert name not in dir(v1)
    assert not hasattr(v1.nn, "ctc_loss")
    assert not hasattr(v1.nn, "ctc_loss_v2")


def test_dir_lists_what_is_there():
    for namespace in (v1, v1.nn, v1.train, v1.losses, v1.logging, v1.math):
        for name in dir(namespace):
            getattr(namespace, name)
    assert {"Session", "reduce_sum", "losses", "log"} <= set(dir(v1))
    assert "AdamOptimizer" in dir(v1.train)


def test_reductions_have_both_spellings():
    x = [[1.0, 2.0], [3.0, 4.0]]
    assert v1.reduce_sum(x, reduction_indices=[1], keep_dims=True).numpy().tolist() == [
        [3.0],
        [7.0],
    ]
    assert v1.reduce_sum(x, 1, True).numpy().tolist() == [[3.0], [7.0]]
    assert v1.argmax(x, dimension=1).numpy().tolist() == [1, 1]
    assert v1.nn.softmax(x, dim=0).shape == [2, 2]
    assert v1.expand_dims(x, dim=0).shape == [1, 2, 2]
    assert v1.transpose(x, [1, 0], "name").numpy()[0, 1] == 3.0


def test_flags_and_app_are_those_of_absl(monkeypatch):
    from absl import flags

    assert v1.flags.FLAGS is flags.FLAGS
    assert v1.app.flags.FLAGS is flags.FLAGS
    with pytest.raises(AttributeError, match=r"no tf.compat.v1.flags|module .gradtape"):
        _ = v1.flags.nonsense
    assert v1.flags.DEFINE_string is flags.DEFINE_string
    called = []
    monkeypatch.setattr("absl.app.run", lambda main, argv: called.append((main, argv)))
    with pytest.raises(SystemExit):
        v1.app.run(len, ["program"])
    assert called == [(len, ["program"])]


def test_logging(caplog):
    before = v1.logging.get_verbosity()
    v1.logging.set_verbosity(v1.logging.INFO)
    try:
        v1.logging.info("%d steps", 3)
        v1.logging.debug("not this")
        for _ in range(4):
            v1.logging.log_first_n(v1.logging.WARN, "first", 2)
            v1.logging.log_every_n(v1.logging.WARN, "every", 3)
        v1.logging.flush()
    finally:
        v1.logging.set_verbosity(before)
    said = [record.getMessage() for record in caplog.records]
    assert said.count("3 steps") == 1
    assert "not this" not in said
    assert said.count("first") == said.count("every") == 2
