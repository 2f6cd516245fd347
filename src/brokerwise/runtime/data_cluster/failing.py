"""How a run fails, and whose fault it is: that of the query and its records, or that of
the machines that Spark runs on."""

import re

from brokerwise.model.errors import BrokerwiseError

REASON_LENGTH = 500

_EXECUTOR_LOST = re.compile("ExecutorLostFailure")
# What is nobody's fault who wrote a query or a record: it may pass.
_MACHINES = re.compile(
    "FetchFailed|No space left on device|Too many open files"
    "|Master removed our application|All masters are unresponsive"
    "|Connection (refused|reset)"
)
_TOO_MUCH = re.compile("is bigger than spark.driver.maxResultSize")
_OUT_OF_MEMORY = re.compile("OutOfMemoryError")
_CAUSE = re.compile(r"^Caused by: (?:[\w.$]+: )?(.+)$", re.MULTILINE)
_TASK = re.compile(r"Job aborted due to stage failure: .*\(TID \d+\) \(.*?\): (.*)")


class RunError(BrokerwiseError):
    """A run failed by its query or its records: again it would fail again."""


class LimitError(RunError):
    """A run was ended: it went over a limit, of `seconds`, `rows` or `bytes`."""

    def __init__(self, limit: str, message: str) -> None:
        self.limit = limit
        super().__init__(message)


class CancelledRunError(BrokerwiseError):
    """A run was ended because nobody wants it any more."""


class SparkTroubleError(BrokerwiseError):
    """A run failed by a machine or a disk: another time it may succeed."""


class ExecutorLostError(SparkTroubleError):
    """A machine was lost, which the run itself may have brought down."""


class SparkGoneError(BrokerwiseError):
    """The Spark session is there no more; only a new process has another one."""


def failure(error: Exception, most_bytes: int) -> BrokerwiseError:
    """What an error in a run means while Spark itself lives; `most_bytes` is the limit
    that its results have."""
    text = str(error)
    if _has_condition(error):
        return RunError(_first_line(text))
    if _TOO_MUCH.search(text):
        return LimitError("bytes", f"its results have more than {most_bytes:,} bytes")
    if _OUT_OF_MEMORY.search(text):
        return RunError("it needs more memory than Spark has")
    if _EXECUTOR_LOST.search(text):
        return ExecutorLostError(_reason(text))
    if isinstance(error, OSError) or _MACHINES.search(text):
        return SparkTroubleError(_reason(text))
    return RunError(_reason(text) or repr(error)[:REASON_LENGTH])


def _has_condition(error: Exception) -> bool:
    """Whether Spark itself names what is wrong with a query or a value in it."""
    condition = getattr(error, "getCondition", lambda: None)
    return condition() is not None


def _reason(text: str) -> str:
    """The line that says most, in what Java has to say."""
    causes = _CAUSE.findall(text)
    line = causes[0] if causes else text
    task = _TASK.match(line)
    return _first_line(task[1] if task else line)


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return re.sub(r" SQLSTATE: \w+$", "", line)[:REASON_LENGTH]
