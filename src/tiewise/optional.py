"""Libraries that not everybody needs: which extra brings each, and messages without it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from importlib.util import find_spec

from tiewise.errors import InputError, InputWarning

EXTRAS = {
    "maps": ("geopandas", "pyogrio", "shapely"),
    "report": ("matplotlib", "jinja2", "typst"),
    "data": ("pooch", "pyarrow", "rdata", "requests"),
    "plan": ("joblib", "pyarrow", "matplotlib"),
    "site": (
        "alembic", "argon2", "httptools", "itsdangerous", "jinja2", "python_multipart", "segno",
        "sqlalchemy", "starlette", "tomlkit", "uvicorn",
    ),
    "media": ("PIL", "latex2mathml", "markdown_it", "mdit_py_plugins", "nh3", "pypdfium2"),
    "postgres": ("psycopg",),
    "backup": ("pyrage",),
    "dask": ("distributed",),
    "gibbs": ("polyagamma",),
    "polars": ("polars",),
}  # fmt: skip
"""The modules that an extra brings, of those that the code asks for."""
LIBRARIES = {
    "PIL": "pillow",
    "argon2": "argon2-cffi",
    "markdown_it": "markdown-it-py",
    "python_multipart": "python-multipart",
}
"""Libraries that are installed under another name than they are imported by."""


def is_installed(library: str) -> bool:
    """Whether a library is there; it is not loaded for that."""
    return find_spec(library) is not None


def require(what: str, *libraries: str) -> None:
    """Refuse what needs these libraries where one of them is missing, with the way to have it."""
    missing = missing_of(libraries)
    if missing:
        raise InputError(missing_words(what, missing))


def can_have(what: str, *libraries: str) -> bool:
    """Whether these libraries are installed; where one is not, a note says what is left out."""
    missing = missing_of(libraries)
    if missing:
        warnings.warn(f"tables only: {missing_words(what, missing)}", InputWarning, stacklevel=3)
    return not missing


def missing_of(libraries: Iterable[str]) -> list[str]:
    """Those of these libraries that are not installed."""
    return [name for name in libraries if not is_installed(name)]


def missing_words(what: str, missing: Iterable[str]) -> str:
    """The message where libraries are missing: `a map needs geopandas: pip install …`."""
    missing = list(missing)
    *others, last = (LIBRARIES.get(name, name) for name in missing)
    names = f"{', '.join(others)} and {last}" if others else last
    return f"{what} needs {names}: {install_command(missing)}"


def install_command(missing: Iterable[str]) -> str:
    """The command that brings missing libraries, by one extra where one has them all."""
    missing = set(missing)
    extras = [extra for extra, libraries in EXTRAS.items() if missing <= {*libraries}][:1]
    extras = extras or sorted({extra for name in missing if (extra := extra_of(name))})
    return f"pip install 'tiewise[{','.join(extras)}]'"


def extra_of(library: str) -> str | None:
    """The first extra that brings a library; None where none does."""
    return next((extra for extra, libraries in EXTRAS.items() if library in libraries), None)


def explain(error: ModuleNotFoundError, what: str) -> InputError | None:
    """The same of an import that failed; None where it is a library that no extra brings."""
    library = (error.name or "").split(".")[0]
    if extra_of(library) is None:
        return None
    return InputError(missing_words(what, [library]))
