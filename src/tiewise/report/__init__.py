"""What readers get: the report and its sections, the briefing, and the terminal."""

LIBRARIES = ("matplotlib", "jinja2")
"""What the report is drawn and written with; a briefing needs typst as well."""
