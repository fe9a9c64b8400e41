"""`ExplainNonFinite`: a callback that says which op of which layer made the loss NaN or
infinite.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from keras.src.backend.common import global_state
from keras.src.callbacks.callback import Callback
from keras.src.random.seed_generator import GLOBAL_SEED_GENERATOR
from keras.src.utils import io_utils

import gradtape as tf
from gradtape import extend
from keras_gradtape.src.trainer import flat


class _Moment(NamedTuple):
    """What a step began with: the number of its first batch, its batches, and the values of all
    Variables.
    """

    first: int
    batches: Sequence[Any]
    state: list[tuple[tf.Variable, np.ndarray[Any, Any]]]


class ExplainNonFinite(Callback):
    """In `fit`, at the step where the loss turns NaN or infinite, finds the op that did it, with
    its line, its inputs and its Keras layer, and says what to do.

    The step runs once more, op by op, on its own batch, with the weights, the optimizer's state and
    the random numbers that it began with; then all Variables are as they would be without the
    callback. If the weights were not finite by then, the step before is looked at too. With
    `steps_per_execution`, it is the steps of one execution that run again, together. Variables that
    are not the model's, and Python objects, are not known to have been what they were when the step
    began; the report names such Variables. `stop` ends the training; the result is in `found`, a
    `gradtape.debugging.NonFinite`, and is given to `report`, which prints it by default.

    Of the logs of a training step, it looks at those whose name has "loss" in it; at all, if a
    `train_step` of your own gives none. It copies the weights and the optimizer's state before each
    step, and waits for each loss. Remove it when the model trains.

    >>> import gradtape as tf
    >>> from gradtape import keras
    >>> root = keras.layers.Lambda(lambda x: tf.sqrt(-tf.square(x) - 1.0), name="root")
    >>> layers = [keras.Input([1]), keras.layers.Dense(1), root]
    >>> model = keras.Sequential(layers, name="model")
    >>> model.compile(loss="mse")
    >>> watcher = tf.callbacks.ExplainNonFinite(report=lambda found: print(found.op, found.layer))
    >>> _ = model.fit(tf.zeros([2, 1]), tf.ones([2, 1]), verbose=0, callbacks=[watcher])
    sqrt model/root
    """

    def __init__(
        self, stop: bool = True, report: Callable[[tf.debugging.NonFinite], Any] | None = None
    ) -> None:
        super().__init__()
        self.stop = stop
        self.found: tf.debugging.NonFinite | None = None
        self._report = report
        self._moments: list[_Moment] = []

    def on_train_begin(self, logs: Any = None) -> None:
        self.found, self._moments = None, []

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self.found is None:
            if not self.model.batches_now:
                raise RuntimeError(
                    "ExplainNonFinite: it is a callback for fit(), which says what each step is "
                    "trained on. In a loop of your own, ask tape.why_nonfinite(loss), or "
                    "gradtape.debugging.why_nonfinite(train_step, batch)."
                )
            if not self._moments:
                self._build()
            state = [(v, v.numpy()) for v in _variables(self.model)]
            self._moments = [*self._moments[-1:], _Moment(batch, self.model.batches_now, state)]

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        turned = _not_finite(logs or {}) if self.found is None else None
        if turned is None:
            return
        name, value = turned
        found = self._looked_into(self._moments[-1], name, value)
        if found.kind in ("source", "unknown") and len(self._moments) > 1:
            before = self._looked_into(self._moments[0], name, value)
            found = found if before.kind == "unknown" else before
        self.found, self._moments = found, []
        if self._report is not None:
            self._report(found)
        else:
            io_utils.print_msg(f"\nBatch {batch}: the {name} is {value}.\n{found}")
        if self.stop:
            self.model.stop_training = True

    def on_train_end(self, logs: Any = None) -> None:
        self._moments = []

    def _build(self) -> None:
        """Makes the Variables that the first step would make, so that they have a value before it.

        A model that only its own `train_step` can build is left as it is: then what its first step
        began with is not known, and what is said of that step holds for the Variables after it.
        """
        leaves, structure = flat(self.model.batches_now[0])
        with contextlib.suppress(Exception):
            self.model._symbolic_build(data_batch=structure.unflatten(leaves))

    def _looked_into(self, moment: _Moment, name: str, value: float) -> tf.debugging.NonFinite:
        """What running a step once more shows; if nothing, that the cause is not known."""
        try:
            found = self._run_again(moment)
        except Exception as error:  # noqa: BLE001 - the training goes on as it would without
            note = f"Running the step once more failed with {type(error).__name__}: {error}"
        else:
            if found:
                return found
            note = (
                "Run once more, op by op, the step is finite: it depends on something that is "
                "neither its batch nor a Variable of the model, or the compiled program rounds in "
                "another way."
            )
        return tf.debugging.NonFinite(
            "unknown",
            op=f"the {name}",
            value=value,
            certain=False,
            notes=(note,),
            advice="run it with gradtape.debugging.enable_check_numerics(), which looks at every "
            "result of an op.",
        )

    def _run_again(self, moment: _Moment) -> tf.debugging.NonFinite:
        model, regions = self.model, extend.regions()
        parts = [flat(batch) for batch in moment.batches]
        counts = [len(leaves) for leaves, _ in parts]

        def run(inputs: Sequence[Any]) -> Any:
            logs, rest = None, iter(inputs)
            for count, (_, structure) in zip(counts, parts, strict=True):
                batch = structure.unflatten([next(rest) for _ in range(count)])
                logs = model.train_step(batch)
            return logs

        names = [
            f"tensor {i} of the batch" if len(parts) == 1 else f"tensor {i} of batch {k}"
            for k, count in enumerate(counts, moment.first)
            for i in range(count)
        ]
        with _NamedLayers(model, regions):
            return extend.look_into(
                run,
                [leaf for leaves, _ in parts for leaf in leaves],
                names=names,
                state=moment.state,
                in_a_function=bool(model.jit_compile and not model.run_eagerly),
                label=regions.name_of,
            )


def _not_finite(logs: dict[str, Any]) -> tuple[str, float] | None:
    """A loss among the logs of a step that is not finite, with its name."""
    names = [name for name in logs if "loss" in name] or list(logs)
    for name in names:
        value = np.asarray(logs[name])
        if value.size == 1 and value.dtype.kind in "fV" and not math.isfinite(float(value)):
            return name, float(value)
    return None


def _variables(model: Any) -> list[tf.Variable]:
    """Everything that a step may assign, as far as it is known."""
    found = [*model.variables, *model.metrics_variables]
    if model.optimizer is not None:
        found += model.optimizer.variables
    shared = global_state.get_global_attribute(GLOBAL_SEED_GENERATOR)
    if shared is not None:  # to ask for it would make one, and draw its seed
        found.append(shared.state)
    unique = {id(v): v for v in (variable.__gradtape_variable__ for variable in found)}
    unique.update({id(v): v for v in extend.random_states()})
    train = model.train_function
    if train is not None:  # what compiled steps have assigned that is not the model's
        unique.update({id(v): v for v in train.step.written_variables()})
    return list(unique.values())


class _NamedLayers(extend.Block):
    """A block in which the layers of a model say when they run."""

    def __init__(self, model: Any, regions: Any) -> None:
        self._layers = [layer for layer in model._flatten_layers() if layer is not model]
        self._regions = regions

    def enter(self) -> None:
        for layer in self._layers:
            _put(layer, self._regions)

    def leave(self) -> None:
        for layer in self._layers:
            layer.__dict__.pop("call", None)


def _put(layer: Any, regions: Any) -> None:
    call = layer.call

    @functools.wraps(call)
    def named(*args: Any, **kwargs: Any) -> Any:
        with regions.around(layer.path or layer.name):
            return call(*args, **kwargs)

    layer.__dict__["call"] = named  # not through `__setattr__`, which tracks what it is given
