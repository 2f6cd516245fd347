"""A series of configurations that are drawn: topics alone, then topics that share."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from brokerwise.latency.design import Design
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.runtime.measuring.agenda import Agenda
from brokerwise.runtime.measuring.directory import Directory
from brokerwise.runtime.measuring.in_turn import Countdown, measure
from brokerwise.runtime.measuring.reading import rows_of_logs
from brokerwise.runtime.measuring.running import Cores
from brokerwise.runtime.measuring.series import Tell, load_settings
from brokerwise.runtime.measuring.settings import Load


@dataclass(frozen=True)
class DrawnSeries:
    """What is measured, how, and where the broker runs."""

    design: Design
    load: Load
    cores: Cores

    @property
    def agenda(self) -> Agenda:
        return Agenda(self.design, self.load, len(self.cores.broker))

    @property
    def wanted(self) -> int:
        return len(self.design.topics) * self.design.each

    def settings(self) -> dict[str, Any]:
        design = self.design
        return {
            **load_settings(self.load, self.cores, design.seed),
            "k": list(design.topics),
            "configurations": design.each,
            "processing_ms": list(design.processing),
            "draw": design.way,
            "target_ms": design.target_ms,
        }

    def findings(self, directory: Directory) -> dict[str, Any]:
        """By processing time, the most publishers that meet the target alone; none if
        that was not measured, or is not so for any number of them."""
        found: dict[float, int] = {}
        rows = self._alone(directory)
        if rows is not None:
            with suppress(InputError):
                found = self.agenda.meeting(rows)
        return {"most_publishers": {f"{p:g}": n for p, n in found.items()}}

    async def run(self, directory: Directory, tell: Tell) -> None:
        agenda, cores = self.agenda, self.cores
        countdown = Countdown(len(cores.broker))
        alone = agenda.alone()
        likely = agenda.sharing(agenda.most(None))  # as far as one can know before
        await measure(alone, likely, directory, cores, countdown, tell)
        sharing = agenda.sharing(agenda.most(self._alone(directory)))
        await measure(sharing, alone, directory, cores, countdown, tell)

    def _alone(self, directory: Directory) -> LatencyRows | None:
        """Rows of the topics alone, once they are all there."""
        numbers = [trial.number for trial in self.agenda.alone()]
        complete = directory.complete()
        if not numbers or any(number not in complete for number in numbers):
            return None
        return rows_of_logs(complete[number] for number in numbers)
