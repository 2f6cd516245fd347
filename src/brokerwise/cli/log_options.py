"""Options of commands that start processes: how these say what happens."""

from typing import Annotated

import typer

from brokerwise.runtime.process.logs import LogFormat, LogLevel

LogFormatOption = Annotated[
    LogFormat,
    typer.Option(
        "--log-format",
        help="How processes log: lines of text, or a JSON object a line.",
    ),
]
LogLevelOption = Annotated[
    LogLevel, typer.Option("--log-level", help="The least that processes log.")
]
