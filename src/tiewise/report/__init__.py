"""What readers are given: the results folder, the report, the briefing, the terminal."""
