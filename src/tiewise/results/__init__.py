"""What may be said once a model has been explored."""
