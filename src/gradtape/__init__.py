"""TensorFlow's `GradientTape` without TensorFlow: `import gradtape as tf`."""

from gradtape.api.elementwise import abs, add, exp
