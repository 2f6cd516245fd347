"""Channels in the state."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runtime.data_cluster.channel_worlds import (
    NEAR,
    REPORTS,
    SHELTERS,
    World,
    make_world,
)

from brokerwise.runtime.data_cluster import channels
from brokerwise.runtime.data_cluster.status import channel_status
from brokerwise.runtime.net.errors import ConflictError, NotFoundError
from brokerwise.runtime.protocol.data import Channel


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = make_world(tmp_path)
    with made.store:
        yield made


def count(world: World, table: str) -> int:
    return int(world.store.sql.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_channel_is_found_as_it_was_made(world: World) -> None:
    world.create(NEAR, REPORTS, SHELTERS)
    sql = world.store.sql
    found = channels.state_of(sql, "near")
    assert (found.channel, found.datasets) == (NEAR, ("reports", "shelters"))
    assert channels.find_channel(sql, "near") == found
    assert channels.all_channels(sql) == [found]
    assert channels.find_channel(sql, "far") is None


def test_it_begins_with_the_newest_segment_of_its_creation(world: World) -> None:
    world.report("fire")
    newest = world.report("flood")
    world.create()
    assert channels.state_of(world.store.sql, "near").segment == newest


def test_a_second_one_of_its_name_is_refused(world: World) -> None:
    world.create()
    with pytest.raises(ConflictError, match="there is a channel 'near' already"):
        world.create()


def test_dropping_it_takes_everything_of_it_along_and_leaves_the_others(
    world: World,
) -> None:
    other = Channel("other", NEAR.sql, 10, NEAR.parameters)
    for channel in (NEAR, other):
        world.create(channel)
        number = world.subscribe(channel.name, "fire")
        world.store.sql.execute(
            "INSERT INTO frontends VALUES ('u', ?, 0, 'b', 0)", (number,)
        )
        world.commit({number: ['{"a":1}']}, channel.name)
        before = channels.state_of(world.store.sql, channel.name)
        with world.store.change() as sql:
            channels.set_aside(sql, before, 1, "bad", world.now)
    with world.store.change() as sql:
        (file,) = channels.drop_channel(sql, "near")
    assert file.startswith("near-1-")
    names = "channels channel_datasets subscriptions frontends runs results set_aside"
    tables = names.split()
    assert {table: count(world, table) for table in tables} == dict.fromkeys(tables, 1)
    assert len(world.log(number)) == 1


def test_what_is_not_there_is_not_found(world: World) -> None:
    for ask in (channel_status, channels.drop_channel, channels.state_of):
        with pytest.raises(NotFoundError, match="there is no channel 'near'"):
            ask(world.store.sql, "near")


def test_it_is_described_with_what_it_set_aside(world: World) -> None:
    world.create()
    segment = world.report("fire")
    world.subscribe("near", "fire")
    with world.store.change() as sql:
        channels.note_skipped(sql, "near", 2)
    before = channels.state_of(world.store.sql, "near")
    with world.store.change() as sql:
        channels.set_aside(sql, before, segment, "division by zero", world.now)
    shown = channel_status(world.store.sql, "near", suspended="no more allowed")
    assert (shown.skipped, shown.subscriptions, shown.frontends) == (2, 1, 0)
    assert (shown.runs, shown.segment, shown.suspended) == (0, 1, "no more allowed")
    (aside,) = shown.set_aside
    assert (aside.segment, aside.dataset) == (segment, "reports")
    assert aside.reason == "division by zero"
