"""Maps on the pages of judges: of all areas, of each area enlarged, and one to move about in."""
