"""The paper's simulation studies and two more, one module for each."""
