"""Names that the live system can carry: it allows fewer than a workload."""

from collections.abc import Iterable

from brokerwise.model.errors import InputError
from brokerwise.runtime.protocol.names import refusal

_SHOWN = 40  # letters of a name


def sendable(what: str, names: Iterable[str]) -> list[str]:
    """The names; InputError for the first that no frame can carry."""
    checked = list(names)
    for name in checked:
        refused = refusal(name)
        if refused:
            shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
            raise InputError(f"{what} {shown!r} cannot run in a fleet: {refused}")
    return checked
