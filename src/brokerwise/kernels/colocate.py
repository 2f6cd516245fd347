"""What the co-location planner asks of sets of topics: a table of sets and what is
known of each, which topics are no lighter than others, and a maximum matching of
pairs.
"""

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s

Verdicts = npt.NDArray[np.int8]

FREE = 0
PENDING = 1
NO = 2
YES = 3

NOTHING = -1  # left out

NONE = -1


@leaf
def _hash(rows: Int32s, at: int, left_out: int) -> int:
    """FNV-1a over the numbers of a row but one, with the high bits folded down."""
    mixed = np.uint64(14695981039346656037)
    for column in range(rows.shape[1]):
        if column != left_out:
            mixed ^= np.uint64(rows[at, column])
            mixed *= np.uint64(1099511628211)
            mixed ^= mixed >> np.uint64(29)
    return int(mixed >> np.uint64(1))


@leaf
def _slot(
    keys: Int32s, verdicts: Verdicts, rows: Int32s, at: int, left_out: int
) -> int:
    """Where a row without one of its numbers is, or would be."""
    mask = len(verdicts) - 1
    slot = _hash(rows, at, left_out) & mask
    while verdicts[slot] != FREE:
        same = True
        place = 0
        for column in range(rows.shape[1]):
            if column != left_out:
                if keys[slot, place] != rows[at, column]:
                    same = False
                    break
                place += 1
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@kernel
def claim(
    keys: Int32s, verdicts: Verdicts, rows: Int32s, slots: Int64s, fresh: Int64s
) -> int:
    """Find the slot of each row, and take a free one for those that are new.

    Returns how many are new; `fresh` begins with their numbers, each once. `keys` has
    a power of two of rows, some of them free beyond those that are new.
    """
    new = 0
    for at in range(len(rows)):
        slot = _slot(keys, verdicts, rows, at, NOTHING)
        if verdicts[slot] == FREE:
            verdicts[slot] = PENDING
            keys[slot] = rows[at]
            fresh[new] = at
            new += 1
        slots[at] = slot
    return new


@kernel
def refute(keys: Int32s, verdicts: Verdicts, rows: Int32s, refuted: Bools) -> None:
    """Note the rows of which some part, with one number less, is known to be refused.

    The table is of rows that are one shorter than these.
    """
    for at in range(len(rows)):
        for column in range(rows.shape[1]):
            if verdicts[_slot(keys, verdicts, rows, at, column)] == NO:
                refuted[at] = True
                break


@kernel
def heavier(sizes: Float64s, these: Int32s, than: Int32s) -> Bools:
    """Whether each of `these` is no lighter than some of `than`, in no respect.

    `sizes` has a row for each respect and a column for each topic.
    """
    found = np.zeros(len(these), np.bool_)
    for at in range(len(these)):
        for other in range(len(than)):
            no_lighter = True
            for respect in range(len(sizes)):
                if sizes[respect, these[at]] < sizes[respect, than[other]]:
                    no_lighter = False
                    break
            if no_lighter:
                found[at] = True
                break
    return found


@kernel
def maximum_matching(offsets: Int64s, neighbours: Int32s) -> Int32s:
    """The partner of each vertex, NONE for those without.

    Vertex v is joined to `neighbours[offsets[v]:offsets[v + 1]]`. Begins greedily, in
    order of the vertices, and then looks for a path from each vertex that is left. What
    a search in vain has seen is on no path that is found later, and is left alone from
    then on. O(n^3) at most.

    Edmonds (1965). Paths, trees, and flowers. Canadian Journal of Mathematics 17.
    """
    count = len(offsets) - 1
    match = np.full(count, NONE, np.int32)
    for v in range(count):
        for at in range(offsets[v], offsets[v + 1]):
            if match[v] == NONE and match[neighbours[at]] == NONE:
                match[v] = neighbours[at]
                match[neighbours[at]] = v
    numbers = np.empty((3, count), np.int32)
    marks = np.zeros((4, count), np.bool_)
    parent, used, dead = numbers[0], marks[0], marks[3]
    for root in range(count):
        if match[root] == NONE:
            end = _find_path(root, offsets, neighbours, match, numbers, marks)
            _flip(end, parent, match)
            if end == NONE:
                for v in range(count):
                    dead[v] = dead[v] or used[v] or parent[v] != NONE
    return match


@kernel
def _find_path(
    root: int,
    offsets: Int64s,
    neighbours: Int32s,
    match: Int32s,
    numbers: Int32s,
    marks: Bools,
) -> int:
    """The end of an augmenting path from the root, NONE if there is none. Breadth
    first; odd circles are shrunk to their base."""
    parent, base, queue = numbers[0], numbers[1], numbers[2]
    used, blossom, seen, dead = marks[0], marks[1], marks[2], marks[3]
    used[:] = False
    parent[:] = NONE
    base[:] = np.arange(len(base))
    used[root] = True
    queue[0] = root
    head, tail = 0, 1
    while head < tail:
        v = queue[head]
        head += 1
        for at in range(offsets[v], offsets[v + 1]):
            to = neighbours[at]
            if dead[to] or base[v] == base[to] or match[v] == to:
                continue
            if to == root or (match[to] != NONE and parent[match[to]] != NONE):
                common = _common_base(v, to, match, parent, base, seen)
                blossom[:] = False
                _mark(v, common, to, match, parent, base, blossom)
                _mark(to, common, v, match, parent, base, blossom)
                tail = _shrink(common, base, blossom, used, queue, tail)
            elif parent[to] == NONE:
                parent[to] = v
                if match[to] == NONE:
                    return int(to)
                used[match[to]] = True
                queue[tail] = match[to]
                tail += 1
    return NONE


@leaf
def _shrink(
    common: int, base: Int32s, blossom: Bools, used: Bools, queue: Int32s, tail: int
) -> int:
    """Give the circle one base; those of it that were not in the queue join it."""
    for v in range(len(base)):
        if blossom[base[v]]:
            base[v] = common
            if not used[v]:
                used[v] = True
                queue[tail] = v
                tail += 1
    return tail


@kernel
def _common_base(
    a: int, b: int, match: Int32s, parent: Int32s, base: Int32s, seen: Bools
) -> int:
    """The nearest base that the ways from a and b to the root share."""
    seen[:] = False
    while True:
        a = base[a]
        seen[a] = True
        if match[a] == NONE:
            break
        a = parent[match[a]]
    while True:
        b = base[b]
        if seen[b]:
            return int(b)
        b = parent[match[b]]


@leaf
def _mark(
    v: int,
    common: int,
    child: int,
    match: Int32s,
    parent: Int32s,
    base: Int32s,
    blossom: Bools,
) -> None:
    """Note the circle from v down to its base, and the way around it."""
    while base[v] != common:
        blossom[base[v]] = True
        blossom[base[match[v]]] = True
        parent[v] = child
        child = match[v]
        v = parent[match[v]]


@leaf
def _flip(end: int, parent: Int32s, match: Int32s) -> None:
    """Match along the path that ends here, if there is one."""
    while end != NONE:
        before = parent[end]
        following = match[before]
        match[end] = before
        match[before] = end
        end = following
