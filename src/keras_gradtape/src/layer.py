"""The backend's base class of every Keras layer. It is empty: tapes and functions find a layer's
Variables without it.
"""


class BackendLayer:
    """The base of Keras's layers."""
