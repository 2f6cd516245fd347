"""A fleet without a plan: so many brokers, and users placed as they come."""

from collections.abc import Mapping

from brokerwise.model.errors import InputError
from brokerwise.runtime.seed import Seed, SeedBroker

PLACEMENTS = ("nearest", "round-robin", "random")


def seed_of_count(
    brokers: int,
    placement: str = "round-robin",
    steps: Mapping[str, str] | None = None,
) -> Seed:
    """Brokers b0, b1, ... of unknown capacity; any topic may be subscribed to.

    `steps` are processing steps by topic.
    """
    if brokers < 1:
        raise InputError(f"brokers: found {brokers:,}, expected at least 1")
    if placement not in PLACEMENTS:
        raise InputError(
            f"placement: found {placement!r}, expected {', '.join(PLACEMENTS)}"
        )
    return Seed(
        brokers=tuple(SeedBroker(broker_name(number)) for number in range(brokers)),
        placement=placement,
        steps=dict(steps or {}),
    )


def broker_name(number: int) -> str:
    """What a broker is called that a plan, or nobody, gave only a number."""
    return f"b{number}"
