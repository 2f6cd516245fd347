"""Every kind of result of `reproduce`, and what makes a page of it."""

from collections.abc import Callable, Mapping

from brokerwise.reproduce import (
    balance_page,
    colocate_page,
    fill_page,
    overlay_page,
    provision_page,
)
from brokerwise.reproduce.account import Account, Result, page
from brokerwise.show.page import Page

_ACCOUNTS: Mapping[str, Callable[[Result], Account]] = {
    "reproduce provision": provision_page.account,
    "reproduce fill": fill_page.account,
    "reproduce colocate": colocate_page.account,
    "reproduce overlay": overlay_page.account,
    "reproduce balance": balance_page.account,
}


def _page_of(result: Result) -> Page:
    """From what results.json holds: `reproduce --json` adds where that is, and how
    long it took to complete it."""
    kept = {key: result[key] for key in result if key not in ("out", "seconds")}
    return page(_ACCOUNTS[result["kind"]](kept))


PAGES: Mapping[str, Callable[[Result], Page]] = dict.fromkeys(_ACCOUNTS, _page_of)
"""What a result calls its `kind`, and what makes a page of it: as
`brokerwise.show.reports.REPORTS` has it for all other results."""
