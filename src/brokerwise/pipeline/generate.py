"""Traces of a published shape, made by Spark tasks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark import Broadcast
from pyspark.sql import SparkSession

from brokerwise.model.arrays import Int64s
from brokerwise.pipeline.progress import Progress
from brokerwise.pipeline.session import Session
from brokerwise.pipeline.shapes import Recipe, Size, make_recipe
from brokerwise.pipeline.tasks import attempt_name, keep_imports, shared
from brokerwise.pipeline.trace import (
    PAIRS_PER_FILE,
    commit_trace,
    part_name,
    write_pairs,
    write_rates,
    writing,
)
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place

_MOST_BLOCKS_PER_FILE = 8


@dataclass(frozen=True)
class WrittenFile:
    """A file of pairs that a task has completed, under the name of its attempt."""

    number: int
    attempt: str
    pairs: int


def generate_trace(
    size: Size,
    seed: int,
    out: Place,
    *,
    session: Session,
    progress: Progress,
    force: bool = False,
    tasks: int | None = None,
) -> dict[str, Any]:
    """Write a trace of a shape and a size; returns its header.

    The files depend on shape, scale and seed alone, byte for byte: not on `tasks`
    (by default one for each file) or where they run. A task holds one block of 65,536
    subscribers in memory; the driver a few numbers for each topic. `session` is
    opened once all that can be refused has been.
    """
    with writing(out, force=force) as output:
        with progress.stage("rates"):
            recipe, rates = make_recipe(size, seed)
            files = {"pairs": list[str](), "rates": write_rates(output, rates)}
        with session() as spark, progress.stage("pairs"):
            written = _write_everything(spark, recipe, output, tasks)
            files["pairs"] = keep_completed(output, written)
        return commit_trace(
            output,
            {"shape": size.shape.name, "scale": size.scale, "seed": seed},
            rates=rates,
            subscribers=size.subscribers,
            pairs=sum(file.pairs for file in written),
            files=files,
        )


def blocks_per_file(recipe: Recipe) -> int:
    """How many blocks share a file: a matter of the shape alone."""
    pairs_per_block = recipe.size.pairs / recipe.blocks
    return int(min(max(PAIRS_PER_FILE // pairs_per_block, 1), _MOST_BLOCKS_PER_FILE))


def _write_everything(
    spark: SparkSession, recipe: Recipe, output: Output, tasks: int | None
) -> list[WrittenFile]:
    """Write all pairs as attempts, as many files at a time as there are cores."""
    files = -(-recipe.blocks // blocks_per_file(recipe))
    context = spark.sparkContext
    with shared(context, recipe) as recipes:
        numbers = context.parallelize(range(files), tasks or files)
        attempts = output.attempts("pairs") / "pairs"
        write = partial(write_files, recipes, attempts, output.run)
        return numbers.mapPartitions(write).collect()


def write_files(
    recipes: "Broadcast[Recipe]", attempts: Place, run: str, numbers: Iterable[int]
) -> Iterator[WrittenFile]:
    """Write the files of these numbers, each under a name of its own."""
    keep_imports()
    for number in numbers:
        name = attempt_name(run, number)
        pairs = write_pairs(attempts / name, _blocks(recipes.value, number))
        yield WrittenFile(number, name, pairs)


def _blocks(recipe: Recipe, file: int) -> Iterator[tuple[Int64s, Int64s]]:
    per_file = blocks_per_file(recipe)
    first = file * per_file
    return map(recipe.block, range(first, min(first + per_file, recipe.blocks)))


def keep_completed(output: Output, written: list[WrittenFile]) -> list[str]:
    """Give completed files their names, in order."""
    names = []
    for file in sorted(written, key=lambda file: file.number):
        name = part_name(output, file.number)
        output.keep(f"pairs/{file.attempt}", f"pairs/{name}")
        names.append(name)
    return names
