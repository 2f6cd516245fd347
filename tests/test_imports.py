"""Which folder may import which, and what may stand in an `__init__.py`."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import brokerwise.model

PACKAGE = "brokerwise"
ORDER = (
    "model",
    "kernels",
    "planners",
    "latency",
    "storage",
    "auditing",
    "pipeline",
    "page",
    "runtime",
    "show",
    "api",
    "reproduce",
    "cli",
)
ALLOWED = {folder: set(ORDER[: i + 1]) for i, folder in enumerate(ORDER)} | {
    "auditing": {"auditing", "model", "storage"},
    "page": {"page"},
}

# Sub-folders of runtime: the load generator never imports the broker that it loads,
# nor the simulation the coordinator whose balancer it runs.
_SHARED = {"protocol", "net", "process"}
WITHIN_RUNTIME = {
    "protocol": set[str](),
    "process": {"protocol"},
    "net": {"protocol", "process"},
    "balancing": set[str](),
    "simulation": {"balancing"},
    "client": {"protocol", "net"},
    "broker": _SHARED,
    "coordinator": {*_SHARED, "balancing"},
    "data_cluster": _SHARED,
    "fleet": _SHARED,
    "load": {*_SHARED, "client", "fleet"},
}

WITHOUT_SPARK = ("model", "kernels", "planners", "storage")
WITHOUT_ASYNCIO = ("planners",)
DRAWING = "plotly"
DRAWS = "show.page"
PROCESSES_WITHOUT_SPARK = ("runtime.broker", "runtime.client")


@dataclass(frozen=True)
class Import:
    """An imported module; `names` are what `from` takes from it."""

    module: str
    names: tuple[str, ...] = ()
    lazy: bool = False
    types_only: bool = False


def violations(sources: Mapping[str, str]) -> list[str]:
    """What the modules, by dotted name (a package's ends in `.__init__`), do wrong."""
    imports = {module: list(imports_of(module, s)) for module, s in sources.items()}
    found = []
    for module in sorted(sources):
        found += _forbidden_arrows(module, imports, sources)
        found += _forbidden_arrows_in_runtime(module, imports, sources)
        found += _forbidden_libraries(module, imports[module])
        if module.endswith(".__init__") and _has_logic(sources[module]):
            found.append(f"{module} has logic in it")
        if _is_process_without_spark(module):
            found += _ways_to_spark(module, imports)
    return found


def imports_of(module: str, source: str) -> Iterator[Import]:
    """Every import: also in functions, for types only, or by import_module."""
    yield from _imports(ast.parse(source), module.split(".")[:-1], False, False)


def _imports(
    node: ast.AST, package: list[str], lazy: bool, types_only: bool
) -> Iterator[Import]:
    match node:
        case ast.Import(names=names):
            for alias in names:
                yield Import(alias.name, (), lazy, types_only)
        case ast.ImportFrom(module=name, names=names, level=level):
            base = package[: len(package) - level + 1] if level else []
            absolute = ".".join([*base, *([name] if name else [])])
            yield Import(absolute, tuple(a.name for a in names), lazy, types_only)
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _imports_by_name(
            node
        ):
            yield Import(name, (), lazy, types_only)
    lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    for field, value in ast.iter_fields(node):
        only = types_only or (guarded and field == "body")
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _imports(child, package, lazy, only)


def _imports_by_name(call: ast.Call) -> bool:
    return ast.unparse(call.func).split(".")[-1] in ("import_module", "__import__")


def _targets(made: Import, modules: Mapping[str, object]) -> set[str]:
    """The modules of ours that an import loads, as they are called in `modules`."""
    if made.module.split(".")[0] != PACKAGE:
        return set()
    inner = {f"{made.module}.{name}" for name in made.names}
    known = {name for name in inner if _known(name, modules)}
    return known if known and len(known) == len(made.names) else {made.module, *known}


def _known(name: str, modules: Mapping[str, object]) -> bool:
    return name in modules or f"{name}.__init__" in modules or _is_folder(name, modules)


def _is_folder(name: str, modules: Mapping[str, object]) -> bool:
    return any(module.startswith(f"{name}.") for module in modules)


def _folder(module: str) -> str:
    """The part of the layout that a module belongs to; the package itself is `api`."""
    inner = module.removeprefix(PACKAGE).removeprefix(".")
    first = inner.split(".")[0]
    package = ("", "__init__", "exports")
    return "api" if first in package else {"__main__": "cli"}.get(first, first)


def _forbidden_arrows(
    module: str,
    imports: Mapping[str, list[Import]],
    sources: Mapping[str, str],
) -> list[str]:
    folder = _folder(module)
    if folder not in ALLOWED:
        return [f"{module} is in {folder}, which is no part of the layout"]
    targets = {t for made in imports[module] for t in _targets(made, sources)}
    return [
        f"{module} imports {target}: {folder} may not import {_folder(target)}"
        for target in sorted(targets)
        if _folder(target) not in ALLOWED[folder]
    ]


def _forbidden_arrows_in_runtime(
    module: str, imports: Mapping[str, list[Import]], sources: Mapping[str, str]
) -> list[str]:
    part = _part_of_runtime(module)
    if part is None:
        return []
    if part not in WITHIN_RUNTIME:
        return [f"{module} is in {part}, which is no part of runtime"]
    targets = {t for made in imports[module] for t in _targets(made, sources)}
    return [
        f"{module} imports {target}: {part} may not import {_part_of_runtime(target)}"
        for target in sorted(targets)
        if _part_of_runtime(target) not in {None, part, *WITHIN_RUNTIME[part]}
    ]


def _part_of_runtime(module: str) -> str | None:
    """`broker` of brokerwise.runtime.broker.router; a loose module is its own part."""
    parts = module.split(".")
    is_inside = parts[:2] == [PACKAGE, "runtime"] and len(parts) > 2
    return parts[2] if is_inside and parts[2] != "__init__" else None


def _forbidden_libraries(module: str, imports: list[Import]) -> list[str]:
    folder = _folder(module)
    used = {made.module.split(".")[0] for made in imports}
    banned = {"pyspark": WITHOUT_SPARK, "asyncio": WITHOUT_ASYNCIO}
    found = [
        f"{module} imports {library}, which {folder} does without"
        for library, folders in banned.items()
        if library in used and folder in folders
    ]
    if DRAWING in used and module != f"{PACKAGE}.{DRAWS}":
        found.append(f"{module} imports {DRAWING}, which only {DRAWS} may")
    return found


def _has_logic(source: str) -> bool:
    body = ast.parse(source).body
    return not all(_is_plain(statement) for statement in body)


def _is_plain(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=[]):
            return all(_is_plain(inner) for inner in body)
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() as names):
            return all(isinstance(name, ast.Constant) for name in names.elts)
        case _:
            return False


def _is_process_without_spark(module: str) -> bool:
    inner = module.removeprefix(f"{PACKAGE}.")
    return any(inner == p or inner.startswith(f"{p}.") for p in PROCESSES_WITHOUT_SPARK)


def _ways_to_spark(start: str, imports: Mapping[str, list[Import]]) -> list[str]:
    """How a module comes to import pyspark, itself or through others of ours.

    What a module imports in its functions counts, except for packages that are only
    loaded because a module of theirs is.
    """
    seen: set[tuple[str, bool]] = set()
    paths: list[tuple[tuple[str, ...], bool]] = [((start,), False)]
    while paths:
        path, top_only = paths.pop()
        module = _file_of(path[-1], imports)
        if module is None or (module, top_only) in seen:
            continue
        seen.add((module, top_only))
        paths += [((*path, p), True) for p in _packages(module)]
        for made in imports[module]:
            if made.types_only or (made.lazy and top_only):
                continue
            if made.module.split(".")[0] == "pyspark":
                return [f"{start} imports pyspark: {' -> '.join((*path, 'pyspark'))}"]
            paths += [((*path, t), top_only) for t in _targets(made, imports)]
    return []


def _file_of(module: str, imports: Mapping[str, object]) -> str | None:
    return next((m for m in (module, f"{module}.__init__") if m in imports), None)


def _packages(module: str) -> list[str]:
    parts = module.removesuffix(".__init__").split(".")
    return [".".join([*parts[:n], "__init__"]) for n in range(1, len(parts))]


def our_sources() -> dict[str, str]:
    root = Path(brokerwise.model.__file__ or "").parents[2]
    return {
        ".".join(path.relative_to(root).with_suffix("").parts): path.read_text()
        for path in sorted((root / PACKAGE).rglob("*.py"))
    }


def test_our_imports_follow_the_layout() -> None:
    assert violations(our_sources()) == []


def test_the_check_sees_our_modules() -> None:
    sources = our_sources()
    assert "brokerwise.model.workload" in sources
    made = imports_of("brokerwise.cli.main", sources["brokerwise.cli.main"])
    assert "brokerwise.model.errors" in {i.module for i in made}


BAD = {
    "an arrow upwards": ("kernels.pack", "import brokerwise.storage.place"),
    "model importing a kernel": ("model.plan", "from brokerwise.kernels import pack"),
    "audit importing a kernel": (
        "auditing.check",
        "from brokerwise.kernels.a import b",
    ),
    "audit importing a planner": ("auditing.check", "import brokerwise.planners.fill"),
    "the page importing the model": ("page.assets", "import brokerwise.model.plan"),
    "pipeline calling show": ("pipeline.profile", "import brokerwise.show.page"),
    "runtime calling show": ("runtime.net.api", "import brokerwise.show.page"),
    "show importing the api": ("show.fill", "from brokerwise.api import fill"),
    "show importing reproduce": (
        "show.reports",
        "import brokerwise.reproduce.pages",
    ),
    "show importing the command line": (
        "show.fill",
        "from brokerwise.cli.printable import printable",
    ),
    "drawing where results are made": ("show.fill", "import plotly"),
    "drawing in the command line": (
        "cli.fill",
        "def f():\n    from plotly.offline import get_plotlyjs",
    ),
    "the api importing reproduce": ("api.fill", "import brokerwise.reproduce.fill"),
    "reproduce importing the command line": (
        "reproduce.fill",
        "from brokerwise.cli.countdown import counting_down",
    ),
    "runtime importing the api": (
        "runtime.fleet.up",
        "from brokerwise.api import fill",
    ),
    "a loose module in runtime": ("runtime.waiting", ""),
    "load importing the broker": (
        "runtime.load.worker",
        "import brokerwise.runtime.broker.meters",
    ),
    "the simulation importing the coordinator": (
        "runtime.simulation.world",
        "from brokerwise.runtime.coordinator import placement",
    ),
    "a broker importing the fleet": (
        "runtime.broker.process",
        "def f():\n    from brokerwise.runtime.fleet.files import read_fleet",
    ),
    "the package itself": ("model.plan", "from brokerwise import Workload"),
    "the whole package": ("storage.plan", "import brokerwise"),
    "a folder from the package": ("model.plan", "from brokerwise import storage"),
    "a relative import": ("model.plan", "from ..storage import place"),
    "an import in a function": (
        "model.plan",
        "def save():\n    from brokerwise.storage import plan",
    ),
    "an import for types": (
        "model.plan",
        "if TYPE_CHECKING:\n    from brokerwise.storage.plan import PlanHeader",
    ),
    "an import by name": (
        "model.plan",
        "importlib.import_module('brokerwise.storage.plan')",
    ),
    "an import in a branch": (
        "model.plan",
        "try:\n    pass\nexcept ImportError:\n    import brokerwise.cli.main",
    ),
    "pyspark in storage": ("storage.plan", "from pyspark.sql import SparkSession"),
    "pyspark in model": ("model.plan", "import pyspark"),
    "pyspark in kernels": ("kernels.pack", "def f():\n    import pyspark.sql"),
    "pyspark in planners": ("planners.fill.greedy", "import pyspark"),
    "asyncio in planners": ("planners.fill.greedy", "import asyncio"),
    "pyspark in the broker": ("runtime.broker", "import pyspark"),
    "pyspark in a client function": (
        "runtime.client.session",
        "async def f():\n    import pyspark",
    ),
    "a folder that is not in the layout": ("helpers.text", ""),
    "a loose module": ("helpers", ""),
    "logic in an __init__": ("model.__init__", "VERSION = 1"),
    "a function in an __init__": ("model.__init__", "def f(): ..."),
    "a computed __all__": ("model.__init__", "__all__ = sorted(globals())"),
}


@pytest.mark.parametrize(("module", "source"), BAD.values(), ids=BAD.keys())
def test_a_bad_module_is_named(module: str, source: str) -> None:
    known = {"brokerwise.storage.place": "", "brokerwise.kernels.pack": ""}
    found = violations(known | {f"brokerwise.{module}": source})
    assert len(found) == 1
    assert found[0].startswith(f"brokerwise.{module} ")


GOOD = {
    "an arrow downwards": ("storage.plan", "import brokerwise.model.plan"),
    "a kernel in Spark tasks": ("pipeline.select", "import brokerwise.kernels.pack"),
    "storage in the audit": ("auditing.check", "from brokerwise.storage import place"),
    "show called by the api": ("api", "def f():\n    import brokerwise.show.page"),
    "show called by reproduce": ("reproduce.fill", "import brokerwise.show"),
    "a stored plan in show": ("show.view", "import brokerwise.storage.plan"),
    "drawing in pages": ("show.page", "def f():\n    from plotly import offline"),
    "reproduce called by the command line": (
        "cli.report",
        "def f():\n    from brokerwise.reproduce.pages import PAGES",
    ),
    "show called by the command line": ("cli.main", "import brokerwise.show"),
    "the package re-exporting the api": (
        "__init__",
        '"""Docs."""\nfrom brokerwise.api import fill\n__all__ = ["fill"]',
    ),
    "the page in the runtime": ("runtime.net.api", "import brokerwise.page.assets"),
    "pyspark in the pipeline": ("pipeline.session", "from pyspark.sql import Row"),
    "pyspark in the data cluster": ("runtime.data_cluster", "import pyspark"),
    "asyncio in the runtime": ("runtime.broker", "import asyncio"),
    "a library that sounds like ours": ("model.plan", "import brokerwise_extras"),
    "pyspark as a type in the broker": (
        "runtime.broker",
        "if TYPE_CHECKING:\n    import pyspark",
    ),
}


@pytest.mark.parametrize(("module", "source"), GOOD.values(), ids=GOOD.keys())
def test_a_good_module_passes(module: str, source: str) -> None:
    known = {"brokerwise.storage.place": "", "brokerwise.kernels.pack": ""}
    assert violations(known | {f"brokerwise.{module}": source}) == []


def test_a_broker_may_not_reach_spark_through_others() -> None:
    sources = {
        "brokerwise.runtime.broker": "from brokerwise.runtime.net import http",
        "brokerwise.runtime.net.http": "def f():\n    import brokerwise.pipeline.job",
        "brokerwise.pipeline.job": "from pyspark.sql import SparkSession",
    }
    assert violations(sources) == [
        "brokerwise.runtime.broker imports pyspark: brokerwise.runtime.broker -> "
        "brokerwise.runtime.net.http -> brokerwise.pipeline.job -> pyspark"
    ]


def test_a_package_that_loads_spark_loads_it_for_all_its_modules() -> None:
    eager = {
        "brokerwise.__init__": "from brokerwise.api import ingest",
        "brokerwise.api": "import brokerwise.pipeline.job",
        "brokerwise.pipeline.job": "import pyspark",
        "brokerwise.runtime.client": "",
    }
    lazy = eager | {
        "brokerwise.api": "def ingest():\n    import brokerwise.pipeline.job"
    }
    assert violations(eager) == [
        "brokerwise.runtime.client imports pyspark: brokerwise.runtime.client -> "
        "brokerwise.__init__ -> brokerwise.api -> brokerwise.pipeline.job -> pyspark"
    ]
    assert violations(lazy) == []
