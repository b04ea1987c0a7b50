"""Help with the command itself: lists by journey and topic, shell completion, what is installed."""
