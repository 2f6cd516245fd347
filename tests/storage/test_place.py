"""Paths and URIs."""

import os
from pathlib import Path

import pytest
from pyarrow import fs

from brokerwise.model.errors import InputError
from brokerwise.storage.place import Place


def test_a_relative_path_is_local_and_can_be_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Place("out/w")
    assert place.local == tmp_path / "out" / "w"
    assert place.absolute() == Place(str(tmp_path / "out" / "w"))
    assert isinstance(place.open()[0], fs.LocalFileSystem)


def test_a_file_uri_is_local(tmp_path: Path) -> None:
    place = Place(f"file://{tmp_path}/a dir/é") / "x?y"
    assert place.local == tmp_path / "a dir" / "é" / "x?y"
    assert place.absolute() == Place(str(place.local))


@pytest.mark.parametrize(
    ("uri", "joined"),
    [
        ("w", "w/part"),
        ("/w/", "/w/part"),
        ("what?", "what?/part"),
        ("s3://bucket", "s3://bucket/part"),
        ("s3://bucket/dir/", "s3://bucket/dir/part"),
        (
            "s3://bucket/dir?endpoint_override=http://h:1&scheme=http",
            "s3://bucket/dir/part?endpoint_override=http://h:1&scheme=http",
        ),
    ],
)
def test_a_name_goes_before_the_options_of_a_uri(uri: str, joined: str) -> None:
    assert Place(uri) / "part" == Place(joined)


@pytest.mark.parametrize(
    ("uri", "beside"),
    [
        ("w", ".w.x"),
        ("/w/", "/.w.x"),
        ("what?", ".what?.x"),
        ("s3://bucket/dir/w/", "s3://bucket/dir/.w.x"),
        (
            "s3://key:secret@bucket/w?scheme=http",
            "s3://key:secret@bucket/.w.x?scheme=http",
        ),
        ("s3://bucket?scheme=http", "s3://bucket/..x?scheme=http"),
    ],
)
def test_what_is_beside_a_place_is_in_the_same_directory(uri: str, beside: str) -> None:
    assert Place(uri).beside(before=".", after=".x") == Place(beside)


def test_names_are_escaped_in_uris_only() -> None:
    uri = "s3://bucket/d?region=eu-west-1"
    assert (Place(uri) / "a b/50%?é").open()[1] == "bucket/d/a b/50%?é"
    assert Place("d") / "50%" == Place("d/50%")


def test_a_uri_may_have_spaces_and_letters_of_any_kind() -> None:
    place = Place("s3://bucket/my é%20dir?region=eu-west-1")
    assert place.open()[1] == "bucket/my é dir"
    assert place.local is None
    assert place.absolute() is place


def test_a_uri_that_cannot_be_opened_is_bad_input() -> None:
    with pytest.raises(InputError) as refused:
        Place("s3://k:s@/").open()
    assert str(refused.value).startswith("s3:///: ")


def test_credentials_are_not_shown() -> None:
    place = Place("s3://key:secret@bucket/dir?region=eu-west-1")
    assert str(place) == "s3://bucket/dir?region=eu-west-1"
    assert repr(place) == "Place('s3://bucket/dir?region=eu-west-1')"
    assert place.without_credentials() == Place("s3://bucket/dir?region=eu-west-1")
    assert f"{place / 'x'}" == "s3://bucket/dir/x?region=eu-west-1"
    assert str(Place("a:b@c/d")) == "a:b@c/d"  # a path, where it means nothing
    with pytest.raises(InputError) as refused:
        Place("s3://key:secret@/").open()
    assert "secret" not in str(refused.value)


def test_files_are_written_read_listed_and_deleted(tmp_path: Path) -> None:
    root = Place(str(tmp_path / "root"))
    assert not root.exists()
    assert root.files() == []
    (root / "b").make()
    (root / "b/2").write(b"two")
    (root / "1").write(b"one")
    assert (root / "b/2").read() == b"two"
    assert root.files() == ["1", "b/2"]
    (root / "b").delete()
    (root / "1").delete()
    (root / "1").delete()  # nothing there, nothing to do
    assert root.exists()
    assert root.files() == []


@pytest.mark.parametrize(
    "uri",
    ["file:/a/b c", "file:///a/b c", "file://localhost/a/b%20c", "FILE:/a/b c"],
)
def test_a_file_uri_of_any_kind_is_a_path(uri: str) -> None:
    place = Place(uri)
    assert place == Place("/a/b c")
    assert str(place) == "/a/b c"
    assert place / "x" == Place("/a/b c/x")


def test_a_uri_that_was_a_path_meanwhile_is_understood() -> None:
    assert Place(str(Path("s3a://bucket/d"))) == Place("s3://bucket/d")


def test_what_spark_calls_an_s3_store_is_one() -> None:
    for scheme in ("s3a", "s3n", "S3A"):
        place = Place(f"{scheme}://key:secret@bucket/d?region=eu-west-1")
        assert place.without_credentials() == Place("s3://bucket/d?region=eu-west-1")
        assert place.open()[1] == "bucket/d"


@pytest.mark.parametrize(
    ("uri", "text", "hint"),
    [
        ("dbfs:/x/y", "dbfs:/x/y: found the scheme dbfs", "/dbfs/x/y"),
        ("dbfs:///x/y", "dbfs:///x/y: found the scheme dbfs", "/dbfs/x/y"),
        ("wasbs://c@a/x", "wasbs://c@a/x: found the scheme wasbs", "s3://"),
        ("file://host/x", "file://host/x: found the host host", "file:///x"),
        ("C:/x", "C:/x: found the scheme C", "./C:/"),
        ("nope://key:secret@b/x", "nope://key@b/x: found the scheme nope", "./nope"),
    ],
)
def test_a_scheme_that_is_not_known_never_becomes_a_folder(
    uri: str, text: str, hint: str
) -> None:
    with pytest.raises(InputError) as refused:
        Place(uri)
    assert str(refused.value).startswith(text)
    assert hint in refused.value.hint


def test_a_colon_in_a_name_is_no_scheme(tmp_path: Path) -> None:
    for name in ("at 12:30/x", "a:b", "d/a:/b", "./dbfs:/x", "d/s3://x", "file:x"):
        assert Place(name).local == Path(os.path.abspath(name))


def test_a_container_is_no_credential() -> None:
    uri = "abfss://data@account.dfs.core.windows.net/d"
    assert str(Place(uri)) == uri
    secret = "abfss://data:secret@account.dfs.core.windows.net/d?client_secret=s&x=1"
    assert str(Place(secret)) == f"{uri}?client_secret=&x=1"


def test_hdfs_without_its_library_is_bad_input() -> None:
    if "HADOOP_HOME" in os.environ:
        pytest.skip("Hadoop is here")
    with pytest.raises(InputError, match="hdfs://h:1/x cannot be opened: "):
        Place("hdfs://h:1/x").open()
