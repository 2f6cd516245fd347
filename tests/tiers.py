"""Cases of which some are tried each time, and all of them where there is time."""

import os
from collections.abc import Mapping
from typing import Any

import pytest
from _pytest.mark import ParameterSet

_TIMES = int(os.environ.get("THOROUGH", "1"))


def examples(count: int) -> int:
    """How many to try of what is drawn at random."""
    return count * _TIMES


def some(cases: Mapping[str, Any], every: int = 3) -> list[ParameterSet]:
    """Parameters, by name: one in so many, and the others for the long tier."""
    return [
        pytest.param(case, id=name, marks=[pytest.mark.long] if place % every else [])
        for place, (name, case) in enumerate(cases.items())
    ]
