"""Languages of a study: which there are, and its own texts in them."""
