"""Random numbers: a seeded sequence, generators, and pure functions of a seed."""
