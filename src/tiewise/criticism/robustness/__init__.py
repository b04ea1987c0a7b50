"""How few answers, or judges, decide what the results say."""
