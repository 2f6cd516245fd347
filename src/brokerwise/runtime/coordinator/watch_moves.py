"""Which moves have changed lately, for those who watch."""

from collections.abc import Iterable

from brokerwise.runtime.coordinator.moves import (
    UNFINISHED,
    Move,
    MoveState,
    last_move,
    newest_moves,
)
from brokerwise.runtime.process.state_file import Sql

MOVES_SHOWN = 50


class MovesSeen:
    """Moves that have changed since the last look: those that were asked for or agreed
    to, which are looked up, and those that are over, of which it is told."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self._last = last_move(sql)
        self._accepted: set[int] = set()
        self._ended: dict[int, Move] = {}

    def end(self, moves: Iterable[Move]) -> None:
        """These are over. Of very many the last are kept."""
        self._ended |= {move.id: move for move in moves}
        for number in list(self._ended)[:-MOVES_SHOWN]:
            del self._ended[number]

    def look(self) -> list[Move]:
        """The newest of them, newest first."""
        changed = self._requested() | self._agreed_to() | self._ended
        self._ended = {}
        return [changed[n] for n in sorted(changed, reverse=True)][:MOVES_SHOWN]

    def _requested(self) -> dict[int, Move]:
        before, self._last = self._last, last_move(self._sql)
        if self._last == before:
            return {}
        found = newest_moves(self._sql, None, MOVES_SHOWN)
        return {m.id: m for m in found if m.id > before and m.state in UNFINISHED}

    def _agreed_to(self) -> dict[int, Move]:
        found = newest_moves(self._sql, MoveState.ACCEPTED, MOVES_SHOWN)
        before, self._accepted = self._accepted, {move.id for move in found}
        return {move.id: move for move in found if move.id not in before}
