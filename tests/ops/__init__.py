"""The op test table of every registered op: `table` says what a row is,
`rows_*` are the rows, `checks` the checkers.
"""
