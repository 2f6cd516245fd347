"""Simulating latencies: how quick it is, how it grows, and against plain Python.

A broker of one core and topics of 2.5 to 10 ms, whose load is from 0.2 to 1.1 of it,
publishers of 4 messages a second. A JSON line for each:

- literal: the kernel against benchmarks/reference/latency_literal.py, the same broker
  in plain Python, on the same messages. Both sides must deliver at the same times.
- growth: configurations a second, with all that is around the kernel, as topics and
  messages of a publisher grow.

    python -m benchmarks.latency [--parts literal growth]
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from functools import partial

import numpy as np
from benchmarks.measuring import median_seconds, print_line
from benchmarks.reference.latency_literal import deliveries

from brokerwise.kernels.latency_queue import serve
from brokerwise.latency.design import Configuration, draw_loaded
from brokerwise.latency.queueing import (
    TYPICAL,
    Run,
    costs_of,
    simulate_targets,
    traffic_of,
)
from brokerwise.model.arrays import Float64s, Int64s

SEED = 1
PROCESSING = (2.5, 5.0, 7.5, 10.0)
TOPICS = (1, 2, 4, 6)
MESSAGES = (20, 40, 80, 160)
LITERAL = 5  # configurations, each of which is given to both sides
GROWTH = 100
REPEATS = 5
AIM = "1,000 configurations of 6 topics in 10 s on one core"

Case = tuple[Float64s, Int64s, Float64s]


def drawn(count: int, k: int) -> list[Configuration]:
    return draw_loaded(count, k, processing=PROCESSING, rate_each=4, seed=SEED)


def literal() -> None:
    """Both sides, for each number of topics."""
    for k in TOPICS:
        cases = [_case(number, one) for number, one in enumerate(drawn(LITERAL, k))]
        start = time.perf_counter()
        expected = [_python(case) for case in cases]
        theirs = time.perf_counter() - start
        ours = _kernel(cases)  # compiles, too
        if not all(np.allclose(a, b) for a, b in zip(ours, expected, strict=True)):
            sys.exit(f"{k} topics: plain Python delivers at other times: a defect")
        seconds = median_seconds(partial(_kernel, cases), REPEATS)
        print_line(
            benchmark="latency literal",
            topics=k,
            configurations=len(cases),
            messages=sum(len(sent) for sent, _, _ in cases),
            ratio_to_python=seconds / theirs,
            seconds=seconds,
            python_seconds=theirs,
        )


def _case(number: int, configuration: Configuration) -> Case:
    """Times of work are changed a little, at random: what ends at the same moment would
    be in the order that rounding gives, on either side."""
    traffic = traffic_of(configuration, Run(4.0, seed=SEED), number)
    costs = costs_of(configuration, TYPICAL)
    costs *= np.random.default_rng([SEED, number]).uniform(0.99, 1.01, costs.shape)
    return traffic.sent, traffic.topics, costs


def _python(case: Case) -> Float64s:
    sent, topics, costs = (array.tolist() for array in case)
    return np.array(deliveries(sent, topics, costs, 1.0)[0], np.float64)


def _kernel(cases: Sequence[Case]) -> list[Float64s]:
    found = []
    for case in cases:
        delivered = np.empty(len(case[0]))
        serve(*case, 1.0, 0.0, np.inf, delivered)
        found.append(delivered)
    return found


def growth() -> None:
    """One list of configurations for each number of topics and of messages."""
    simulate_targets(drawn(2, 2), Run(4.0))  # compiles
    for k in TOPICS:
        _grown(k, 80)
    for messages in MESSAGES:
        _grown(TOPICS[-1], messages)


def _grown(k: int, messages: int) -> None:
    configurations = drawn(GROWTH, k)
    run = Run(4.0, messages, seed=SEED)
    seconds = median_seconds(partial(simulate_targets, configurations, run), REPEATS)
    sent = messages * sum(sum(one.publishers) for one in configurations)
    print_line(
        benchmark="latency growth",
        topics=k,
        messages_of_a_publisher=messages,
        configurations=GROWTH,
        messages=sent,
        configurations_per_second=GROWTH / seconds,
        nanoseconds_a_message=1e9 * seconds / sent,
        seconds=seconds,
        aim=AIM,
        cores=os.cpu_count(),
    )


PARTS = {"literal": literal, "growth": growth}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    for part in parser.parse_args().parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
