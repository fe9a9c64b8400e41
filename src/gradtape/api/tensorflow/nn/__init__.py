"""Neural-network functions: activations, losses, convolution, pooling, normalisation."""
