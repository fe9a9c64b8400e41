"""Mistakes that a type checker finds: each line, and what stands in every checker's message."""

import gradtape as tf
import gradtape.numpy as np


@tf.function
def scaled(x: tf.Tensor, factor: float = 2.0) -> tf.Tensor:
    return x * factor


class Model:
    @tf.function
    def call(self, x: tf.Tensor) -> tf.Tensor:
        return x


x = tf.constant([1.0, 2.0])
v = tf.Variable([1.0, 2.0])
tape = tf.GradientTape()

tf.reduce_summ(x)  # reduce_summ
tf.math.logg(x)  # logg
tf.nn.rellu(x)  # rellu
np.summ(x)  # summ
np.linalg.nrom(x)  # nrom
tf.experimental.numpy.amaxx(x)  # amaxx
x.summ()  # summ
x.numpyy()  # numpyy
x.sum(axes=0)  # axes
v.mean(keepdim=True)  # keepdim
x.std(dof=1)  # dof
x.argsort(descend=True)  # descend
x.reshape(2, -1, ordr="F")  # ordr
x.swapaxes(0, 1, 2)  # argument
x.astype()  # argument
x.max(0, None, True, 0.0, None, None)  # argument
x.round("two")  # "int"
v.sum().clip(minimum=0.0)  # minimum
v.assign_subb(x)  # assign_subb
tape.gradiant(x, v)  # gradiant
tape.gradient(x, v).numpyy()  # numpyy
tape.gradient(x, v, unconnected="zero")  # "gradient"
tape.jacobian(x, v, mod="forward")  # "jacobian"
tf.reduce_sum(x, axes=0)  # axes
scaled(x, 3.0, 4.0)  # argument
scaled(x, factor="two")  # "float"
scaled.python_funktion(x)  # python_funktion
Model().call(x, x)  # argument
Model().call("x")  # "Tensor"
np.exp(x, x, x)  # argument
np.add(x)  # argument
np.exp(x, dtyp="float64")  # dtyp
tf.grad(scaled)(x, faktor=3.0)  # faktor
tf.vmap(scaled)(x, "two")  # "float"
tf.laplacian(scaled)("x")  # "Tensor"
tf.Variable([1.0], trainabel=False)  # trainabel
tf.constant([1.0], tf.float23)  # float23
