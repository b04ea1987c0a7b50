"""Pictures of very many items: maps drawn as pixels."""
