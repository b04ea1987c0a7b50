"""`tiewise invite`, and the options of a mail server."""
