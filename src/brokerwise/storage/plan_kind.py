"""Which question a plan directory answers: it decides who can read it."""

from brokerwise.model.errors import InputError
from brokerwise.storage.header import header_content
from brokerwise.storage.place import Place

HEADER = "plan.json"
FORMAT = 1


def plan_kind(place: Place) -> str:
    """The kind that plan.json states; nothing else of the plan is looked at."""
    content = header_content(place, HEADER, format=FORMAT)
    kind = content.get("kind")
    if not isinstance(kind, str):
        raise InputError(f"{place / HEADER}: found kind {kind!r}, expected a name")
    return kind


def refuse_other_kinds(place: Place, *kinds: str) -> None:
    """Refuse a plan that is not of one of these kinds."""
    kind = plan_kind(place)
    if kind not in kinds:
        raise InputError(
            f"{place} is a plan of kind {kind!r}, expected {' or '.join(kinds)}"
        )
