"""How many files a process may have open: each connection is one of them."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

from brokerwise.runtime.protocol.limits import RESERVED_FILES

_OPEN = (Path("/proc/self/fd"), Path("/dev/fd"))


@dataclass(frozen=True)
class OpenFiles:
    """What a process may have open, and what of it is kept for itself.

    A new descriptor gets the lowest number that is free. So the number of a new
    connection tells whether there is room for it: all below it are taken.

    Attributes
    ----------
    limit
        Of the machine, in all.
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
    """Have as many as the machine allows; what is in force then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # not everywhere may it be the hard limit
        return OpenFiles(soft)
    return OpenFiles(hard)


def count_open() -> int:
    """What this process has open now; 0 where that cannot be told."""
    for folder in _OPEN:
        if folder.exists():
            return len(os.listdir(folder)) - 1  # the folder itself was open
    return 0


def metrics_text() -> str:
    """Both figures for Prometheus, under the names that they have everywhere."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        "# HELP process_open_fds files and connections that are open\n"
        "# TYPE process_open_fds gauge\n"
        f"process_open_fds {count_open()}\n"
        "# HELP process_max_fds files and connections that may be open\n"
        "# TYPE process_max_fds gauge\n"
        f"process_max_fds {limit}\n"
    )
