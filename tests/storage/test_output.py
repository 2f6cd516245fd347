"""How output appears: all of it, in one step, or not at all."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from brokerwise.model.errors import InputError
from brokerwise.storage import output as output_module
from brokerwise.storage.output import Output, scratch_beside
from brokerwise.storage.place import Place

HEADER = "thing.json"


def begin(target: Path, *, force: bool = False) -> Output:
    return Output.begin(Place(str(target)), HEADER, force=force)


def write(target: Path, text: str, *, force: bool = False) -> None:
    output = begin(target, force=force)
    (output.root / "data").write(text.encode())
    output.commit({"files": {}, "text": text})


def read(target: Path) -> str:
    assert (
        json.loads((target / HEADER).read_text())["text"]
        == (target / "data").read_text()
    )
    return (target / "data").read_text()


def hidden(target: Path) -> list[str]:
    return sorted(p.name for p in target.parent.iterdir() if p.name.startswith("."))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "below" / "thing"


def test_nothing_is_seen_before_the_commit(target: Path) -> None:
    output = begin(target)
    (output.root / "data").write(b"new")
    assert not target.exists()
    output.commit({"files": {}, "text": "new"})
    assert read(target) == "new"
    assert hidden(target) == []


def test_an_abort_forgets_what_was_written(target: Path) -> None:
    write(target, "old")
    output = begin(target, force=True)
    (output.root / "data").write(b"new")
    output.abort()
    output.abort()
    assert read(target) == "old"
    assert hidden(target) == []


def test_what_is_there_is_kept_unless_forced(target: Path) -> None:
    write(target, "old")
    with pytest.raises(InputError, match="exists already; nothing was written") as no:
        begin(target)
    assert "--force" in no.value.hint
    assert hidden(target) == []
    write(target, "new", force=True)
    assert read(target) == "new"
    assert hidden(target) == []


def test_what_appeared_in_the_meantime_is_kept_too(target: Path) -> None:
    late = begin(target)
    write(target, "first")
    with pytest.raises(InputError, match="exists already"):
        late.commit({"files": {}, "text": "late"})
    late.abort()
    assert read(target) == "first"


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("kind", ["file", "directory", "run"])
def test_what_is_not_ours_is_never_replaced(
    kind: str, force: bool, tmp_path: Path
) -> None:
    target = tmp_path / "thesis"
    if kind == "file":
        target.write_text("years of work")
    else:
        target.mkdir()
        (target / ("notes" if kind == "directory" else ".run-0123456789ab")).touch()
    with pytest.raises(InputError, match="exists and is not a thing directory"):
        begin(target, force=force)
    assert target.exists()


def test_an_empty_directory_may_be_filled(target: Path) -> None:
    target.mkdir(parents=True)
    write(target, "new")
    assert read(target) == "new"


def test_what_a_link_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link, target = tmp_path / "link", tmp_path / "disk" / "thing"
    link.symlink_to(target)
    write(link, "old")
    write(link, "new", force=True)
    assert link.is_symlink()
    assert read(target) == "new"
    assert hidden(target) == hidden(link) == []


def test_the_header_is_strict_json_with_plain_numbers(target: Path) -> None:
    output = begin(target)
    header = {"files": {}, "count": np.int64(3), "share": np.float64(0.5), "name": "é"}
    output.commit(header | {"path": "odd\udcff"})
    text = (target / HEADER).read_text(encoding="utf-8")
    assert '"name": "é"' in text
    assert json.loads(text) == {
        "files": {},
        "count": 3,
        "share": 0.5,
        "name": "é",
        "path": "odd\udcff",
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_what_json_cannot_say_is_refused(value: Any, target: Path) -> None:
    write(target, "old")
    output = begin(target, force=True)
    with pytest.raises((ValueError, TypeError), match="JSON"):
        output.commit({"files": {}, "value": value})
    output.abort()
    assert read(target) == "old"


@contextmanager
def renames(patch: pytest.MonkeyPatch, target: Path) -> Iterator[list[bool]]:
    """Whether the target was there before and after each rename."""
    seen: list[bool] = []
    real_rename, real_exchange = os.rename, output_module._exchange  # noqa: SLF001

    def rename(source: Path, to: Path) -> None:
        seen.append(target.exists())
        real_rename(source, to)
        seen.append(target.exists())

    def exchange(one: Path, other: Path) -> bool:
        seen.append(target.exists())
        done = real_exchange(one, other)
        seen.append(target.exists())
        return done

    patch.setattr(os, "rename", rename)
    patch.setattr(output_module, "_exchange", exchange)
    yield seen
    patch.undo()


def test_there_is_no_moment_without_the_one_or_the_other(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(target, "old")
    with renames(monkeypatch, target) as seen:
        write(target, "new", force=True)
    assert read(target) == "new"
    assert seen == [True, True]


def test_two_renames_do_where_directories_cannot_be_exchanged(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(target, "old")
    monkeypatch.setattr(output_module, "_exchange", lambda one, other: False)
    write(target, "new", force=True)
    assert read(target) == "new"
    assert hidden(target) == []


def test_the_old_one_comes_back_if_the_second_rename_fails(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(target, "old")
    output = begin(target, force=True)
    (output.root / "data").write(b"new")
    real_rename = os.rename

    def rename(source: Path, to: Path) -> None:
        if str(source) == output.root.uri:
            raise OSError("no more renames")
        real_rename(source, to)

    monkeypatch.setattr(output_module, "_exchange", lambda one, other: False)
    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(OSError, match="no more renames"):
        output.commit({"files": {}, "text": "new"})
    output.abort()
    assert read(target) == "old"
    assert hidden(target) == []


def test_a_system_without_exchange_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = output_module._exchange  # noqa: SLF001
    (tmp_path / "one").mkdir()
    assert not exchange(tmp_path / "one", tmp_path / "none")
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    assert not exchange(tmp_path / "one", tmp_path / "one")


RUN = """
import sys
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place

output = Output.begin(Place(sys.argv[1]), "thing.json", force=True)
(output.root / "data").write(b"half")
(output.attempts("rows") / "rows" / "half").write(b"half")
print(output.root.uri, flush=True)
sys.stdin.read()
"""


@contextmanager
def living_run(target: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process that has begun to write, and its directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_what_a_killed_run_left_is_cleared_and_a_living_one_is_left_alone(
    target: Path,
) -> None:
    write(target, "old")
    with living_run(target) as (process, root):
        assert (root / "data").read_text() == "half"
        write(target, "new", force=True)
        assert (root / "data").read_text() == "half"
        process.kill()
        process.wait()
    assert read(target) == "new"
    assert hidden(target) == [root.name, f"{root.name}.attempts", f"{root.name}.lock"]
    with pytest.raises(InputError, match="exists already"):
        begin(target)
    assert hidden(target) == []
    assert read(target) == "new"


def test_other_directories_beside_it_are_not_cleared(target: Path) -> None:
    neighbours = [
        ".thing.0123456789ab",  # no lock says that it was a run
        ".things.0123456789ab.lock",
        ".thing.xyz.lock",
        ".thing.0123456789ab.lock.old",
    ]
    target.parent.mkdir()
    for name in neighbours:
        (target.parent / name).touch()
    write(target, "new")
    assert hidden(target) == sorted(neighbours)


def killed_between_renames(target: Path) -> None:
    """Leave what a run killed between its two renames leaves."""
    run = target.with_name(f".{target.name}.0123456789ab")
    os.rename(target, f"{run}.old")
    run.mkdir()
    Path(f"{run}.lock").touch()


def test_the_old_one_comes_back_after_a_kill_between_two_renames(target: Path) -> None:
    write(target, "old")
    killed_between_renames(target)
    with pytest.raises(InputError, match="exists already"):
        begin(target)
    assert read(target) == "old"
    assert hidden(target) == []


def test_what_was_set_aside_goes_once_there_is_a_new_one(target: Path) -> None:
    write(target, "old")
    killed_between_renames(target)
    target.mkdir()
    write(target, "new")
    assert read(target) == "new"
    assert hidden(target) == []


def test_a_lock_that_vanishes_or_cannot_be_opened_is_passed_over(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.parent.mkdir()
    lock = target.parent / ".thing.0123456789ab.lock"
    lock.symlink_to(target.parent / "nowhere")
    write(target, "new")
    assert lock.is_symlink()
    assert read(target) == "new"


def test_what_cannot_be_removed_yet_is_tried_again_next_time(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.parent.mkdir()
    root = target.parent / ".thing.0123456789ab"
    root.mkdir()
    lock = Path(f"{root}.lock")
    lock.touch()
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    write(target, "new")
    assert root.exists() and lock.exists()
    monkeypatch.undo()
    write(target, "newer", force=True)
    assert hidden(target) == []


def test_a_run_whose_lock_was_taken_for_abandoned_takes_another(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.parent.mkdir()
    removed: list[str] = []
    real_flock = fcntl.flock

    def flock(lock: Any, operation: int) -> None:
        if not removed:  # as another run would, before we hold the lock
            removed.append(lock.name)
            Path(lock.name).unlink()
        real_flock(lock, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    output = begin(target)
    assert len(removed) == 1
    assert f"{output.root.uri}.lock" != removed[0]
    assert hidden(target) == [
        Path(output.root.uri).name,
        f"{Path(output.root.uri).name}.lock",
    ]
    output.abort()


def test_files_have_plain_names_on_a_local_disk(target: Path) -> None:
    output = begin(target)
    assert output.part(12) == "part-00012.parquet"
    assert output.file("brokers") == "brokers.parquet"
    output.abort()


def test_what_abort_cannot_remove_the_next_run_clears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = Output.begin(Place(str(tmp_path / "w")), "header.json", force=False)
    (output.root / "part").write(b"x")
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)
        output.abort()
    assert len(list(tmp_path.iterdir())) == 2  # the directory and its lock
    Output.begin(Place(str(tmp_path / "w")), "header.json", force=False).abort()
    assert list(tmp_path.iterdir()) == []


def test_a_place_where_nothing_can_be_made_is_refused() -> None:
    with pytest.raises(InputError, match=r"/proc/x cannot be made: "):
        Output.begin(Place("/proc/x"), "h.json", force=False)


def contents(folder: Path) -> list[str]:
    return Place(str(folder)).files()


def test_what_tasks_write_appears_only_if_it_is_kept(target: Path) -> None:
    output = begin(target)
    attempts = output.attempts("rows")
    (output.root / "rows").make()
    for name in ("failed", "done", "twice"):
        (attempts / "rows" / name).write(name.encode())
    output.keep("rows/done", "rows/part.parquet")
    output.commit({"files": {}})
    assert contents(target) == ["rows/part.parquet", HEADER]
    assert (target / "rows" / "part.parquet").read_text() == "done"
    assert hidden(target) == []


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_a_task_that_is_late_reaches_nothing_that_was_published(
    end: str, target: Path
) -> None:
    write(target, "old")
    output = begin(target, force=True)
    attempts = output.attempts("rows")
    filesystem, path = (attempts / "rows" / "slow").open()
    with filesystem.open_output_stream(path) as slow:
        slow.write(b"some")
        if end == "commit":
            (output.root / "data").write(b"new")
            output.commit({"files": {}, "text": "new"})
        else:
            output.abort()
        slow.write(b"more")
    with pytest.raises(FileNotFoundError):
        (attempts / "rows" / "late").write(b"late")
    assert contents(target) == ["data", HEADER]
    assert read(target) == ("new" if end == "commit" else "old")
    assert hidden(target) == []


def test_what_tasks_of_a_killed_run_wrote_is_cleared(target: Path) -> None:
    with living_run(target) as (process, root):
        attempts = root.with_name(f"{root.name}.attempts")
        assert (attempts / "rows" / "half").read_text() == "half"
        process.kill()
        process.wait()
    write(target, "new")
    assert hidden(target) == []


def test_what_is_written_is_read_back_and_gone_in_the_end(tmp_path: Path) -> None:
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    with scratch_beside(Place(str(tmp_path / "plan"))) as scratch:
        scratch.write(f"{scratch.run}.npy", array)
        assert scratch.read(f"{scratch.run}.npy").tolist() == array.tolist()
        with scratch.writer(f"{scratch.run}.raw") as writer:
            writer.write(b"abc")
        with scratch.reader(f"{scratch.run}.raw") as reader:
            assert reader.read(2) == b"ab"
        scratch.delete(f"{scratch.run}.raw")
        assert not (scratch.root / f"{scratch.run}.raw").exists()
    assert list(tmp_path.iterdir()) == []


def test_it_is_gone_after_an_error_too(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        scratch_beside(Place(str(tmp_path / "plan"))) as scratch,
    ):
        scratch.write(f"{scratch.run}.npy", np.zeros(1))
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
