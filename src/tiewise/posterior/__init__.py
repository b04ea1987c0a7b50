"""The posterior of a fit: draws in a DataTree, diagnostics, tables and predictions."""
