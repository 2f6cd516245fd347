"""The room that is left on each broker, in a tree of maxima.

`tree[1]` is the most room of all; the halves of node i are 2i and 2i + 1; broker b
is leaf `len(tree) // 2 + b`. Leaves past the last broker hold -1, so nothing fits
there. A look and a change are O(log brokers).
"""

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Int64s


@kernel
def tree_of(rooms: Int64s) -> Int64s:
    """A tree with a leaf for each broker, and at least one leaf."""
    size = 1
    while size < len(rooms):
        size *= 2
    tree = np.empty(2 * size, np.int64)
    for leaf_at in range(size):
        tree[size + leaf_at] = rooms[leaf_at] if leaf_at < len(rooms) else -1
    for at in range(size - 1, 0, -1):
        tree[at] = max(tree[2 * at], tree[2 * at + 1])
    return tree


@leaf
def room_of(tree: Int64s, broker: int) -> int:
    room: int = tree[len(tree) // 2 + broker]
    return room


@leaf
def set_room(tree: Int64s, broker: int, room: int) -> None:
    at = len(tree) // 2 + broker
    tree[at] = room
    at //= 2
    while at >= 1:
        most = max(tree[2 * at], tree[2 * at + 1])
        if tree[at] == most:
            break
        tree[at] = most
        at //= 2


@leaf
def roomiest(tree: Int64s) -> int:
    """The broker with the most room; the first of several."""
    size = len(tree) // 2
    at = 1
    while at < size:
        at *= 2
        if tree[at] < tree[at + 1]:
            at += 1
    return at - size


@leaf
def first_with_room(tree: Int64s, need: int) -> int:
    """The first broker with at least this much room, -1 if there is none."""
    if tree[1] < need:
        return -1
    size = len(tree) // 2
    at = 1
    while at < size:
        at *= 2
        if tree[at] < need:
            at += 1
    return at - size
