"""TensorFlow's `GradientTape` without TensorFlow: `import gradtape as tf`."""

from gradtape import autodiff, dtypes, errors, nest
from gradtape.core.device import device
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.module import Module
from gradtape.core.tape import GradientTape, UnconnectedGradients
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable, VariableAggregation, VariableSynchronization
from gradtape.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from gradtape.dtypes import bool_ as bool
from gradtape.function.control_flow import case, cond, foldl, foldr, map_fn, scan, switch_case, while_loop
from gradtape.ops import operators as _operators
from gradtape.shapes import TensorShape, TensorSpec
from gradtape.transforms import jacobian as _jacobian
from gradtape.transforms.custom_gradient import custom_gradient, grad_pass_through
from gradtape.transforms.graph_gradients import RegisterGradient, gradients, hessians, no_gradient
from gradtape.transforms.recompute import recompute_grad

newaxis = None

from gradtape.api.elementwise import abs, add, exp
