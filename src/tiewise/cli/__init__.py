"""The command line: parse options, call one function, print."""
