"""What the site says to judges: a file for each language, and how such files are read and made."""
