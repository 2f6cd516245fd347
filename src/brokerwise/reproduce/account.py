"""What is said of an experiment: its tables, claims, sentences and plots, put together
in one way for the terminal, for summary.md and for the page.

An account is made of a result as JSON holds it, with what is published beside what was
found, and of nothing else.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

from brokerwise.show.numbers import counted
from brokerwise.show.page import Page
from brokerwise.show.plots import Plot, Series
from brokerwise.show.results import how_to_repeat
from brokerwise.show.tables import Fact, Table, aligned, markdown

Result = Mapping[str, Any]
"""A JSON object of results.json, or all of it, as it is read."""
NONE = "-"
"""A cell of a table of which nothing is known."""

About = TypeVar("About")
Row = TypeVar("Row")
Columns = Sequence[tuple[str, Callable[[Row], str]]]
"""What the columns of a table are called, and what each has to say of a row."""


class Said(NamedTuple):
    """Sentences that belong together; the terminal shows all of them, the summary as
    a list or as paragraphs, or not at all because a table of it says the same."""

    sentences: Sequence[str]
    form: Literal["list", "paragraphs", "terminal"] = "list"


class Block(NamedTuple):
    """Tables that the terminal shows together, below some lines."""

    tables: Sequence[Table]
    lines: Sequence[str] = ()


class Section(NamedTuple):
    """A part of the summary: lines, tables, and lines."""

    title: str
    lines: Sequence[str] = ()
    tables: Sequence[Table] = ()
    after: Sequence[str] = ()


@dataclass(frozen=True)
class Account:
    """All that is said of a result.

    Attributes
    ----------
    verdict
        What was checked and how that ended, and what is missing.
    blocks, sections, tables
        What the terminal has room for, the summary has, and the page shows.
    facts, inputs
        What the page shows beside its checks, and beside seed, command and version.
    """

    result: Result
    question: str
    answer: str
    verdict: str
    said: Sequence[Said]
    blocks: Sequence[Block]
    sections: Sequence[Section]
    tables: Sequence[Table]
    plots: Sequence[Plot]
    facts: Sequence[Fact]
    inputs: Sequence[Fact]

    @property
    def title(self) -> str:
        return f"Reproduced: {self.result['kind'].removeprefix('reproduce ')}"

    @property
    def problems(self) -> list[str]:
        return [f"  failed: {problem}" for problem in self.result["problems"]]


def text(account: Account) -> str:
    """What the command prints."""
    lines = [account.answer]
    for block in account.blocks:
        lines += ["", *block.lines]
        for table in block.tables:
            lines += aligned(table)
    said = [sentence for group in account.said for sentence in group.sentences]
    return "\n".join([*lines, "", *said, account.verdict, *account.problems])


def summary(account: Account) -> str:
    """The whole result in Markdown."""
    result = account.result
    lines = [f"# {account.title}", "", account.answer, ""]
    lines += [f"Made by `{result['command']}`, version {result['version']}.", ""]
    for sentences, form in account.said:
        if form == "list" and sentences:
            lines += [*(f"- {sentence}" for sentence in sentences), ""]
        if form == "paragraphs":
            lines += [line for sentence in sentences for line in (sentence, "")]
    lines += [account.verdict, *account.problems, ""]
    for section in account.sections:
        lines += [f"## {section.title}", ""]
        lines += [*section.lines, ""] if section.lines else []
        for table in section.tables:
            lines += [*markdown(table), ""]
        lines += [*section.after, ""] if section.after else []
    return "\n".join(lines).rstrip() + "\n"


def page(account: Account) -> Page:
    result, failed = account.result, len(account.result["problems"])
    checks = f"{failed:,} failed" if failed else "all passed"
    return Page(
        title=account.title,
        question=account.question,
        answer=account.answer,
        facts=[Fact("Checks", checks, account.verdict), *account.facts],
        tables=account.tables,
        plots=account.plots,
        inputs=[
            Fact("Seed", str(result["seed"])),
            *account.inputs,
            *how_to_repeat(result),
        ],
        data=result,
    )


def verdict(
    result: Result,
    what: str,
    checked: str,
    *,
    more: str = "",
    missing: str = "",
    outdated: str = "",
) -> str:
    """What was checked, and what is not there: `missing` and `outdated` say how much
    of what, and are empty if that is nothing."""
    found = len(result["problems"])
    checks = "all checks passed" if not found else f"{counted(found, 'check')} failed"
    said = [f"{what}: {checks} ({checked}).", *([more] if more else [])]
    if missing:
        said.append(f"Not complete: {missing} yet; the same command goes on.")
    if outdated:
        said.append(f"{outdated} kept from earlier code; --force computes all again.")
    return " ".join(said)


def counted_if(number: int, noun: str, then: str = "") -> str:
    """`3 cells`, and what is said of them; nothing if there are none."""
    return f"{counted(number, noun)}{then}" if number else ""


def table(caption: str, columns: Columns[Row], rows: Iterable[Row]) -> Table:
    """A row for each of `rows`, filled column by column."""
    cells = [tuple(cell(row) for _, cell in columns) for row in rows]
    return Table(caption, tuple(name for name, _ in columns), cells)


def column(
    name: str, key: str, said: Callable[[Any], str] = "{:,}".format
) -> tuple[str, Callable[[Result], str]]:
    """A column with this field of each row; a dash where it is None."""
    return name, lambda row: NONE if row[key] is None else said(row[key])


def filled(*tables: Table) -> list[Table]:
    """Those that have rows."""
    return [table for table in tables if table.rows]


def matching(records: Iterable[Result], **wanted: Any) -> list[Result]:
    """Those with these fields."""
    return [r for r in records if all(r[k] == v for k, v in wanted.items())]


def series(
    name: str,
    points: Iterable[tuple[float, float]],
    said: Callable[[float, float], str],
    style: Literal["step", "line", "points", "path", "bar"] = "path",
    colour: int | None = None,
    dashed: bool = False,
) -> Series:
    """Points of a plot, with what is `said` of each."""
    known = list(points)
    return Series(
        name,
        [x for x, _ in known],
        [y for _, y in known],
        [said(x, y) for x, y in known],
        style,
        colour,
        dashed,
    )


# Claims


class MissingError(LookupError):
    """What a claim is about is not there yet."""


Judged = tuple[bool, str]
"""Whether it is so in ours, and our figures."""


@dataclass(frozen=True)
class Claim(Generic[About]):
    """What a paper says of some of its figures, and what judges whether ours say so.

    `judge` raises MissingError if something that it needs was not run yet.
    """

    figures: str
    text: str
    judge: Callable[[About], Judged]


class JudgedClaim(TypedDict):
    """As results.json has it; `holds` is None if it could not be judged yet."""

    figures: str
    paper: str
    holds: bool | None
    ours: str


def judged(claims: Iterable[Claim[About]], about: About) -> list[JudgedClaim]:
    return [_judged(claim, about) for claim in claims]


def _judged(claim: Claim[About], about: About) -> JudgedClaim:
    holds: bool | None
    try:
        holds, ours = claim.judge(about)
    except MissingError:
        holds, ours = None, "not run yet"
    return {"figures": claim.figures, "paper": claim.text, "holds": holds, "ours": ours}


def claims_table(caption: str, claims: Iterable[JudgedClaim]) -> Table:
    holds = {True: "yes", False: "no", None: "not run yet"}
    return Table(
        caption,
        ("figures", "paper", "ours", "so in ours"),
        [(c["figures"], c["paper"], c["ours"], holds[c["holds"]]) for c in claims],
    )


def claims_said(claims: Iterable[JudgedClaim], before: str = "") -> Said:
    """What the paper says, and what we find; of those that could be judged."""
    return Said(
        [
            f"{before}{claim['figures']}: {claim['paper']}: "
            f"{'so' if claim['holds'] else 'not so'} in ours ({claim['ours']})."
            for claim in claims
            if claim["holds"] is not None
        ],
        "terminal",
    )


def claims_held(claims: Iterable[JudgedClaim]) -> tuple[int, int]:
    """How many hold, of how many that could be judged."""
    known = [claim["holds"] for claim in claims if claim["holds"] is not None]
    return sum(known), len(known)


def claim_words(claims: Iterable[JudgedClaim], of: str = "") -> Iterator[str]:
    held, known = claims_held(claims)
    if known:
        yield f"{held} of {known} things that the paper says{of} are so in ours."
