"""Runs the tests of libraries that are written for TensorFlow, on gradtape."""
