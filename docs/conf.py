"""How the pages become a site: `make docs`.

Sphinx reads README.md, docs/ and examples/ where they are, so that the links between
them hold on GitHub too.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NAVIGATION = {
    "Begin": ["docs/tour.md", "docs/page.md", "docs/view.md", "docs/reports.md"],
    "Questions": [
        "docs/provision.md",
        "docs/fill.md",
        "docs/colocate.md",
        "docs/overlay.md",
        "docs/balance.md",
        "docs/data.md",
    ],
    "Where answers come from": [
        "docs/workload.md",
        "docs/fleet.md",
        "docs/networks.md",
        "docs/latency.md",
        "docs/taxi.md",
    ],
    "Operator's guide": ["docs/operating.md", "docs/cluster.md", "docs/protocol.md"],
    "Papers": [
        "docs/papers.md",
        "docs/reproduced/provision.md",
        "docs/reproduced/fill.md",
        "docs/reproduced/colocate.md",
        "docs/reproduced/overlay.md",
        "docs/reproduced/balance.md",
    ],
    "Reference": [
        "docs/api.md",
        "docs/architecture.md",
        "docs/benchmarks.md",
        "docs/scaling.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
    ],
    "Examples": [
        "examples/small/README.md",
        "examples/emergency/README.md",
        "examples/taxi/README.md",
    ],
}

project = "Brokerwise"
html_title = "Brokerwise"
root_doc = "README"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = [".*", "build", "dist", "out", "site", "src", "tests"]

myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a level of headings that is left out
smartquotes = False
highlight_language = "none"
default_role = "code"  # docstrings have names between single backquotes
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 80

# Its fonts, styles and scripts are its own: a page asks for nothing from elsewhere.
html_theme = "furo"
html_copy_source = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5cad",
        "color-brand-content": "#0b5cad",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7ab8ff",
        "color-brand-content": "#7ab8ff",
    },
}


def add_navigation(app: "Sphinx", name: str, source: list[str]) -> None:
    """On GitHub a table of contents for Sphinx would be seen as code, so the front
    page gets it when it is read."""
    if name == app.config.root_doc:
        source[0] += "".join(map(_contents, NAVIGATION, NAVIGATION.values()))


def _contents(caption: str, pages: list[str]) -> str:
    listed = "\n".join(f"/{page}" for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n"


def setup(app: "Sphinx") -> None:
    app.connect("source-read", add_navigation)
