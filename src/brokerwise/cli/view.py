"""`brokerwise view`."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import Json
from brokerwise.cli.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from brokerwise.show.view import View

    Ready = Callable[[str], None]

_HOST = "127.0.0.1"


def view(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan directory.")],
    workload: Annotated[
        str | None,
        typer.Option(help="The plan's workload or network, if it is elsewhere now."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to listen; 0: any free port.")
    ] = 0,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Do not open a browser.")
    ] = False,
    json: Json = False,
) -> None:
    """Show a plan of any kind as a page: how good it is, what each broker carries.

    Audits the plan, prints the address of the page and opens it in a browser, if there
    is a screen. On the page: the answer, the bound, the brokers, plots, a map of an
    overlay, and a search: where is this topic, where is this subscriber, and why. Only
    this machine can reach it, and only with the address. Runs until Ctrl-C.

    \b
    Example:
      brokerwise view out/plan
    """
    from brokerwise.show.plan_page import open_view
    from brokerwise.storage.place import Place

    progress = LiveProgress()
    basis = None if workload is None else Place(workload)
    opened = open_view(Place(plan), basis, progress.stage)

    def ready(url: str) -> None:
        if json:
            about = {key: opened.plan[key] for key in ("kind", "name", "status")}
            print_json({**about, "audit": opened.plan["audit"], "url": url})
            return
        print_result(printable("\n".join(_said(opened, url))))
        if not no_open and _has_screen():
            _open(url)

    _serve(opened, port, ready)


def _said(view: "View", url: str) -> list[str]:
    plan, audit = view.plan, view.plan["audit"]
    found = {True: "ok", None: "not done"}.get(audit["ok"])
    if found is None:
        total = audit["total"]
        found = f"{total:,} violation{'' if total == 1 else 's'}"
    lines = [plan["answer"], f"  audit: {found}"]
    lines += [f"  {audit['advice']}"] if audit["advice"] else []
    return [*lines, f"Page: {url}   (Ctrl-C ends it)"]


def _has_screen() -> bool:
    """Without one, what is opened would be a browser in this very terminal."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(url: str) -> None:
    """In a thread of its own: some browsers return only when they are closed."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _serve(view: "View", port: int, ready: "Ready") -> None:
    """Until this process is told to end; by Ctrl-C, KeyboardInterrupt is raised."""
    import asyncio
    import secrets
    import signal

    from brokerwise.cli.signals import told_to_end
    from brokerwise.model.errors import InputError
    from brokerwise.runtime.net.api import GRACE_SECONDS
    from brokerwise.runtime.net.server import serve_http, url_of
    from brokerwise.runtime.protocol.tokens import Keys, Role
    from brokerwise.show.plan_page import make_service

    keys = Keys.of_secret(secrets.token_bytes(32))

    async def serve() -> signal.Signals:
        admit = make_service(view, keys).admit
        with told_to_end() as told:
            try:
                server = await serve_http(admit, host=_HOST, port=port)
            except OSError as cause:
                reason = os.strerror(cause.errno or 0)
                raise InputError(f"--port {port}: {reason}") from cause
            address = url_of(_HOST, server.port, secure=False)
            ready(f"{address}/#token={keys.token(Role.OPERATOR, 'view')}")
            ended = await told.get()
            await server.close(GRACE_SECONDS)
            return ended

    if asyncio.run(serve()) == signal.SIGINT:
        raise KeyboardInterrupt
