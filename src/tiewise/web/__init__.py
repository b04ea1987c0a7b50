"""HTTP and HTML: what a judge sees; it decides nothing."""
