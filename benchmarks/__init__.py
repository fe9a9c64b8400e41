"""How fast gradtape is beside hand-written NumPy and other libraries: `make bench`."""
