"""How fast the engines are, beside each other and beside other samplers (docs/benchmarks.md)."""
