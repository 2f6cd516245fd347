"""How the code under test reads and writes frames: the one place that imports it."""

from collections.abc import Callable
from typing import Any, get_args

from brokerwise.runtime.protocol.frames import (
    CloseCode,
    FrameError,
    FromBroker,
    FromClient,
    decode_from_broker,
    decode_from_client,
    encode,
)

Decode = Callable[[bytes | str], Any]
FROM_CLIENT: Decode = decode_from_client
FROM_BROKER: Decode = decode_from_broker


def encoded(decode: Decode, text: bytes | str) -> str:
    """What is written for a frame that was read."""
    return encode(decode(text)).decode()


def error_of(decode: Decode, text: bytes | str) -> str:
    """Why a frame cannot be read."""
    try:
        return f"can be read: {decode(text)}"
    except FrameError as error:
        return str(error)


def types_of(decode: Decode) -> set[str]:
    """Of all frames that it reads."""
    kinds = get_args(FromClient if decode is FROM_CLIENT else FromBroker)
    return {str(kind.__struct_config__.tag) for kind in kinds}


def close_codes() -> dict[str, int]:
    return {name: code for name, code in vars(CloseCode).items() if name.isupper()}
