"""The backend's functions on tensors, a file for each of Keras's families."""
