"""Sheets: the pairs of a design on paper, with boxes to tick and a code to enter them by."""
