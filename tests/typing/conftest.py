"""The programs here are read by type checkers; the tests run them when they want to."""

collect_ignore = ["programs"]
