"""Patterns that match in a time that does not run away. Pure.

Java matches by trying: a repeated group that repeats within, or many repetitions after
one another, can take longer than anyone waits, on a text chosen for it, and a match
cannot be interrupted.
"""

MAX_LENGTH = 256
MAX_REPEATS = 3
MAX_PERCENTS = 3
_REPEATS = "*+?{"


def is_simple_like(pattern: str) -> bool:
    return len(pattern) <= MAX_LENGTH and pattern.count("%") <= MAX_PERCENTS


def is_simple_pattern(pattern: str) -> bool:
    """Whether at most MAX_REPEATS characters or classes repeat, and no group does, nor
    a part of it refers to another or looks around."""
    if len(pattern) > MAX_LENGTH:
        return False
    repeats, before, i = 0, "", 0
    while i < len(pattern):
        char = pattern[i]
        if char == "\\":
            after = pattern[i + 1 : i + 2]
            # \1, \k<name>, \Q..\E: what follows is not what it looks like.
            if after == "" or after in "0123456789kQE":
                return False
            i += 1
        elif char == "[":
            end = _end_of_class(pattern, i)
            if end < 0:
                return False
            i = end
        elif char in _REPEATS:
            if before in ("", "(", ")", "|") or before in _REPEATS:
                return False
            repeats += 1
            if char == "{":
                i = pattern.find("}", i)
                if i < 0:
                    return False
        before, i = char, i + 1
    return repeats <= MAX_REPEATS


def _end_of_class(pattern: str, start: int) -> int:
    """Where the ] of a class is; -1 without one, or if there is a class within."""
    i = start + 1
    while i < len(pattern):
        if pattern[i] == "\\":
            i += 1
        elif pattern[i] == "[":
            return -1
        elif pattern[i] == "]" and i > start + 1 and pattern[start + 1 : i] != "^":
            return i
        i += 1
    return -1
