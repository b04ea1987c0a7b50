"""The pages of a judge: arriving, judging pairs, leaving."""
