"""Names by a part of them: in memory once, as one array, and never row by row."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brokerwise.model.names import Names
from brokerwise.viewing.view import FOUND


@dataclass(frozen=True)
class Hits:
    """Numbers of names that were found, the best first, and whether there are more."""

    numbers: tuple[int, ...] = ()
    more: bool = False


class Search:
    """Looks through names; O(bytes of all names) a search, in compiled code."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._array: pa.Array = names.to_arrow()

    def hits(self, text: str, most: int = FOUND) -> Hits:
        """The name that is `text`, then those that begin with it, then those that hold
        it; each in the order of their numbers."""
        if not text:
            return Hits()
        found: dict[int, None] = {}
        for looks in (pc.equal, pc.starts_with, pc.match_substring):
            if len(found) <= most:
                held = looks(self._array, text)
                mask = held.to_numpy(zero_copy_only=False)
                numbers = np.flatnonzero(mask)[: most + 1 + len(found)].tolist()
                found |= dict.fromkeys(numbers)
        return Hits(tuple(found)[:most], len(found) > most)
