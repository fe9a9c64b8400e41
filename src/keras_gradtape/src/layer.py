"""What every Keras layer inherits from this backend: nothing,
its Variables are found by tapes and functions as they are.
"""


class BackendLayer:
    """The base of Keras's layers."""
