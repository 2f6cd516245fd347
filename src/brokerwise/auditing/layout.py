"""Which blocks of subscribers lie in which files: who checks what.

Row groups of interests and placement are blocks of 65,536 subscribers, as we write
them. Files may be cut between any two blocks, those of a plan at other places than
those of its workload.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from brokerwise.auditing.case import Case
from brokerwise.auditing.workload_files import INTERESTS, SUBSCRIBERS, THRESHOLD
from brokerwise.storage.digest import BLOCK
from brokerwise.storage.place import Place
from brokerwise.storage.plan import PLACEMENT
from brokerwise.storage.subscribers import open_parquet
from brokerwise.storage.tables import check_columns

# Footers are small: on an object store it is the waiting that takes time.
_AT_ONCE = 16


class Deviation(Exception):
    """Something is not as it is in a plan that is right, for whatever reason."""


@dataclass(frozen=True)
class Groups:
    """Row groups of one file of the placement, from `start` to before `stop`."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Share:
    """What one task checks: blocks that follow each other, `first` the number of the
    first. The workload's are in whole `parts`, the plan's in `groups`."""

    first: int
    parts: tuple[str, ...]
    groups: tuple[Groups, ...]


def shares_of(case: Case, tasks: int) -> list[Share]:
    """The blocks of a case in so many shares, or fewer if there are few files.

    Reads the footer of every file, and raises Deviation if their row groups are not
    blocks. Raises InputError for a file that has other columns than it should.
    """
    names = case.header.files["interests"]
    if names != case.header.files["subscribers"]:
        raise Deviation("interests and subscribers are in other files")
    wanted = _rows(case.workload / "interests", names, INTERESTS)
    _rows(case.workload / "subscribers", names, SUBSCRIBERS, THRESHOLD)
    placed = _rows(
        case.plan.place / "placement", case.plan.parts, PLACEMENT, exact=True
    )
    rows = [n for part in wanted for n in part]
    if rows != [n for part in placed for n in part]:
        raise Deviation("workload and placement are in other blocks")
    if rows != blocks(case.header.subscribers):
        raise Deviation(f"row groups are not blocks of {BLOCK:,} subscribers")
    return _split(names, [len(part) for part in wanted], _groups(case, placed), tasks)


def blocks(subscribers: int) -> list[int]:
    """How many subscribers each block has."""
    return [min(BLOCK, subscribers - at) for at in range(0, subscribers, BLOCK)]


def _split(
    names: Sequence[str], sizes: Sequence[int], groups: Sequence[Groups], tasks: int
) -> list[Share]:
    """Whole parts, as evenly as they come; `groups` has one entry for each block."""
    tasks = min(tasks, len(names))
    cuts = [len(names) * task // tasks for task in range(tasks + 1)] if tasks else []
    shares, first = [], 0
    for start, stop in pairwise(cuts):
        last = first + sum(sizes[start:stop])
        shares.append(
            Share(first, tuple(names[start:stop]), _joined(groups[first:last]))
        )
        first = last
    return shares


def _groups(case: Case, placed: Sequence[Sequence[int]]) -> list[Groups]:
    return [
        Groups(name, number, number + 1)
        for name, rows in zip(case.plan.parts, placed, strict=True)
        for number in range(len(rows))
    ]


def _joined(groups: Sequence[Groups]) -> tuple[Groups, ...]:
    joined: list[Groups] = []
    for group in groups:
        if joined and joined[-1].name == group.name:
            group = Groups(group.name, joined.pop().start, group.stop)
        joined.append(group)
    return tuple(joined)


def _rows(
    folder: Place,
    names: Sequence[str],
    columns: pa.Schema,
    optional: pa.Schema | None = None,
    *,
    exact: bool = False,
) -> list[list[int]]:
    """The rows of each row group of each file, whose columns are those expected."""

    def rows(name: str) -> list[int]:
        with open_parquet(folder / name) as parquet:
            found, metadata = parquet.schema_arrow, parquet.metadata
        check_columns(
            folder / name,
            found,
            columns,
            optional=optional or pa.schema([]),
            exact=exact,
        )
        return [
            metadata.row_group(group).num_rows
            for group in range(metadata.num_row_groups)
        ]

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(rows, names))
