"""Sessions: what programs write to configure a GPU works, and nothing runs in them."""

import pytest

import gradtape as tf

v1 = tf.compat.v1


def test_settings_can_be_made_in_every_way():
    config = v1.ConfigProto(gpu_options=v1.GPUOptions(allow_growth=True), allow_soft_placement=True)
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.graph_options.optimizer_options.global_jit_level = 1
    with v1.Session(config=config) as session:
        v1.keras.backend.set_session(session)
    v1.InteractiveSession(config=config).close()
    assert config.gpu_options.per_process_gpu_memory_fraction == 0.5
    assert "allow_growth=True" in repr(config)


def test_soft_placement_is_taken_over():
    assert tf.config.get_soft_device_placement()
    v1.Session(config=v1.ConfigProto(allow_soft_placement=False))
    assert not tf.config.get_soft_device_placement()
    v1.Session(config=v1.ConfigProto(allow_soft_placement=True))
    assert tf.config.get_soft_device_placement()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: v1.Session().run(tf.constant(1.0)), RuntimeError),
        (lambda: v1.Session().run([], feed_dict={}), RuntimeError),
        (lambda: v1.Session().make_callable([]), RuntimeError),
        (lambda: v1.Session().graph, RuntimeError),
        (lambda: v1.Session(graph=object()), ValueError),
    ],
)
def test_a_session_runs_nothing_and_says_what_to_write(wrong, error):
    with pytest.raises(error, match=r"call the function .* tf\.function"):
        wrong()


def test_settings_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="ConfigProto, got 7"):
        v1.Session(config=7)


def test_switches_to_tensorflow_2_do_nothing_and_those_from_it_are_not_there():
    v1.enable_eager_execution()
    v1.enable_v2_behavior()
    assert v1.executing_eagerly_outside_functions()
    assert v1.resource_variables_enabled()
    v1.reset_default_graph()
    with pytest.raises(AttributeError, match="only one: leave this call out"):
        _ = v1.disable_v2_behavior
    with pytest.raises(AttributeError, match="leave this call out"):
        _ = v1.global_variables_initializer
