"""`python -m gradtape audit`: which names of TensorFlow a project uses, and which are there.

Files are read, not imported: `sources` finds them, `uses` finds the names in them, `verdicts` says
what is known of each name, `report` makes text, JSON or a page of it, and `command` is the command.
"""
