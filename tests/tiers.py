"""Cases of which some are tried each time, and all of them where there is time."""

import os
from collections.abc import Mapping
from typing import Any

import pytest
from _pytest.mark import ParameterSet

THOROUGH = "THOROUGH" in os.environ  # set by `make test-long`


def examples(count: int) -> int:
    """How many random cases a test tries: half of them each time, so that a run stays
    short, and ten times as many where there is time.

    Every test asks here, so that no number escapes the long tier.
    """
    return count * 10 if THOROUGH else -(-count // 2)


def some(cases: Mapping[str, Any], every: int = 3) -> list[ParameterSet]:
    """Parameters, by name: one in so many, and the others for the long tier."""
    return [
        pytest.param(case, id=name, marks=[pytest.mark.long] if place % every else [])
        for place, (name, case) in enumerate(cases.items())
    ]
