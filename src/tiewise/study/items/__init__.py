"""One item of a study: what was answered about it."""
