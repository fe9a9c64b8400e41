"""What core recorded, explained: this package reads recordings and changes nothing."""
