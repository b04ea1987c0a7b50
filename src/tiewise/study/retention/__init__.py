"""Retention: the date until which data may be kept, reminders of it, and the erasure."""
