"""What users asked for and what they got, as they tell it: columns, kept as Parquet.

A life is a user's subscription within one login: from when it was asked for until the
logout, the unsubscription or the end. Only `handed` is long; the text of a result is
kept once for all who got it, and whoever got another one under its name is counted.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

LOGGED_OUT, UNSUBSCRIBED, ONLINE = "logout", "unsubscribe", "online"  # at the end

_LIVES = pa.schema(
    [
        ("life", pa.int32()),
        ("user", pa.string()),
        ("topic", pa.string()),
        ("latest", pa.bool_()),
        ("asked", pa.float64()),
        ("served", pa.float64()),
        ("ended", pa.float64()),
        ("how", pa.string()),
    ]
)
_HANDED = pa.schema(
    [
        ("life", pa.int32()),
        ("epoch", pa.int64()),
        ("seq", pa.int64()),
        ("at", pa.float64()),
    ]
)
_NOTICED = pa.schema(
    [
        ("user", pa.string()),
        ("seq", pa.int64()),
        ("sent", pa.float64()),
        ("at", pa.float64()),
    ]
)
_TEXTS = pa.schema([("epoch", pa.int64()), ("seq", pa.int64()), ("text", pa.string())])


@dataclass
class Life:
    """Times are seconds since 1970; `served` is None if that has not happened."""

    user: str
    topic: str
    latest: bool
    asked: float
    served: float | None = None
    ended: float | None = None
    how: str = ONLINE


@dataclass
class Handed:
    """What lives got, in order: one row for each result that was handed over."""

    life: list[int] = field(default_factory=list)
    epoch: list[int] = field(default_factory=list)
    seq: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)


@dataclass
class Noticed:
    """Messages of a direct topic: who got which, when it was sent, and when it came."""

    user: list[str] = field(default_factory=list)
    seq: list[int] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    at: list[float] = field(default_factory=list)


@dataclass
class Diary:
    """`different` counts results that were not for everyone the same, `gaps` those
    that clients were told will not come, `unexpected` those that came to somebody who
    had not asked for them."""

    lives: list[Life] = field(default_factory=list)
    handed: Handed = field(default_factory=Handed)
    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    noticed: Noticed = field(default_factory=Noticed)
    different: int = 0
    gaps: int = 0
    unexpected: int = 0

    def begin(self, life: Life) -> int:
        self.lives.append(life)
        return len(self.lives) - 1

    def note(self, life: int, epoch: int, seq: int, text: str, at: float) -> None:
        if self.texts.setdefault((epoch, seq), text) != text:
            self.different += 1
        handed = self.handed
        handed.life.append(life)
        handed.epoch.append(epoch)
        handed.seq.append(seq)
        handed.at.append(at)

    def notice(self, user: str, seq: int, sent: float, at: float) -> None:
        noticed = self.noticed
        noticed.user.append(user)
        noticed.seq.append(seq)
        noticed.sent.append(sent)
        noticed.at.append(at)


def write_diary(diary: Diary, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    counts = {
        name: str(getattr(diary, name)) for name in ("different", "gaps", "unexpected")
    }
    lives = [{"life": n} | vars(life) for n, life in enumerate(diary.lives)]
    table = pa.Table.from_pylist(lives, _LIVES.with_metadata(counts))
    pq.write_table(table, directory / "lives.parquet")
    handed = pa.Table.from_pydict(vars(diary.handed), _HANDED)
    pq.write_table(handed, directory / "handed.parquet")
    noticed = pa.Table.from_pydict(vars(diary.noticed), _NOTICED)
    pq.write_table(noticed, directory / "noticed.parquet")
    texts = {
        "epoch": [epoch for epoch, _ in diary.texts],
        "seq": [seq for _, seq in diary.texts],
        "text": list(diary.texts.values()),
    }
    pq.write_table(pa.Table.from_pydict(texts, _TEXTS), directory / "texts.parquet")


def read_diaries(directories: Iterable[Path]) -> Diary:
    """Those of several players as one."""
    whole = Diary()
    for directory in directories:
        _add(whole, directory)
    return whole


def _add(whole: Diary, directory: Path) -> None:
    def read(name: str) -> pa.Table:
        return pq.read_table(directory / f"{name}.parquet")

    before = len(whole.lives)
    lives = read("lives")
    for row in lives.drop_columns("life").to_pylist():
        whole.lives.append(Life(**row))
    counts = {k.decode(): int(v) for k, v in (lives.schema.metadata or {}).items()}
    whole.gaps += counts["gaps"]
    whole.different += counts["different"]
    whole.unexpected += counts["unexpected"]
    handed = read("handed").to_pydict()
    handed["life"] = [before + life for life in handed["life"]]
    _extend(whole.handed, handed)
    _extend(whole.noticed, read("noticed").to_pydict())
    for text in read("texts").to_pylist():
        key = text["epoch"], text["seq"]
        if whole.texts.setdefault(key, text["text"]) != text["text"]:
            whole.different += 1


def _extend(whole: Handed | Noticed, columns: dict[str, list[Any]]) -> None:
    for name, values in columns.items():
        getattr(whole, name).extend(values)
