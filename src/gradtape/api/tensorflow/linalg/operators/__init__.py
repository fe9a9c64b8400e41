"""`tf.linalg.LinearOperator` and its classes: matrices known by their structure."""
