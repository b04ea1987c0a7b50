"""Transport without matrices of items by items: coordinates scaled item by item."""
