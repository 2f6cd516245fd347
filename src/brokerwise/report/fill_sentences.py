"""Plans of kind fill in words: on the screen and in reports alike.

A result is what `brokerwise fill --json` prints.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from brokerwise.report.numbers import counted, percent
from brokerwise.report.provision_sentences import gap_text

Result = Mapping[str, Any]


def answer(result: Result) -> str:
    """The plan in a sentence or two: what is delivered, and what is proven."""
    if not result["pairs_wanted"]:
        return "Nothing is wanted: there is nothing to deliver."
    if result["pairs"] == result["pairs_wanted"]:
        return f"{_who(result)} all of the data ({result['delivered']:,})."
    if not _whole(result):
        return f"{_who(result)} nothing: all that is wanted counts nothing."
    return f"{_who(result)} {_delivered(result)}. {_proven(result)}"


def value_share(result: Result, value: float, *, up: bool = False) -> str:
    """What a value is of all that is wanted, in percent."""
    return share_text(int(value), _whole(result), up=up)


def share_text(part: int, whole: int, *, up: bool = False) -> str:
    """`85.58 %`: two digits after the point, rounded down, or up for a bound, so that
    what is said is true and 100.00 % is all."""
    hundredths = -(-10_000 * part // whole) if up else 10_000 * part // whole
    return f"{hundredths // 100:,}.{hundredths % 100:02d} %"


def effort(result: Result) -> str:
    """How the plan was found."""
    said = f"algorithm {result['algorithm']}, {result['seconds']['total']:.1f} s"
    if result["patterns"]:
        said += f", {counted(result['patterns'], 'pattern')}"
    return said


def heuristics(result: Result) -> str:
    """What the published heuristics reach, if they were tried on the way."""
    tried = [name for name in ("greedy", "mkp") if result[name] is not None]
    shares = [value_share(result, result[name]) for name in tried if _whole(result)]
    if not shares:
        return ""
    said = [f"{name} {share}" for name, share in zip(tried, shares, strict=True)]
    return ", ".join([said[0].replace(" ", " would give ", 1), *said[1:]])


def bounds(result: Result) -> str:
    """What no plan can exceed. The paper's bound counts also what fits nowhere."""
    own = f"{int(result['bound']):,} (gap {gap_text(result['gap'])})"
    paper = f"the paper's {int(result['bound_paper']):,}"
    paper += f" (gap {gap_text(result['gap_paper'])})"
    if result["options"]["bound"] == "certified":
        return f"bounds: certified {own}, {paper}"
    if result["bound"] == result["bound_paper"]:
        return f"bound: {paper}"
    return f"bounds: {own} by all that fits, {paper}"


def fleet_label(result: Result) -> str:
    """`10 x 500 + 4 x 200`."""
    return " + ".join(
        f"{kind['count']:,} x {kind['capacity']:,}" for kind in result["types"]
    )


def split(result: Result) -> Iterator[str]:
    """How a total bandwidth was split."""
    total = result["options"].get("total_bandwidth")
    if total is not None:
        yield f"split: {fleet_label(result)}, of {total:,} in all"


def limit(result: Result) -> Iterator[str]:
    """What keeps the plan from delivering more, and what would help."""
    if not result["pairs_wanted"]:
        return
    if result["left_over"]:
        yield f"binding: {_bandwidth(result)}{_more(result)}"
    elif result["left_out"]:
        yield "binding: the size of the brokers: everything that fits on one is served"
    else:
        free = result["bandwidth"] - result["load"]
        yield (
            f"not binding: {free:,} of {result['bandwidth']:,} "
            f"({percent(free / result['bandwidth'])}) of the bandwidth is free"
        )


def cut_short(result: Result) -> Iterator[str]:
    """What kept the search from going on."""
    if result["options"].get("stopped"):
        yield "the search was stopped by --seconds: another run may end elsewhere"
    elif _is_fallback(result):
        yield (
            "brokers are too large for patterns: this is the better of greedy and mkp"
        )


def _is_fallback(result: Result) -> bool:
    searched = result["patterns"] or result["status"] == "optimal"
    return result["algorithm"] == "columns" and not searched


def _whole(result: Result) -> int:
    """What all pairs are worth."""
    weighted: int | None = result["weighted_wanted"]
    whole: int = result["wanted"] if weighted is None else weighted
    return whole


def _who(result: Result) -> str:
    used, number = result["brokers"], result["fleet"]
    everything = result["pairs"] == result["pairs_wanted"]
    of = f"{used:,} of " if everything and used < number else ""
    alone = number == 1 or (of and used == 1)
    return f"{of}{counted(number, 'broker')} deliver{'s' if alone else ''}"


def _delivered(result: Result) -> str:
    """With weights the weighted value comes first, as it is what was asked for."""
    delivered, wanted = result["delivered"], result["wanted"]
    data = f"{share_text(delivered, wanted)} of the data ({delivered:,} of {wanted:,})"
    if result["weighted_wanted"] is None:
        return data
    value, whole = int(result["objective"]), _whole(result)
    share = share_text(value, whole)
    return f"{share} of the weighted value ({value:,} of {whole:,}) and {data}"


def _proven(result: Result) -> str:
    if result["status"] == "optimal":
        return "Proven optimal."
    best = value_share(result, result["bound"], up=True)
    of = "" if result["weighted_wanted"] is None else " of the value"
    return f"Proven best possible: {best}{of}."


def _bandwidth(result: Result) -> str:
    full, number = result["full"], result["fleet"]
    if "total_bandwidth" in result["options"]:
        return f"the total bandwidth, of which {_free(result):,} is free"
    if full == number:
        all_of = "the broker" if number == 1 else f"all {number:,} brokers"
        return f"bandwidth on {all_of}"
    others = "other has" if number - full == 1 else "others have"
    return (
        f"bandwidth on {full:,} of {counted(number, 'broker')}; the {others} room for "
        "pairs that are not served"
    )


def _free(result: Result) -> int:
    free: int = result["options"]["total_bandwidth"] - result["load"]
    return free


def _more(result: Result) -> str:
    if result["more"] is None:
        return ""
    what = "everything that fits" if result["left_out"] else "everything"
    return f"; {result['more']:,} more of this size would carry {what}"
