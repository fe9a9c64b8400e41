"""The public functions over the ops, under TensorFlow's names, NumPy's, and those of the Array API
standard.
"""
