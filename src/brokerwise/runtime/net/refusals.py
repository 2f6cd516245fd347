"""Why the coordinator does not do what it was asked; each has an HTTP status."""

from typing import ClassVar

from brokerwise.model.errors import BrokerwiseError


class RefusalError(BrokerwiseError):
    status: ClassVar[int] = 409


class ForbiddenError(RefusalError):
    """The token is good, but not for this."""

    status = 403


class NotFoundError(RefusalError):
    status = 404


class ConflictError(RefusalError):
    """It cannot be done in the state that the fleet is in."""

    status = 409


class UnavailableError(RefusalError):
    """Not now: ask again in a moment."""

    status = 503
