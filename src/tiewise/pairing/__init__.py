"""Which pair a judge sees next."""
