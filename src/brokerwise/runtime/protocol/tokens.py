"""Who may do what: signed tokens for users, brokers and operators.

A token is `role.name.signature`. Whoever has the key of a role can sign and check
its tokens without asking anyone, so sessions go on while the coordinator is down.
Brokers hold the keys of users and brokers; only the coordinator that of operators.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    USER = "user"
    BROKER = "broker"
    OPERATOR = "operator"


@dataclass(frozen=True)
class Holder:
    """Whom a token was made for."""

    role: Role
    name: str


class Keys:
    """The keys of some of the roles."""

    def __init__(self, keys: Mapping[Role, bytes]) -> None:
        self._keys = dict(keys)

    @classmethod
    def of_secret(cls, secret: bytes) -> "Keys":
        """All of them, each by itself of no use to find another."""
        return cls({role: _signature(secret, role.encode()) for role in Role})

    def only(self, *roles: Role) -> "Keys":
        return Keys({role: self._keys[role] for role in roles})

    def as_json(self) -> dict[str, str]:
        return {role: key.hex() for role, key in self._keys.items()}

    @classmethod
    def from_json(cls, content: Mapping[str, str]) -> "Keys":
        return cls({Role(role): bytes.fromhex(key) for role, key in content.items()})

    def token(self, role: Role, name: str) -> str:
        signed = f"{role}.{_encoded(name)}"
        key = self._keys[role]
        return f"{signed}.{_signature(key, signed.encode()).hex()}"

    def holder(self, token: str) -> Holder | None:
        """Whom a token was made for; None if it is not one of ours."""
        signed, _, signature = token.rpartition(".")
        role, _, name = signed.partition(".")
        key = self._keys.get(Role(role)) if role in list(Role) else None
        if key is None or not token.isascii():
            return None
        expected = _signature(key, signed.encode()).hex()
        if not hmac.compare_digest(expected, signature):
            return None
        decoded = _decoded(name)
        return Holder(Role(role), decoded) if decoded else None


def _signature(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, hashlib.sha256).digest()


def _encoded(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _decoded(text: str) -> str:
    """The name; empty if whoever signed it encoded it in another way."""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
