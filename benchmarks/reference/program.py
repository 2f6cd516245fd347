"""The published solution as a C++ program: built, given a workload, and run."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.fleet import Prices
from brokerwise.model.interests import Interests

SOURCE = Path(__file__).with_name("gsp_cbp.cpp")
MODES = ("literal", "scan", "grouped")


class NoCompilerError(Exception):
    """There is no g++ on this machine."""

    def __init__(self) -> None:
        super().__init__(
            "the C++ reference needs g++, which is not installed: "
            "apt install g++ (Debian, Ubuntu) or dnf install gcc-c++ (Fedora)"
        )


@dataclass(frozen=True)
class Run:
    """What the program printed: seconds, and the rest as `result`."""

    mode: str
    stage1: float
    stage2: float
    grouping: float
    result: dict[str, Any]

    @property
    def seconds(self) -> float:
        """Both stages."""
        return self.stage1 + self.stage2

    @property
    def seconds_without_grouping(self) -> float:
        """Both stages, but for putting the pairs of a topic together."""
        return self.seconds - self.grouping


def build(folder: Path, source: Path = SOURCE) -> Path:
    """Compile a program into a folder."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise NoCompilerError
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / source.stem
    command = [compiler, "-std=c++17", "-O2", "-o", str(program), str(source)]
    subprocess.run(command, check=True)
    return program


def dump(rates: Int64s, interests: Interests, folder: Path) -> None:
    """Write the arrays that the program reads."""
    folder.mkdir(parents=True, exist_ok=True)
    rates.astype("<i8", copy=False).tofile(folder / "rates.i64")
    interests.offsets.astype("<i8", copy=False).tofile(folder / "offsets.i64")
    interests.topics.astype("<i4", copy=False).tofile(folder / "topics.i32")


def run(
    program: Path,
    arrays: Path,
    mode: str,
    *,
    threshold: int,
    capacity: int,
    prices: Prices,
) -> Run:
    """Plan for the arrays of a folder with brokers of one type."""
    usd = (*prices.brokers, prices.incoming, prices.outgoing)
    command = [str(program), str(arrays), mode, str(threshold), str(capacity)]
    command += map(repr, usd)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    return Run(
        found.pop("mode"),
        found.pop("stage1_seconds"),
        found.pop("stage2_seconds"),
        found.pop("grouping_seconds"),
        found,
    )


def check_sum(first: int, offsets: Int64s, topics: Int32s) -> int:
    """The program's check sum of pairs, of lists of subscribers from `first` on.

    The sums of parts add up modulo 2^64 to that of the whole.
    """
    count = len(offsets) - 1
    owner = np.repeat(np.arange(first, first + count), np.diff(offsets))
    word = owner.astype(np.uint64) << np.uint64(32) | topics.astype(np.uint64)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((word ^ (word >> np.uint64(31))).sum(dtype=np.uint64))
