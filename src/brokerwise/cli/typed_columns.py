"""`name:type` on the command line: columns and parameters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from brokerwise.model.errors import InputError

if TYPE_CHECKING:
    from brokerwise.runtime.protocol.data import Column


def parse_columns(option: str, texts: Sequence[str]) -> "tuple[Column, ...]":
    """Raises InputError, which names the option."""
    return tuple(_column(option, text) for text in texts)


def _column(option: str, text: str) -> "Column":
    from brokerwise.runtime.protocol.data import Column, ColumnType

    name, _, type_ = text.partition(":")
    try:
        return Column(name, ColumnType(type_))
    except InputError:
        raise
    except ValueError:
        types = ", ".join(ColumnType)
        raise InputError(
            f"{option}: found {text!r}, expected NAME:TYPE, as in id:string",
            hint=f"Types: {types}",
        ) from None
