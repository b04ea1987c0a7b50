"""The pages of a researcher: sign-in, the dashboard, running the study."""
