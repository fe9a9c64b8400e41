"""`tf.raw_ops`: operations under TensorFlow's own names, with keyword arguments only.

Those are there that are one function of gradtape with other names of its arguments; `_ROWS` says
which, in the form of `gradtape.compat.respelled`.
"""

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from gradtape.absent import found_below
from gradtape.compat.respelled import Row, respelled, rows_of

_ROWS = """
Abs=abs Acos=acos Acosh=acosh Asin=asin Asinh=asinh Atan=atan Atanh=atanh BesselI0=math.bessel_i0
    BesselI0e=math.bessel_i0e BesselI1=math.bessel_i1 BesselI1e=math.bessel_i1e
    BesselJ0=math.special.bessel_j0 BesselJ1=math.special.bessel_j1
    BesselK0=math.special.bessel_k0 BesselK0e=math.special.bessel_k0e
    BesselK1=math.special.bessel_k1 BesselK1e=math.special.bessel_k1e
    BesselY0=math.special.bessel_y0 BesselY1=math.special.bessel_y1 Ceil=math.ceil Cos=cos
    Cosh=cosh Dawsn=math.special.dawsn Digamma=math.digamma Erf=math.erf Erfc=math.erfc
    Erfinv=math.erfinv Exp=exp Expint=math.special.expint Expm1=math.expm1 Floor=floor
    FresnelCos=math.special.fresnel_cos FresnelSin=math.special.fresnel_sin Inv=math.reciprocal
    Invert=bitwise.invert InvertPermutation=math.invert_permutation IsFinite=math.is_finite
    IsInf=math.is_inf IsNan=math.is_nan Lgamma=math.lgamma Log=math.log Log1p=math.log1p
    LogicalNot=logical_not Ndtri=math.ndtri Neg=negative Reciprocal=math.reciprocal Rint=math.rint
    Round=round Rsqrt=math.rsqrt Sigmoid=sigmoid Sign=sign Sin=sin Sinh=sinh
    Spence=math.special.spence Sqrt=sqrt Square=square Tan=tan Tanh=tanh: x name
Add=add AddV2=add BitwiseAnd=bitwise.bitwise_and BitwiseOr=bitwise.bitwise_or
    BitwiseXor=bitwise.bitwise_xor DivNoNan=math.divide_no_nan FloorDiv=math.floordiv
    FloorMod=math.floormod Greater=greater GreaterEqual=greater_equal LeftShift=bitwise.left_shift
    Less=less LessEqual=less_equal LogicalAnd=logical_and LogicalOr=logical_or Maximum=maximum
    Minimum=minimum Mul=multiply MulNoNan=math.multiply_no_nan Pow=pow RealDiv=realdiv
    RightShift=bitwise.right_shift SquaredDifference=math.squared_difference Sub=subtract
    TruncateDiv=truncatediv TruncateMod=truncatemod Xdivy=math.xdivy Xlog1py=math.xlog1py
    Xlogy=math.xlogy: x y name
Cholesky=linalg.cholesky DiagPart=linalg.tensor_diag_part FFT=signal.fft
    GuaranteeConst=guarantee_const IFFT=signal.ifft Identity=identity IdentityN=identity_n
    MatrixDeterminant=linalg.det MatrixSquareRoot=matrix_square_root Rank=rank
    StopGradient=stop_gradient: input name
Elu=nn.elu Relu=nn.relu Relu6=nn.relu6 Selu=nn.selu Softplus=math.softplus Softsign=nn.softsign:
    features name
SegmentMax=math.segment_max SegmentMean=math.segment_mean SegmentMin=math.segment_min
    SegmentProd=math.segment_prod SegmentSum=math.segment_sum: data segment_ids name
TensorScatterAdd=tensor_scatter_nd_add TensorScatterMax=tensor_scatter_nd_max
    TensorScatterMin=tensor_scatter_nd_min TensorScatterSub=tensor_scatter_nd_sub: tensor indices
    updates bad_indices_policy name
UnsortedSegmentMax=math.unsorted_segment_max UnsortedSegmentMin=math.unsorted_segment_min
    UnsortedSegmentProd=math.unsorted_segment_prod UnsortedSegmentSum=math.unsorted_segment_sum:
    data segment_ids num_segments name
Cumprod=math.cumprod Cumsum=cumsum CumulativeLogsumexp=math.cumulative_logsumexp: x axis exclusive
    reverse name
Igamma=math.igamma Igammac=math.igammac Polygamma=math.polygamma: a x name
Shape=shape ShapeN=shape_n Size=size: input out_type name
ArgMax=argmax ArgMin=argmin: input dimension>axis output_type name
ConcatV2=concat Pack=stack: values axis name
DepthToSpace=nn.depth_to_space SpaceToDepth=nn.space_to_depth: input block_size data_format name
ExpandDims=expand_dims Squeeze=squeeze: input axis name
HSVToRGB=image.hsv_to_rgb RGBToHSV=image.rgb_to_hsv: images name
LogSoftmax=nn.log_softmax Softmax=nn.softmax: logits name
OnesLike=ones_like ZerosLike=zeros_like: x>input name
AddN=add_n: inputs name
Atan2=atan2: y x name
AvgPool=nn.avg_pool2d: value>input ksize strides padding data_format name
Betainc=math.betainc: a b x name
BiasAdd=nn.bias_add: value bias data_format name
Bitcast=bitcast: input type name
BroadcastTo=broadcast_to: input shape name
CheckNumerics=debugging.check_numerics: tensor message name
ClipByValue=clip_by_value: t clip_value_min clip_value_max name
Concat=concat: concat_dim>axis values name
Conj=math.conj: input>x name
Cross=linalg.cross: a b name
Diag=linalg.tensor_diag: diagonal name
DynamicPartition=dynamic_partition: data partitions num_partitions name
DynamicStitch=dynamic_stitch: indices data name
EnsureShape=ensure_shape: input>x shape name
ExtractVolumePatches=extract_volume_patches: input ksizes strides padding name
Fill=fill: dims value name
GatherNd=gather_nd: params indices bad_indices_policy name
GatherV2=gather: params indices axis batch_dims name
HistogramFixedWidth=histogram_fixed_width: values value_range nbins dtype name
InTopK=math.in_top_k: predictions targets k name
L2Loss=nn.l2_loss: t name
LRN=nn.local_response_normalization: input depth_radius bias alpha beta name
LeakyRelu=nn.leaky_relu: features alpha name
LinSpace=linspace: start stop num name
MatrixBandPart=linalg.band_part: input num_lower num_upper name
MatrixInverse=linalg.inv: input adjoint name
MatrixSolve=linalg.solve: matrix rhs adjoint name
MatrixTriangularSolve=linalg.triangular_solve: matrix rhs lower adjoint name
NoOp=no_op: name
NonMaxSuppression=image.non_max_suppression: boxes scores max_output_size iou_threshold name
OneHot=one_hot: indices depth on_value off_value axis name
Qr=linalg.qr: input full_matrices name
Range=range: start limit delta name
Reshape=reshape: tensor shape name
ReverseV2=reverse: tensor axis name
Roll=roll: input shift axis name
ScatterNd=scatter_nd: indices updates shape bad_indices_policy name
SobolSample=math.sobol_sample: dim num_results skip dtype name
SpaceToBatchND=space_to_batch_nd: input block_shape paddings name
Tile=tile: input multiples name
TopK=math.top_k: input k sorted name
TopKV2=math.top_k: input k sorted index_type name
UniqueWithCounts=unique_with_counts: x out_idx name
Unpack=unstack: value num axis name
UnravelIndex=unravel_index: indices dims name
Zeta=math.zeta: x q name
All=reduce_all Any=reduce_any EuclideanNorm=math.reduce_euclidean_norm Max=reduce_max
    Mean=reduce_mean Min=reduce_min Prod=reduce_prod Sum=reduce_sum: input>input_tensor axis
    keep_dims>keepdims name
AdjustContrastv2=image.adjust_contrast: images contrast_factor name>
AdjustHue=image.adjust_hue: images>image delta name
AdjustSaturation=image.adjust_saturation: images>image scale>saturation_factor name
Angle=math.angle Imag=math.imag Real=math.real: input Tout> name
BatchMatMul=matmul BatchMatMulV2=matmul: x>a y>b adj_x>adjoint_a adj_y>adjoint_b grad_x> grad_y>
    name
Cast=cast: x DstT>dtype Truncate> name
Complex=complex: real imag Tout> name
ComplexAbs=abs: x Tout> name
Conv2D=nn.conv2d: input filter>filters strides use_cudnn_on_gpu> padding explicit_paddings>
    data_format dilations name
CropAndResize=image.crop_and_resize: image boxes box_ind>box_indices crop_size method
    extrapolation_value name
DepthwiseConv2dNative=nn.depthwise_conv2d: input filter strides padding explicit_paddings>
    data_format dilations name
Equal=equal NotEqual=not_equal: x y incompatible_shape_error> name
IRFFT=signal.irfft: input>input_tensor fft_length Treal> name
RFFT=signal.rfft: input>input_tensor fft_length Tcomplex> name
MatMul=matmul: a b transpose_a transpose_b grad_a> grad_b> name
MaxPool=nn.max_pool2d: input ksize strides padding explicit_paddings> data_format name
MirrorPad=pad: input>tensor paddings mode name
Pad=pad PadV2=pad: input>tensor paddings constant_values name
RandomStandardNormal=random.normal RandomUniform=random.uniform
    TruncatedNormal=random.truncated_normal: shape dtype seed seed2> name
ReverseSequence=reverse_sequence: input seq_lengths seq_dim>seq_axis batch_dim>batch_axis name
SelectV2=where: condition t>x e>y name
Slice=slice: input>input_ begin size name
Split=split: axis value num_split>num_or_size_splits name
SplitV=split: value size_splits>num_or_size_splits axis num_split> name
StridedSlice=strided_slice: input>input_ begin end strides begin_mask end_mask ellipsis_mask
    new_axis_mask shrink_axis_mask name
Svd=linalg.svd: input>tensor compute_uv full_matrices name
TensorScatterUpdate=tensor_scatter_nd_update: tensor indices updates bad_indices_policy> name
Transpose=transpose: x>a perm name
Unique=unique: x out_idx name
Where=where: condition name
"""


@cache
def rows() -> dict[str, Row]:
    """The operations by name."""
    return rows_of(_ROWS)


if not TYPE_CHECKING:  # a type checker would take any name to be there

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return sorted(rows())
        if name not in rows():
            raise found_below("raw_ops", name)
        made = respelled(rows()[name], "tf.raw_ops.", by_name_only=True)
        vars(sys.modules[__name__])[name] = made  # so that it is made once
        return made

    def __dir__() -> list[str]:
        return sorted(rows())
