"""A site of several studies: its accounts and roles, and how studies are made, kept and removed."""
