"""What all series of measurements have: settings, trials, and rows at the end."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from statistics import median
from typing import Any, Protocol

from brokerwise.model.latency import LatencyRows
from brokerwise.runtime.measuring.directory import Directory
from brokerwise.runtime.measuring.in_turn import Moment
from brokerwise.runtime.measuring.running import Cores
from brokerwise.runtime.measuring.settings import Load
from brokerwise.storage.latency_data import LatencyHeader
from brokerwise.storage.latency_logs import LogFacts, all_facts

Tell = Callable[[Moment], None]


class Series(Protocol):
    """Configurations to measure one after the other."""

    @property
    def wanted(self) -> int:
        """How many there are."""
        ...

    def settings(self) -> dict[str, Any]:
        """All that decides what is measured, as latency data says it."""
        ...

    def findings(self, directory: Directory) -> dict[str, Any]:
        """What else is known, once there are logs."""
        ...

    async def run(self, directory: Directory, tell: Tell) -> None:
        """Measure whatever has no log yet. Cancelling it loses the configuration that
        is under way. Raises TrialError for one that cannot be measured."""


def load_settings(load: Load, cores: Cores, seed: int) -> dict[str, Any]:
    given = asdict(load)
    return {
        "cores": len(cores.broker),
        "broker_cores": list(cores.broker),
        "messages": given["messages"],
        "message_bytes": given["message_bytes"],
        "rate_each": given["rate_each"],
        "longest_seconds": given["longest"],
        "seed": seed,
    }


def commit_series(
    series: Series, directory: Directory, rows: LatencyRows, machine: Mapping[str, Any]
) -> LatencyHeader:
    """Let the rows of all complete logs appear, with what is known of them."""
    facts = list(all_facts(directory.logs))
    settings = {**series.settings(), **series.findings(directory), **quality(facts)}
    seconds = round(sum(one.seconds for one in facts), 3)
    header = {"settings": settings, "machine": machine, "seconds": seconds}
    return directory.commit(rows, header)


def quality(facts: list[LogFacts]) -> dict[str, Any]:
    """What should be known before rows are trusted.

    `censored` configurations did not come to their end: their percentiles are lower
    bounds. In `late` ones messages were not sent at their time. `others_share` is what
    other processes took of the broker's cores: its median, and the most. `nice` is
    that of the broker.
    """
    others = [one.others_share for one in facts]
    return {
        "censored": [one.configuration for one in facts if one.is_censored],
        "late": [one.configuration for one in facts if one.is_late],
        "nice": max(one.nice for one in facts),
        "others_share": [round(median(others), 4), round(max(others), 4)],
    }
