"""Errors of the database without the values that were in its rows: they end up in logs."""

from __future__ import annotations

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DataError


def hide_values(engine: Engine) -> Engine:
    """Have errors say what is wrong and not with which values.

    `hide_parameters` leaves out the parameters of a statement. PostgreSQL repeats them below the
    first line of its message: "Key (judge)=(a1) is not present", "Failing row contains (…)".
    """
    event.listen(engine, "handle_error", _first_line_only)
    return engine


def _first_line_only(context: ExceptionContext) -> None:
    # That a value is no number, say, PostgreSQL tells with the value.
    bare = isinstance(context.sqlalchemy_exception, DataError)
    for error in (context.original_exception, context.sqlalchemy_exception):
        if error is not None and error.args and isinstance(error.args[0], str):
            message = type(context.original_exception).__name__ if bare else error.args[0]
            error.args = (message.partition("\n")[0], *error.args[1:])
