"""`tf.data.experimental`: older and rarer spellings of what `tf.data` has."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.data.csv_tables import CsvDataset, make_csv_dataset
from gradtape.data.dataset import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from gradtape.data.optional import Optional
from gradtape.data.options import (
    AutoShardPolicy,
    AutotuneOptions,
    DistributeOptions,
    OptimizationOptions,
    ThreadingOptions,
)
from gradtape.data.spellings import (
    Counter,
    RandomDataset,
    assert_cardinality,
    bucket_by_sequence_length,
    cardinality,
    choose_from_datasets,
    dense_to_ragged_batch,
    enable_debug_mode,
    enumerate_dataset,
    from_list,
    get_next_as_optional,
    get_single_element,
    get_structure,
    group_by_window,
    ignore_errors,
    load,
    map_and_batch,
    parallel_interleave,
    prefetch_to_device,
    rejection_resample,
    sample_from_datasets,
    save,
    scan,
    shuffle_and_repeat,
    snapshot,
    take_while,
    unbatch,
    unique,
)
from gradtape.data.spellings import prefetch_to_device as copy_to_device
from gradtape.data.stages.mapping import AUTOTUNE

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "AutoShardPolicy", "AutotuneOptions",
    "Counter", "CsvDataset", "DistributeOptions", "OptimizationOptions", "Optional",
    "RandomDataset", "ThreadingOptions", "assert_cardinality", "bucket_by_sequence_length",
    "cardinality", "choose_from_datasets", "copy_to_device", "dense_to_ragged_batch",
    "enable_debug_mode", "enumerate_dataset", "from_list", "get_next_as_optional",
    "get_single_element", "get_structure", "group_by_window", "ignore_errors", "load",
    "make_csv_dataset", "map_and_batch", "parallel_interleave", "prefetch_to_device",
    "rejection_resample", "sample_from_datasets", "save", "scan", "shuffle_and_repeat", "snapshot",
    "take_while", "unbatch", "unique",
]  # fmt: skip
