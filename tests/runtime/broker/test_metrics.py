"""The text that Prometheus reads, read back by a parser of its grammar."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.broker.metrics import (
    Kind,
    Metric,
    counter,
    exposition,
    gauge,
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
NUMBERS = st.one_of(st.integers(0, 2**70), st.floats())
LABELLED = st.dictionaries(st.tuples(TEXT, TEXT), NUMBERS, max_size=5)

SAMPLE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
MEANT = {r"\\": "\\", r"\n": "\n", r"\"": '"'}

Samples = dict[tuple[str, ...], float]


def unescaped(text: str) -> str:
    return re.sub(r'\\[\\n"]', lambda found: MEANT[found[0]], text)


def parsed(text: str) -> dict[str, tuple[str, str, Samples]]:
    """Kind, help and samples (values of labels -> value) by the name of a metric."""
    found: dict[str, tuple[str, str, Samples]] = {}
    lines = iter(text.removesuffix("\n").split("\n"))
    helps: dict[str, str] = {}
    for line in lines:
        if line.startswith("# HELP "):
            name, helps[name] = line[7:].split(" ", 1)
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            found[name] = (kind, unescaped(helps[name]), {})
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            name, labels, value = sample.groups()
            key = tuple(unescaped(v) for _, v in LABEL.findall(labels or ""))
            assert key not in found[name][2]
            found[name][2][key] = float(value)
    return found


@given(help=TEXT, values=LABELLED, single=NUMBERS)
def test_what_is_written_is_read_back(
    help: str, values: dict[tuple[str, ...], float], single: float
) -> None:
    labelled = Metric("a_total", Kind.COUNTER, help, ("topic", "peer"), values)
    found = parsed(exposition([labelled, gauge("b", help, single)]))
    kind, read_help, samples = found["a_total"]
    assert (kind, read_help) == ("counter", help)
    assert samples == pytest.approx(values, rel=0, abs=0, nan_ok=True)
    assert found["b"][:2] == ("gauge", help)
    assert found["b"][2] == pytest.approx({(): single}, rel=0, abs=0, nan_ok=True)


def test_the_text_is_as_prometheus_documents_it() -> None:
    metrics = [
        counter("messages_total", 'two\nlines and a \\ and a "', 3),
        Metric("up", Kind.GAUGE, "up", ("topic",), {('a"b\\c\nd',): math.inf}),
        gauge("empty", "of nothing", math.nan),
    ]
    assert exposition(metrics) == (
        '# HELP messages_total two\\nlines and a \\\\ and a "\n'
        "# TYPE messages_total counter\n"
        "messages_total 3\n"
        "# HELP up up\n"
        "# TYPE up gauge\n"
        'up{topic="a\\"b\\\\c\\nd"} +Inf\n'
        "# HELP empty of nothing\n"
        "# TYPE empty gauge\n"
        "empty NaN\n"
    )


def test_half_a_surrogate_pair_spoils_nothing() -> None:
    odd = Metric("a", Kind.GAUGE, "", ("topic",), {("x\ud800",): 1})
    assert 'a{topic="x?"} 1\n' in exposition([odd])


@pytest.mark.parametrize(
    ("name", "label"),
    [("1st", "a"), ("", "a"), ("a b", "a"), ("a", "__a"), ("a", "b-")],
)
def test_names_are_checked(name: str, label: str) -> None:
    with pytest.raises(ValueError, match="not a name of a"):
        Metric(name, Kind.GAUGE, "", (label,), {})


def test_as_many_labels_as_names_and_each_metric_once() -> None:
    with pytest.raises(ValueError, match="has labels"):
        Metric("a", Kind.GAUGE, "", ("topic",), {(): 1})
    with pytest.raises(ValueError, match="called a"):
        exposition([gauge("a", "", 1), gauge("a", "", 2)])
