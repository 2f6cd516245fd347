"""The API under requests that a machine made up from its description."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, not_a_server_error
from tests.runtime.coordinator.fakes import BROKER, KEYS, OPERATOR, plain_seed
from tests.runtime.net.ends import served_in_thread
from tests.tiers import examples

from brokerwise.runtime.coordinator.api import make_service
from brokerwise.runtime.coordinator.coordinator import Coordinator
from brokerwise.runtime.coordinator.store import Store, seed_store
from brokerwise.runtime.net.errors import UnreachableError
from brokerwise.runtime.net.server import Admit
from brokerwise.runtime.protocol.fleet import BrokerRegistration

ENDLESS = "/watch"  # and nothing can be wrong with a request for it
FOR_BROKERS = ("/registerbroker", "/heartbeat", "/leaving", "/join")
# A body that is described may still be refused: it can name a broker that there is
# not, or be longer in bytes than in letters. And 503 is an answer here: not now.
NAMES = (
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "unsupported_method",
)


async def nobody_answers(url: str, body: object, kind: type[Any], **_: object) -> Any:
    raise UnreachableError(url, "there is no network in this test")


@pytest.fixture(scope="module")
def described_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path: Path = tmp_path_factory.mktemp("fuzz") / "state"
    seed_store(path, plain_seed(2))

    @asynccontextmanager
    async def opened() -> AsyncIterator[Admit]:
        with Store(path) as store:
            coordinator = Coordinator(store, KEYS, nobody_answers)
            for name in ("b0", "b1"):
                coordinator.register(BrokerRegistration(name, "ws://127.0.0.1:1", 1))
            for number in range(10):
                coordinator.request_broker(f"u{number}", None)
            coordinator.request_move("u0", "b1", "b0")
            yield make_service(coordinator).admit

    with served_in_thread(opened) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json")


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_request_makes_a_server_error_or_an_answer_that_is_not_described(
    described_api: Any, mode: GenerationMode
) -> None:
    found = [result.ok() for result in described_api.get_all_operations()]
    assert len(found) == 29
    tried = 0
    for operation in found:
        if operation.path == ENDLESS:
            continue
        with suppress(Unsatisfiable):  # /health has nothing that could be wrong
            strategy = operation.as_strategy(generation_mode=mode)
            BOUNDED(given(case=strategy)(check))()
            tried += 1
    assert tried >= 24


BOUNDED = settings(
    max_examples=examples(12),
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
)


def check(case: Any) -> None:
    token = BROKER if case.path in FOR_BROKERS else OPERATOR
    response = case.call(headers={"Authorization": f"Bearer {token}"})
    checks: list[Any] = [CHECKS.get_one(name) for name in NAMES]
    if response.status_code != 503:
        checks.append(not_a_server_error)
    case.validate_response(response, checks=checks)
