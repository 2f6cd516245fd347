"""Errors that a user can act on."""

from collections.abc import Sequence


class BrokerwiseError(Exception):
    """Something went wrong that is worth saying in one line.

    `details` are further lines to print under it; `hint` says what to try.
    """

    def __init__(
        self, message: str, *, details: Sequence[str] = (), hint: str = ""
    ) -> None:
        self.message = message
        self.details = tuple(details)
        self.hint = hint
        super().__init__(message)


class InputError(BrokerwiseError, ValueError):
    """An argument or a file cannot be used as it is: the caller can mend it."""


class DigestMismatchError(InputError):
    """Data differs from what was approved."""

    def __init__(self, what: str, found: str, expected: str) -> None:
        self.found, self.expected = found, expected
        super().__init__(
            f"{what} has digest {found[:12]}, expected {expected[:12]}: "
            "it has changed since"
        )
