"""How a channel's SQL is refused: with the reason, and the place in the text."""

from brokerwise.model.errors import InputError

_SHOWN = 100  # characters of a line


class RefusedQueryError(InputError):
    """A channel's SQL cannot be used. `line` and `column` count from 1; both are 0,
    and `snippet` empty, if no place in the text is to blame."""

    def __init__(self, reason: str, text: str = "", start: int = -1) -> None:
        self.reason = reason
        self.line, self.column, self.snippet = 0, 0, ""
        details: tuple[str, ...] = ()
        if 0 <= start <= len(text):
            lines = text[:start].split("\n")
            self.line, self.column = len(lines), len(lines[-1]) + 1
            self.snippet = text.split("\n")[self.line - 1].rstrip("\r")
            details = _pointed_at(self.snippet, self.column)
            reason = f"line {self.line}, column {self.column}: {reason}"
        super().__init__(reason, details=details)


def _pointed_at(line: str, column: int) -> tuple[str, str]:
    """The part of a line around a column, and a caret under it. What would move the
    caret elsewhere on a screen is shown as one character."""
    first = max(0, column - 1 - _SHOWN // 2)
    part = line[first : first + _SHOWN]
    shown = "".join(char if char.isprintable() else " " for char in part)
    return shown, " " * (column - 1 - first) + "^"
