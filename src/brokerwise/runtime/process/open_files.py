"""How many files a process may have open: each connection is one of them."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

from brokerwise.runtime.process.meters import metric_text
from brokerwise.runtime.protocol.limits import RESERVED_FILES

_OPEN = (Path("/proc/self/fd"), Path("/dev/fd"))


@dataclass(frozen=True)
class OpenFiles:
    """How many files a process may have open, and how many are kept for its own use.

    A new descriptor gets the lowest number that is free. So the number of a new
    connection tells whether there is room for it: all below it are taken.

    Attributes
    ----------
    limit
        The most of all files together.
    open_to_all
        Connections with a number from here on are only for the fleet's own.
    own
        From here on they are only for what the process opens itself.
    """

    limit: int

    @property
    def open_to_all(self) -> int:
        return self.limit - self._reserve

    @property
    def own(self) -> int:
        return self.limit - self._reserve // 2

    @property
    def _reserve(self) -> int:
        return min(RESERVED_FILES, self.limit // 4)


def allow_many_files() -> OpenFiles:
    """Raise the limit as far as the machine allows; returns the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # some systems do not allow the hard limit
        return OpenFiles(soft)
    return OpenFiles(hard)


def count_open() -> int:
    """The number of files that this process has open; 0 where that is unknown."""
    for folder in _OPEN:
        if folder.exists():
            return len(os.listdir(folder)) - 1  # the folder itself was open
    return 0


def metrics_text() -> str:
    """Both figures for Prometheus, under the names that they have everywhere."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return metric_text(
        "process_open_fds",
        "gauge",
        "files and connections that are open",
        {(): count_open()},
    ) + metric_text(
        "process_max_fds",
        "gauge",
        "files and connections that may be open",
        {(): limit},
    )
