"""Tables for terminals and for Markdown."""

from brokerwise.show.tables import Table, aligned, markdown

TABLE = Table("Loads", ("broker", "load"), [("b1", "1,204"), ("b|2", "7")])


def test_numbers_stand_under_each_other() -> None:
    assert list(aligned(TABLE)) == [
        "Loads",
        "  broker    load",
        "  b1       1,204",
        "  b|2          7",
    ]


def test_markdown_keeps_bars_out_of_cells() -> None:
    assert list(markdown(TABLE)) == [
        "Loads:",
        "",
        "| broker | load |",
        "| --- | ---: |",
        "| b1 | 1,204 |",
        "| b&#124;2 | 7 |",
    ]
