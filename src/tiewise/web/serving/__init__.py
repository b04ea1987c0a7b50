"""Serving: limits on connections and requests, health, metrics and logs of the running site."""
