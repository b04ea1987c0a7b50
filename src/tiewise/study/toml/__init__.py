"""Reading TOML files: what a key must be."""
