"""Whole journeys in one call: the Python twin of each command."""
