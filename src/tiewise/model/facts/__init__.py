"""Facts of a comparison: numbers of its own that favour the first of its pair."""
