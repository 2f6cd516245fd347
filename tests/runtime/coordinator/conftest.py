"""States of coordinators, for tests that only look at what is stored."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from tests.runtime.coordinator.seeds import States

from brokerwise.runtime.coordinator.store import new_state
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.seed import Seed


@pytest.fixture
def states() -> Iterator[States]:
    """Makes new ones, which are closed after the test."""
    with ExitStack() as stack:

        def make(seed: Seed) -> Sql:
            return stack.enter_context(closing(new_state(seed)))

        yield make
