"""fleet.json: whoever reads it gets a fleet that runs, or a clear refusal."""

import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from brokerwise.model.errors import InputError
from brokerwise.runtime.fleet.files import (
    FleetFile,
    ProcessId,
    find_fleet,
    fleet_path,
    read_fleet,
    remove_fleet,
    start_time,
    state_secret,
    was_taken_down,
    write_fleet,
)


def our_fleet() -> FleetFile:
    us = ProcessId.ours()
    return FleetFile("http://h:1", us.pid, us.started, "ab", "op", "br")


def test_a_fleet_is_read_as_it_was_written(tmp_path: Path) -> None:
    fleet = replace(our_fleet(), authority="/ca.pem", plan="/p", kind="fill")
    write_fleet(tmp_path / "deep" / "state", fleet)
    assert read_fleet(tmp_path / "deep" / "state") == fleet


def test_only_its_owner_can_read_it_whatever_was_there_before(tmp_path: Path) -> None:
    fleet_path(tmp_path).write_text("{}")
    fleet_path(tmp_path).chmod(0o644)
    write_fleet(tmp_path, our_fleet())
    assert stat.S_IMODE(fleet_path(tmp_path).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["fleet.json"]


def test_without_a_fleet_it_is_said_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no fleet runs here") as caught:
        read_fleet(tmp_path)
    assert caught.value.hint == f"Start one: brokerwise up --state {tmp_path}"


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"pid": "x"}', b"\xff\xfe"])
def test_a_file_that_is_not_a_fleets_is_refused(tmp_path: Path, content: bytes) -> None:
    fleet_path(tmp_path).write_bytes(content)
    with pytest.raises(InputError, match="is not the file of a fleet"):
        read_fleet(tmp_path)


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    write_fleet(tmp_path, replace(our_fleet(), format=2))
    with pytest.raises(InputError, match="has format 2, expected 1") as refused:
        read_fleet(tmp_path)
    assert "the version that started it" in refused.value.hint
    assert f"remove {fleet_path(tmp_path)}" in refused.value.hint


def test_fields_of_a_later_version_are_passed_over_and_missing_ones_have_defaults(
    tmp_path: Path,
) -> None:
    us = our_fleet()
    needed = ("coordinator", "pid", "started", "secret")
    tokens = {"operator_token": "op", "broker_token": "br"}
    said = {name: getattr(us, name) for name in needed} | tokens | {"later": [1]}
    fleet_path(tmp_path).write_bytes(msgspec.json.encode(said))
    assert read_fleet(tmp_path) == us


def test_a_fleet_whose_process_has_gone_has_ended(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        check=True,
    )
    write_fleet(tmp_path, replace(our_fleet(), pid=int(done.stdout)))
    with pytest.raises(InputError, match="has ended: its process"):
        read_fleet(tmp_path)
    assert find_fleet(tmp_path) is not None


def test_another_process_with_the_same_id_is_not_the_fleet(tmp_path: Path) -> None:
    us = our_fleet()
    write_fleet(tmp_path, replace(us, started=us.started - 1))
    with pytest.raises(InputError, match="has ended"):
        read_fleet(tmp_path)


def test_a_process_that_was_not_waited_for_has_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert Path(f"/proc/{child.pid}/stat").exists()
        assert start_time(child.pid) is None


def test_a_fleet_was_taken_down_if_it_left_no_file_or_another_has_its_place(
    tmp_path: Path,
) -> None:
    runs = our_fleet()
    assert not was_taken_down(tmp_path, runs)  # somebody removed its file
    killed = replace(runs, started=runs.started + 1)
    write_fleet(tmp_path, killed)
    assert not was_taken_down(tmp_path, killed)
    write_fleet(tmp_path, runs)  # the same one, started again
    assert not was_taken_down(tmp_path, killed)
    write_fleet(tmp_path, replace(runs, secret="cd"))
    assert was_taken_down(tmp_path, killed)
    write_fleet(tmp_path, replace(runs, coordinator="http://h:2"))
    assert was_taken_down(tmp_path, killed)
    remove_fleet(tmp_path)
    assert was_taken_down(tmp_path, killed)


def test_a_secret_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    secret = state_secret(tmp_path / "state")
    assert len(secret) == 32
    assert state_secret(tmp_path / "state") == secret
    assert state_secret(tmp_path / "another") != secret
    path = tmp_path / "state" / "secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["secret"]


@pytest.mark.parametrize("content", [b"", b"ab", b"\xff" * 65, b"zz" * 32, b"a" * 66])
def test_a_damaged_secret_is_refused_and_not_shown(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "secret"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match="is not the secret of a fleet") as refused:
        state_secret(tmp_path)
    said = refused.value.message + refused.value.hint
    assert str(path) in said and "all tokens are void" in said
    assert "zzzz" not in said
    assert path.read_bytes() == content


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_secret_that_others_can_get_at_is_refused(tmp_path: Path, mode: int) -> None:
    state_secret(tmp_path)
    path = tmp_path / "secret"
    path.chmod(mode)
    with pytest.raises(InputError, match=f"mode {mode:o}, expected 600") as refused:
        state_secret(tmp_path)
    assert f"chmod 600 {path}" in refused.value.hint


def test_a_secret_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir(mode=0o700)
    with pytest.raises(InputError, match=r"cannot read .*secret"):
        state_secret(tmp_path)
