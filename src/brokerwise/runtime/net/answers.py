"""Answers of our HTTP services."""

from typing import Any

import msgspec
from fastapi import Response


def json_answer(content: Any) -> Response:
    return Response(msgspec.json.encode(content), media_type="application/json")
