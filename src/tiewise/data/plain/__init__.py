"""Tables without Arrow: the same rows, read by Python itself and held by pandas."""
