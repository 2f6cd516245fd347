"""The processing steps of a broker's topics."""

import asyncio
import logging
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import msgspec

from brokerwise.runtime.broker.into import Into
from brokerwise.runtime.broker.passage import Passage
from brokerwise.runtime.broker.processing import Step, StepFullError
from brokerwise.runtime.broker.step_worker import StepStartError
from brokerwise.runtime.broker.topic import Item
from brokerwise.runtime.protocol.names import found_for, is_pattern

_DRAIN_SECONDS = 2.0
_log = logging.getLogger(__name__)


class Steps:
    """One step for each topic that has one, or for all topics of a pattern together;
    the messages of others pass by. What comes out goes on to datasets, too.

    Without `limited`, any number of messages may wait for a step.
    """

    def __init__(self, passage: Passage, into: Into, *, limited: bool = True) -> None:
        self._passage = passage
        self._into = into
        self._limited = limited
        self._steps: dict[str, Step] = {}
        self._of_several: dict[str, Step] = {}  # those of patterns
        self._later: dict[str, str] = {}
        self._starting: set[asyncio.Task[None]] = set()
        self._stack = AsyncExitStack()

    async def start(
        self, specs: Mapping[str, str], later: Mapping[str, str] | None = None
    ) -> None:
        """Start the steps that do not run yet; those of `later` when they are needed:
        what comes meanwhile waits."""
        for topic, spec in specs.items():
            if topic not in self._steps:
                step = self._step(spec)
                self._steps[topic] = await self._stack.enter_async_context(step)
        self._of_several = {t: s for t, s in self._steps.items() if is_pattern(t)}
        self._later = {t: s for t, s in (later or {}).items() if t not in self._steps}

    def _step(self, spec: str) -> Step:
        return Step(spec) if self._limited else _unlimited(spec)

    def _begin(self, topic: str) -> Step:
        """A step that is started while messages line up for it."""
        step = self._steps[topic] = self._step(self._later.pop(topic))
        task = asyncio.ensure_future(self._enter(topic, step))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        return step

    async def _enter(self, topic: str, step: Step) -> None:
        try:
            await self._stack.enter_async_context(step)
        except StepStartError as problem:
            _log.warning("%s; messages of topic %r wait in vain", problem, topic)

    def process(self, name: str, item: Item) -> bool:
        """Put a message through its topic's step; False if there is none. A message
        that a step has no room for, or drops, is delivered to nobody."""
        step = self._found(name)
        dataset = self._into.dataset(name)  # as of now, not of when the step is done
        if step is None:
            self._into.feed(dataset, item.data)
            return False
        topic = self._passage.topic(name)

        def done(data: bytes | None) -> None:
            skipped = data is None
            raw = msgspec.Raw(b"null" if data is None else data)
            self._passage.delivery.fan_out(topic, item, raw, skipped=skipped)
            if not skipped:
                self._into.feed(dataset, raw)

        try:
            step.submit(bytes(item.data), done)
        except StepFullError:
            return True  # counted there; subscribers are told of the gap
        return True

    def _found(self, name: str) -> Step | None:
        """A broker asks this for each message, most of which have no step."""
        if name in self._later:
            return self._begin(name)
        step = self._steps.get(name)
        if step is None and self._of_several:
            return found_for(name, self._of_several)
        return step

    def counts(self) -> dict[str, dict[str, Any]]:
        return {
            topic: {"waiting": len(step), **msgspec.to_builtins(step.counts)}
            for topic, step in self._steps.items()
        }

    async def close(self) -> None:
        """Let what waits come out, for a moment, and end the workers."""
        if self._starting:  # a start that is cancelled may never end
            await asyncio.wait(self._starting)
        draining = [step.drain() for step in self._steps.values()]
        if draining:
            tasks = [asyncio.ensure_future(d) for d in draining]
            _, late = await asyncio.wait(tasks, timeout=_DRAIN_SECONDS)
            for task in late:
                task.cancel()
        await self._stack.aclose()


def _unlimited(spec: str) -> Step:
    return Step(spec, most_messages=sys.maxsize, most_bytes=sys.maxsize)
