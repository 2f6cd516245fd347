"""What can go wrong between two of our processes: with whom is asked, and why whoever
is asked refuses."""

from typing import ClassVar

from brokerwise.model.errors import BrokerwiseError


class UnreachableError(BrokerwiseError):
    """No answer could be had in time. Whether the request was carried out is not
    known."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(f"cannot reach {url}: {reason}")


class UnreadableAnswerError(UnreachableError):
    """Something answered, but not what was asked for: another program, perhaps."""


class RefusedError(BrokerwiseError):
    """The other end answered, and said no."""

    def __init__(self, status: int, text: str, url: str = "") -> None:
        self.status, self.text, self.url = status, text, url
        where = f"{url} " if url else ""
        super().__init__(f"{where}answered {status}: {text}")


class RefusalError(BrokerwiseError):
    """What was asked is not done; the HTTP status says in which way."""

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
