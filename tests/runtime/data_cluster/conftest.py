"""What the tests of the data cluster share."""

import logging
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """A directory, in memory if there is such a place: a process that is killed loses
    nothing that it wrote, on whatever disk, and a disk takes long to sync."""
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def heard(caplog: pytest.LogCaptureFixture) -> None:
    """What is logged, from INFO on."""
    caplog.set_level(logging.INFO, "brokerwise")
