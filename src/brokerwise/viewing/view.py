"""What any opened plan can be asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]

FOUND = 20
"""Topics, and subscribers, that one search names."""
LISTED = 500
"""Rows of a table of one broker, and brokers of a plan, that a page shows."""


def found(name: str, why: str, where: Sequence[Json]) -> Json:
    """Something that was searched for; of very many places some are listed."""
    return {"name": name, "why": why, "where": where[:LISTED], "places": len(where)}


@dataclass(frozen=True)
class View:
    """A plan whose small parts are in memory; the rest is read when it is asked for.

    Attributes
    ----------
    plan
        The whole at a glance.
    find
        Topics and subscribers whose names are a text, begin with it or hold it.
    broker
        What one broker has, by its number; None if there is no such broker.
    """

    plan: Json
    find: Callable[[str], Json]
    broker: Callable[[int], Json | None]
