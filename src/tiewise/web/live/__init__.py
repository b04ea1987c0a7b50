"""The live posterior: a worker process that fits as judgements arrive, and how pages read it."""
