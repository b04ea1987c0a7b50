"""Maps: areas, who borders whom, and how outlines and colours are drawn."""
