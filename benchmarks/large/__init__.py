"""The long cases: very many items, judges and votes, from files to posteriors."""
