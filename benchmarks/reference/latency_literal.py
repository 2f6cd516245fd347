"""A broker whose workers share its cores, in plain Python: what is left of every piece
of work is counted down, whenever anything happens."""

from collections import deque
from dataclasses import dataclass, field
from math import inf

LOOP = -1  # the broker's own process; the others are workers, by topic


@dataclass
class Process:
    """Pieces of work in line, each with its message; the first is being done."""

    line: deque[tuple[int, bool]] = field(default_factory=deque)
    left: float = 0.0


@dataclass
class Broker:
    topics: list[int]
    receive: list[float]
    work: list[float]
    deliver: list[float]
    processes: dict[int, Process] = field(default_factory=dict)
    delivered: dict[int, float] = field(default_factory=dict)

    def give(self, who: int, message: int, processed: bool) -> None:
        line = self.processes[who].line
        line.append((message, processed))
        if len(line) == 1:
            self.begin(who)

    def begin(self, who: int) -> None:
        process = self.processes[who]
        message, processed = process.line[0]
        topic = self.topics[message]
        if who != LOOP:
            process.left = self.work[topic]
        else:
            process.left = (self.deliver if processed else self.receive)[topic]

    def end(self, who: int, now: float) -> None:
        process = self.processes[who]
        message, processed = process.line.popleft()
        if process.line:
            self.begin(who)
        if who != LOOP:
            self.give(LOOP, message, True)
        elif processed:
            self.delivered[message] = now
        else:
            self.give(self.topics[message], message, False)

    def busy(self) -> list[int]:
        return [who for who, process in self.processes.items() if process.line]


def deliveries(
    sent: list[float],
    topics: list[int],
    costs: list[list[float]],
    cores: float,
    lost: float = 0.0,
    until: float = inf,
) -> tuple[list[float | None], float]:
    """When each message is delivered, if it is, and the processor time used."""
    receive, work, deliver = costs
    broker = Broker(topics, receive, work, deliver)
    broker.processes = {who: Process() for who in (*range(len(work)), LOOP)}
    now = used = 0.0
    arrived = 0
    while True:
        busy = broker.busy()
        speed = 1.0 if len(busy) <= cores else (1 - lost) * cores / len(busy)
        first = min(busy, key=lambda who: broker.processes[who].left, default=None)
        ends = inf if first is None else broker.processes[first].left / speed
        arrives = sent[arrived] - now if arrived < len(sent) else inf
        step = min(ends, arrives, until - now)
        if step == inf:
            break
        over = step == until - now
        for who in busy:
            broker.processes[who].left -= step * speed
        used += step * min(len(busy), cores)
        now += step
        if over:
            break
        if first is not None and ends < arrives:
            broker.end(first, now)
        else:
            broker.give(LOOP, arrived, False)
            arrived += 1
    return [broker.delivered.get(m) for m in range(len(sent))], used
