"""The commands of designs: making one, printing its sheets, entering their answers."""
