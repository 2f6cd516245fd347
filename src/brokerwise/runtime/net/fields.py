"""What the bodies of our HTTP services are made of, with its bounds."""

from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    WithJsonSchema,
)

from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES, MAX_SEQ
from brokerwise.runtime.protocol.names import refusal

MAX_URL_LENGTH = 1024


def _checked(name: str) -> str:
    refused = refusal(name)
    if refused:
        raise ValueError(refused)
    return name


Name = Annotated[
    str,
    AfterValidator(_checked),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_NAME_BYTES,
            "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$",
            "description": f"At most {MAX_NAME_BYTES} bytes as UTF-8.",
        }
    ),
]
Count = Annotated[int, Field(ge=0, le=MAX_SEQ)]


class Body(BaseModel):
    """Fields that are not known are ignored: either side may be newer."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class Nothing(BaseModel):
    """Done."""


class Health(BaseModel):
    status: str
