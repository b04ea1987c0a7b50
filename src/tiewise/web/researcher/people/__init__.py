"""People on the pages of a researcher: who is invited, and one judge."""
