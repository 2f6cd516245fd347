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


class MissingBasisError(InputError):
    """What a plan was made from (`what`: workload, network, model) is not at `path`,
    where the plan says."""

    def __init__(self, plan: str, what: str, path: str, reason: str) -> None:
        self.plan, self.what, self.path = plan, what, path
        super().__init__(
            f"the {what} of {plan} is not where it says: {reason}",
            hint=f"Name its {what}: brokerwise audit PLAN --{what} DIR",
        )


class DigestMismatchError(InputError):
    """Data differs from what was approved."""

    def __init__(self, what: str, found: str, expected: str) -> None:
        self.found, self.expected = found, expected
        super().__init__(
            f"{what} has digest {found[:12]}, expected {expected[:12]}: "
            "it has changed since"
        )
