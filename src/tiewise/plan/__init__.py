"""Before the study and during it: which pair next, how many comparisons."""
