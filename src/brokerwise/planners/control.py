"""What every planner is given besides its problem: when to stop, whom to tell."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from brokerwise.model.errors import InputError

Stop = Callable[[], bool]
Stage = Callable[[str], AbstractContextManager[Any]]


def never() -> bool:
    return False


def check_name(field: str, found: str, known: tuple[str, ...]) -> None:
    """Refuse a name that is none of the known ones."""
    if found not in known:
        raise InputError(f"{field}: found {found!r}, expected {', '.join(known)}")
