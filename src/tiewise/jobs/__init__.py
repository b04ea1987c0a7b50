"""Many independent tasks on processes or a cluster, resumable, with the same results everywhere."""
