"""The methods of `Dataset` that make one: of tensors, generators, files and other datasets."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.api.tensorflow.arguments import DTypeLike, as_int
from gradtape.core.type_spec import TypeSpec
from gradtape.data.holder import Holder, dataset_of, stage_of
from gradtape.data.stage import seed_of
from gradtape.data.stages import (
    combining,
    files,
    generators,
    memory,
    of_grain,
    ragged_batching,
    shuffling,
    storing,
)
from gradtape.errors import invalid_argument
from gradtape.shapes import TensorShape, TensorSpec

if TYPE_CHECKING:
    from gradtape.data.dataset import Dataset


class Makers(Holder):
    """How datasets are made."""

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """The rows of tensors, side by side in their structure.

        Lists become tensors; tuples and dicts are structures.

        >>> import gradtape as tf
        >>> rows = tf.data.Dataset.from_tensor_slices({"x": [[1, 2], [3, 4]], "y": ["a", "b"]})
        >>> next(rows.as_numpy_iterator())
        {'x': array([1, 2], dtype=int32), 'y': b'a'}
        """
        composites = ragged_batching.has_composites(tensors)
        kind = ragged_batching.RaggedSlices if composites else memory.Slices
        return dataset_of(kind(tensors))

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element: the tensors themselves.

        >>> import gradtape as tf
        >>> len(tf.data.Dataset.from_tensors([1, 2, 3]))
        1
        """
        return dataset_of(memory.One(tensors))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """What a generator function yields; it is called anew for each pass.

        Each element must fit `output_signature`, a structure of `tf.TensorSpec`s, or the older
        `output_types` and `output_shapes`.

        >>> import gradtape as tf
        >>> def squares():
        ...     for i in range(3):
        ...         yield i * i
        >>> numbers = tf.data.Dataset.from_generator(
        ...     squares, output_signature=tf.TensorSpec([], tf.int32)
        ... )
        >>> [int(n) for n in numbers]
        [0, 1, 4]
        """
        if not callable(generator):
            raise TypeError(
                "from_generator: generator must be a function that gives an iterator, got "
                f"{type(generator).__name__}: write `lambda: ...` around it."
            )
        spec = _signature(output_signature, output_types, output_shapes)
        return dataset_of(generators.Generated(generator, tuple(args or ()), spec))

    @staticmethod
    def from_grain(source: Any, output_signature: Any = None, name: str | None = None) -> Dataset:
        """The elements of a dataset of Grain's: a MapDataset, an IterDataset, a DataLoader or a
        source of records, which has `len` and indices.

        Elements that a MapDataset has filtered out are left out. Their specs are those of the
        first elements, unless `output_signature` is given.

        >>> import gradtape as tf
        >>> records = [{"x": 1.5, "y": 1}, {"x": 2.5, "y": 0}]
        >>> dataset = tf.data.Dataset.from_grain(records)
        >>> [(float(e["x"]), int(e["y"])) for e in dataset]
        [(1.5, 1), (2.5, 0)]
        """
        return dataset_of(of_grain.stage_of_grain(source, output_signature))

    @staticmethod
    def range(
        *args: Any, output_type: DTypeLike = dtypes.int64, name: str | None = None
    ) -> Dataset:
        """Numbers, as Python's `range` gives them.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.range(5, 1, -2)]
        [5, 3]
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"range: 1 to 3 arguments must be given, got {len(args)}.")
        numbers = [as_int(arg, "range: an argument") for arg in args]
        start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
        step = numbers[2] if len(numbers) == 3 else 1
        if step == 0:
            raise invalid_argument("range: the step must not be 0.")
        return dataset_of(memory.Range(start, stop, step, dtypes.as_dtype(output_type).numpy))

    @staticmethod
    def counter(
        start: Any = 0, step: Any = 1, dtype: DTypeLike = dtypes.int64, name: str | None = None
    ) -> Dataset:
        """Numbers in equal steps, without end.

        >>> import gradtape as tf
        >>> [int(n) for n in tf.data.Dataset.counter(start=2, step=5).take(3)]
        [2, 7, 12]
        """
        first, more = as_int(start, "counter: start"), as_int(step, "counter: step")
        return dataset_of(memory.Range(first, None, more, dtypes.as_dtype(dtype).numpy))

    @staticmethod
    def random(
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Random integers from 0 to 2**32 - 1, without end.

        Each pass has the same ones, unless `rerandomize_each_iteration` is True.

        >>> import gradtape as tf
        >>> numbers = tf.data.Dataset.random(seed=4).take(3)
        >>> list(numbers.as_numpy_iterator()) == list(numbers.as_numpy_iterator())
        True
        """
        words = seed_of(seed, "random: seed")
        return dataset_of(
            memory.RandomNumbers(seed=words, changes=bool(rerandomize_each_iteration))
        )

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The names of the files that match a pattern, or several, such as `"data/*.csv"`.

        They are in random order, unless `shuffle` is False.

        >>> import gradtape as tf, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> for letter in "ab":
        ...     _ = (folder / f"{letter}.txt").write_text(letter)
        >>> found = tf.data.Dataset.list_files(str(folder / "*.txt"), shuffle=False)
        >>> [pathlib.Path(name.decode()).name for name in found.as_numpy_iterator()]
        ['a.txt', 'b.txt']
        """
        names = files.matching(file_pattern)
        found: Any = memory.Slices(np.array(names, object))
        if shuffle is None or shuffle:
            words = seed_of(seed, "list_files: seed")
            found = shuffling.Shuffle(found, None, seed=words, changes=True)
        return dataset_of(found)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Datasets side by side, in their structure, as long as the shortest.

        >>> import gradtape as tf
        >>> numbers = tf.data.Dataset.range(1, 4)
        >>> [(int(a), int(b)) for a, b in tf.data.Dataset.zip(numbers, numbers.skip(1))]
        [(1, 2), (2, 3)]
        """
        if not args and datasets is None:
            raise TypeError("zip: at least one dataset must be given.")
        if args and datasets is not None:
            raise TypeError("zip: datasets are given as arguments or as `datasets`, not both.")
        if len(args) == 1:
            datasets = args[0]
        elif args:
            datasets = args
        if isinstance(datasets, list):
            raise TypeError("zip: datasets must be in a tuple or a dict, got a list.")
        return dataset_of(
            combining.Zip(nest.map_structure(lambda ds: stage_of(ds, "zip: a dataset"), datasets))
        )

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """The next element of the dataset whose number `choice_dataset` gives, again and again.

        >>> import gradtape as tf
        >>> repeated = [tf.data.Dataset.from_tensors(x).repeat() for x in (10, 20)]
        >>> choices = tf.data.Dataset.from_tensor_slices([0, 1, 1]).map(
        ...     lambda n: tf.cast(n, tf.int64)
        ... )
        >>> [int(x) for x in tf.data.Dataset.choose_from_datasets(repeated, choices)]
        [10, 20, 20]
        """
        stages = _stages(datasets, "choose_from_datasets")
        choices = stage_of(choice_dataset, "choose_from_datasets: choice_dataset")
        if choices.spec != TensorSpec([], dtypes.int64):
            raise TypeError(
                "choose_from_datasets: choice_dataset must have scalars of dtype int64, got "
                f"{choices.spec}."
            )
        return dataset_of(combining.Chosen(stages, choices, stop_on_empty=stop_on_empty_dataset))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Any],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """The next element of a dataset drawn at random, again and again.

        `weights` are their probabilities, which are equal if they are not given.

        >>> import gradtape as tf
        >>> zeros, ones = (tf.data.Dataset.from_tensors(x).repeat() for x in (0, 1))
        >>> mixed = tf.data.Dataset.sample_from_datasets([zeros, ones], weights=[0.0, 1.0])
        >>> [int(x) for x in mixed.take(3)]
        [1, 1, 1]
        """
        stages = _stages(datasets, "sample_from_datasets")
        if isinstance(weights, Holder):
            raise NotImplementedError(
                "sample_from_datasets: weights that are a dataset are not available: give a list."
            )
        shares = np.ones(len(stages)) if weights is None else np.asarray(weights, np.float64)
        if shares.shape != (len(stages),) or (shares < 0).any() or not shares.any():
            raise ValueError(
                f"sample_from_datasets: weights must be {len(stages)} numbers of at least 0, not "
                f"all 0, got {weights!r}."
            )
        kept = [stage for stage, share in builtins.zip(stages, shares, strict=True) if share]
        choices = combining.RandomChoices(
            shares[shares > 0],
            seed=seed_of(seed, "sample_from_datasets: seed"),
            changes=bool(rerandomize_each_iteration),
        )
        return dataset_of(combining.Chosen(kept, choices, stop_on_empty=stop_on_empty_dataset))

    @staticmethod
    def load(
        path: Any,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Any = None,
        wait: bool = False,
    ) -> Dataset:
        """What `save` has written.

        >>> import gradtape as tf, tempfile
        >>> folder = tempfile.mkdtemp() + "/numbers"
        >>> tf.data.Dataset.range(3).save(folder)
        >>> [int(n) for n in tf.data.Dataset.load(folder)]
        [0, 1, 2]
        """
        if reader_func is not None:
            raise NotImplementedError("load: reader_func is not available: use interleave.")
        return dataset_of(storing.Loaded(path, element_spec))


def _stages(datasets: Any, function: str) -> list[Any]:
    stages = [stage_of(dataset, f"{function}: datasets") for dataset in datasets]
    if not stages:
        raise ValueError(f"{function}: at least one dataset must be given.")
    return stages


def _signature(signature: Any, types: Any, shapes: Any) -> Any:
    """The specs that a generator's elements must fit."""
    if signature is not None:
        if types is not None or shapes is not None:
            raise TypeError(
                "from_generator: output_types and output_shapes must not be given together with "
                "output_signature."
            )
        for spec in nest.flatten(signature):
            if not isinstance(spec, TypeSpec):
                raise TypeError(
                    "from_generator: output_signature must hold specs such as tf.TensorSpec, got "
                    f"{spec!r}."
                )
        return signature
    if types is None:
        raise TypeError("from_generator: output_signature must be given.")
    flat = nest.flatten(types)
    found = [None] * len(flat) if shapes is None else _shapes(shapes, types)
    specs = [TensorSpec(shape, dtype) for shape, dtype in builtins.zip(found, flat, strict=True)]
    return nest.pack_sequence_as(types, specs) if nest.is_nested(types) else specs[0]


def _shapes(shapes: Any, types: Any) -> list[Any]:
    """Shapes in the structure of dtypes: a list of sizes is a shape there."""
    if not nest.is_nested(types):
        return [TensorShape(shapes)]
    if isinstance(types, dict):
        return [leaf for key in sorted(types) for leaf in _shapes(shapes[key], types[key])]
    if not isinstance(shapes, (tuple, list)) or len(shapes) != len(types):
        raise ValueError(
            f"from_generator: output_shapes must have the structure of output_types, got {shapes}."
        )
    parts = builtins.zip(shapes, types, strict=True)
    return [leaf for shape, dtype in parts for leaf in _shapes(shape, dtype)]
