"""Runs that were under way when the process died, or Spark did.

What a run is about is stored before it begins, and crossed out with whatever becomes
of it. So a start finds the runs that did not survive; one that never does is to blame
for that itself. Once is chance: somebody may have killed the process.
"""

from dataclasses import dataclass

from brokerwise.runtime.data_cluster.covering import Pace
from brokerwise.runtime.process.state_file import Sql

DEATHS = 2  # in the same run, then its segments are halved
DEATHS_ALONE = 3  # over one segment, then it is set aside


@dataclass(frozen=True)
class Attempt:
    """A run over `taken` segments from the one numbered `first`, which the process
    has not survived `deaths` times in a row."""

    channel: str
    first: int
    taken: int
    deaths: int = 0

    def pace(self) -> Pace:
        """How the channel goes on."""
        if self.deaths >= DEATHS and self.taken > 1:
            return Pace(self.taken // 2, suspects=self.taken, careful=True)
        return Pace(self.taken) if self.deaths else Pace()

    def is_poison(self) -> bool:
        return self.taken == 1 and self.deaths >= DEATHS_ALONE


def begin(sql: Sql, channel: str, first: int, taken: int) -> None:
    sql.execute(
        "INSERT INTO attempts VALUES (?, ?, ?, 0) ON CONFLICT DO UPDATE SET "
        "first = excluded.first, taken = excluded.taken, "
        "deaths = iif(first = excluded.first AND taken = excluded.taken, deaths, 0)",
        (channel, first, taken),
    )


def end(sql: Sql, channel: str) -> None:
    """Whatever became of it, the process has survived it."""
    sql.execute("DELETE FROM attempts WHERE channel = ?", (channel,))


def died(sql: Sql) -> dict[str, Attempt]:
    """The process starts: these it did not survive before, by channel."""
    sql.execute("UPDATE attempts SET deaths = deaths + 1")
    return {row[0]: Attempt(*row) for row in sql.execute("SELECT * FROM attempts")}
