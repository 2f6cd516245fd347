"""What tests of the coordinator begin with."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path

import pytest
from tests.runtime.coordinator.fakes import (
    FakeBroker,
    Running,
    TwoBrokers,
    broker,
    plain_seed,
    running,
)
from tests.runtime.coordinator.seeds import States

from brokerwise.runtime.coordinator.store import new_state
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.seed import Seed


@pytest.fixture
def states() -> Iterator[States]:
    """Makes stored states, for tests that need no coordinator; they are closed after
    the test."""
    with ExitStack() as stack:

        def make(seed: Seed) -> Sql:
            return stack.enter_context(closing(new_state(seed)))

        yield make


@pytest.fixture
def two_brokers(tmp_path: Path) -> TwoBrokers:
    """Starts a coordinator without a plan, and brokers b0 and b1 that have registered
    in that order."""

    @asynccontextmanager
    async def start() -> AsyncIterator[tuple[Running, FakeBroker, FakeBroker]]:
        async with (
            running(tmp_path, plain_seed(2)) as fleet,
            broker("b0", fleet) as b0,
            broker("b1", fleet) as b1,
        ):
            yield fleet, b0, b1

    return start
