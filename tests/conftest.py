"""Fixtures for all tests."""

import asyncio
import inspect
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from playwright.sync_api import Browser
from pyspark.sql import SparkSession
from tests.browser.chromium import Opened, chromium, opened_page
from tests.standalone import Standalone, standalone
from tests.tiers import examples

from brokerwise.pipeline.session import start_session
from brokerwise.runtime.process.logs import LineFormatter

# CI tries the same cases every time, so that a failure is due to the change;
# everyone else tries new ones.
settings.register_profile(
    "brokerwise",
    deadline=None,
    print_blob=True,
    derandomize="CI" in os.environ,
    max_examples=examples(50),
)
settings.load_profile("brokerwise")

_TESTS = Path(__file__).parent
_ASYNC_SECONDS = 120

# One session for hundreds of tests has more compiled code than a short job, for which
# the default of a quick JVM (48 MB) is made: it would compile the same again and again.
_MANY_JOBS = {
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
    ),
    "spark.sql.shuffle.partitions": "2",
}


@pytest.hookimpl(tryfirst=True)  # xdist looks at the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of processes that share the tests, two have all that need Spark, and one all
    that need Chromium: what takes seconds to start is started once."""
    for item in items:
        folder = item.path.relative_to(_TESTS).parts[0]
        needed = set(getattr(item, "fixturenames", ()))
        if {"spark", "shared_cluster"} & needed:
            group = "pipeline" if folder == "pipeline" else "spark"
            item.add_marker(pytest.mark.xdist_group(group))
        elif "browser" in needed:
            item.add_marker(pytest.mark.xdist_group("browser"))
        if folder == "runtime":
            item.add_marker(pytest.mark.live)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def test_...`, each in its own loop, for at most two minutes."""
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    names = inspect.signature(test).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}
    asyncio.run(asyncio.wait_for(test(**given), _ASYNC_SECONDS))
    return True


@pytest.fixture(autouse=True)
def logging_as_it_was() -> None:
    """A command that runs in this process sets logging up: not for later tests."""
    root = logging.getLogger()
    for handler in list(root.handlers):
        if isinstance(handler.formatter, LineFormatter):
            root.removeHandler(handler)
    root.setLevel(logging.WARNING)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local session for the whole run, started by the first test that asks."""
    session = start_session("local[2]", _MANY_JOBS)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("workers")) as started:
        yield started


@pytest.fixture
def cluster(shared_cluster: Standalone) -> Standalone:
    """A standalone cluster with all its workers; the test may kill some of them."""
    shared_cluster.complete()
    return shared_cluster


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """An empty page on a wide screen, in light colours."""
    with opened_page(browser) as opened:
        yield opened
