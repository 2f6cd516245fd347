"""What Spark uses of the machine."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.client.data_cluster import DataClient


@dataclass
class SparkMeter:
    """Adds up CPU seconds since the first reading, also when the data cluster is
    another process each time. What one used after its last reading is not counted."""

    client: DataClient
    _used: float = 0.0
    _last: dict[str, float] = field(default_factory=dict)

    async def run(self) -> None:
        """Read each second until cancelled."""
        while True:
            with suppress(BrokerwiseError):  # it is being started again
                await self.read()
            await asyncio.sleep(1.0)

    async def read(self) -> float:
        """CPU seconds until now. Raises what asking the data cluster raises."""
        status = await self.client.status()
        now = status.spark_cpu_seconds
        first = now if not self._last else 0.0
        self._used += now - self._last.get(status.instance, first)
        self._last[status.instance] = now
        return self._used
