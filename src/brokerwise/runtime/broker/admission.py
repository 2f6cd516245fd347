"""Who may come in: the first frame of a connection."""

from dataclasses import dataclass

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.frames import Login
from brokerwise.runtime.limits import VERSION
from brokerwise.runtime.tokens import Keys, Role


class RefusedLoginError(BrokerwiseError):
    """A login with a wrong token, or with a name that the token is not for."""


@dataclass(frozen=True)
class Admitted:
    user: str
    source: str
    is_peer: bool


def admit(keys: Keys, login: Login) -> Admitted:
    """Who has logged in. A peer's messages keep the source that they came with."""
    holder = keys.holder(login.token)
    if holder is None or holder.name != login.user or holder.role is Role.OPERATOR:
        raise RefusedLoginError(f"wrong token for {login.user!r}")
    if login.version != VERSION:
        raise RefusedLoginError(
            f"found protocol version {login.version}, expected {VERSION}"
        )
    source = login.source or login.user
    if not may_publish_as(login.user, source):
        raise RefusedLoginError(
            f"found source {source!r}, expected {login.user!r} or {login.user}/..."
        )
    return Admitted(login.user, source, holder.role is Role.BROKER)


def may_publish_as(user: str, source: str) -> bool:
    return source == user or source.startswith(f"{user}/")
