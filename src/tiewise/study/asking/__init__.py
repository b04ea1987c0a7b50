"""What a judge is asked of a pair beyond one answer: several questions, and why."""
