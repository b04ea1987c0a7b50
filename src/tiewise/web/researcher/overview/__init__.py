"""The overview of a study: how it stands in a sentence, and what to do next."""
