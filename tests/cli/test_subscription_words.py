"""Which words are topics and which are channels, decided in one place."""

import asyncio
from dataclasses import replace

import pytest

from brokerwise.cli.subscription_words import (
    Wanted,
    WantedChannel,
    parse_words,
    wanted_of,
)
from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.runtime.client.data_cluster import (
    DataClient,
    NoDataClusterError,
    WrongDataError,
)
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.protocol.data import ChannelStatus, ColumnInfo

PLAIN = FleetFile("http://127.0.0.1:1", 7, 1, "ab", "op", "br")
WITH_DATA = replace(PLAIN, data_cluster="http://127.0.0.1:2")


def channel(name: str, **parameters: str) -> ChannelStatus:
    typed = tuple(ColumnInfo(*pair) for pair in parameters.items())
    return ChannelStatus(name, "", typed, 10.0, ("d",), 0.0, (), 0, 0, 0, 0, 0)


KNOWN = {
    "all": channel("all"),
    "fires": channel("fires", cell="long", kind="string"),
}


@pytest.fixture(autouse=True)
def known_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    async def channels(self: DataClient) -> tuple[ChannelStatus, ...]:
        return tuple(KNOWN.values())

    async def one(self: DataClient, name: str) -> ChannelStatus:
        if name not in KNOWN:
            raise WrongDataError(404, f"there is no channel {name!r}")
        return KNOWN[name]

    monkeypatch.setattr(DataClient, "channels", channels)
    monkeypatch.setattr(DataClient, "channel", one)


@pytest.mark.parametrize(
    ("words", "names", "parameters"),
    [
        ("news sports", ("news", "sports"), {}),
        ("fires cell=7", ("fires",), {"cell": "7"}),
        ("fires cell=7 kind=a=b", ("fires",), {"cell": "7", "kind": "a=b"}),
        ("fires kind=", ("fires",), {"kind": ""}),
        ("a=b news", ("a=b", "news"), {}),
        ("channel/fires?cell=7", ("channel/fires?cell=7",), {}),
    ],
)
def test_words_with_an_equals_sign_belong_to_the_first(
    words: str, names: tuple[str, ...], parameters: dict[str, str]
) -> None:
    assert parse_words(words.split()) == (names, parameters)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("fires cell=7 news", "found 'news' among the parameters of channel 'fires'"),
        ("fires =7", "found '=7' among"),
        ("fires cell=7 cell=8", "parameter 'cell' is there twice"),
    ],
)
def test_words_that_are_neither_are_refused(words: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse_words(words.split())


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("news", Wanted(("news",))),
        ("all", Wanted((), (WantedChannel("all"),))),
        ("all news", Wanted(("news",), (WantedChannel("all"),))),
        (
            "fires cell=7 kind=x",
            Wanted((), (WantedChannel("fires", {"cell": "7", "kind": "x"}),)),
        ),
        (
            "channel/fires?cell=7&kind=x%20y",
            Wanted((), (WantedChannel("fires", {"cell": "7", "kind": "x y"}),)),
        ),
    ],
)
def test_a_name_is_a_channels_if_there_is_one(words: str, wanted: Wanted) -> None:
    assert asyncio.run(wanted_of(WITH_DATA, words.split())) == wanted


def test_a_fleet_without_a_data_cluster_has_topics_only() -> None:
    assert asyncio.run(wanted_of(PLAIN, ["all"])) == Wanted(("all",))
    with pytest.raises(NoDataClusterError):
        asyncio.run(wanted_of(PLAIN, ["fires", "cell=7"]))


@pytest.mark.parametrize(
    ("words", "reason", "hint"),
    [
        ("none cell=7", "there is no channel 'none'", "Channels: all, fires"),
        ("fires", "cell", "brokerwise subscribe fires cell=... kind=..."),
        ("fires cell=7 king=x", "king", "kind=..."),
        ("fires cell=seven kind=x", "seven", "kind=..."),
    ],
)
def test_parameters_that_are_not_the_channels_are_refused(
    words: str, reason: str, hint: str
) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        asyncio.run(wanted_of(WITH_DATA, words.split()))
    assert hint in caught.value.hint


def test_topics_do_not_need_the_data_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def silent(self: DataClient) -> None:
        raise BrokerwiseError("no answer")

    monkeypatch.setattr(DataClient, "channels", silent)
    assert asyncio.run(wanted_of(WITH_DATA, ["all"])) == Wanted(("all",))
    assert "all taken for topics" in capsys.readouterr().err
