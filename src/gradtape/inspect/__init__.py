"""What a recording can tell: this package reads what core recorded, and changes nothing."""
