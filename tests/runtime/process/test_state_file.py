"""State files: only those of this version are opened, by one process at a time."""

from pathlib import Path

import pytest

from brokerwise.runtime.process.state_file import (
    StateError,
    StateFile,
    StateVersionError,
    connect,
)


def make(path: Path, version: int = 2) -> None:
    sql = connect(str(path))
    sql.execute("CREATE TABLE kept (value TEXT)")
    sql.execute("INSERT INTO kept VALUES ('as it was')")
    sql.execute(f"PRAGMA user_version = {version}")
    sql.close()


def opened(path: Path) -> StateFile:
    return StateFile(path, 2, synchronous="NORMAL")


def test_a_state_of_this_version_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with StateFile(path, 2, synchronous="NORMAL", make=make) as state:
        assert state.sql.execute("SELECT value FROM kept").fetchone() == ("as it was",)


@pytest.mark.parametrize("version", [0, 1, 3])
def test_one_of_another_version_is_refused_with_what_to_do_and_left_as_it_is(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "state"
    make(path, version)
    with pytest.raises(StateVersionError, match="this program reads version 2") as told:
        opened(path)
    error = told.value
    assert (error.path, error.found, error.expected) == (path, version, 2)
    assert f"has version {version}" in error.message
    assert f"move {path} away" in error.hint
    sql = connect(str(path))
    assert sql.execute("SELECT value FROM kept").fetchone() == ("as it was",)
    assert sql.execute("PRAGMA user_version").fetchone() == (version,)
    sql.close()
    path.unlink()
    StateFile(path, 2, synchronous="NORMAL", make=make).close()


def test_a_second_process_is_kept_out(tmp_path: Path) -> None:
    path = tmp_path / "state"
    make(path)
    with opened(path), pytest.raises(StateError, match="another process is using"):
        opened(path)
