"""Who has been heard of lately."""

from brokerwise.runtime.coordinator.leases import Leases


def sweep(leases: Leases, start: float, end: float) -> list[str]:
    """What the last of many sweeps, a quarter of a second apart, finds."""
    found: list[str] = []
    for quarter in range(int(start * 4), int(end * 4) + 1):
        found = leases.lapsed(quarter / 4)
    return found


def test_a_broker_that_is_not_heard_of_lapses_and_another_does_not() -> None:
    leases = Leases(lease_seconds=3)
    leases.renew("a", 0.0)
    leases.renew("b", 0.0)
    assert sweep(leases, 0, 2) == []
    leases.renew("b", 2.0)
    assert sweep(leases, 2, 3) == []
    assert sweep(leases, 3, 3.25) == ["a"]
    assert sweep(leases, 3.25, 5.25) == ["a", "b"]


def test_a_renewed_or_ended_lease_is_not_lapsed() -> None:
    leases = Leases(lease_seconds=3)
    leases.renew("a", 0.0)
    leases.renew("b", 0.0)
    assert sweep(leases, 0, 4) == ["a", "b"]
    leases.renew("a", 4.0)
    leases.end("b")
    leases.end("nobody")
    assert sweep(leases, 4, 7) == []


def test_after_the_coordinator_was_frozen_everyone_gets_a_new_lease() -> None:
    leases = Leases(lease_seconds=3)
    leases.renew("a", 0.0)
    assert sweep(leases, 0, 1) == []
    assert leases.lapsed(100.0) == []
    assert sweep(leases, 100, 103) == []
    assert sweep(leases, 103, 104) == ["a"]
