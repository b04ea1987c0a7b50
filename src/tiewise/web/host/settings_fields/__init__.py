"""The fields of the form of settings: of single values, of lists of tables, of other languages."""
