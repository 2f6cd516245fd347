"""What a player's process is told and tells: lines of JSON."""

import msgspec


class Task(msgspec.Struct, frozen=True):
    """A share of a scenario's users, each with its token. `began` is the scenario's
    time 0, seconds since 1970; some of the users also hear `notices`. What they get is
    written to the directory `diary`."""

    scenario: str
    coordinator: str
    tokens: dict[str, str]
    began: float
    diary: str
    authority: str = ""
    notices: int = 0


class Finish(msgspec.Struct, frozen=True, tag="finish"):
    """Everything has come: write the diary, log out."""


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    online: int
    subscribed: int
    handed: int


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The diary is written."""


class Failure(msgspec.Struct, frozen=True, tag="failure"):
    message: str


Report = Progress | Done | Failure
_reports = msgspec.json.Decoder(Report)


def as_line(content: msgspec.Struct) -> bytes:
    return msgspec.json.encode(content) + b"\n"


def report_of(line: bytes) -> Report:
    report: Report = _reports.decode(line)
    return report
