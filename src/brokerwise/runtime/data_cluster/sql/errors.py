"""How a channel's SQL is refused: with the reason, and the place in the text; also what
Spark says of a query that it cannot use, in our words and at our place.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException, PySparkException

from brokerwise.model.errors import InputError

_SHOWN = 100  # characters of a line
_PLACE = re.compile(r"\(line (\d+), pos(ition)? (\d+)\)")
_CLASS = re.compile(r"^\s*\[[A-Z0-9_.]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
PARAMETER = re.compile(r"`?\b_s`?\.`?p_(\w+)`?")  # in Spark's words: a column
_TOO_COMPLICATED = "the query is too complicated: nest less"
_OUTER = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY"
_NOT_HERE = (
    "a parameter cannot be used here, but in WHERE, HAVING and ON, and in a SELECT "
    "without aggregates; of what is joined by LEFT JOIN, use it in ON"
)
# Spark itself is unwell, whatever the query is.
_UNWELL = re.compile(
    r"OutOfMemoryError|stopped SparkContext|SparkContext was shut down"
)
MAX_REASON = 400


class RefusedQueryError(InputError):
    """A channel's SQL cannot be used. `line` and `column` count from 1; both are 0,
    and `snippet` empty, if no place in the text is to blame."""

    def __init__(self, reason: str, text: str = "", start: int = -1) -> None:
        self.reason = reason
        self.line, self.column, self.snippet = 0, 0, ""
        details: tuple[str, ...] = ()
        if 0 <= start <= len(text):
            lines = text[:start].split("\n")
            self.line, self.column = len(lines), len(lines[-1]) + 1
            self.snippet = text.split("\n")[self.line - 1].rstrip("\r")
            details = _pointed_at(self.snippet, self.column)
            reason = f"line {self.line}, column {self.column}: {reason}"
        super().__init__(reason, details=details)


def _pointed_at(line: str, column: int) -> tuple[str, str]:
    """The part of a line around a column, and a caret under it. What would move the
    caret elsewhere on a screen is shown as one character."""
    first = max(0, column - 1 - _SHOWN // 2)
    part = line[first : first + _SHOWN]
    shown = "".join(char if char.isprintable() else " " for char in part)
    return shown, " " * (column - 1 - first) + "^"


@contextmanager
def translate_errors(
    text: str, place: Callable[[int], int], parameters: Sequence[int] = ()
) -> Iterator[None]:
    """Turns what Spark raises about a query into RefusedQueryError. `place` maps an
    index in what Spark was given to one in the channel's SQL; `parameters` are where
    in that they are."""
    try:
        yield
    except ParseException as error:
        raise RefusedQueryError(_reason(error), text, _place_of(error, text)) from None
    except (PySparkException, Py4JJavaError) as error:
        if _UNWELL.search(str(error)):
            raise
        index = _index(error, place)
        if _is_about_a_parameter(error):
            index = next((i for i in parameters if i >= index), index)
        raise RefusedQueryError(_reason(error), text, index) from None


def _index(error: Exception, place: Callable[[int], int]) -> int:
    if not isinstance(error, PySparkException):
        return -1
    start = next((c.startIndex() for c in error.getQueryContext()), None)
    return -1 if start is None else place(int(start))


def _is_about_a_parameter(error: Exception) -> bool:
    """To Spark they are columns of an outer query."""
    return _condition(error).startswith(_OUTER)


def _condition(error: Exception) -> str:
    """Spark's name for it; some that come from deep within have none."""
    return (error.getCondition() or "") if isinstance(error, PySparkException) else ""


def _reason(error: Exception) -> str:
    condition = _condition(error)
    if condition == "FAILED_TO_PARSE_TOO_COMPLEX" or "StackOverflow" in str(error):
        return _TOO_COMPLICATED
    if not isinstance(error, PySparkException):
        return "Spark cannot make sense of the query"
    if condition == "INTERNAL_ERROR":
        return "Spark cannot answer this for all subscriptions at once"
    if condition == "UNEXPECTED_USE_OF_PARAMETER_MARKER":
        return "a parameter cannot be used here"
    if _is_about_a_parameter(error):
        return _NOT_HERE
    if condition.startswith("UNRESOLVED_COLUMN"):
        return _unknown_column(error.getMessageParameters() or {})
    message = _STATE.sub("", _CLASS.sub("", str(error)))
    return PARAMETER.sub(r":\1", " ".join(message.split()))[:MAX_REASON]


def _unknown_column(said: dict[str, str]) -> str:
    name = PARAMETER.sub(r":\1", said.get("objectName", "")).replace("`", "")
    if name.startswith(":"):
        return f"a parameter cannot be used here: {name}"
    known = said.get("proposal", "").replace("`", "")
    return f"there is no column {name[:80]!r}" + (f"; there are: {known}" * bool(known))


def _place_of(error: ParseException, text: str) -> int:
    """Spark counts lines from 1, positions from 0 if it calls them pos, else from
    1."""
    found = _PLACE.search(str(error))
    if error.getCondition() == "UNCLOSED_BRACKETED_COMMENT":
        return text.rfind("/*")
    if not found:
        start = next((c.startIndex() for c in error.getQueryContext()), None)
        return -1 if start is None else int(start)
    line, position = int(found[1]), int(found[3]) - bool(found[2])
    before = text.split("\n")[: line - 1]
    return min(len(text), sum(len(part) + 1 for part in before) + position)
