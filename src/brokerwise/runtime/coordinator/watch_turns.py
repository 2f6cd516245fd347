"""Whom to ask next, if there are more than can be asked at once. No clock."""

from collections.abc import Iterable

_NEVER = float("-inf")


class Turns:
    """Everybody has a turn every `every` seconds or, if that would be more than
    `at_once` of them each time, as often as that allows."""

    def __init__(self, every: float, at_once: int) -> None:
        self._every, self._at_once = every, at_once
        self._asked: dict[str, float] = {}

    def next(self, names: Iterable[str], now: float) -> list[str]:
        """Those whose turn it is, who waited longest first; they count as asked."""
        asked = {name: self._asked.get(name, _NEVER) for name in names}
        due = [name for name, at in asked.items() if now - at >= self._every]
        due.sort(key=asked.__getitem__)
        chosen = due[: self._at_once]
        self._asked = asked | dict.fromkeys(chosen, now)
        return chosen

    def is_round(self) -> bool:
        """Whether everybody who was there the last time has had a turn."""
        return _NEVER not in self._asked.values()
