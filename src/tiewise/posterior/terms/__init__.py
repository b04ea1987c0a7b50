"""What the terms of a model say: tables, and sentences that plots, report and terminal share."""
