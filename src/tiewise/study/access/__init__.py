"""Who gets at a study: files for their owner alone, devices that are known, attempts to sign in."""
