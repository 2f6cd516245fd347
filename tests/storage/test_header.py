"""Headers that cannot be used are refused with the name of their file."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from brokerwise.model.errors import InputError
from brokerwise.storage.header import named_files, parse_header
from brokerwise.storage.place import Place


@dataclass(frozen=True)
class Small:
    count: int
    files: dict[str, list[str]]
    format: int


def parse(directory: Path) -> Small:
    return parse_header(
        Place(str(directory)),
        "small.json",
        Small,
        format=3,
        keys={"files": ("parts",)},
        hint="Make one.",
    )


GOOD = {"count": 1, "files": {"parts": ["a", "b"]}, "format": 3}


def test_a_good_header_is_read(tmp_path: Path) -> None:
    (tmp_path / "small.json").write_text(json.dumps(GOOD))
    assert parse(tmp_path) == Small(1, {"parts": ["a", "b"]}, 3)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", " is not JSON: "),
        ("", " is not JSON: "),
        (b"\xff\xfe\xfa", " is not JSON: "),
        ([GOOD], ": found format None, expected 3"),
        (GOOD | {"format": 2}, ": found format 2, expected 3"),
        ({"count": 1, "files": {"parts": []}}, ": found format None, expected 3"),
        ({"files": {"parts": []}, "format": 3}, ": .*missing required field `count`"),
        (GOOD | {"count": "1"}, r": Expected `int`, got `str` - at `\$.count`"),
        (GOOD | {"count": 1.5}, r": Expected `int`, got `float` - at `\$.count`"),
        (GOOD | {"files": {}}, " has no 'parts'"),
        (GOOD | {"files": {"parts": "a"}}, ": Expected `array`, got `str`"),
        (
            GOOD | {"files": {"parts": ["../../x"]}},
            r" names a file outside its directory: 'parts/\.\./\.\./x'",
        ),
        (
            GOOD | {"tables": {"brokers": "/etc/x"}},
            " names a file outside its directory: '/etc/x'",
        ),
    ],
)
def test_a_bad_header_is_refused_with_its_file(
    tmp_path: Path, content: Any, text: str
) -> None:
    file = tmp_path / "small.json"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(InputError, match=f"^{file}{text}"):
        parse(tmp_path)


def test_a_directory_without_a_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        parse(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path} is not a small directory: it has no small.json"
    )
    assert refused.value.hint == "Make one."


def test_named_files_are_relative_to_the_directory() -> None:
    header = {"files": {"a": ["1", "2"], "b": []}, "tables": {"t": "t.parquet"}}
    assert named_files(header) == {"a/1", "a/2", "t.parquet"}
