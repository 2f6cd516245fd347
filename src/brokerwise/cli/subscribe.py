"""`brokerwise subscribe`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import print_json, print_result
from brokerwise.cli.fleet_options import DEFAULT_STATE, State, progress
from brokerwise.cli.fleet_user import (
    At,
    FleetEndedError,
    Literal,
    User,
    client_of,
    fleet_of,
    gap_text,
    login_name,
)
from brokerwise.cli.points import Point, parse_point
from brokerwise.cli.printable import printable
from brokerwise.cli.signals import run_until_told
from brokerwise.cli.subscription_words import Wanted, wanted_of
from brokerwise.model.errors import InputError

if TYPE_CHECKING:
    from brokerwise.runtime.client.client import Client
    from brokerwise.runtime.client.events import Event


def subscribe(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC... | CHANNEL [KEY=VALUE]...")
    ] = None,
    user: User = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range", help="On an overlay, NAME=LOW:HIGH; repeated: both at once."
        ),
    ] = None,
    latest: Annotated[
        bool,
        typer.Option(
            "--latest",
            help="Of a channel: what comes from now on, not what was missed.",
        ),
    ] = False,
    at: At = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="End after so many messages.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line.")
    ] = False,
    literal: Literal = False,
    state: State = DEFAULT_STATE,
) -> None:
    """Print the messages of topics, or the results of a channel, as they come.

    Follows its session wherever the fleet moves it. What happens to it, and messages
    that were missed, is said on stderr. Without --as it is a user of its own. A user
    who comes back gets the results of a channel that it has not seen.

    Ends when the fleet is taken down: with 0, or with 3 if --count messages have not
    come. A fleet that crashes is waited for.

    \b
    Examples:
      brokerwise subscribe news sports
      brokerwise subscribe fires cell=7 --as ann
      brokerwise subscribe --as ann --range price=10:20
    """
    box = parse_ranges(ranges or [])
    if not words and not box:
        raise InputError(
            "nothing to subscribe to",
            hint="Name topics or a channel, or a --range of content.",
        )
    place = None if at is None else parse_point("--at", at)
    fleet = fleet_of(state)
    name = user or f"{login_name()}-{os.getpid()}"
    wanted = Wanted()
    if words:
        wanted = run_until_told(wanted_of(fleet, words, literal))
    if latest and not wanted.channels:
        raise InputError("--latest is for a channel: topics begin with now anyway")
    asked = _Asked(wanted, box, latest, place)
    run_until_told(_follow(state, name, asked, count, json))


def parse_ranges(texts: list[str]) -> dict[str, tuple[float, float]]:
    """`NAME=LOW:HIGH` as a box."""
    box = {}
    for text in texts:
        name, _, bounds = text.partition("=")
        low, _, high = bounds.partition(":")
        try:
            found = (float(low), float(high))
        except ValueError:
            found = (1.0, 0.0)
        if not name or not found[0] <= found[1]:
            raise InputError(
                f"--range: found {text!r}, expected NAME=LOW:HIGH, as in price=10:20"
            )
        if name in box:
            raise InputError(f"--range: {name!r} is there twice")
        box[name] = found
    return box


@dataclass(frozen=True)
class _Asked:
    wanted: Wanted
    box: dict[str, tuple[float, float]]
    latest: bool
    place: Point | None = None

    async def subscribe(self, client: "Client") -> None:
        if self.wanted.topics:
            await client.subscribe(self.wanted.topics)
        for one in self.wanted.channels:
            await client.subscribe_channel(
                one.channel, one.parameters, latest=self.latest
            )
        if self.box:
            await client.subscribe_ranges(self.box)


async def _follow(
    state: Path, user: str, asked: _Asked, count: int | None, json: bool
) -> None:
    """Print events until `count` messages have come, or the fleet has ended.
    Cancelling it loses those that have come and were not printed."""
    shown = 0
    try:
        async with client_of(state, user, place=asked.place) as client:
            await asked.subscribe(client)
            async for event in client.events():
                shown += _show(event, json)
                if shown == count:
                    return
    except FleetEndedError as error:
        if count is not None:
            error.hint = f"{count - shown:,} of {count:,} messages had not come."
            raise
        progress(error.message)


def _show(event: "Event", json: bool) -> bool:
    """Print an event; returns whether it was a message."""
    from brokerwise.runtime.client.events import GapTold

    if isinstance(event, GapTold):
        if json:
            print_json(
                {
                    "type": "gap",
                    "topic": event.topic,
                    "source": event.source,
                    "missing": event.missing,
                }
            )
        progress(gap_text(event))
        return False
    if json:
        print_json(
            {
                "type": "message",
                "topic": event.topic,
                "source": event.source,
                "epoch": event.epoch,
                "seq": event.seq,
                "data": event.data,
                "at": event.at,
            }
        )
    else:
        shown = (*_origin(event.topic, event.source), _readable(event.data))
        print_result("  ".join(map(_one_line, shown)))
    return True


def _origin(topic: str, source: str) -> tuple[str, ...]:
    """Topic and source; a channel is shown as it was asked for."""
    from brokerwise.runtime.protocol.names import is_channel, parse_channel_topic

    if not is_channel(topic):
        return topic, source
    try:
        channel, parameters = parse_channel_topic(topic)
    except InputError:  # somebody called a topic like that
        return topic, source
    return (" ".join([channel, *(f"{k}={v}" for k, v in parameters.items())]),)


def _readable(data: Any) -> str:
    """Texts as they are, everything else as JSON."""
    import json

    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)


def _one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n")
