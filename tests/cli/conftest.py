"""What tests of commands share: a folder of their own, and a small workload there."""

from pathlib import Path

import pytest
from tests.cli.saving import saved

from brokerwise.model.workload import Workload


@pytest.fixture
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def two_topics(in_tmp_path: Path) -> str:
    """Three subscribers want a (rate 10), the first also b (rate 4)."""
    return saved(
        Workload.from_pairs(
            topics=["a", "a", "a", "b"],
            subscribers=["u1", "u2", "u3", "u1"],
            rates={"a": 10, "b": 4},
        )
    )
