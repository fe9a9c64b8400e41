"""The names and parameters that functions have in `tf.compat.v1`, where these differ from today's.

`ALIASES` has pairs of names, there and here, for what is the same. `ROWS` is a table as
`respelled` reads it. What is in neither is as in gradtape.
"""

ALIASES = """
FIFOQueue=queue.FIFOQueue  FixedLenFeature=io.FixedLenFeature
FixedLenSequenceFeature=io.FixedLenSequenceFeature  NoGradient=no_gradient
NotDifferentiable=no_gradient  OpError=errors.OpError  PaddingFIFOQueue=queue.PaddingFIFOQueue
PriorityQueue=queue.PriorityQueue  QueueBase=queue.QueueBase
RandomShuffleQueue=queue.RandomShuffleQueue  SparseFeature=io.SparseFeature
VarLenFeature=io.VarLenFeature  accumulate_n=math.accumulate_n  angle=math.angle
app.flags=compat.v1.flags
assert_proper_iterable=debugging.assert_proper_iterable
assert_same_float_dtype=debugging.assert_same_float_dtype  betainc=math.betainc  ceil=math.ceil
check_numerics=debugging.check_numerics  cholesky=linalg.cholesky
cholesky_solve=linalg.cholesky_solve  conj=math.conj  cross=linalg.cross  cumprod=math.cumprod
debugging.is_finite=math.is_finite  debugging.is_inf=math.is_inf  debugging.is_nan=math.is_nan
debugging.is_non_decreasing=math.is_non_decreasing
debugging.is_strictly_increasing=math.is_strictly_increasing  decode_base64=io.decode_base64
decode_compressed=io.decode_compressed  decode_json_example=io.decode_json_example
dequantize=quantization.dequantize  deserialize_many_sparse=io.deserialize_many_sparse
diag=linalg.tensor_diag  diag_part=linalg.tensor_diag_part  digamma=math.digamma
dimension_at_index=compat.dimension_at_index  dimension_value=compat.dimension_value
div_no_nan=math.divide_no_nan  dtypes.as_string=as_string  encode_base64=io.encode_base64
erf=math.erf  erfc=math.erfc  expm1=math.expm1
fake_quant_with_min_max_args=quantization.fake_quant_with_min_max_args
fake_quant_with_min_max_args_gradient=quantization.fake_quant_with_min_max_args_gradient
fake_quant_with_min_max_vars=quantization.fake_quant_with_min_max_vars
fake_quant_with_min_max_vars_gradient=quantization.fake_quant_with_min_max_vars_gradient
fake_quant_with_min_max_vars_per_channel=quantization.fake_quant_with_min_max_vars_per_channel
fft=signal.fft  fft2d=signal.fft2d  fft3d=signal.fft3d  floordiv=math.floordiv  floormod=math.mod
gfile.Copy=io.gfile.copy
gfile.DeleteRecursively=io.gfile.rmtree  gfile.Exists=io.gfile.exists
gfile.FastGFile=io.gfile.GFile  gfile.Glob=io.gfile.glob  gfile.IsDirectory=io.gfile.isdir
gfile.ListDirectory=io.gfile.listdir  gfile.MakeDirs=io.gfile.makedirs  gfile.MkDir=io.gfile.mkdir
gfile.Remove=io.gfile.remove  gfile.Rename=io.gfile.rename  gfile.Stat=io.gfile.stat
gfile.Walk=io.gfile.walk  gfile.GFile=io.gfile.GFile  gfile.Open=io.gfile.GFile
global_norm=linalg.global_norm
ifft=signal.ifft  ifft2d=signal.ifft2d  ifft3d=signal.ifft3d  igamma=math.igamma
igammac=math.igammac  imag=math.imag
image.resize_image_with_crop_or_pad=image.resize_with_crop_or_pad
image.transpose_image=image.transpose  invert_permutation=math.invert_permutation
io.PaddingFIFOQueue=queue.PaddingFIFOQueue  io.PriorityQueue=queue.PriorityQueue
io.QueueBase=queue.QueueBase  io.RandomShuffleQueue=queue.RandomShuffleQueue
is_finite=math.is_finite  is_inf=math.is_inf  is_nan=math.is_nan
is_non_decreasing=math.is_non_decreasing  is_numeric_tensor=debugging.is_numeric_tensor
is_strictly_increasing=math.is_strictly_increasing  lbeta=math.lbeta  lgamma=math.lgamma
lin_space=linspace  linalg.transpose=linalg.matrix_transpose  log=math.log  log1p=math.log1p
log_sigmoid=math.log_sigmoid  logical_xor=math.logical_xor  manip.reshape=reshape
manip.reverse=reverse  manip.roll=roll  manip.scatter_nd=scatter_nd
manip.space_to_batch_nd=space_to_batch_nd  manip.tile=tile  matching_files=io.matching_files
matrix_band_part=linalg.band_part  matrix_determinant=linalg.det  matrix_diag=linalg.diag
matrix_diag_part=linalg.diag_part  matrix_inverse=linalg.inv  matrix_set_diag=linalg.set_diag
matrix_solve=linalg.solve  matrix_solve_ls=linalg.lstsq  matrix_transpose=linalg.matrix_transpose
matrix_triangular_solve=linalg.triangular_solve  mod=math.mod  nn.avg_pool_v2=nn.avg_pool
nn.ctc_beam_search_decoder_v2=nn.ctc_beam_search_decoder
nn.depthwise_conv2d_native_backprop_filter=nn.depthwise_conv2d_backprop_filter
nn.depthwise_conv2d_native_backprop_input=nn.depthwise_conv2d_backprop_input
nn.log_uniform_candidate_sampler=random.log_uniform_candidate_sampler  nn.max_pool_v2=nn.max_pool
nn.uniform_candidate_sampler=random.uniform_candidate_sampler
parse_single_sequence_example=io.parse_single_sequence_example  parse_tensor=io.parse_tensor
polygamma=math.polygamma  python_io.TFRecordOptions=io.TFRecordOptions
python_io.TFRecordWriter=io.TFRecordWriter  qr=linalg.qr  quantize=quantization.quantize
quantized_concat=quantization.quantized_concat  random_crop=image.random_crop
random_gamma=random.gamma  random_normal=random.normal  random_shuffle=random.shuffle
random_uniform=random.uniform  read_file=io.read_file  real=math.real  reciprocal=math.reciprocal
regex_replace=strings.regex_replace  reverse_v2=reverse  rint=math.rint  rsqrt=math.rsqrt
segment_max=math.segment_max  segment_mean=math.segment_mean  segment_min=math.segment_min
segment_prod=math.segment_prod  segment_sum=math.segment_sum  self_adjoint_eig=linalg.eigh
self_adjoint_eigvals=linalg.eigvalsh  serialize_tensor=io.serialize_tensor
sets.set_difference=sets.difference  sets.set_intersection=sets.intersection
sets.set_size=sets.size  sets.set_union=sets.union  sparse.matmul=sparse.sparse_dense_matmul
sparse_fill_empty_rows=sparse.fill_empty_rows  sparse_mask=sparse.mask
sparse_maximum=sparse.maximum  sparse_minimum=sparse.minimum  sparse_reorder=sparse.reorder
sparse_reset_shape=sparse.reset_shape  sparse_reshape=sparse.reshape  sparse_retain=sparse.retain
sparse_slice=sparse.slice  sparse_softmax=sparse.softmax
sparse_tensor_dense_matmul=sparse.sparse_dense_matmul  sparse_tensor_to_dense=sparse.to_dense
sparse_to_indicator=sparse.to_indicator  sparse_transpose=sparse.transpose
spectral.dct=signal.dct  spectral.fft=signal.fft  spectral.fft2d=signal.fft2d
spectral.fft3d=signal.fft3d  spectral.idct=signal.idct  spectral.ifft=signal.ifft
spectral.ifft2d=signal.ifft2d  spectral.ifft3d=signal.ifft3d  spectral.irfft=signal.irfft
spectral.irfft2d=signal.irfft2d  spectral.irfft3d=signal.irfft3d  spectral.rfft=signal.rfft
spectral.rfft2d=signal.rfft2d  spectral.rfft3d=signal.rfft3d
squared_difference=math.squared_difference  string_join=strings.join  string_strip=strings.strip
string_to_hash_bucket_fast=strings.to_hash_bucket_fast
string_to_hash_bucket_strong=strings.to_hash_bucket_strong  svd=linalg.svd
tensor_scatter_add=tensor_scatter_nd_add  tensor_scatter_sub=tensor_scatter_nd_sub
tensor_scatter_update=tensor_scatter_nd_update  trace=linalg.trace  train.Server=distribute.Server
train.match_filenames_once=io.match_filenames_once  train.write_graph=io.write_graph
truncated_normal=random.truncated_normal  unsorted_segment_max=math.unsorted_segment_max
unsorted_segment_mean=math.unsorted_segment_mean  unsorted_segment_min=math.unsorted_segment_min
unsorted_segment_prod=math.unsorted_segment_prod
unsorted_segment_sqrt_n=math.unsorted_segment_sqrt_n
unsorted_segment_sum=math.unsorted_segment_sum  where_v2=where  write_file=io.write_file
zeta=math.zeta
"""

ROWS = """
arg_max=argmax arg_min=argmin: input dimension>axis output_type name
argmax argmin math.argmax math.argmin: input axis name dimension>axis output_type
assert_equal assert_greater assert_greater_equal=debugging.assert_greater_equal assert_less
    assert_less_equal=debugging.assert_less_equal assert_none_equal=debugging.assert_none_equal
    debugging.assert_equal debugging.assert_greater debugging.assert_greater_equal
    debugging.assert_less debugging.assert_less_equal debugging.assert_none_equal: x y data>
    summarize message name
assert_integer=debugging.assert_integer: x message name
assert_near=debugging.assert_near debugging.assert_near: x y rtol atol data> summarize message
    name
assert_negative=debugging.assert_negative assert_non_negative=debugging.assert_non_negative
    assert_non_positive=debugging.assert_non_positive assert_positive=debugging.assert_positive
    debugging.assert_negative debugging.assert_non_negative debugging.assert_non_positive
    debugging.assert_positive: x data> summarize message name
assert_rank assert_rank_at_least=debugging.assert_rank_at_least debugging.assert_rank
    debugging.assert_rank_at_least: x rank data> summarize> message name
assert_rank_in=debugging.assert_rank_in debugging.assert_rank_in: x ranks data> summarize> message
    name
assert_scalar=debugging.assert_scalar debugging.assert_scalar: tensor name message
assert_type=debugging.assert_type: tensor tf_type message name
bincount=math.bincount math.bincount: arr weights minlength maxlength dtype
boolean_mask: tensor mask name axis
cond: pred true_fn false_fn strict> name fn1>true_fn fn2>false_fn
confusion_matrix=math.confusion_matrix math.confusion_matrix: labels predictions num_classes dtype
    name weights
constant: value dtype shape name verify_shape>
constant_initializer: value dtype> verify_shape>
convert_to_tensor: value dtype name preferred_dtype>dtype_hint dtype_hint
count_nonzero=math.count_nonzero math.count_nonzero: input_tensor>input axis keepdims dtype name
    reduction_indices>axis keep_dims>keepdims input
debugging.assert_all_finite verify_tensor_all_finite=debugging.assert_all_finite: t>x msg>message
    name x message
decode_csv=io.decode_csv io.decode_csv: records record_defaults field_delim use_quote_delim name
    na_value select_cols
decode_raw=io.decode_raw io.decode_raw: input_bytes out_type little_endian name bytes>input_bytes
depth_to_space=nn.depth_to_space nn.depth_to_space nn.space_to_depth
    space_to_depth=nn.space_to_depth: input block_size name data_format
device: device_name_or_function>device_name
expand_dims: input axis name dim>axis
extract_image_patches=image.extract_patches image.extract_image_patches=image.extract_patches:
    images ksizes>sizes strides rates padding name sizes
floor_div=math.floordiv: x y name
gather: params indices validate_indices name axis batch_dims
gather_nd: params indices name batch_dims bad_indices_policy
glorot_normal_initializer=initializers.GlorotNormal
    glorot_uniform_initializer=initializers.GlorotUniform: seed dtype>
gradients: ys xs grad_ys name colocate_gradients_with_ops> gate_gradients aggregation_method
    stop_gradients unconnected_gradients
hessians: ys xs name colocate_gradients_with_ops> gate_gradients aggregation_method
image.crop_and_resize: image boxes box_ind>box_indices crop_size method extrapolation_value name
    box_indices
image.draw_bounding_boxes: images boxes name colors
linalg.norm norm: tensor ord axis keepdims name keep_dims>keepdims
math.in_top_k nn.in_top_k: predictions targets k name
math.log_softmax math.softmax nn.log_softmax nn.softmax: logits axis name dim>axis
math.reduce_all math.reduce_any math.reduce_logsumexp math.reduce_max math.reduce_mean
    math.reduce_min math.reduce_prod math.reduce_sum reduce_all reduce_any reduce_logsumexp
    reduce_max reduce_mean reduce_min reduce_prod reduce_sum: input_tensor axis keepdims name
    reduction_indices>axis keep_dims>keepdims
multinomial=random.categorical random.multinomial=random.categorical: logits num_samples seed name
    output_dtype>dtype
nn.avg_pool nn.avg_pool2d nn.max_pool: value>input ksize strides padding data_format name input
nn.batch_norm_with_global_normalization: t>input m>mean v>variance beta gamma variance_epsilon
    scale_after_normalization name input mean variance
nn.conv1d: value>input filters stride padding use_cudnn_on_gpu> data_format name input dilations
nn.conv2d: input filter>filters strides padding use_cudnn_on_gpu> data_format dilations name
    filters
nn.conv2d_transpose nn.conv3d_transpose: value>input filter>filters output_shape strides padding
    data_format name input filters dilations
nn.conv3d: input filter>filters strides padding data_format dilations name filters
nn.convolution: input filter>filters padding strides dilation_rate>dilations name data_format
    filters dilations
nn.crelu: features name axis
nn.depthwise_conv2d: input filter strides padding rate>dilations name data_format dilations
nn.depthwise_conv2d_native=nn.depthwise_conv2d: input filter strides padding data_format dilations
    name
nn.dilation2d: input filter>filters strides rates>dilations padding name filters dilations
nn.erosion2d: value kernel>filters strides rates>dilations padding name
nn.max_pool_with_argmax: input ksize strides padding data_format Targmax>output_dtype name
    output_dtype include_batch_in_index
nn.moments: x axes shift name keep_dims>keepdims keepdims
nn.pool: input window_shape pooling_type padding dilation_rate>dilations strides name data_format
    dilations
nn.separable_conv2d: input depthwise_filter pointwise_filter strides padding rate>dilations name
    data_format dilations
nn.softmax_cross_entropy_with_logits_v2=nn.softmax_cross_entropy_with_logits: labels logits axis
    name dim>axis
nn.sparse_softmax_cross_entropy_with_logits: labels logits name
nn.sufficient_statistics: x axes shift keep_dims>keepdims name keepdims
nn.weighted_cross_entropy_with_logits: labels logits pos_weight name targets>labels
nn.weighted_moments: x axes frequency_weights name keep_dims>keepdims keepdims
ones_initializer zeros_initializer: dtype>
ones_like zeros_like: tensor>input dtype name optimize>
orthogonal_initializer=initializers.Orthogonal: gain seed dtype>
pad: tensor paddings mode name constant_values
parse_example=io.parse_example io.parse_example parse_single_example=io.parse_single_example
    io.parse_single_example: serialized features name example_names
py_func=numpy_function: func inp Tout stateful name
random.poisson random_poisson=random.poisson: lam shape dtype seed name
random.set_random_seed=random.set_seed set_random_seed=random.set_seed: seed
random_normal_initializer truncated_normal_initializer=initializers.TruncatedNormal: mean stddev
    seed dtype>
random_uniform_initializer: minval maxval seed dtype>
reduce_join=strings.reduce_join strings.reduce_join: inputs axis keep_dims>keepdims separator name
    reduction_indices>axis keepdims
reverse_sequence: input seq_lengths seq_axis batch_axis name seq_dim>seq_axis batch_dim>batch_axis
shape size: input name out_type
sparse.add sparse_add=sparse.add: a b threshold thresh>threshold
sparse.reduce_max sparse.reduce_sum sparse_reduce_max=sparse.reduce_max
    sparse_reduce_sum=sparse.reduce_sum: sp_input axis keepdims reduction_axes>axis
    keep_dims>keepdims
sparse.segment_mean sparse.segment_sqrt_n sparse.segment_sum: data indices segment_ids name
    num_segments sparse_gradient
sparse_segment_mean=sparse.segment_mean sparse_segment_sqrt_n=sparse.segment_sqrt_n
    sparse_segment_sum=sparse.segment_sum: data indices segment_ids name num_segments
squeeze: input axis name squeeze_dims>axis
string_to_hash_bucket=strings.to_hash_bucket strings.to_hash_bucket: string_tensor>input num_buckets
    name input
string_to_number=strings.to_number strings.to_number: string_tensor>input out_type name input
strings.substr substr=strings.substr: input pos len name unit
train.NewCheckpointReader=train.load_checkpoint: filepattern>ckpt_dir_or_file
transpose: a perm name conjugate
tuple: tensors name control_inputs
variance_scaling_initializer=initializers.VarianceScaling: scale mode distribution seed dtype>
"""
