"""Studies whose pairs were chosen beforehand: who has which list, and answers from paper."""
