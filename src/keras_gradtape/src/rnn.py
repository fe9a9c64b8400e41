"""Keras's recurrent loops: `rnn` runs any cell; `lstm` and `gru` run theirs with the matrix
products combined.

They are built on `scan`, so they are a Python loop in eager code and an XLA loop inside a function,
with gradients in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keras.src import tree

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.control_flow import scan
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.nn.operands import alike

Step = Callable[..., tuple[Any, Any]]
Function = Callable[[Any], Any]


def rnn(
    step_function: Step,
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Sequence[Any] | None = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
    return_all_outputs: bool = True,
) -> tuple[Any, Any, Any]:
    """`output, states = step_function(input, states)` along time: the last output, all outputs,
    and the last states.

    Where the mask is False, states stay as they are, and so does the output, or it is 0. Outputs
    are in the order of the steps.
    """
    inputs = tree.map_structure(convert_to_tensor, inputs)
    given = None if mask is None else convert_to_tensor(mask, "bool")
    if not time_major:
        inputs = tree.map_structure(_time_and_batch_swapped, inputs)
        given = None if given is None else _time_and_batch_swapped(given)
    steps = tree.flatten(inputs)[0].shape[0]
    if unroll and not steps:
        raise ValueError("Unrolling requires a fixed number of timesteps.")

    def step(states: Any, entry: Any) -> tuple[Any, Any]:
        x, *masked = entry
        output, after = step_function(x, (*states, *(constants or ())))
        after = tree.pack_sequence_as(states, tree.flatten(after))
        if not masked:
            return after, output
        is_valid = masked[0]
        before = (
            tree.map_structure(tf.zeros_like, output)
            if zero_output_for_mask
            else _output_in(states)
        )
        return _where_valid(is_valid, after, states), _where_valid(is_valid, output, before)

    states = tree.map_structure(convert_to_tensor, initial_states)
    run = _unrolled if unroll else scan
    states, outputs = run(
        step, states, (inputs,) if given is None else (inputs, given), reverse=go_backwards
    )
    if go_backwards:
        outputs = tree.map_structure(lambda output: tf.reverse(output, [0]), outputs)
    last = tree.map_structure(lambda output: output[-1], outputs)
    if unroll and not return_all_outputs:
        outputs = tree.map_structure(lambda output: output[-1:], outputs)
    return (
        last,
        outputs if time_major else tree.map_structure(_time_and_batch_swapped, outputs),
        states,
    )


def _time_and_batch_swapped(x: tf.Tensor) -> tf.Tensor:
    return gnp.swapaxes(x, 0, 1)


def _output_in(states: Any) -> Any:
    """The output before a step, which is a state: the first one of the only cell,
    or of the last of several.
    """
    return states[-1][0] if tree.is_nested(states[0]) else states[0]


def _where_valid(is_valid: tf.Tensor, new: Any, old: Any) -> Any:
    """New values for the examples of a batch that are valid at a step, old ones for the others."""
    is_valid = tf.reduce_any(tf.reshape(is_valid, [is_valid.shape[0], -1]), axis=1)
    return tree.map_structure(
        lambda after, before: gnp.where(
            tf.reshape(is_valid, [-1] + [1] * (after.ndim - 1)), after, before
        ),
        new,
        old,
    )


def _unrolled(step: Step, states: Any, entries: Any, *, reverse: bool) -> tuple[Any, Any]:
    """`scan` written out step by step, also in a function."""
    leaves = [tf.unstack(leaf) for leaf in tree.flatten(entries)]
    count = len(leaves[0])
    outputs: list[Any] = [None] * count
    for i in range(count)[:: -1 if reverse else 1]:
        states, outputs[i] = step(
            states, tree.pack_sequence_as(entries, [leaf[i] for leaf in leaves])
        )
    return states, tree.map_structure(lambda *rows: tf.stack(rows), *outputs)


def lstm(
    inputs: Any,
    initial_state_h: Any,
    initial_state_c: Any,
    mask: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    activation: Function,
    recurrent_activation: Function,
    return_sequences: bool = False,
    go_backwards: bool = False,
    unroll: bool = False,
) -> tuple[Any, Any, list[Any]]:
    """The loop of an LSTM without a mask, which is left to `rnn`."""
    if mask is not None or unroll:
        raise NotImplementedError
    h, c, weights = alike(initial_state_h, initial_state_c, recurrent_kernel)

    def step(states: Any, x: tf.Tensor) -> tuple[Any, Any]:
        h, c = states
        enter, stay, new, leave = tf.split(x + tf.matmul(h, weights), 4, axis=-1)
        c = _gate(recurrent_activation, stay) * c + _gate(recurrent_activation, enter) * _gate(
            activation, new
        )
        h = _gate(recurrent_activation, leave) * _gate(activation, c)
        return (h, c), h

    (h, c), outputs = scan(step, (h, c), _projected(inputs, kernel, bias), reverse=go_backwards)
    return h, _sequences(outputs, h, return_sequences, go_backwards), [h, c]


def gru(
    inputs: Any,
    initial_state: Any,
    mask: Any,
    kernel: Any,
    recurrent_kernel: Any,
    bias: Any,
    activation: Function,
    recurrent_activation: Function,
    return_sequences: bool = False,
    go_backwards: bool = False,
    unroll: bool = False,
    reset_after: bool = True,
) -> tuple[Any, Any, list[Any]]:
    """The loop of a GRU that resets after its product, without a mask; others are left to `rnn`."""
    if mask is not None or unroll or not reset_after:
        raise NotImplementedError
    h, weights = alike(initial_state, recurrent_kernel)
    biases = None if bias is None else convert_to_tensor(bias)

    def step(h: tf.Tensor, x: tf.Tensor) -> tuple[Any, Any]:
        inner = tf.matmul(h, weights)
        inner = inner if biases is None else inner + biases[1]
        (keep, reset, new), (inner_keep, inner_reset, inner_new) = (
            tf.split(x, 3, axis=-1),
            tf.split(inner, 3, axis=-1),
        )
        keep = _gate(recurrent_activation, keep + inner_keep)
        new = _gate(activation, new + _gate(recurrent_activation, reset + inner_reset) * inner_new)
        h = new + keep * (h - new)
        return h, h

    projected = _projected(inputs, kernel, None if biases is None else biases[0])
    h, outputs = scan(step, h, projected, reverse=go_backwards)
    return h, _sequences(outputs, h, return_sequences, go_backwards), [h]


def _gate(activation: Function, x: tf.Tensor) -> tf.Tensor:
    """An activation inside a cell.

    No loss asks for the logits of a gate, and a tape would keep them as long as the gate.
    """
    gate = activation(x)
    if getattr(gate, "_keras_logits", None) is not None:
        gate._keras_logits = None
    return gate


def _projected(inputs: Any, kernel: Any, bias: Any) -> tf.Tensor:
    """What inputs add to the gates at every step, in one product; time first."""
    x, weights = alike(inputs, kernel)
    product = tf.matmul(_time_and_batch_swapped(x), weights)
    return product if bias is None else product + convert_to_tensor(bias)


def _sequences(
    outputs: tf.Tensor, last: tf.Tensor, return_sequences: bool, go_backwards: bool
) -> tf.Tensor:
    """All outputs in the order of the steps, batch first; or the last one alone."""
    if not return_sequences:
        return last[:, None]
    return _time_and_batch_swapped(tf.reverse(outputs, [0]) if go_backwards else outputs)


def bidirectional_lstm(*args: Any, **kwargs: Any) -> Any:
    """There is no loop for both directions at once: Keras runs one after the other."""
    raise NotImplementedError


def bidirectional_gru(*args: Any, **kwargs: Any) -> Any:
    """There is no loop for both directions at once: Keras runs one after the other."""
    raise NotImplementedError


def cudnn_ok(*args: Any, **kwargs: Any) -> bool:
    """Whether a kernel of cuDNN would be used: there is none here."""
    return False
