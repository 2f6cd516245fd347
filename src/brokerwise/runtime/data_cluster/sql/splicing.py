"""Puts columns of the subscriptions where a query has its parameters. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from brokerwise.runtime.data_cluster.definitions import Channel
from brokerwise.runtime.data_cluster.sql.parsed import Node
from brokerwise.runtime.data_cluster.sql.refused import RefusedQueryError

SUBSCRIPTIONS = "_subscriptions"
SUBSCRIPTION = "_subscription"
_ALIAS = "_s"
_BEFORE = (
    f"SELECT {_ALIAS}.{SUBSCRIPTION} AS subscription, "
    "to_json(struct(_r.*), map('ignoreNullFields', 'false')) AS data "
    f"FROM {SUBSCRIPTIONS} {_ALIAS}, LATERAL (\n"
)
_AFTER = "\n) _r"  # the line break ends a comment


@dataclass(frozen=True)
class Spliced:
    """`pieces` are where text was replaced: from, to, and by how much longer."""

    text: str
    pieces: tuple[tuple[int, int, int], ...]

    def place(self, index: int) -> int:
        """Where in the channel's SQL a place of `text` comes from; -1 if it is not
        from there."""
        index -= len(_BEFORE)
        for start, stop, longer in self.pieces:
            if index >= stop + longer:
                index -= longer
            elif index >= start:
                return start
            else:
                break
        return index


def column_of(parameter: str) -> str:
    """The column of the subscriptions that has the values of a parameter."""
    return f"p_{parameter}"


def splice(query: Node, text: str, channel: Channel) -> Spliced:
    """One query for all subscriptions. Raises RefusedQueryError for parameters that
    are not declared, or declared and not used."""
    declared = {column.name: column.name for column in channel.parameters}
    found = [n for n in query.everything() if n.kind == "analysis.NamedParameter"]
    places = _places(found, text, declared)
    unused = sorted(set(declared) - {name for _, _, name in places})
    if unused:
        raise RefusedQueryError(f"the parameter :{unused[0]} is not used in the SQL")
    return _spliced(text, places)


def _places(
    found: Sequence[Node], text: str, declared: Mapping[str, str]
) -> list[tuple[int, int, str]]:
    places = set()
    for node in found:
        name = str(node["name"])
        if name not in declared:
            known = ", ".join(f":{name}" for name in declared)
            raise RefusedQueryError(
                f"the parameter :{name[:80]} is not declared; declared are: "
                f"{known or 'none'}",
                text,
                node.start,
            )
        if text[node.start : node.stop] != f":{name}":
            raise RefusedQueryError(
                f"expected the parameter as :{name}, without anything between",
                text,
                node.start,
            )
        places.add((node.start, node.stop, name))
    return sorted(places)


def _spliced(text: str, places: Sequence[tuple[int, int, str]]) -> Spliced:
    parts, pieces, done = [_BEFORE], [], 0
    for start, stop, name in places:
        column = f"{_ALIAS}.{column_of(name)}"
        # A letter right before or after would become part of the name.
        parts += [text[done:start], f" {column} "]
        pieces.append((start, stop, len(column) + 2 - (stop - start)))
        done = stop
    return Spliced("".join([*parts, text[done:], _AFTER]), tuple(pieces))
