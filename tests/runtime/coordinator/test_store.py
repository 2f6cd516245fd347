"""The state file: made whole, opened by one, and whole again after any kill."""

import sqlite3
import sys
import time
from pathlib import Path

import pytest
from tests.processes import Process
from tests.runtime.coordinator.fakes import plain_seed

from brokerwise.runtime.coordinator import routes
from brokerwise.runtime.coordinator.brokers import all_brokers
from brokerwise.runtime.coordinator.sessions import sessions_of
from brokerwise.runtime.coordinator.store import Store, seed_store, setting
from brokerwise.runtime.process.state_file import StateError, count_up
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession

WORKER = Path(__file__).with_name("worker.py")


def test_a_new_state_holds_the_seed(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "state.sqlite"
    seed = Seed(
        (SeedBroker("b0", 7, 1.0, 2.0), SeedBroker("b1")),
        "plan",
        kind="fill",
        plan="p",
        digest="d",
        sessions=(SeedSession("ann", "b1", ("news",)),),
        rates={"news": 4},
    )
    seed_store(path, seed)
    assert sorted(p.name for p in path.parent.iterdir()) == [
        *("state.sqlite", "state.sqlite.lock")
    ]
    with Store(path) as store:
        b0, b1 = all_brokers(store.sql)
        assert (b0.capacity, b0.point, b1.point) == (7, (1.0, 2.0), None)
        assert [setting(store.sql, n) for n in ("kind", "plan", "digest")] == [
            *("fill", "p", "d")
        ]
        (session,) = sessions_of(store.sql, "ann")
        assert (session.home, session.broker, session.topics) == ("b1", "b1", ("news",))


def test_numbers_go_on_where_those_of_the_fleet_before_ended(tmp_path: Path) -> None:
    """Clients, and brokers of other machines, may come over from it: an epoch or a
    generation that comes again would be taken for the old one."""
    path = tmp_path / "s"
    epochs, generations = [], []
    for fleet in range(3):
        seed_store(path, plain_seed(2))
        with Store(path) as store, store.change() as sql:
            epochs += [count_up(sql, "epoch") for _ in range(4)]
            for _ in range(fleet):  # none in the first
                routes.join(sql, "b0", "news")
                routes.join(sql, "b1", "news")
                routes.leave(sql, "b0", "news")
                generations.append(routes.stored_route(sql, "news").generation)
    assert epochs == list(range(1, 13))
    assert generations == sorted(set(generations))


def test_a_former_state_that_cannot_be_read_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(b"no database at all, but long enough for a header" * 100)
    seed_store(path, plain_seed(1))
    with Store(path) as store, store.change() as sql:
        assert count_up(sql, "epoch") == 1


def test_a_change_that_fails_leaves_nothing(tmp_path: Path) -> None:
    seed_store(tmp_path / "s", plain_seed(1))
    with Store(tmp_path / "s") as store:
        with pytest.raises(RuntimeError), store.change() as sql:
            count_up(sql, "epoch")
            raise RuntimeError
        with store.change() as sql:
            assert count_up(sql, "epoch") == 1


def test_only_one_may_use_a_state(tmp_path: Path) -> None:
    path = tmp_path / "s"
    seed_store(path, plain_seed(1))
    with Store(path):
        with pytest.raises(StateError, match="another process"):
            Store(path)
        with pytest.raises(StateError, match="another process"):
            seed_store(path, plain_seed(2))
    with Store(path) as store:
        assert len(all_brokers(store.sql)) == 1


def test_a_state_that_is_missing_or_not_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="no coordinator state"):
        Store(tmp_path / "missing")
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"no database at all, but long enough for a header" * 100)
    with pytest.raises(StateError, match="cannot read"):
        Store(garbage)
    other = tmp_path / "other"
    seed_store(other, plain_seed(1))
    sql = sqlite3.connect(other)
    sql.execute("PRAGMA user_version = 99")
    sql.close()
    with pytest.raises(StateError, match="version 99"):
        Store(other)
    seed_store(other, plain_seed(1))
    Store(other).close()


def killed_worker(path: Path, seconds: float) -> int:
    """The last change that a worker said was stored when it was killed."""
    with Process([sys.executable, str(WORKER), str(path)]) as process:
        process.line_with("0")  # some tens of changes
        time.sleep(seconds)  # the kill shall come at any point
        process.kill()
    return max(int(line) for line in process.lines if line.isdigit())


def test_after_kill_9_everything_answered_is_there_and_nothing_half(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s"
    seed_store(path, plain_seed(3))
    for attempt in range(4):
        said = killed_worker(path, 0.013 * attempt)
        with Store(path) as store:
            assert_whole(store.sql, said)


def assert_whole(sql: sqlite3.Connection, said: int) -> None:
    assert sql.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    (users,) = sql.execute("SELECT count(*) FROM users").fetchone()
    assert users in (said, said + 1)  # it may not have come to saying it
    (epoch,) = sql.execute("SELECT value FROM counters WHERE name = 'epoch'").fetchone()
    (sessions,) = sql.execute("SELECT count(*) FROM sessions").fetchone()
    assert epoch == sessions == users
    routes = dict(sql.execute("SELECT topic, generation FROM routes").fetchall())
    carriers: dict[str, set[str]] = {}
    for topic, broker in sql.execute("SELECT topic, broker FROM carriers"):
        carriers.setdefault(topic, set()).add(broker)
    for topic, generation in routes.items():
        other = topic.replace("left", "right")
        assert routes[other] == generation
        assert carriers.get(topic) == carriers.get(other)


def test_a_log_that_a_killed_coordinator_left_does_not_spoil_a_new_state(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s"
    seed_store(path, plain_seed(3))
    killed_worker(path, 0.0)
    assert (tmp_path / "s-wal").stat().st_size > 0
    seed_store(path, plain_seed(1))
    with Store(path) as store:
        assert len(all_brokers(store.sql)) == 1
        assert store.sql.execute("SELECT count(*) FROM users").fetchone() == (0,)
