"""`tensorflow.python`: modules that are private to TensorFlow, and that programs import all the
same.

A row says where what such a module has is public: the namespaces of gradtape that are searched, `.`
for gradtape itself, and single names, there and here. Only public names are found; what else such
a module has is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from gradtape.compat.respelled import here

ROOT = "tensorflow.python"

_ROWS = """
client.device_lib: list_local_devices=compat.local_devices.list_local_devices
client.session: compat.v1
data: data
data.ops.dataset_ops: data DatasetV2=data.Dataset DatasetV1=data.Dataset
distribute.distribute_lib: distribute
eager.backprop: . GradientTape=GradientTape
data.ops.iterator_ops: OwnedIterator=data.Iterator IteratorBase=data.Iterator
eager.context: . config context=compat.internals.context
    eager_mode=compat.internals.eager_mode graph_mode=compat.internals.graph_mode
eager.def_function: .
eager.forwardprop: autodiff
eager.function: . types.experimental
eager.polymorphic_function.polymorphic_function: .
framework.constant_op: .
framework.composite_tensor: CompositeTensor=__internal__.CompositeTensor
framework.config: config config.experimental
framework.device: compat.v1
framework.dtypes: dtypes .
framework.errors: errors
framework.errors_impl: errors
framework.function: .
framework.indexed_slices: .
framework.ops: . compat.v1 EagerTensor=Tensor NotDifferentiable=no_gradient
framework.random_seed: random set_random_seed=random.set_seed
framework.smart_cond: smart_cond=cond smart_constant_value=get_static_value
framework.sparse_tensor: .
framework.tensor: .
framework.tensor_shape: . as_shape=TensorShape dimension_value=compat.dimension_value
framework.tensor_spec: . DenseSpec=TensorSpec
framework.tensor_conversion: . convert_to_tensor_v2=convert_to_tensor
    convert_to_tensor_v2_with_dispatch=convert_to_tensor
framework.tensor_util: . constant_value=get_static_value is_tf_type=is_tensor
    constant_value_as_shape=compat.internals.constant_value_as_shape
    try_evaluate_constant=compat.internals.try_evaluate_constant
framework.type_spec: . BatchableTypeSpec=__internal__.BatchableTypeSpec
framework.type_spec_registry: register=compat.internals.register_type_spec
    get_name=compat.internals.type_spec_name lookup=compat.internals.type_spec_by_name
    _NAME_TO_TYPE_SPEC=compat.internals.SPECS_BY_NAME
    _TYPE_SPEC_TO_NAME=compat.internals.NAMES_OF_SPECS
framework.versions: version
keras: keras
lib.io.file_io: io.gfile io
lib.io.tf_record: io
module.module: .
ops.array_ops: . nn linalg compat.v1 prevent_gradient=compat.internals.prevent_gradient
ops.array_ops_stack: .
ops.bitwise_ops: bitwise
ops.check_ops: debugging .
ops.clip_ops: . linalg
ops.cond: .
ops.control_flow_assert: .
ops.control_flow_case: . _case_helper=compat.internals.case_helper
ops.control_flow_ops: .
ops.control_flow_util: GraphOrParentsInXlaContext=compat.internals.in_xla_context
ops.custom_gradient: .
ops.data_flow_ops: .
ops.embedding_ops: nn
ops.functional_ops: .
ops.gen_array_ops: . compat.v1
ops.gen_math_ops: math . compat.v1 mat_mul=matmul
ops.gen_nn_ops: nn
ops.gradient_checker_v2: test
ops.gradients: .
ops.gradients_impl: . gradients_v2=gradients
ops.gradients_util: .
ops.image_ops: image
ops.image_ops_impl: image
ops.init_ops: . compat.v1
ops.init_ops_v2: . random initializers
ops.inplace_ops: .
ops.linalg.linalg: linalg
ops.linalg.linalg_impl: linalg
ops.linalg.linear_operator: linalg make_composite_tensor=compat.decorators.as_it_is
ops.linalg.linear_operator_addition: add_operators=compat.linear_operators.add_operators
ops.linalg.linear_operator_adjoint: linalg
ops.linalg.linear_operator_block_diag: linalg
ops.linalg.linear_operator_block_lower_triangular: linalg
ops.linalg.linear_operator_circulant: linalg
ops.linalg.linear_operator_composition: linalg
ops.linalg.linear_operator_diag: linalg
ops.linalg.linear_operator_full_matrix: linalg
ops.linalg.linear_operator_householder: linalg
ops.linalg.linear_operator_identity: linalg
ops.linalg.linear_operator_inversion: linalg
ops.linalg.linear_operator_kronecker: linalg
ops.linalg.linear_operator_low_rank_update: linalg
ops.linalg.linear_operator_lower_triangular: linalg
ops.linalg.linear_operator_permutation: linalg
ops.linalg.linear_operator_toeplitz: linalg
ops.linalg.linear_operator_tridiag: linalg
ops.linalg.linear_operator_zeros: linalg
ops.linalg_ops: linalg . compat.v1
ops.logging_ops: . print_v2=print
ops.lookup_ops: lookup
ops.losses.losses: compat.v1.losses
ops.manip_ops: .
ops.map_fn: .
ops.math_ops: math . linalg compat.v1
ops.nn: nn
ops.nn_impl: nn
ops.nn_ops: nn
ops.numpy_ops: experimental.numpy
ops.numpy_ops.np_config: numpy enable_numpy_behavior=numpy.experimental_enable_numpy_behavior
ops.parallel_for: . pfor=vectorized_map
ops.parallel_for.control_flow_ops: .
ops.parsing_ops: io
ops.ragged.ragged_tensor: .
ops.random_ops: random compat.v1
ops.resource_variable_ops: . ResourceVariable=Variable BaseResourceVariable=Variable
    VariableSpec=compat.internals.VariableSpec
ops.script_ops: . compat.v1
ops.signal: signal
ops.sparse_ops: sparse compat.v1
ops.special_math_ops: math.special math .
ops.standard_ops: .
ops.state_ops: compat.v1
ops.stateless_random_ops: random
ops.string_ops: strings
ops.summary_ops_v2: summary
ops.tensor_array_ops: .
ops.variable_v1: VariableV1=Variable
ops.variables: .
ops.while_loop: .
platform.app: compat.v1.app
platform.build_info: sysconfig build_info=sysconfig
platform.flags: compat.v1.flags
platform.gfile: compat.v1.gfile
platform.test: test
platform.tf_logging: compat.v1.logging
profiler.profiler_v2: profiler.experimental
summary.summary: summary
trackable.autotrackable: AutoTrackable=Module
trackable.base: Trackable=Module
trackable.data_structures: NoDependency=identity
    sticky_attribute_assignment=compat.internals.sticky_attribute_assignment
trackable.resource: .
training.adagrad: compat.v1.train
training.adam: compat.v1.train
training.checkpoint_management: train
training.checkpoint_utils: train
training.gradient_descent: compat.v1.train
training.learning_rate_decay: compat.v1.train
training.momentum: compat.v1.train
training.moving_averages: train
training.optimizer: compat.v1.train
training.py_checkpoint_reader: compat.v1.train
training.rmsprop: compat.v1.train
training.saver: train compat.v1.train
training.tracking.base: Trackable=Module
training.tracking.data_structures: NoDependency=identity
training.tracking.tracking: AutoTrackable=Module
training.tracking.util: train
training.training: train compat.v1.train
training.training_util: compat.v1.train
util.compat: compat
util.deprecation: deprecated=compat.decorators.deprecated
    deprecated_args=compat.decorators.deprecated
    deprecated_arg_values=compat.decorators.deprecated
    deprecated_alias=compat.decorators.deprecated_alias silence=compat.internals.silence
util.dispatch: add_dispatch_support=compat.decorators.as_it_is
util.nest: compat.shallow_nest nest
util.object_identity: Reference=compat.internals.Reference
util.tf_decorator: make_decorator=compat.decorators.make_decorator
util.tf_export: tf_export=compat.decorators.exported keras_export=compat.decorators.exported
    get_canonical_name_for_symbol=compat.internals.name_of_symbol
util.tf_inspect: compat.decorators
util.variable_utils:
    convert_variables_to_tensors=compat.internals.convert_variables_to_tensors
"""


_OF_COMPAT = ("compat.decorators", "compat.shallow_nest")
"""Namespaces of the table that are modules beside this one."""


class Row(NamedTuple):
    """Where the names of a private module are: namespaces, and single names."""

    namespaces: list[str]
    names: dict[str, str]


@cache
def rows() -> dict[str, Row]:
    """The rows by module, relative to `tensorflow.python`."""
    found = {}
    for line in _ROWS.strip().replace("\n ", " ").split("\n"):
        module, _, text = line.partition(":")
        words = text.split()
        names = dict(word.split("=", 1) for word in words if "=" in word)
        found[module] = Row([word for word in words if "=" not in word], names)
    return found


@cache
def _modules() -> frozenset[str]:
    """The modules of the table, and those above them."""
    parts = [module.split(".") for module in rows()]
    return frozenset(".".join(of[:end]) for of in parts for end in range(1, len(of) + 1))


def is_private_module(name: str) -> bool:
    """Whether the table has a module, or something below it."""
    return name == ROOT or name.removeprefix(f"{ROOT}.") in _modules()


def finds(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a private module."""
    own = module.removeprefix(ROOT).removeprefix(".")
    row = rows().get(own, Row([], {}))

    def find(name: str) -> Any:
        below = f"{module}.{name}"
        if not name.startswith("__"):
            if name in row.names:
                return _named(row.names[name])
            for namespace in row.namespaces:
                found = _member(namespace, name)
                if found is not None:
                    return found
            if is_private_module(below):
                return import_module(below)
        raise AttributeError(
            f"gradtape has no {below}: tensorflow.python is private to TensorFlow, and this has no "
            "public name here: use a public function of tf instead."
        )

    return find


def _member(namespace: str, name: str) -> Any:
    """A public name of a namespace; None if it has none, or is not there itself."""
    try:
        if namespace in _OF_COMPAT:
            import_module(f"gradtape.{namespace}")
        return here(name if namespace == "." else f"{namespace}.{name}")
    except AttributeError:
        return None


def _named(full: str) -> Any:
    """What a row names: something public, or of a module of `gradtape.compat`."""
    namespace, _, name = full.rpartition(".")
    if namespace.startswith("compat."):
        return getattr(import_module(f"gradtape.{namespace}"), name)
    return here(full)


def fill(module: ModuleType) -> None:
    """Gives a private module its names."""
    vars(module)["__getattr__"] = finds(module.__name__)
