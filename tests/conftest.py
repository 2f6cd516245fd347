"""Fixtures for all tests."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from brokerwise.pipeline.session import start_session

# CI tries the same cases every time, so that a failure is due to the change;
# everyone else tries new ones.
settings.register_profile(
    "brokerwise", deadline=None, print_blob=True, derandomize="CI" in os.environ
)
settings.load_profile("brokerwise")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of processes that share the tests, one has all that need the Spark session."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local session for the whole run, started by the first test that asks."""
    session = start_session("local[2]")
    yield session
    session.stop()
