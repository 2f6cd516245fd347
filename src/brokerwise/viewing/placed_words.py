"""Why topics and subscribers of a plan of kind provision or fill are where they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from brokerwise.model.load import run_load
from brokerwise.report.numbers import counted
from brokerwise.viewing.words import listed, quoted

PROVISION = "provision"


@dataclass(frozen=True)
class TopicPlaced:
    """A topic, its `pairs` on each of its `brokers`, and how many want it at all."""

    name: str
    rate: int
    wanted: int
    brokers: Sequence[str]
    pairs: Sequence[int]

    @property
    def served(self) -> int:
        return sum(self.pairs)


@dataclass(frozen=True)
class SubscriberPlaced:
    """What a subscriber wants and gets, as numbers of topics and as sums of rates."""

    name: str
    topics_wanted: int
    wanted: int
    topics: int
    gets: int
    brokers: Sequence[str]
    threshold: int | None


def topic_why(topic: TopicPlaced, kind: str, largest: int) -> str:
    """Why a topic is on its brokers, or on none; `largest` is the capacity of the
    largest broker that there may be."""
    who = f"{quoted(topic.name)} (rate {topic.rate:,}) is"
    if not topic.wanted:
        return f"{who} on no broker: nobody wants it."
    if not topic.brokers and not topic.rate:
        return f"{who} on no broker: it has no messages."
    if not topic.brokers:
        return f"{who} on no broker: {_left_out(topic, kind, largest)}."
    return f"{who} {_where(topic, largest)}. {_served(topic, kind)}"


def subscriber_why(who: SubscriberPlaced, kind: str) -> str:
    """What a subscriber gets, from where, and why not more."""
    name = quoted(who.name)
    if not who.topics_wanted:
        return f"{name} wants nothing."
    if not who.wanted:
        return f"{name} wants nothing that has messages."
    from_ = f", from {listed(who.brokers)}" if who.brokers else ""
    if who.topics == who.topics_wanted:
        every = {1: "the topic", 2: "both topics"}.get(
            who.topics, f"all {who.topics:,} topics"
        )
        said = f"{name} gets {every} that it wants, {who.gets:,} a period{from_}"
        return f"{said}{_less_than_threshold(who)}."
    if kind == PROVISION:
        return (
            f"{name} gets {who.gets:,} a period, its threshold is {who.threshold:,}: "
            f"{_share(who)} ({who.wanted:,} a period){from_}."
        )
    because = ": the fleet cannot carry everything" if not who.topics else from_
    return (
        f"{name} gets {_share(who)}, {who.gets:,} of {who.wanted:,} a period{because}."
    )


def _where(topic: TopicPlaced, largest: int) -> str:
    pairs = counted(topic.served, "pair")
    need = run_load(topic.rate, topic.served)
    if len(topic.brokers) == 1:
        verb = "needs" if topic.served == 1 else "need"
        return f"whole on {topic.brokers[0]}, where its {pairs} {verb} {need:,}"
    split = f"split over {listed(topic.brokers)}: its {pairs}"
    if need > largest:
        return f"{split} need {need:,} on one broker, the largest carries {largest:,}"
    return (
        f"{split} would need {need:,} on one broker; in parts they take the room that "
        "other topics leave"
    )


def _left_out(topic: TopicPlaced, kind: str, largest: int) -> str:
    need = run_load(topic.rate, 1)
    if need > largest:
        return f"one pair needs {need:,}, the largest broker carries {largest:,}"
    if kind == PROVISION:
        return f"{_reach(topic.wanted)} without it"
    return "the fleet cannot carry everything, and other topics are served instead"


def _served(topic: TopicPlaced, kind: str) -> str:
    wanted, served = topic.wanted, topic.served
    if served == wanted:
        everybody = (
            "The one subscriber" if wanted == 1 else f"All {wanted:,} subscribers"
        )
        verb = "wants it gets it" if wanted == 1 else "want it get it"
        return f"{everybody} who {verb}."
    verb = "gets it" if served == 1 else "get it"
    said = f"{served:,} of {wanted:,} subscribers who want it {verb}"
    if kind == PROVISION:
        rest = (
            "the other reaches its threshold"
            if wanted - served == 1
            else ("the others reach their thresholds")
        )
        return f"{said}; {rest} without it."
    return f"{said}; the fleet cannot carry everything."


def _reach(wanted: int) -> str:
    if wanted == 1:
        return "the one subscriber who wants it reaches its threshold"
    every = "both" if wanted == 2 else f"all {wanted:,}"
    return f"{every} subscribers who want it reach their thresholds"


def _share(who: SubscriberPlaced) -> str:
    some = f"{who.topics:,}" if who.topics else "none"
    return f"{some} of the {who.topics_wanted:,} topics that it wants"


def _less_than_threshold(who: SubscriberPlaced) -> str:
    if who.threshold is None or who.gets >= who.threshold:
        return ""
    return f"; its threshold of {who.threshold:,} is more than that"
