"""What judges were asked beyond one answer: questions side by side, reasons and comments."""
