"""The command that runs a site of several studies."""
