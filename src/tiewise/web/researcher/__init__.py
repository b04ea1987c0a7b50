"""The pages of a researcher: signing in, watching the study, running it."""
