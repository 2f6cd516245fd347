"""Small random message histories, and what a summary of one must say."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from brokerwise.pipeline.networks.topology import NetworkFiles
from brokerwise.storage.place import Place

Numbers = npt.NDArray[np.float64]
Row = Mapping[Any, Any]


@dataclass
class History:
    """Messages and subscriptions, as files and as frames."""

    folder: Path
    messages: pd.DataFrame
    subscriptions: pd.DataFrame
    attributes: list[str]
    users: list[str] = field(default_factory=list)

    @property
    def files(self) -> NetworkFiles:
        return NetworkFiles(
            Place(str(self.folder / "brokers.csv")), Place(str(self.folder / "u.csv"))
        )

    def write(self) -> "History":
        self.messages.to_csv(self.folder / "messages.csv", index=False)
        self.subscriptions.to_csv(self.folder / "ranges.csv", index=False)
        places = np.arange(len(self.users))
        users = pd.DataFrame({"name": self.users, "x": places, "y": places % 3})
        users.to_csv(self.folder / "u.csv", index=False)
        (self.folder / "brokers.csv").write_text(
            "name,capacity,x,y\nwest,100000000,0,0\neast,90000000,10,1\n"
        )
        return self


def random_history(
    folder: Path, seed: int, dimensions: int, messages: int = 300, users: int = 8
) -> History:
    """Values are multiples of 1/4 from 0 to 10: many are the same, and many are on
    edges of sub-channels. Some users have several ranges, some ends have no bound."""
    random = np.random.default_rng(seed)
    names = [f"ü{n}" if n % 3 else f"user {n}" for n in range(users)]
    attributes = [f"a{n}" for n in range(dimensions)]
    frame = pd.DataFrame(
        {
            "publisher": random.choice(names[1:], messages),
            "time": 1_700_000_000 + random.integers(0, 5000, messages),
            "size": random.integers(0, 90, messages),
        }
    )
    for name in attributes:
        frame[name] = random.integers(0, 41, messages) / 4
    rows = []
    for user in random.choice(names[:-1], 2 * users):
        row: dict[str, object] = {"user": user}
        for name in attributes:
            low, high = np.sort(random.integers(0, 41, 2)) / 4
            row[f"{name}_low"] = None if random.random() < 0.2 else low
            row[f"{name}_high"] = None if random.random() < 0.2 else high
        rows.append(row)
    ordered = sorted(names, key=str.encode)
    return History(folder, frame, pd.DataFrame(rows), attributes, ordered).write()


def cells_of(history: History, edges: list[Numbers]) -> npt.NDArray[np.int64]:
    """The sub-channel of each message."""
    cell = np.zeros(len(history.messages), np.int64)
    for name, at in zip(history.attributes, edges, strict=True):
        interval = np.digitize(history.messages[name], at[1:-1])
        cell = cell * (len(at) - 1) + interval
    return cell


def expected_rates(
    history: History, edges: list[Numbers], amount: str | None
) -> dict[tuple[str, int], int]:
    frame = history.messages.assign(cell=cells_of(history, edges), one=1)
    sums = frame.groupby(["publisher", "cell"])[amount or "one"].sum()
    keys = sums.index.to_list()
    return {key: int(sums[key]) for key in keys if sums[key] > 0}


def expected_interests(history: History, edges: list[Numbers]) -> dict[str, set[int]]:
    """Cell by cell: has a range a point in it?"""
    wanted: dict[str, set[int]] = {user: set() for user in history.users}
    sides = [range(len(at) - 1) for at in edges]
    for cell, intervals in enumerate(itertools.product(*sides)):
        for row in history.subscriptions.to_dict("records"):
            if all(
                _meets(row, name, at, k)
                for name, at, k in zip(
                    history.attributes, edges, intervals, strict=True
                )
            ):
                wanted[row["user"]].add(cell)
    return wanted


def _meets(row: Row, name: str, edges: Numbers, interval: int) -> bool:
    low, high = _ends(row, name)
    last = interval == len(edges) - 2
    above = low <= edges[interval + 1] if last else low < edges[interval + 1]
    return bool(above and high >= edges[interval])


def _ends(row: Row, name: str) -> tuple[float, float]:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return -np.inf if pd.isna(low) else low, np.inf if pd.isna(high) else high


def expected_deliveries(history: History, edges: list[Numbers]) -> tuple[int, int]:
    """By sub-channel, and within the exact ranges; message by message."""
    wanted = expected_interests(history, edges)
    caused = exact = 0
    ranges = history.subscriptions.to_dict("records")
    for message, cell in zip(
        history.messages.to_dict("records"), cells_of(history, edges), strict=True
    ):
        others = [user for user in history.users if user != message["publisher"]]
        caused += sum(cell in wanted[user] for user in others)
        asked = {row["user"] for row in ranges if _holds(history, row, message)}
        exact += len(asked - {message["publisher"]})
    return caused, exact


def _holds(history: History, row: Row, message: Row) -> bool:
    ends = ((name, *_ends(row, name)) for name in history.attributes)
    return all(low <= message[name] <= high for name, low, high in ends)


def expected_traffic(
    history: History, edges: list[Numbers], amount: str | None
) -> dict[tuple[str, str], int]:
    wanted = expected_interests(history, edges)
    found: dict[tuple[str, str], int] = {}
    for (sender, cell), rate in expected_rates(history, edges, amount).items():
        for receiver in history.users:
            if receiver != sender and cell in wanted[receiver]:
                pair = sender, receiver
                found[pair] = found.get(pair, 0) + rate
    return found
