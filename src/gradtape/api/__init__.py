"""The spellings of the ops: TensorFlow's, NumPy's and that of the Array API standard."""
