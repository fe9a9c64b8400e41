"""`tf.compat.v1.train`'s optimizers; `tests_tf/test_compat.py` compares them with TensorFlow."""

import pytest

import gradtape as tf

train = tf.compat.v1.train
MADE = {
    "GradientDescentOptimizer": {"learning_rate": 0.1},
    "MomentumOptimizer": {"learning_rate": 0.1, "momentum": 0.9},
    "AdagradOptimizer": {"learning_rate": 0.1},
    "AdadeltaOptimizer": {"learning_rate": 1.0},
    "RMSPropOptimizer": {"learning_rate": 0.1, "centered": True},
    "AdamOptimizer": {"learning_rate": 0.1},
}


@pytest.mark.parametrize("name", MADE)
def test_steps_in_a_function_are_those_of_eager_code(name):
    def trained(decorate):
        w, step = tf.Variable([1.0, -2.0]), tf.Variable(0, dtype=tf.int64)
        optimizer = getattr(train, name)(**MADE[name])

        @decorate
        def one():
            optimizer.minimize(lambda: tf.reduce_sum(w**2), step, [w])

        for _ in range(4):
            one()
        assert int(step) == 4
        return w.numpy()

    eager, compiled = trained(lambda f: f), trained(tf.function)
    assert eager == pytest.approx(compiled, rel=1e-5)
    assert (abs(eager) < [1.0, 2.0]).all()


def test_variables_are_found_on_the_tape_and_slots_are_kept():
    w = tf.Variable(1.0)
    optimizer = train.MomentumOptimizer(0.1, 0.9, use_nesterov=True)
    ((gradient, variable),) = optimizer.compute_gradients(lambda: w * 3.0)
    assert variable is w
    assert gradient.numpy() == 3
    optimizer.apply_gradients([(gradient, w), (None, tf.Variable(1.0))])
    assert optimizer.get_slot_names() == ["momentum"]
    assert optimizer.get_slot(w, "momentum").numpy() == 3
    assert optimizer.get_slot(w, "other") is None
    assert len(optimizer.variables()) == 1


def test_rates_may_be_functions_and_gradients_may_be_slices():
    w = tf.Variable([[1.0], [2.0]])
    optimizer = train.GradientDescentOptimizer(lambda: 0.5)
    optimizer.minimize(lambda: tf.reduce_sum(tf.gather(w, [1])))
    assert w.numpy().tolist() == [[1.0], [1.5]]


def test_mistakes_are_named():
    w = tf.Variable(1.0)
    optimizer = train.AdamOptimizer()
    with pytest.raises(RuntimeError, match="loss must be a function"):
        optimizer.minimize(w * 2.0)
    with pytest.raises(ValueError, match="no gradient for any Variable"):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(ValueError, match="must be positive"):
        train.AdagradOptimizer(0.1, initial_accumulator_value=0.0)
    with pytest.raises(NotImplementedError, match="must have _update"):
        train.Optimizer().apply_gradients([(tf.constant(1.0), w)])


def test_there_is_one_global_step(monkeypatch):
    monkeypatch.setattr("gradtape.compat.v1.optimizers._GLOBAL_STEP", [])
    assert train.get_global_step() is None
    step = train.get_or_create_global_step()
    assert step is train.get_global_step() is train.get_or_create_global_step()
    assert step.dtype == tf.int64
    with pytest.raises(ValueError, match="already"):
        train.create_global_step()
