"""Comparative judgement with ties: from the first pair a judge sees to the page a councillor reads.

Values in, values out: `read_comparisons(...)` gives `Comparisons`, `Graph` and a prior say what was
believed before, `BradleyTerry(counts, prior)` is the model, `fit(model, engine, rng=...)` gives an
ArviZ DataTree, and `summarise`, `preference`, `tie_curve`, `parameters` say what it means.
A study's administration is in `tiewise.study`, its site in `tiewise.web`.

Names are loaded when they are first used; `__init__.pyi` has all of them, with their types.
"""

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("tiewise")
    return _load(name)
