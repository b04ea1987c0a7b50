"""What several tests share: witnesses, servers, browsers, made-up results."""
