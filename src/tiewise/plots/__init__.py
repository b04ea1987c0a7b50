"""Maps and plots of a posterior, each with a description in words."""
