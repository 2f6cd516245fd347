"""Names for files that a task writes: a task may run twice, even at a time."""

from pyspark import TaskContext


def attempt_name(run: str, number: int, ending: str = "") -> str:
    """A name that no other attempt at the same file has; the driver keeps those that
    Spark reports done."""
    context = TaskContext.get()
    attempt = 0 if context is None else context.taskAttemptId()
    return f"attempt-{run}-{number:05d}-{attempt}{ending}"
