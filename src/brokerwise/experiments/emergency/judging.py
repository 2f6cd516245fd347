"""Whether everyone got everything exactly once. Pure.

A chain is all of a user's lives with a topic in which each goes on where the one before
ended; one that asked for the latest begins another. In a chain

- seqs follow each other by one: a seq left out is lost, one that comes a second time
  within a life was shown twice, one that comes again in a later life was shown again
  (which a client that could not acknowledge may see);
- nothing is from before it was asked for, and everything is there that was committed
  after it was served;
- if the user is online at the end, everything is there up to the last result;
- each text is what the oracle says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from brokerwise.experiments.emergency.diary import ONLINE, UNSUBSCRIBED, Diary, Life
from brokerwise.experiments.emergency.oracle import Expected

MOST_EXAMPLES = 10
_CLOCK_SECONDS = 0.5  # a run notes when it was committed just before it is


@dataclass
class Judgement:
    """Counts of results, or, `unknown`, of handed ones whose subscription was not
    seen; `examples` says of some what was wrong."""

    handed: int = 0
    chains: int = 0
    lost: int = 0
    twice: int = 0
    again: int = 0
    early: int = 0
    wrong: int = 0
    unknown: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.twice or self.early or self.wrong or self.unknown)

    def tell(self, example: str) -> None:
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append(example)


@dataclass(frozen=True)
class _Chain:
    """`lives` by number, in order."""

    user: str
    topic: str
    lives: tuple[int, ...]


def judge(
    diary: Diary,
    expected: Mapping[int, Sequence[Expected]],
    numbers: Mapping[str, int],
) -> Judgement:
    """`expected` are the results of each backend subscription; `numbers` the one that
    each topic has at the end."""
    strange = diary.different + diary.unexpected
    found = Judgement(handed=len(diary.handed.seq), wrong=strange)
    _check_texts(diary, expected, found)
    got = _handed_by_life(diary)
    for chain in _chains(diary):
        found.chains += 1
        _check_chain(chain, diary, got, expected, numbers, found)
    return found


def _check_texts(
    diary: Diary, expected: Mapping[int, Sequence[Expected]], found: Judgement
) -> None:
    for (epoch, seq), text in diary.texts.items():
        if epoch not in expected:
            found.unknown += 1
            found.tell(f"subscription {epoch} was not seen")
        elif seq > len(expected[epoch]):
            found.wrong += 1
            found.tell(f"subscription {epoch} has no result {seq}: {text[:200]}")
        elif expected[epoch][seq - 1].text != text:
            found.wrong += 1
            found.tell(
                f"subscription {epoch}, result {seq}: found {text[:200]}, expected "
                f"{expected[epoch][seq - 1].text[:200]}"
            )


def _handed_by_life(diary: Diary) -> dict[int, list[tuple[int, int]]]:
    got: dict[int, list[tuple[int, int]]] = {}
    handed = diary.handed
    for life, epoch, seq in zip(handed.life, handed.epoch, handed.seq, strict=True):
        got.setdefault(life, []).append((epoch, seq))
    return got


def _chains(diary: Diary) -> list[_Chain]:
    open_: dict[tuple[str, str], list[int]] = {}
    done: list[_Chain] = []
    for number, life in sorted(
        enumerate(diary.lives), key=lambda numbered: numbered[1].asked
    ):
        key = life.user, life.topic
        before = open_.get(key)
        if before and (life.latest or diary.lives[before[-1]].how == UNSUBSCRIBED):
            done.append(_Chain(*key, tuple(open_.pop(key))))
        open_.setdefault(key, []).append(number)
    return done + [_Chain(*key, tuple(lives)) for key, lives in open_.items()]


def _check_chain(
    chain: _Chain,
    diary: Diary,
    got: Mapping[int, Sequence[tuple[int, int]]],
    expected: Mapping[int, Sequence[Expected]],
    numbers: Mapping[str, int],
    found: Judgement,
) -> None:
    lives = [diary.lives[number] for number in chain.lives]
    epochs = {epoch for number in chain.lives for epoch, _ in got.get(number, ())}
    if len(epochs) > 1:
        found.wrong += 1
        found.tell(f"{chain.user} {chain.topic}: of subscriptions {sorted(epochs)}")
        return
    epoch = epochs.pop() if epochs else numbers.get(chain.topic)
    if epoch is None or epoch not in expected:
        return  # nothing came, and nobody has it any more; or counted as unknown
    results = expected[epoch]
    last = _follow(chain, got, found)
    first = next((seq for n in chain.lives for _, seq in got.get(n, ())), None)
    _check_beginning(chain, lives, results, first, found)
    if lives[-1].how == ONLINE and first is not None and last < len(results):
        _lose(chain, last + 1, len(results), found)


def _follow(
    chain: _Chain, got: Mapping[int, Sequence[tuple[int, int]]], found: Judgement
) -> int:
    """Count what is left out or repeated in between; the last seq, 0 without any."""
    last = 0
    for number in chain.lives:
        before = last  # what earlier lives had
        for _, seq in got.get(number, ()):
            if last and seq > last + 1:
                _lose(chain, last + 1, seq - 1, found)
            elif last and seq <= before:
                found.again += 1
            elif last and seq <= last:
                found.twice += 1
                found.tell(f"{chain.user} {chain.topic}: result {seq} twice")
            last = max(last, seq)
    return last


def _check_beginning(
    chain: _Chain,
    lives: Sequence[Life],
    results: Sequence[Expected],
    first: int | None,
    found: Judgement,
) -> None:
    """Committed before it was asked for: too early; after it was served: owed, as far
    as what comes later, or the end, says that it should have come."""
    asked = lives[0].asked
    served = next((life.served for life in lives if life.served is not None), None)
    before = sum(result.committed < asked - _CLOCK_SECONDS for result in results)
    if first is not None and first <= before:
        found.early += before - first + 1
        found.tell(f"{chain.user} {chain.topic}: result {first} was before")
    if served is None:
        return
    owed = 1 + sum(result.committed <= served for result in results)
    if first is None:
        if lives[-1].how == ONLINE and owed <= len(results):
            _lose(chain, owed, len(results), found)
    elif first > owed:
        _lose(chain, owed, first - 1, found)


def _lose(chain: _Chain, first: int, last: int, found: Judgement) -> None:
    found.lost += last - first + 1
    found.tell(f"{chain.user} {chain.topic}: results {first} to {last} lost")
