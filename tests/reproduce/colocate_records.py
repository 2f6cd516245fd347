"""Records of `reproduce colocate` as tests want them, in which all is as the paper
says.
"""

from typing import Any

from brokerwise.reproduce.colocate_settings import MOST_RATES

Record = dict[str, Any]

VERDICTS = {
    "accepted": 90,
    "missed": 2,
    "missed_share": 2 / 90,
    "met": 95,
    "refused": 5,
    "refused_share": 5 / 95,
}


def learned(kind: str, topics: int, size: int = 0, **fields: Any) -> Record:
    """A model: 0 topics for one of all numbers."""
    scores = {"train": 0.98, "test": 0.97, "validation": 0.97}
    low = 0.01 if kind == "unified" else 0.0
    numbers = (topics,) if topics else range(1, 7)
    made: Record = {
        "kind": kind,
        "topics": topics,
        "size": size,
        "converged": True,
        "seconds": 1.0,
        "problems": [],
        "scores": {
            str(k): {name: value - low for name, value in scores.items()}
            | {"train_rows": (size or 950) * k}
            for k in numbers
        },
    }
    if not size:
        points = {"observed_ms": [10.0, 2000.0], "predicted_ms": [11.0, 1500.0]}
        made |= {
            "verdicts": {
                str(k): {
                    "rows": 100,
                    "without_margin": VERDICTS,
                    "with_margin": VERDICTS,
                }
                for k in numbers
            },
            "points": {str(k): points for k in numbers if k in (2, 6)},
            "single": _single() if 1 in numbers else None,
        }
    return made | fields


def _single() -> Record:
    return {
        "observed": {
            f"{p:g}": {"rate": [1.0, 3.0], "p90_ms": [p, 2 * p]} for p in MOST_RATES
        },
        "predicted": {f"{p:g}": [p, 1.5 * p, 2 * p, 3 * p] for p in MOST_RATES},
        "most": {f"{p:g}": rate for p, rate in MOST_RATES.items()},
        "most_planned": {f"{p:g}": rate - 1 for p, rate in MOST_RATES.items()},
    }


def sensitivity() -> Record:
    times = ("10", "20", "30", "40")
    return {
        "a": {
            "x": [1, 240],
            "curves": {p: [float(p), float(p) + 5] for p in times},
        },
        "b": {"x": [0, 8], "saturated": 8, "curves": {"50": [70.0, 190.0]}},
        "c": {
            "rates": {p: [10, 20, 30] for p in times},
            "curves": {p: [30.0, 900.0, 5000.0] for p in times},
            "thresholds": dict.fromkeys(times, 20.0),
        },
        "d": {
            "x": [5, 40],
            "curves": {"0": [30.0, 900.0], "7": [40.0, 9000.0], "11": [50.0, 9e4]},
            "thresholds": {
                "0": {"alone": [38.0]},
                "7": {"0.8": [30.0, 28.0], "1": [19.0, 17.0]},
                "11": {"0.8": [25.0, None], "1": [12.0, 10.0]},
            },
        },
    }


def row(kind: str, topics: int, label: str, **fields: Any) -> Record:
    """Means of a request; LFS is best, and k' makes a difference."""
    opening = int(label.split()[1]) if label.startswith("hybrid") else 0
    rank = {"ffd": 0, "lfs": 7, "search": 8}.get(label, opening)
    made = {
        "kind": kind,
        "topics": topics,
        "label": label,
        "brokers": 20.0 - 0.2 * rank,
        "bound": 18.0,
        "seconds": 0.001 * (1 + rank),
        "cpu": 0.6 + 0.001 * rank,
        "p90_ms": 200.0 + rank if opening else 210.0 - rank,
        "messages_over": 0.05,
        "topics_over": 0.1,
        "brokers_over": 1,
        "requests": 1,
        "proven": 0,
        "stopped": 0,
        "contradicted": 0,
    }
    return made | fields


def plans() -> list[Record]:
    return [
        row(kind, topics, label)
        for kind in ("paper", "unified")
        for topics in (10, 50)
        for label in (
            *("ffd", "lfs"),
            *(f"hybrid {opening}" for opening in openings(topics)),
            "search",
        )
    ]


def openings(topics: int) -> tuple[int, ...]:
    return (1, 2, 3, 4, 5, 6) if topics == 50 else (3,)


def result() -> Record:
    """What claims are judged on."""
    return {
        "sensitivity": sensitivity(),
        "learned": [
            *(learned("paper", k) for k in range(1, 7)),
            *(learned("paper-200", k) for k in range(2, 7)),
            *(learned("paper", k, 100) for k in (4, 6)),
            learned("unified", 0),
            learned("unified", 0, 100),
        ],
        "measured": [],
        "requests": [
            {
                "kind": "paper",
                "topics": 10,
                "runs": [
                    {"label": label, "brokers": 2, "bound": 2, "predicted_ms": 9.0}
                    for label in ("ffd", "hybrid 3")
                ],
            }
        ],
        "plans": plans(),
        "setting": {
            "cores": 4,
            "messages": 120,
            "factor": 1.27,
            "k": 6,
            "alone": 180,
            "each": 1000,
            "validation": 50,
            "requests": 1,
            "target_ms": 1000.0,
            "margin": 0.1,
        },
    }


def measured(kind: str, **fields: Any) -> Record:
    made = {
        "kind": kind,
        "source": "measured",
        "cores": 1.0,
        "splits": 10,
        "held_out_share": 0.2,
        "target_ms": 250.0,
        "margin": 0.1,
        "late": 0,
        "sets": [
            {
                "topics": k,
                "configurations": 100,
                "train": {"mean": 0.99, "deviation": 0.001},
                "test": {"mean": 0.98 - 0.01 * k, "deviation": 0.01},
                "verdicts": VERDICTS,
            }
            for k in (1, 2)
        ],
        "most": {"2.5": 300.0},
        "converged": True,
        "problems": [],
    }
    return made | fields
