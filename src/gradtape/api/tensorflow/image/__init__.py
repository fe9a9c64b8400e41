"""Images: geometry, colour, resampling, quality and random changes of them."""
