"""Where a channel's SQL is refused: `check_query`, step by step.

1. The text, before it is parsed (here): characters that do not show, deep nesting.
2. What Spark's parser makes of it, which runs nothing (`tree.py`): every part is held
   against the lists of `allowed.py`; then `rules.py`: names, functions and their
   arguments, patterns, where parameters may be, which datasets are read, how large the
   query becomes.
3. Its parameters become columns of the subscriptions (`splice.py`). The result is
   parsed again and compared with what it was made from, so that no trick with quotes or
   comments reaches beyond the place that it is put in.
4. What Spark's analysis against empty views makes of it (`analysis.py`): held against
   lists once more; joins that relate nothing, surprising conversions, columns that JSON
   does not have.

All raise RefusedQueryError (`errors.py`), with the reason and the place. No job is ever
run.
"""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from brokerwise.runtime.data_cluster.sql.analysis import (
    check_conversions,
    check_joins,
    read_analyzed,
    result_columns,
)
from brokerwise.runtime.data_cluster.sql.errors import (
    RefusedQueryError,
    translate_errors,
)
from brokerwise.runtime.data_cluster.sql.rules import check_rules, find_sources
from brokerwise.runtime.data_cluster.sql.splice import (
    SplicedQuery,
    check_wrapped,
    make_views,
    query_session,
    splice,
)
from brokerwise.runtime.data_cluster.sql.tree import read_plan
from brokerwise.runtime.protocol.data import Channel, ColumnInfo, Dataset, DatasetKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECK_SECONDS = 60.0  # a check that takes longer is given up
# Parsing takes long for many of these within one another.
MAX_OPEN = 80  # brackets
MAX_COMMENTS = 5
MAX_TYPES = 100  # array<array<...>>, wherever they are
_OPENING, _CLOSING = "([{", ")]}"
_COMMENT = re.compile(r"/\*|\*/")
_TYPE = re.compile(r"<(?![<=>])")


@dataclass(frozen=True)
class CheckedQuery:
    """SQL that may run. `columns` are those of a result: name, Spark type. `wrapped`
    is one query for all subscriptions, over views of the datasets and
    `_subscriptions` (`_subscription` bigint, `p_NAME` for each parameter); it gives
    (subscription bigint, data string: a JSON object). It is to run in a session of
    splice.query_session."""

    datasets: tuple[str, ...]
    columns: tuple[ColumnInfo, ...]
    wrapped: str


def check_query(
    spark: "SparkSession", channel: Channel, datasets: Mapping[str, Dataset]
) -> CheckedQuery:
    """The query of a channel, if it is allowed. Raises RefusedQueryError, with the
    reason and the place, if it is not, or if that is not known in CHECK_SECONDS.

    Runs no Spark job. Takes 0.1 to 0.5 s for a usual query. It waits for Spark: call
    it from a thread that may.
    """
    checked: list[CheckedQuery] = []
    raised: list[BaseException] = []

    def check() -> None:
        try:
            checked.append(_check(spark, channel, datasets))
        except BaseException as error:
            raised.append(error)

    _run_for(check, CHECK_SECONDS)
    if raised:
        raise raised[0]
    if not checked:
        raise RefusedQueryError(
            f"the query is too complicated: it could not be checked in "
            f"{CHECK_SECONDS:g} s"
        )
    return checked[0]


def _run_for(function: Callable[[], None], seconds: float) -> None:
    """Spark cannot be interrupted while it parses or analyzes; it can be left alone."""
    thread = threading.Thread(target=function, name="check-query", daemon=True)
    thread.start()
    thread.join(seconds)


def _check(
    spark: "SparkSession", channel: Channel, datasets: Mapping[str, Dataset]
) -> CheckedQuery:
    text = channel.sql.rstrip("; \t\r\n")
    check_text(text)
    session = query_session(spark)
    # PySpark offers no other way to a parser that runs nothing.
    parser = session._jsparkSession.sessionState().sqlParser()  # noqa: SLF001
    with translate_errors(text, lambda index: index):
        query = read_plan(parser.parsePlan(text), text)
    check_rules(query, text)
    read = find_sources(query, text, datasets)
    _check_kinds(read, datasets)
    spliced = splice(query, text, channel)
    with translate_errors(text, spliced.place):
        check_wrapped(parser.parsePlan(spliced.text), query, spliced, text)
    make_views(session, [datasets[name] for name in read], channel)
    columns = _analyzed(session, spliced, text, datasets)
    return CheckedQuery(read, columns, spliced.text)


def _check_kinds(read: tuple[str, ...], datasets: Mapping[str, Dataset]) -> None:
    if not any(datasets[name].kind is DatasetKind.APPEND for name in read):
        raise RefusedQueryError(
            "the query reads no append dataset: it would say the same each period"
        )


def _analyzed(
    session: "SparkSession",
    spliced: SplicedQuery,
    text: str,
    datasets: Mapping[str, Dataset],
) -> tuple[ColumnInfo, ...]:
    parameters = [start for start, _, _ in spliced.pieces]
    with translate_errors(text, spliced.place, parameters):
        # Nor to what the analyzer makes of it, as a tree.
        execution = session.sql(spliced.text)._jdf.queryExecution()  # noqa: SLF001
        plan = read_analyzed(execution.analyzed(), spliced, text)
        check_joins(plan, text, datasets)
        check_conversions(session, plan, text)
        columns = result_columns(plan)
        # Some queries pass all of that, and Spark finds no way to run them.
        execution.optimizedPlan()
        return columns


def check_text(text: str) -> None:
    """Characters that show other than they read, and what makes a parser slow."""
    if not text.strip():
        raise RefusedQueryError("there is no query")
    _check_characters(text)
    if "${" in text:
        raise RefusedQueryError(
            "${...} is not allowed: parameters are written :name", text, text.find("${")
        )
    _check_nesting(text)


def _check_characters(text: str) -> None:
    for index, char in enumerate(text):
        if not char.isprintable() and char not in "\n\r\t":
            raise RefusedQueryError(
                f"found the character U+{ord(char):04X}, which does not show",
                text,
                index,
            )


def _check_nesting(text: str) -> None:
    opened = 0
    for index, char in enumerate(text):
        opened += (char in _OPENING) - (char in _CLOSING)
        if opened > MAX_OPEN:
            raise RefusedQueryError(
                f"more than {MAX_OPEN} brackets are open here", text, index
            )
    opened = 0
    for found in _COMMENT.finditer(text):
        opened = max(0, opened + (1 if found[0] == "/*" else -1))
        if opened > MAX_COMMENTS:
            raise RefusedQueryError(
                f"more than {MAX_COMMENTS} comments are open here", text, found.start()
            )
    smaller = len(_TYPE.findall(text))
    if smaller > MAX_TYPES:
        raise RefusedQueryError(
            f"found {smaller:,} times <, expected at most {MAX_TYPES}"
        )
