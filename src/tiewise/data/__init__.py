"""Judgements as people have them: files and data frames read, checked and counted."""
