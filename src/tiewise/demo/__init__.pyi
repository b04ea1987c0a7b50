from .run import run_demo as run_demo
