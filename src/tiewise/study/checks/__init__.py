"""A study looked over: what `tiewise check` says."""
