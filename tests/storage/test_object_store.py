"""Output on an object store, where the header is the commit: against S3, emulated."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs

from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.model.workload import Workload
from brokerwise.pipeline.ingest.columns import Reading
from brokerwise.pipeline.ingest.sources import PAIRS, find_sources
from brokerwise.storage import workload as storage
from brokerwise.storage.output import Output, scratch_beside
from brokerwise.storage.place import Place
from brokerwise.storage.plan import read_plan, read_plan_header, write_plan
from brokerwise.storage.tables import write_table
from brokerwise.storage.workload import read_header, read_workload, write_workload


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """An S3 server on a free port of this machine."""
    from moto.server import ThreadedMotoServer  # takes a second to load

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str) -> str:
    """A new bucket, its name with key and secret, without options."""
    name = f"bucket-{uuid4().hex[:8]}"
    store = fs.S3FileSystem(
        access_key="key",
        secret_key="secret",
        endpoint_override=endpoint,
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )
    store.create_dir(name)
    return f"s3://key:secret@{name}"


@pytest.fixture
def place(bucket: str, endpoint: str) -> Place:
    options = f"endpoint_override={endpoint}&scheme=http&region=us-east-1"
    return Place(f"{bucket}/my dir/w?{options}")


@pytest.fixture
def old() -> Workload:
    return Workload.from_pairs(
        topics=["a", "b", "a"], subscribers=["u", "u", "v"], rates={"a": 5, "b": 2}
    )


@pytest.fixture
def new() -> Workload:
    return Workload.from_pairs(topics=["c"], subscribers=["w"], rates={"c": 1})


def topics(place: Place) -> list[str]:
    return list(read_workload(place, verify=True).topic_names)


def runs(place: Place) -> set[str]:
    """The runs that files at a place carry in their names."""
    files = [f for f in place.files() if f != "workload.json"]
    return {f.removesuffix(".parquet").rsplit("-", 1)[1] for f in files}


def test_places_work_with_options_and_names_of_any_kind(place: Place) -> None:
    assert place.local is None
    assert not place.exists()
    file = place / "50% é?" / "x y"
    file.write(b"content")
    assert file.read() == b"content"
    assert place.files() == ["50% é?/x y"]
    (place / "50% é?").delete()
    assert place.files() == []


def test_a_workload_is_read_as_it_was_written(place: Place, old: Workload) -> None:
    header = write_workload(old, place)
    found = read_workload(place, verify=True)
    assert found.rates.tolist() == old.rates.tolist()
    assert found.interests.topics.tolist() == old.interests.topics.tolist()
    assert list(found.subscriber_names) == ["u", "v"]
    (run,) = runs(place)
    assert header.files["interests"] == [f"part-00000-{run}.parquet"]
    assert sorted(place.files()) == [
        f"interests/part-00000-{run}.parquet",
        f"subscribers/part-00000-{run}.parquet",
        f"topics/part-00000-{run}.parquet",
        "workload.json",
    ]


def test_the_digest_is_that_of_a_local_disk(
    place: Place, old: Workload, tmp_path: Any
) -> None:
    local = write_workload(old, Place(str(tmp_path / "w")))
    assert write_workload(old, place).digest == local.digest


def test_readers_have_the_old_one_until_the_header_is_written(
    place: Place, old: Workload, new: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_workload(old, place)
    (old_run,) = runs(place)
    real_commit = Output.commit
    before: list[list[str]] = []

    def commit(output: Output, header: Any) -> None:
        assert runs(place) == {old_run, output.run}
        before.append(topics(place))
        real_commit(output, header)

    monkeypatch.setattr(Output, "commit", commit)
    write_workload(new, place, force=True)
    assert before == [["a", "b"]]
    assert topics(place) == ["c"]
    assert len(runs(place)) == 1
    assert old_run not in runs(place)


def test_the_header_is_written_after_all_else(
    place: Place, old: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    real_write = Place.write

    def write(target: Place, content: bytes) -> None:
        if "workload.json" in target.uri:
            seen.append(place.files())
        real_write(target, content)

    monkeypatch.setattr(Place, "write", write)
    header = write_workload(old, place)
    named = {f"{t}/{name}" for t, names in header.files.items() for name in names}
    assert len(seen) == 1
    assert named <= set(seen[0])
    assert "workload.json" not in seen[0]


def test_a_run_that_fails_leaves_the_old_one_and_nothing_else(
    place: Place, old: Workload, new: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_workload(old, place)
    before = place.files()

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(storage, "write_topics", fail)
    with pytest.raises(KeyboardInterrupt):
        write_workload(new, place, force=True)
    monkeypatch.undo()
    assert place.files() == before
    assert topics(place) == ["a", "b"]


def killed_run(place: Place, w: Workload, *, force: bool) -> None:
    """Write all but the header, and end without a word, as a killed process does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Output, "commit", lambda *_: None)
        write_workload(w, place, force=force)


def test_a_run_that_was_killed_leaves_the_old_one(
    place: Place, old: Workload, new: Workload
) -> None:
    write_workload(old, place)
    killed_run(place, new, force=True)
    assert topics(place) == ["a", "b"]
    write_workload(new, place, force=True)
    assert topics(place) == ["c"]


def test_after_a_first_run_was_killed_the_next_needs_no_force(
    place: Place, old: Workload
) -> None:
    killed_run(place, old, force=False)
    with pytest.raises(InputError, match=r"has no workload\.json"):
        read_header(place)
    write_workload(old, place)
    assert topics(place) == ["a", "b"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_once_the_header_is_written_the_new_one_stays(
    error: type[BaseException],
    place: Place,
    old: Workload,
    new: Workload,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_workload(old, place)
    real_delete = Place.delete
    failures = [error]

    def fail_once(target: Place) -> None:
        if failures:
            raise failures.pop()
        real_delete(target)

    monkeypatch.setattr(Place, "delete", fail_once)
    if error is OSError:  # what cannot be removed is left there
        write_workload(new, place, force=True)
    else:
        with pytest.raises(error):
            write_workload(new, place, force=True)
    assert failures == []
    assert topics(place) == ["c"]


def test_what_is_there_is_kept_unless_forced(
    place: Place, old: Workload, new: Workload
) -> None:
    write_workload(old, place)
    with pytest.raises(InputError, match="exists already; nothing was written") as no:
        write_workload(new, place)
    assert "secret" not in str(no.value)
    assert topics(place) == ["a", "b"]


def test_what_is_not_ours_is_never_replaced(place: Place, old: Workload) -> None:
    (place / "notes").write(b"years of work")
    for force in (False, True):
        with pytest.raises(InputError, match="is not a workload directory"):
            write_workload(old, place, force=force)
    assert place.files() == ["notes"]


def test_a_file_in_its_place_is_never_replaced(place: Place, old: Workload) -> None:
    place.write(b"years of work")
    with pytest.raises(InputError, match="is not a workload directory"):
        write_workload(old, place, force=True)
    assert place.read() == b"years of work"


@pytest.mark.parametrize(
    "header",
    [b"{", b"[]", b"{}", b'{"files": 1}', b'{"files": {"a": ["../../other"]}}'],
)
def test_an_old_header_that_cannot_be_used_is_replaced(
    header: bytes, place: Place, old: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[str] = []
    real_delete = Place.delete

    def delete(target: Place) -> None:
        deleted.append(str(target))
        real_delete(target)

    (place / "workload.json").write(header)
    monkeypatch.setattr(Place, "delete", delete)
    write_workload(old, place, force=True)
    assert topics(place) == ["a", "b"]
    assert len(deleted) == 1
    assert "/.run-" in deleted[0]


def make_plan(seed: int) -> Plan:
    one = np.ones(1, np.int64)
    return Plan(
        kind="fill",
        algorithm="whole",
        status=Status.FEASIBLE,
        objective=1,
        bound=1,
        fleet=Fleet.of(1, 10),
        brokers=Brokers(np.zeros(1, np.int32), one * 10, one * seed),
        selection=Interests(np.array([0, 1]), np.zeros(1, np.int32)),
        placement=Placement(np.zeros(1, np.int32), np.zeros(1, np.int32), one),
        seed=seed,
    )


def test_a_plan_is_replaced_as_a_whole(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(seed: int, force: bool) -> None:
        write_plan(
            make_plan(seed), place, workload=place, workload_digest="d", force=force
        )

    write(1, False)
    real_commit = Output.commit
    before: list[int] = []

    def commit(output: Output, header: Any) -> None:
        before.append(read_plan(place).load)
        real_commit(output, header)

    monkeypatch.setattr(Output, "commit", commit)
    write(2, True)
    assert before == [1]
    assert read_plan(place).load == 2
    assert len(place.files()) == 4
    header = read_plan_header(place)
    assert header.workload["path"] == str(place)
    assert "secret" not in json.dumps(header.as_json())


def test_a_place_for_other_processes_is_the_same(place: Place) -> None:
    assert place.absolute() is place
    assert replace(place, uri="w").absolute() != place


def test_a_table_with_a_log_is_refused_on_a_store_too(place: Place) -> None:
    rows = pa.table({"topic": ["a"], "subscriber": ["u"]})
    for name in ("lake/table/day=1/x.parquet", "plain/x.parquet"):
        write_table(place / name, rows)
    (place / "lake/table/_delta_log/0.json").write(b"{}")
    reading = Reading()
    for name in ("lake", "lake/table", "lake/table/day=1/x.parquet"):
        uri = (place / name).uri.replace("s3:", "s3a:")
        with pytest.raises(
            InputError, match=r"/lake/table.* is a Delta table"
        ) as refused:
            find_sources(PAIRS, [uri], reading, 0)
        assert "secret" not in refused.value.message
    (source,) = find_sources(PAIRS, [(place / "plain").uri], reading, 0)
    assert source.columns == ("topic", "subscriber")


def test_attempts_of_tasks_are_not_where_readers_look(place: Place) -> None:
    """Lost, half-way and late ones; and the next run is as if they had not been."""

    def write(force: bool) -> Place:
        output = Output.begin(place, storage.HEADER, force=force)
        attempts = output.attempts("interests")
        filesystem, path = (attempts / "interests" / "slow").open()
        with filesystem.open_output_stream(path) as slow:
            slow.write(b"some")
            for name in ("done", "lost"):
                (attempts / "interests" / name).write(b"rows")
            output.keep("interests/done", f"interests/{output.part(0)}")
            output.commit({"files": {"interests": [output.part(0)]}})
            assert attempts.files() == []
        (attempts / "interests" / "late").write(b"late")
        assert place.files() == committed(output)
        return attempts

    first, second = write(False), write(True)
    assert first.files() == second.files() == ["interests/late", "interests/slow"]


def committed(output: Output) -> list[str]:
    return [f"interests/{output.part(0)}", storage.HEADER]


def test_a_late_task_does_not_keep_the_next_run_from_its_scratch(place: Place) -> None:
    with scratch_beside(place) as scratch:
        scratch.write("counts", np.arange(3))
    scratch.write("late", np.arange(3))
    with scratch_beside(place) as again:
        assert again.root.files() == []
    assert not place.exists()
