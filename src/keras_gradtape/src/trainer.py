"""`Trainer`: how Keras models are trained, evaluated and used for prediction on this backend.

A step is plain code with a tape. It runs compiled, as a `gradtape.function` traced at its first
batch, or, with `run_eagerly=True` or `jit_compile=False`, as eager code on NumPy. Variables created
while it is traced get their values at once, outside the program.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree
from keras.src import callbacks as callbacks_module
from keras.src import optimizers, tree
from keras.src.backend import config
from keras.src.distribution.distribution_lib import distribution
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.trainers.epoch_iterator import EpochIterator
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import is_default, pythonify_logs

import gradtape as tf
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.distribution_lib import distribute_data_input, whole_batches
from keras_gradtape.src.iterables import batches_of_dataset, is_dataset, known_to_keras
from keras_gradtape.src.ops.core import convert_to_numpy

Step = Callable[[Any], Any]
Logs = dict[str, Any]


class Trainer(base_trainer.Trainer):
    """What a model inherits: its steps, the functions that run them,
    and the loops over batches and epochs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.train_function: Callable[[Sequence[Any]], Any] | None = None
        self.test_function: Callable[[Sequence[Any]], Any] | None = None
        self.predict_function: Callable[[Sequence[Any]], Any] | None = None
        # What `fit` is training on, for callbacks that are told about batches.
        self.batches_now: Sequence[Any] = ()

    # One batch

    def train_step(self, data: Any) -> Logs:
        """One step of the optimizer on a batch; a subclass may write its own, with a tape."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred = self._predicted(x, training=True)
            loss = self._compute_loss(
                x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True
            )
            target = loss if self.optimizer is None else self.optimizer.scale_loss(loss)
        self._loss_tracker.update_state(loss, sample_weight=_batch_size(x))
        weights = self.trainable_weights
        if weights:
            self.optimizer.apply(tape.gradient(target, weights), weights)
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data: Any) -> Logs:
        """The loss and the metrics of a batch."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self._predicted(x, training=False)
        loss = self._compute_loss(
            x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False
        )
        self._loss_tracker.update_state(loss, sample_weight=_batch_size(x))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data: Any) -> Any:
        """The model's results for a batch."""
        return self._predicted(data_adapter_utils.unpack_x_y_sample_weight(data)[0], training=False)

    def _predicted(self, x: Any, *, training: bool) -> Any:
        return self(x, training=training) if self._call_has_training_arg else self(x)

    # The functions that run steps: each takes a list of batches, of which there are
    # `steps_per_execution`

    def make_train_function(self, force: bool = False) -> Callable[[Sequence[Any]], Any]:
        """The function that `fit` calls; made anew if `force` says so."""
        if self.train_function is None or force:
            self.train_function = _LastOf(self._compiled(self.train_step))
        return self.train_function

    def make_test_function(self, force: bool = False) -> Callable[[Sequence[Any]], Any]:
        """The function that `evaluate` calls."""
        if self.test_function is None or force:
            self.test_function = _LastOf(self._compiled(self.test_step))
        return self.test_function

    def make_predict_function(self, force: bool = False) -> Callable[[Sequence[Any]], Any]:
        """The function that `predict` calls."""
        if self.predict_function is None or force:
            self.predict_function = _all_of(self._compiled(self.predict_step))
        return self.predict_function

    def _compiled(self, step: Step) -> _Eager | _Compiled:
        """A step as it is to be run on batches of arrays."""
        return (_Compiled if self.jit_compile and not self.run_eagerly else _Eager)(step)

    # Many batches

    @traceback_utils.filter_traceback
    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
    ) -> Any:
        """Trains the model for some epochs; Keras's own documentation of `Model.fit` says what the
        arguments mean.
        """
        self._assert_compile_called("fit")
        most = config.max_epochs()
        if most and most < epochs:
            warnings.warn(f"Limiting epochs to {most}", stacklevel=2)
            epochs = most
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split
            )
        batches = self._batches(
            x,
            y,
            sample_weight,
            batch_size,
            steps_per_epoch,
            shuffle=shuffle,
            class_weight=class_weight,
        )
        callbacks = self._callbacks(callbacks, batches, verbose, epochs=epochs, add_history=True)
        validation = _Validation(
            self,
            validation_data,
            validation_batch_size or batch_size,
            validation_steps,
            validation_freq,
        )
        self.stop_training = False
        run, told = self.make_train_function(), _wants_batches(callbacks, "train")
        callbacks.on_train_begin()
        epoch_logs: Logs = {}
        for epoch in range(self._initial_epoch or initial_epoch, epochs):
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            logs: Logs = {}
            for first, last, data in batches:
                if told:
                    # Not as Keras sets it, which would put its own containers in the batch.
                    object.__setattr__(self, "batches_now", data)
                    callbacks.on_train_batch_begin(first)
                logs = run(data)
                if told:
                    callbacks.on_train_batch_end(last, logs)
                if self.stop_training:
                    break
            epoch_logs = self._results(logs)
            epoch_logs.update(validation.after(epoch, callbacks))
            callbacks.on_epoch_end(epoch, epoch_logs)
            if self.stop_training:
                break
        if isinstance(self.optimizer, optimizers.Optimizer) and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        object.__setattr__(self, "batches_now", ())
        callbacks.on_train_end(logs=epoch_logs)
        return self.history

    @traceback_utils.filter_traceback
    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> Any:
        """The loss and the metrics over many batches."""
        self._assert_compile_called("evaluate")
        batches = kwargs.pop("_batches", None)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        if batches is None:
            batches = self._batches(x, y, sample_weight, batch_size, steps)
        else:
            batches.reset()
        callbacks = self._callbacks(callbacks, batches, verbose)
        run, told = self.make_test_function(), _wants_batches(callbacks, "test")
        self.stop_evaluating = False
        callbacks.on_test_begin()
        self.reset_metrics()
        logs: Logs = {}
        for first, last, data in batches:
            if told:
                callbacks.on_test_batch_begin(first)
            logs = run(data)
            if told:
                callbacks.on_test_batch_end(last, logs)
            if self.stop_evaluating:
                break
        logs = pythonify_logs(self._results(logs))
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Any:
        """The model's results for many batches, as NumPy arrays."""
        batches = self._batches(x, None, None, batch_size, steps)
        callbacks = self._callbacks(callbacks, batches, verbose)
        run = self.make_predict_function()
        self.stop_predicting = False
        callbacks.on_predict_begin()
        found = []
        for first, last, data in batches:
            callbacks.on_predict_batch_begin(first)
            outputs = run(data)
            found.append(tree.map_structure(convert_to_numpy, outputs))
            callbacks.on_predict_batch_end(last, {"outputs": outputs})
            if self.stop_predicting:
                break
        callbacks.on_predict_end()
        if not found:
            raise ValueError("predict: the data has no batches.")
        return _joined(found, np.concatenate)

    def _results(self, logs: Logs) -> Logs:
        """The metrics after some batches: none, as on TensorFlow, if there was never a batch."""
        metrics = self._compile_metrics
        if not logs and metrics is not None and not metrics.built:
            return {}
        return dict(self._get_metrics_result_or_logs(logs))

    def _batches(
        self,
        x: Any,
        y: Any,
        sample_weight: Any,
        batch_size: int | None,
        steps: int | None,
        *,
        shuffle: bool = False,
        class_weight: Any = None,
    ) -> EpochIterator:
        if is_dataset(x):
            x = batches_of_dataset(x, y, sample_weight, class_weight)
        elif y is None and class_weight is None:
            x = known_to_keras(x)
        with whole_batches():
            return EpochIterator(
                x=x,
                y=y,
                sample_weight=sample_weight,
                batch_size=batch_size,
                steps_per_epoch=steps,
                shuffle=shuffle,
                class_weight=class_weight,
                steps_per_execution=self.steps_per_execution,
            )

    def _callbacks(
        self,
        given: Any,
        batches: EpochIterator,
        verbose: Any,
        *,
        epochs: int = 1,
        add_history: bool = False,
    ) -> Any:
        if isinstance(given, callbacks_module.CallbackList):
            return given
        return callbacks_module.CallbackList(
            given,
            add_history=add_history,
            add_progbar=verbose != 0,
            verbose=verbose,
            epochs=epochs,
            steps=batches.num_batches,
            model=self,
        )

    # One batch from outside

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """One training step on the given batch: its loss and metrics."""
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "train_on_batch: sample_weight and class_weight cannot be given at the same "
                    "time; got "
                    f"sample_weight={sample_weight}, class_weight={class_weight}."
                )
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        return self._logs_of(
            self.make_train_function(), (x, y, sample_weight), return_dict=return_dict
        )

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> Any:
        """The loss and metrics of the given batch."""
        self._assert_compile_called("test_on_batch")
        return self._logs_of(
            self.make_test_function(), (x, y, sample_weight), return_dict=return_dict
        )

    def predict_on_batch(self, x: Any) -> Any:
        """The model's results for the given batch, as NumPy arrays."""
        return tree.map_structure(convert_to_numpy, self.make_predict_function()([(x,)]))

    def _logs_of(
        self, run: Callable[[Sequence[Any]], Any], batch: Any, *, return_dict: bool
    ) -> Any:
        self.reset_metrics()
        logs = pythonify_logs(run([batch]))
        return logs if return_dict else self._flatten_metrics_in_order(logs)


def _wants_batches(callbacks: Any, kind: str) -> bool:
    """Whether a callback has something to do before or after each batch: calling those for nothing
    takes as long as a small step.
    """
    if type(callbacks) is not callbacks_module.CallbackList:
        return True
    hooks = [f"on_{kind}_batch_begin", f"on_{kind}_batch_end", "on_batch_begin", "on_batch_end"]
    return any(
        not is_default(getattr(callback, hook))
        for callback in callbacks.callbacks
        for hook in hooks
    )


class _Eager:
    """A step as it stands, on tensors made of a batch's arrays."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def written_variables(self) -> list[tf.Variable]:
        """None are known."""
        return []

    def __call__(self, batch: Any) -> Any:
        leaves, structure = flat(batch)
        return self._step(optree.tree_unflatten(structure, leaves))


class _Compiled:
    """A step as a compiled function, one for each structure of a batch:
    a function of flat tensors needs no conversion.
    """

    def __init__(self, step: Step) -> None:
        self._step = step
        self._functions: dict[Any, Any] = {}

    def __call__(self, batch: Any) -> Any:
        leaves, structure = flat(batch)
        function = self._functions.get(structure)
        if function is None:
            function = self._functions[structure] = self._of(structure)
        return function(*leaves)

    def written_variables(self) -> list[tf.Variable]:
        """The Variables that the steps so far have written, in the model or not."""
        return [v for function in self._functions.values() for v in function.written_variables()]

    def _of(self, structure: Any) -> Any:
        return tf.function(
            lambda *leaves: self._step(optree.tree_unflatten(structure, leaves)), autograph=False
        )


class _Validation:
    """The evaluation at the end of an epoch, on batches that are set up once,
    when it is first due.
    """

    def __init__(
        self, model: Trainer, data: Any, batch_size: int | None, steps: int | None, freq: Any
    ) -> None:
        self._model = model
        self._data = data
        self._how = batch_size, steps
        self._freq = freq
        self._batches: EpochIterator | None = None

    def after(self, epoch: int, callbacks: Any) -> Logs:
        """What it gives after an epoch, each name with `val_` before it;
        nothing if it is not due.
        """
        if self._data is None or not self._model._should_eval(epoch, self._freq):
            return {}
        if self._batches is None:
            x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(self._data)
            self._batches = self._model._batches(x, y, sample_weight, *self._how)
        logs = self._model.evaluate(callbacks=callbacks, return_dict=True, _batches=self._batches)
        return {f"val_{name}": value for name, value in logs.items()}


def _batch_size(x: Any) -> int:
    return next(leaf for leaf in tree.flatten(x) if leaf is not None).shape[0]


def flat(batch: Any) -> tuple[list[tf.Tensor], Any]:
    """The arrays of a batch as tensors, spread over devices if Keras has been given a distribution,
    and their structure.
    """
    leaves, structure = optree.tree_flatten(batch, none_is_leaf=False, namespace="keras")
    tensors = [_tensor(leaf) for leaf in leaves]
    chosen = distribution()
    if chosen is not None:
        spread = chosen.get_data_layout, chosen.batch_dim_name
        tensors = [
            distribute_data_input(tensor, spread[0](tensor.shape), spread[1]) for tensor in tensors
        ]
    return tensors, structure


def _tensor(leaf: Any) -> tf.Tensor:
    """An array of a batch as a tensor of its own; those of the dtypes that most batches have are
    taken without conversion.
    """
    kind = _USUAL.get(leaf.dtype.type) if type(leaf) is np.ndarray and leaf.ndim else None
    return convert_to_tensor(leaf) if kind is None else tf.Tensor(leaf.astype(kind))


_USUAL = {np.float32: np.float32, np.int32: np.int32, np.int64: np.int32, np.uint8: np.uint8}


class _LastOf:
    """A function of batches that gives what the step gives for the last one."""

    def __init__(self, step: _Eager | _Compiled) -> None:
        self.step = step

    def __call__(self, batches: Sequence[Any]) -> Any:
        return [self.step(batch) for batch in batches][-1]


def _all_of(step: Step) -> Callable[[Sequence[Any]], Any]:
    """A function of batches that gives what the step gives for all, one after the other."""

    def run(batches: Sequence[Any]) -> Any:
        return _joined([step(batch) for batch in batches], lambda parts: tf.concat(parts, axis=0))

    return run


def _joined(results: Sequence[Any], join: Callable[[list[Any]], Any]) -> Any:
    """Results of the same structure as one."""
    if len(results) == 1:
        return results[0]
    return tree.map_structure(lambda *parts: join(list(parts)), *results)
