"""Feeds reports over HTTP when their time has come; knows what was acknowledged."""

import asyncio
import time
from collections.abc import Sequence

from brokerwise.experiments.emergency.city import Report
from brokerwise.experiments.emergency.definitions import REPORTS
from brokerwise.runtime.client.data_cluster import DataClient
from brokerwise.runtime.net.tasks import together

BATCH_SECONDS = 0.25  # reports of so long go together


class ReportFeeding:
    """Batches have ids and are sent until they are answered; while one waits for its
    answer the next ones go out too. `acknowledged` are the names of reports that the
    data cluster has said it has."""

    def __init__(
        self, client: DataClient, reports: Sequence[Report], began: float
    ) -> None:
        self._client, self._reports, self._began = client, reports, began
        self.acknowledged: list[str] = []
        self.rejected = 0

    async def run(self) -> None:
        """Returns when all are acknowledged; raises what a feed raises that is not
        answered within its patience. Cancelling it leaves out the rest."""
        async with together() as group:
            fed = 0
            while fed < len(self._reports):
                await asyncio.sleep(BATCH_SECONDS)
                due = self._due(fed)
                if due:
                    group.create_task(self._feed(f"reports-{fed}", due))
                    fed += len(due)

    def _due(self, first: int) -> Sequence[Report]:
        now = time.time() - self._began
        last = first
        while last < len(self._reports) and self._reports[last].at <= now:
            last += 1
        return self._reports[first:last]

    async def _feed(self, batch: str, reports: Sequence[Report]) -> None:
        fed_at = int(time.time() * 1000)
        records = [report.record(fed_at) for report in reports]
        fed = await self._client.feed(REPORTS.name, records, batch)
        self.rejected += fed.rejected
        self.acknowledged += [report.report for report in reports]
