"""The API under requests that a machine made up from its description."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import (
    CHECKS,
    not_a_server_error,
)
from tests.runtime.coordinator.fakes import BROKER, KEYS, OPERATOR, plain_seed

from brokerwise.runtime.control import BrokerRegistration
from brokerwise.runtime.coordinator.api import make_app
from brokerwise.runtime.coordinator.coordinator import Coordinator
from brokerwise.runtime.coordinator.store import Store, seed_store
from brokerwise.runtime.wire.errors import UnreachableError

FOR_BROKERS = ("/registerbroker", "/heartbeat", "/leaving", "/join")
# 503 is an answer here: nobody could be placed. A body that is described may still
# name a broker that there is not, or be longer in bytes than in letters.
NAMES = (
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)


async def nobody_answers(url: str, body: object, kind: type[Any], **_: object) -> Any:
    raise UnreachableError(url, "there is no network in this test")


@pytest.fixture(scope="module")
def described_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path: Path = tmp_path_factory.mktemp("fuzz") / "state"
    seed_store(path, plain_seed(2))
    with Store(path) as store:
        coordinator = Coordinator(store, KEYS, nobody_answers)
        for name in ("b0", "b1"):
            coordinator.register(BrokerRegistration(name, "ws://127.0.0.1:1", 1))
        for number in range(10):
            coordinator.request_broker(f"u{number}", None)
        coordinator.request_move("u0", "b1", "b0")
        yield schemathesis.openapi.from_asgi("/openapi.json", make_app(coordinator))


schema = schemathesis.pytest.from_fixture("described_api")


@schema.parametrize()
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_no_request_makes_a_server_error_or_an_answer_that_is_not_described(
    case: schemathesis.Case,
) -> None:
    token = BROKER if case.path in FOR_BROKERS else OPERATOR
    response = case.call(headers={"Authorization": f"Bearer {token}"})
    checks = [CHECKS.get_one(name) for name in NAMES]
    if response.status_code != 503:
        checks.append(not_a_server_error)
    case.validate_response(response, checks=checks)
