"""docs/data.md names commands, options and numbers that there are."""

import re

import pytest
from tests.cli import data_page

from brokerwise.cli.main import run
from brokerwise.runtime.data_cluster.sql.allowed import FUNCTIONS
from brokerwise.runtime.data_cluster.sql.analysis import MAX_LIMIT
from brokerwise.runtime.protocol import limits
from brokerwise.runtime.protocol.data import ColumnType, DatasetKind

GROUPS = ("dataset", "channel")
EVERY = [*map(" ".join, data_page.commands()), *data_page.usages()]


@pytest.mark.parametrize("usage", sorted(set(EVERY)))
def test_every_option_that_the_page_shows_is_one_of_its_command(
    usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = usage.split()
    command = words[: 2 if words[0] in GROUPS else 1]
    assert run([*command, "--help"]) == 0
    there = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert set(re.findall(r"--[a-z-]+", usage)) <= there


def test_the_page_shows_every_command_of_a_data_cluster() -> None:
    shown = {tuple(usage.split()[:2]) for usage in EVERY}
    for group in GROUPS:
        for verb in ("create", "list", "show", "drop"):
            assert (group, verb) in shown


def test_kinds_types_and_limits_are_those_of_the_program() -> None:
    text = data_page.TEXT
    for word in (*DatasetKind, *ColumnType):
        assert f"`{word}`" in text
    assert f"{limits.RUN_SECONDS:g} s, {limits.RUN_ROWS:,} results" in text
    assert f"{limits.RUN_BYTES >> 20} MiB of them" in text
    assert f"newest {limits.KEPT_BYTES >> 30} GiB" in text
    assert limits.MAX_RECORD_BYTES == 1 << 20 and "longer than 1 MiB" in text
    assert limits.KEPT_SECONDS == 3_600 and "for an hour" in text
    assert f"`LIMIT` of at most {MAX_LIMIT:,}" in text
    (functions,) = re.findall(r"some (\d+) functions", text)
    assert abs(int(functions) - len(FUNCTIONS)) <= 20
