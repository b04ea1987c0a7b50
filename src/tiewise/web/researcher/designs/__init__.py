"""Pages about lists of pairs that were chosen beforehand."""
