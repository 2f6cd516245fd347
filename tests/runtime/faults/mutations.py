"""Frames as clients send them, whole or with something wrong, in any order; and what
the protocol says that a broker answers them with."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from brokerwise.runtime.protocol.frames import CloseCode
from brokerwise.runtime.protocol.limits import MAX_NAME_BYTES, MAX_SEQ

GOODBYE = 1000
_MISSING = object()
ANYTHING = 0  # whether the text is a frame nobody has said


@dataclass(frozen=True)
class Said:
    """One text. `kind` is the type of the frame; `verdict` the code that the broker
    closes with after a login, None if it goes on, ANYTHING if either may be."""

    text: bytes
    kind: str
    verdict: int | None


NAMES = st.sampled_from(["f0", "f1", "fuzz/ä", "☃", "f 2", "f" * MAX_NAME_BYTES])
COUNTS = st.integers(0, MAX_SEQ) | st.sampled_from([0, 1, MAX_SEQ])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
CURSORS = st.lists(st.tuples(NAMES, NAMES, COUNTS, COUNTS), max_size=3)

BAD_NAMES: SearchStrategy[Any] = st.sampled_from(
    ["", "\x00", "a\nb", "\u2028", "x" * (MAX_NAME_BYTES + 1), 1, None, True, [], {}]
)
BAD_COUNTS: SearchStrategy[Any] = st.sampled_from(
    [-1, MAX_SEQ + 1, 1 << 70, 1.5, "1", None, True, [], {}]
)
BAD_NUMBERS: SearchStrategy[Any] = st.sampled_from(["1", None, True, [], {}])
BAD_LISTS: SearchStrategy[Any] = st.sampled_from(
    ["f0", 1, None, {}, [1], [""], [None], [[]], True]
)
BAD_RANGES: SearchStrategy[Any] = st.sampled_from(
    ["x", 1, None, [], True, {"x": 1}, {"x": [1]}, {"": [0, 1]}, {"x": [0, "1"]}]
)
BAD_REASONS: SearchStrategy[Any] = st.sampled_from([1, None, [], "r" * 2_000])

Fields = dict[str, tuple[SearchStrategy[Any], SearchStrategy[Any], bool]]
_ID = (COUNTS, BAD_COUNTS, False)
_TOPICS = (st.lists(NAMES, max_size=3), BAD_LISTS, False)
_MOVE = (COUNTS, BAD_COUNTS, True)

Writer = Callable[[dict[str, Any]], bytes]
WRITERS: SearchStrategy[Writer] = st.sampled_from(
    [
        lambda frame: json.dumps(frame).encode(),
        lambda frame: json.dumps(dict(reversed(frame.items()))).encode(),
        lambda frame: json.dumps(frame, ensure_ascii=False, indent=1).encode(),
    ]
)

# Of each field: what is right, what is wrong, and whether it must be there.
FRAMES: dict[str, Fields] = {
    "subscribe": {
        "id": _ID,
        "topics": _TOPICS,
        "ranges": (
            st.dictionaries(NAMES, st.tuples(st.floats(0, 1), st.floats(0, 1))),
            BAD_RANGES,
            False,
        ),
        "cursors": (CURSORS, BAD_LISTS, False),
    },
    "unsubscribe": {"id": _ID, "topics": _TOPICS},
    "ack": {
        "count": (st.just(0), BAD_COUNTS, True),
        "cursors": (CURSORS, BAD_LISTS, False),
    },
    "publish": {
        "topic": (NAMES, BAD_NAMES, True),
        "epoch": (COUNTS, BAD_COUNTS, True),
        "seq": (COUNTS.filter(bool), BAD_COUNTS | st.just(0), True),
        "data": (JSON, st.nothing(), False),
        "generation": (COUNTS, BAD_COUNTS, False),
        "at": (st.floats(0, 1e15), BAD_NUMBERS, False),
    },
    "accept": {"move": _MOVE},
    "decline": {"move": _MOVE, "reason": (st.text(max_size=20), BAD_REASONS, False)},
    "moved": {"move": _MOVE},
    "logout": {},
}


def whole_frames() -> SearchStrategy[Said]:
    """A frame as the protocol has it: those fields that need not be there perhaps not
    there, and perhaps one that nobody knows."""
    return st.one_of([_whole(kind) for kind in FRAMES])


def wrong_frames() -> SearchStrategy[Said]:
    """A frame of which one field is wrong, or missing."""
    return st.one_of(
        [_wrong(kind, name) for kind, fields in FRAMES.items() for name in fields]
    )


def _whole(kind: str) -> SearchStrategy[Said]:
    end = GOODBYE if kind == "logout" else None
    return st.builds(
        lambda frame, text: Said(text({"type": kind, **frame}), kind, end),
        _fields(kind),
        WRITERS,
    )


def _wrong(kind: str, name: str) -> SearchStrategy[Said]:
    _, bad, needed = FRAMES[kind][name]

    def spoilt(frame: dict[str, Any], value: object, text: Writer) -> Said:
        fields = {"type": kind, **frame, name: value}
        if value is _MISSING:
            del fields[name]
        return Said(text(fields), kind, CloseCode.MALFORMED)

    wrong = bad | st.just(_MISSING) if needed else bad
    return st.builds(spoilt, _fields(kind), wrong, WRITERS)


def _fields(kind: str) -> SearchStrategy[dict[str, Any]]:
    fields = FRAMES[kind]
    needed = {name: good for name, (good, _, must) in fields.items() if must}
    others = {name: good for name, (good, _, must) in fields.items() if not must}
    return st.fixed_dictionaries(needed, optional={**others, "newer": JSON})


MISPLACED: list[dict[str, Any]] = [
    {"type": "login", "user": "fuzz", "token": "again"},
    {"type": "forward", "topic": "f0", "source": "x", "epoch": 1, "seq": 1},
    {"type": "ack", "count": MAX_SEQ},
    {"type": "welcome"},
    {"type": "message", "topic": "f0", "source": "x", "epoch": 1, "seq": 1},
    {"type": ["publish"]},
    {},
]


def misplaced_frames() -> SearchStrategy[Said]:
    """What a user has no business to say once it has logged in."""
    return st.sampled_from(MISPLACED).map(
        lambda frame: Said(
            json.dumps(frame).encode(), str(frame.get("type")), CloseCode.MALFORMED
        )
    )


def broken_texts() -> SearchStrategy[Said]:
    """The text of a frame of which some bytes have been cut out or changed."""
    places, pieces = st.integers(0, 60), st.binary(max_size=4)

    def broken(drawn: tuple[Said, int, int, bytes]) -> Said:
        whole, start, length, piece = drawn
        text = whole.text[:start] + piece + whole.text[start + length :]
        return Said(text, "broken", ANYTHING)

    return st.tuples(whole_frames(), places, places, pieces).map(broken)


def anything_said() -> SearchStrategy[Said]:
    noise = st.text().map(lambda text: Said(text.encode(), "noise", ANYTHING))
    return whole_frames() | wrong_frames() | misplaced_frames() | broken_texts() | noise


def verdict(said: list[Said], *, logged_in: bool) -> int | None:
    """The code that closes a connection on which all this is said; None: it goes on.
    ANYTHING if the first thing that might end it is open to doubt."""
    for one in said:
        if one.verdict == ANYTHING:
            return ANYTHING
        if not logged_in:
            is_login = one.kind == "login"
            return ANYTHING if is_login else CloseCode.MALFORMED
        if one.verdict is not None:
            return one.verdict
    return None
