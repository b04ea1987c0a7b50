"""The API of a study: JSON for programs with a token; docs/api.md has every key."""
