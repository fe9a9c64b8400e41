"""`tf.experimental.ExtensionType`: classes of values made of tensors, declared by their fields; and
the functions of TensorFlow's that are dispatched on them.
"""
