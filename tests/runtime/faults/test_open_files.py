"""A broker that may have few files open, and more guests than that."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.settings import Settings
from brokerwise.runtime.fleet.supervisor import RunningFleet, running_fleet
from brokerwise.runtime.net.errors import RefusedError
from brokerwise.runtime.net.http import request
from brokerwise.runtime.protocol.fleet import BrokerStatus
from brokerwise.runtime.protocol.limits import LEASE_SECONDS, LOGIN_SECONDS
from brokerwise.runtime.protocol.tokens import Keys, Role

from .guests import Guest, visitor
from .load import until

LIMIT = 200
CROWD = 250  # more than may be open
_BROKER = f"ulimit -n {LIMIT} && exec {sys.executable} -m brokerwise.runtime.broker"


class Narrow:
    """A fleet of two whose brokers may have LIMIT files open, the hard limit too."""

    def __init__(self, fleet: RunningFleet, status: BrokerStatus) -> None:
        self.operator = Operator(fleet.file)
        self.url, self.pid, self.epoch = status.url, status.pid, status.epoch
        self.keys = Keys.of_secret(bytes.fromhex(fleet.file.secret))
        self.log = fleet.state / "logs" / "b0.log"

    @asynccontextmanager
    async def user(self, number: int) -> AsyncIterator[Guest]:
        name = f"u{number}"
        async with visitor(self.url, name, self.keys.token(Role.USER, name)) as one:
            yield one

    async def page(self, path: str) -> str:
        """As a broker, or the coordinator, gets it."""
        token = self.keys.token(Role.BROKER, "operator")
        url = "http" + self.url.removeprefix("ws") + path
        answer = await request("GET", url, token=token, seconds=5)
        assert answer.status == 200, answer
        return answer.body.decode()

    async def keeps_its_lease(self) -> None:
        """For longer than a lease lasts, the broker is the one that it was."""
        loop = asyncio.get_running_loop()
        over = loop.time() + LEASE_SECONDS + 1
        while loop.time() < over:
            broker = (await self.operator.status()).broker("b0")
            assert broker is not None
            assert (broker.state, broker.epoch) == ("up", self.epoch)
            await asyncio.sleep(0.1)

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


@asynccontextmanager
async def narrow(state: Path) -> AsyncIterator[Narrow]:
    settings = Settings(broker=("sh", "-c", _BROKER))
    async with running_fleet(seed_of_count(2), state=state, settings=settings) as fleet:
        status = (await Operator(fleet.file).status()).broker("b0")
        assert status is not None
        yield Narrow(fleet, status)


async def crowd(
    fleet: Narrow, stack: AsyncExitStack, first: int
) -> tuple[list[Guest], list[BrokerwiseError]]:
    """Who got in, of CROWD that came, and what the others were told."""
    guests, refusals = [], []
    for number in range(first, first + CROWD):
        try:
            one = await stack.enter_async_context(fleet.user(number))
        except BrokerwiseError as refusal:
            refusals.append(refusal)
        else:
            guests.append(one)
    return guests, refusals


def test_a_full_broker_keeps_its_lease_and_says_that_it_is_full(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with (
            asyncio.timeout(90),
            narrow(tmp_path) as fleet,
            AsyncExitStack() as stack,
        ):
            guests, refusals = await crowd(fleet, stack, first=0)
            assert len(guests) > LIMIT / 2
            assert len(refusals) == CROWD - len(guests) > 0
            for refusal in refusals:
                assert isinstance(refusal, RefusedError), refusal
                assert refusal.status == 503
                assert "is full" in refusal.text
            await fleet.keeps_its_lease()
            assert not [one.closed for one in guests if one.closed]

            # What the fleet itself has to say still gets through, both ways.
            await guests[0].subscribe("a topic that the coordinator has to give")
            metrics = await fleet.page("/metrics")
            assert f"process_max_fds {LIMIT}" in metrics
            (found,) = re.findall(r"^process_open_fds (\d+)$", metrics, re.M)
            assert len(guests) < int(found) < LIMIT
            told = f"brokerwise_connections_refused_total {len(refusals)}"
            assert told in metrics

            lines = [x for x in fleet.log.read_text().splitlines() if "refused" in x]
            assert 1 <= len(lines) <= 3
            assert "ulimit -n" in lines[0]

            for one in guests[:50]:
                await one.log_out()
            again, none = await crowd(fleet, stack, first=CROWD)
            assert len(again) == 50
            assert len(none) == CROWD - 50

    asyncio.run(scenario())


def test_silent_connections_beyond_the_limit_cost_neither_lease_nor_processor(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(90), narrow(tmp_path) as fleet:
            async with fleet.user(0) as one:
                await one.subscribe("news")
                where = urlsplit(fleet.url)
                before, busy = fleet.open_files(), fleet.processor_seconds()
                dialled = [
                    asyncio.open_connection(where.hostname, where.port)
                    for _ in range(2 * LIMIT)
                ]
                lines = await asyncio.gather(*dialled, return_exceptions=True)
                await fleet.keeps_its_lease()
                one.publish("news", 1)
                await one.got(1)
                await until(lambda: fleet.open_files() <= before, LOGIN_SECONDS + 5)
                assert fleet.processor_seconds() - busy < 3
                for line in lines:
                    if isinstance(line, tuple):
                        line[1].transport.abort()
                        with suppress(OSError):
                            await line[1].wait_closed()
            async with fleet.user(1):
                pass

    asyncio.run(scenario())
