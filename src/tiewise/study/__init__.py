"""Running a study, without HTTP: what it asks, who judges, what is kept."""
