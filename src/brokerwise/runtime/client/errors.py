"""What a client may have to tell its application."""

from collections.abc import Sequence
from shlex import quote

from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.protocol.frames import CloseCode


class UnknownTopicError(InputError):
    """Topics that there are none of."""

    def __init__(self, topics: Sequence[str], reason: str = "") -> None:
        self.topics = tuple(topics)
        super().__init__(reason or f"there is no topic {_listed(topics)}")


class NotInPlanError(UnknownTopicError):
    """Topics that the fleet's plan gives this user no broker for."""

    def __init__(self, user: str, topics: Sequence[str]) -> None:
        self.user = user
        reason = f"the plan of this fleet gives {user!r} no broker for "
        super().__init__(topics, reason + _listed(topics))


def _listed(topics: Sequence[str]) -> str:
    more = f" and {len(topics) - 3:,} more" if len(topics) > 3 else ""
    return ", ".join(map(repr, topics[:3])) + more


class NoBrokerError(InputError):
    """The fleet's plan has no broker for this user at all."""

    def __init__(self, user: str) -> None:
        self.user = user
        super().__init__(f"the plan of this fleet has no broker for user {user!r}")


class MessageTooLargeError(InputError):
    """A message is larger than a broker takes."""

    def __init__(self, topic: str, size: int, largest: int) -> None:
        self.topic, self.size, self.largest = topic, size, largest
        super().__init__(
            f"a message for {topic!r} takes {size:,} bytes, the most is {largest:,}"
        )


class ClientClosedError(BrokerwiseError):
    """The client was closed, or is not open yet."""

    def __init__(self) -> None:
        super().__init__("this client is closed", hint="Use it in `async with`.")


class UnauthorizedError(BrokerwiseError):
    """The token is not that of the user."""


class ReplacedError(BrokerwiseError):
    """Another client has subscribed as the same user."""


class ProtocolError(BrokerwiseError):
    """A broker did not understand this client."""


class LinkLostError(BrokerwiseError):
    """A broker could not be reached, or hung up; the client looks for another."""

    def __init__(self, url: str, code: int, reason: str) -> None:
        self.url, self.code, self.reason = url, code, reason
        super().__init__(f"{url} hung up: {reason or 'no reason given'} ({code})")


def final_error(
    user: str, broker: str, code: int, reason: str
) -> BrokerwiseError | None:
    """The error that a broker's close code means for the application; None if the
    client should connect again."""
    match code:
        case CloseCode.UNAUTHORIZED:
            return UnauthorizedError(
                f"broker {broker} refuses the token of {user!r}",
                hint=f"Get a new one: brokerwise token {quote(user)}",
            )
        case CloseCode.REPLACED:
            return ReplacedError(
                f"another client has subscribed as {user!r} at broker {broker}",
                hint="Give each subscriber a user of its own.",
            )
        case CloseCode.MALFORMED:
            return ProtocolError(f"broker {broker} did not understand us: {reason}")
    return None
