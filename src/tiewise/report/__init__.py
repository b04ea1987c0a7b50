"""What readers get: the report and its sections, the briefing, and the terminal."""
