"""A fleet without a plan: so many brokers, and users placed as they come."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from brokerwise.model.errors import InputError
from brokerwise.runtime.protocol.seed import Seed, SeedBroker

PLACEMENTS = ("nearest", "round-robin", "random")


def seed_of_count(
    brokers: int,
    placement: str = "round-robin",
    steps: Mapping[str, str] | None = None,
    places: Sequence[tuple[float, float]] = (),
    into: Mapping[str, str] | None = None,
) -> Seed:
    """Brokers b0, b1, ... of unknown capacity; any topic may be subscribed to.

    `steps` are processing steps, and `into` the datasets that what comes out is fed
    to, by topic or pattern; `places` say where brokers are, the first one of b0. With
    `nearest`, users go by turns if there are none.
    """
    if brokers < 1:
        raise InputError(f"brokers: found {brokers:,}, expected at least 1")
    if placement not in PLACEMENTS:
        raise InputError(
            f"placement: found {placement!r}, expected {', '.join(PLACEMENTS)}"
        )
    if places and len(places) != brokers:
        raise InputError(
            f"places: found {len(places):,}, expected {brokers:,}, one a broker"
        )
    made = [SeedBroker(broker_name(number)) for number in range(brokers)]
    if places:
        pairs = zip(made, places, strict=True)
        made = [replace(broker, x=x, y=y) for broker, (x, y) in pairs]
    return Seed(
        brokers=tuple(made),
        placement=placement,
        steps=dict(steps or {}),
        into=dict(into or {}),
    )


def broker_name(number: int) -> str:
    """What a broker is called that a plan, or nobody, gave only a number."""
    return f"b{number}"
