"""The backend's functions on tensors, one file for each of Keras's families."""
