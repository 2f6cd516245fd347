"""Who comes in when a broker is nearly full, and what its log says of the others."""

import logging

import pytest

from brokerwise.runtime.broker.admission import SAY_SECONDS, Door
from brokerwise.runtime.process.open_files import OpenFiles
from brokerwise.runtime.protocol.limits import RESERVED_FILES
from brokerwise.runtime.protocol.tokens import Keys, Role

KEYS = Keys.of_secret(b"secret")


@pytest.mark.parametrize("limit", [16, 200, 1_024, 1_048_576])
def test_the_last_files_are_for_the_fleet_and_half_of_them_for_the_broker(
    limit: int,
) -> None:
    door = Door(KEYS, OpenFiles(limit))
    reserve = min(RESERVED_FILES, limit // 4)
    everybody = [n for n in range(limit - reserve - 3, limit) if door.is_open_to_all(n)]
    fleet = [n for n in range(limit - reserve, limit) if door.is_open(n)]
    assert everybody == list(range(limit - reserve - 3, limit - reserve))
    assert fleet == list(range(limit - reserve, limit - reserve // 2))


def test_only_brokers_and_those_who_ask_for_its_health_get_into_a_full_one() -> None:
    door = Door(KEYS, OpenFiles(200))
    assert door.lets_in("/control/routes", KEYS.token(Role.BROKER, "coordinator"))
    assert door.lets_in("/session", KEYS.token(Role.BROKER, "b1"))
    assert door.lets_in("/health", "")
    for token in (KEYS.token(Role.USER, "ann"), "", "broker.YjE.00"):
        assert not door.lets_in("/session", token)


def test_refusals_are_counted_and_logged_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 100.0
    door = Door(KEYS, OpenFiles(200), lambda: now)
    with caplog.at_level(logging.INFO):
        for _ in range(1_234):
            assert "is full" in door.refuse()
        now += SAY_SECONDS
        door.report()
        now += SAY_SECONDS
        door.report()
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition(",")[0] for line in said] == [
        "connections refused: 1",
        "connections refused: 1",
    ]
    assert said[1].startswith(
        "connections refused: 1,233, as 150 files are open of 200"
    )
    assert door.refused == 1_234
