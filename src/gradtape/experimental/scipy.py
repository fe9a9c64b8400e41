"""Importing this module lets `scipy.special.logsumexp`, `softmax` and `log_softmax` take Tensors
and Variables, and be recorded.

The ufuncs of `scipy.special` take them without it. Import it before
`from scipy.special import softmax`: a name that was taken from SciPy earlier is SciPy's own
function.

>>> import scipy.special
>>> import gradtape as tf
>>> import gradtape.experimental.scipy
>>> scipy.special.softmax(tf.constant([0.0, 0.0])).numpy()
array([0.5, 0.5], dtype=float32)
"""

from gradtape.api.tensorflow.scipy_functions import record

record()

__all__: list[str] = []
