"""Reading a report back, as a browser would."""

import json
from html.parser import HTMLParser
from typing import Any


class Reader(HTMLParser):
    """Elements with their attributes, the text that is shown, and scripts by id."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.shown: list[str] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.style = ""
        self._open = ""
        self._is_hidden = False  # hidden elements hold text only
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag
        self._is_hidden = "hidden" in dict(attrs)
        if tag == "script":
            self.scripts.append((dict(attrs).get("id"), ""))

    def handle_endtag(self, tag: str) -> None:
        self._open = ""
        self._is_hidden = False

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            name, text = self.scripts[-1]
            self.scripts[-1] = (name, text + data)
        elif self._open == "style":
            self.style += data
        elif not self._is_hidden:
            self.shown.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.shown).split())

    def data(self, name: str) -> Any:
        return json.loads(dict(self.scripts)[name])
