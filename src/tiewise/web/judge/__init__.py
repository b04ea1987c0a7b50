"""The pages of a judge: sign-up, pairs, withdrawal."""
