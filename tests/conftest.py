"""Fixtures for all tests."""

from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from brokerwise.pipeline.session import start_session

settings.register_profile("brokerwise", deadline=None, print_blob=True)
settings.load_profile("brokerwise")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local session for the whole run, started by the first test that asks."""
    session = start_session("local[2]")
    yield session
    session.stop()
