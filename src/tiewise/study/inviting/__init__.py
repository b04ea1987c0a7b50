"""Inviting judges: who is asked, their links, mail, and identifiers that a panel gives."""
