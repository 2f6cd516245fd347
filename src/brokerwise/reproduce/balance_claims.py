"""What Nguyen et al. say of their figures, and whether it is so in ours.

Figures 5 to 14 are plots whose values are not printed; what is known of them is what
the text says, which is compared in direction.
"""

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean, stdev

from brokerwise.reproduce.account import Claim, Judged, MissingError, Result
from brokerwise.reproduce.balance_settings import (
    CITY,
    CROWDED,
    LEAST_ALPHA,
    NEAREST,
    PAPER,
    SPARSE,
    SUBSCRIBERS,
)

_SIMILAR = 0.25  # of the larger: two values that differ by less are about equal
_MUCH = 2.0  # times as many
_LEAST_REPEATS = 2
_NOISE = 2  # standard errors of the mean difference: what is not beyond them is noise
_BALANCED = 0.01  # by how much cov may be above alpha and still count as balanced


class Runs:
    """The runs of the figures, of the sweep, and of the city with other seeds."""

    def __init__(
        self,
        figures: Iterable[Result],
        sweep: Iterable[Result],
        repeats: Iterable[Result],
    ) -> None:
        self._figures = {(r["world"], r["placement"], r["policy"]): r for r in figures}
        self.sweep = list(sweep)
        self._repeats = {(r["placement"], r["policy"], r["seed"]): r for r in repeats}

    def pairs(self, placement: str, policy: str) -> list[tuple[Result, Result]]:
        """In the city, without balancing and with a policy: a pair for each seed."""
        found = [
            (none, self._repeats[placement, policy, seed])
            for (where, how, seed), none in self._repeats.items()
            if (where, how) == (placement, "none")
            and (placement, policy, seed) in self._repeats
        ]
        if len(found) < _LEAST_REPEATS:
            raise MissingError(placement, policy)
        return found

    def city(self, placement: str, policy: str) -> Result:
        return self._one(CITY.key, placement, policy)

    def paper(self, policy: str) -> Result:
        return self._one(PAPER.key, NEAREST, policy)

    def _one(self, *key: str) -> Result:
        if key not in self._figures:
            raise MissingError(key)
        return self._figures[key]


def _slight(runs: Runs) -> Judged:
    """Lower: beyond noise, seed by seed, and after moves."""
    said, holds, seeds = [], True, set()
    for placement in ("random", "round-robin"):
        for policy in ("ldm", "sdm"):
            pairs = runs.pairs(placement, policy)
            moves = [run["moves"] for _, run in pairs]
            cov, load = (
                _difference([(none[key], run[key]) for none, run in pairs])
                for key in ("cov", "max_load")
            )
            holds &= any(moves) and all(mean < -noise for mean, noise in (cov, load))
            seeds.add(len(pairs))
            said.append(
                f"{placement} {policy} cov {_percents(cov)}, max load "
                f"{_percents(load)}, {fmean(moves):.1f} moves"
            )
    return holds, (
        f"mean change over {max(seeds)} seeds, and noise (two standard errors of it): "
        f"{'; '.join(said)}"
    )


def _difference(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The mean change from the first to the second, as a share of the mean of the
    first, and the noise in it."""
    changes = [after - before for before, after in pairs]
    whole = fmean(before for before, _ in pairs) or 1.0
    noise = _NOISE * stdev(changes) / sqrt(len(changes))
    return fmean(changes) / whole, noise / whole


def _percents(change: tuple[float, float]) -> str:
    return f"{change[0]:+.1%} ± {change[1]:.1%}"


def _extreme(runs: Runs) -> Judged:
    none = runs.city(NEAREST, "none")
    others = [runs.city(p, "none")["cov"] for p in ("random", "round-robin")]
    holds, said = none["cov"] > _MUCH * max(others), []
    for policy in ("ldm", "sdm"):
        run = runs.city(NEAREST, policy)
        holds &= run["cov_end"] <= CITY.alpha + _BALANCED
        said.append(f"{policy} ends at {run['cov_end']:.3f}")
    return holds, (
        f"cov without balancing {none['cov']:.3f}, random {others[0]:.3f}, "
        f"round-robin {others[1]:.3f}; {'; '.join(said)}"
    )


def _similar(runs: Runs) -> Judged:
    said, holds = [], True
    for placement in ("random", NEAREST):
        ldm, sdm = (runs.city(placement, policy) for policy in ("ldm", "sdm"))
        holds &= _about(ldm["cov"], sdm["cov"])
        holds &= _about(ldm["max_load"], sdm["max_load"])
        said.append(
            f"{placement} cov {ldm['cov']:.3f} and {sdm['cov']:.3f}, moves "
            f"{ldm['moves']:,} and {sdm['moves']:,}"
        )
    return holds, "; ".join(said)


def _early(runs: Runs) -> Judged:
    """Later: after the first decision of each, which repairs the placement."""
    said, holds = [], True
    for policy in ("ldm", "sdm"):
        alone, both = runs.city(NEAREST, policy), runs.city(NEAREST, f"{policy}+gsh")
        holds &= _later(both) <= _later(alone)
        said.append(
            f"{policy} {_later(alone):,} moves after the first decision's, with the "
            f"shuffle {_later(both):,} (in all {alone['moves']:,} and "
            f"{both['moves']:,})"
        )
    return holds, "; ".join(said)


def _little(runs: Runs) -> Judged:
    said, holds = [], True
    for policy in ("ldm", "sdm"):
        alone, both = runs.city(NEAREST, policy), runs.city(NEAREST, f"{policy}+gsh")
        holds &= _about(alone["max_load"], both["max_load"])
        said.append(
            f"{policy} cov {alone['cov']:.3f}, with the shuffle {both['cov']:.3f}, max "
            f"load {_change(alone, both)}"
        )
    return holds, "; ".join(said)


def _many(runs: Runs) -> Judged:
    said, holds = [], True
    for policy in ("ldm", "sdm"):
        near = runs.city(NEAREST, policy)["moves"]
        others = [runs.city(p, policy)["moves"] for p in ("random", "round-robin")]
        holds &= near >= _MUCH * max(others)
        said.append(
            f"{policy} {near:,} moves, random {others[0]:,}, round-robin {others[1]:,}"
        )
    return holds, "; ".join(said)


def _crowded(runs: Runs) -> Judged:
    run = runs.paper("none")
    scale = run["subscribers"] / SUBSCRIBERS
    most, least = max(run["sessions"]), min(run["sessions"])
    holds = most > CROWDED * scale and least < SPARSE * scale
    return holds, (
        f"the fullest of {run['brokers']} brokers has {most:,} of "
        f"{run['subscribers']:,} subscribers, the emptiest {least:,}"
    )


def _once(runs: Runs) -> Judged:
    ldm, gsh = runs.paper("ldm"), runs.paper("gsh")
    holds = gsh["decisions"] == 1 and (ldm["last_move"] or 0) > (gsh["last_move"] or 0)
    holds &= ldm["cov_end"] <= PAPER.alpha + _BALANCED
    holds &= gsh["cov_end"] <= PAPER.alpha + _BALANCED
    return holds, "; ".join(
        f"{name} {run['decisions']} decisions, the last at {_clock(run['last_move'])}, "
        f"ends at cov {run['cov_end']:.3f} with {run['moves']:,} moves"
        for name, run in (("LDM", ldm), ("GSH", gsh))
    )


def _small(runs: Runs) -> Judged:
    gsh = runs.paper("gsh")
    least = _sweep(runs, alpha=LEAST_ALPHA)
    if not least:
        raise MissingError("alpha")
    run = min(least, key=lambda one: one["beta"])
    return run["cov_end"] <= gsh["cov_end"] + _BALANCED, (
        f"LDM with alpha {run['alpha']:g} ends at cov {run['cov_end']:.3f}, where it "
        f"has no reason to go on, GSH at {gsh['cov_end']:.3f}"
    )


def _sensitive(runs: Runs) -> Judged:
    """From the smallest to the largest threshold, the other at its smallest."""
    found = _sweep(runs)
    if not found:
        raise MissingError("sweep")
    holds, said = True, []
    for along, fixed in (("alpha", "beta"), ("beta", "alpha")):
        least = min(one[fixed] for one in found)
        line = sorted(
            (one for one in found if one[fixed] == least), key=lambda one: one[along]
        )
        first, last = line[0], line[-1]
        holds &= first["cov"] <= last["cov"] and first["moves"] >= last["moves"]
        said.append(
            f"{along} {_threshold(along, first)} to {_threshold(along, last)}: cov "
            f"{first['cov']:.3f} to {last['cov']:.3f}, moves {first['moves']:,} to "
            f"{last['moves']:,}"
        )
    return holds, "; ".join(said)


def _sweep(runs: Runs, **fields: float) -> list[Result]:
    return [
        one
        for one in runs.sweep
        if one["policy"] == "ldm" and all(one[k] == v for k, v in fields.items())
    ]


def _later(run: Result) -> int:
    """Moves after those of the first decision."""
    return int(run["moves"] - run["first_moves"])


def _about(one: float, other: float) -> bool:
    return abs(one - other) <= _SIMILAR * max(one, other)


def _change(before: Result, after: Result) -> str:
    return f"{after['max_load'] / before['max_load'] - 1:+.0%}"


def _clock(seconds: float | None) -> str:
    return "no time" if seconds is None else f"{seconds / 60:.1f} min"


def _threshold(name: str, run: Result) -> str:
    return f"{run[name]:g}" if name == "alpha" else f"{run[name] / 1e6:g} MB/s"


CLAIMS = (
    Claim(
        "5, 6, 7",
        "with random and round-robin placement load is less skewed, and LDM and SDM "
        "still lower cov and max load, with few migrations",
        _slight,
    ),
    Claim(
        "8, 10",
        "nearest placement is extremely unbalanced, and LDM and SDM repair it",
        _extreme,
    ),
    Claim("6, 10", "LDM and SDM do about equally well", _similar),
    Claim(
        "9, 11",
        "a shuffle at an early stage leaves fewer migrations to do later",
        _early,
    ),
    Claim("11", "LDM or SDM with the shuffle are not much better than alone", _little),
    Claim(
        "12",
        "nearest placement needs many more migrations than random and round-robin, "
        "with LDM and with SDM",
        _many,
    ),
    Claim(
        "13 (1)",
        "nearest placement gives one broker more than 2,000 subscribers, others fewer "
        "than 500",
        _crowded,
    ),
    Claim(
        "13 (2), (3)",
        "LDM and GSH both end balanced; GSH at once and without further migrations, "
        "LDM later",
        _once,
    ),
    Claim(
        "14 (1)",
        "with alpha 0.05 and beta 300 MB/s LDM ends as balanced as GSH",
        _small,
    ),
    Claim(
        "14",
        "the smaller alpha and beta, the lower cov and the more migrations",
        _sensitive,
    ),
)
