"""Images: geometry, colour, resampling, quality and random augmentation."""
