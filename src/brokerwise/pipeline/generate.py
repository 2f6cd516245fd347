"""Traces of a published shape, made by Spark tasks."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from pyspark import Broadcast
from pyspark.sql import SparkSession

from brokerwise.model.arrays import Int64s
from brokerwise.pipeline.progress import Progress
from brokerwise.pipeline.session import Session
from brokerwise.pipeline.shapes.published import Size
from brokerwise.pipeline.shapes.recipe import Recipe, make_recipe
from brokerwise.pipeline.sharing import shared
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

_ATTEMPTS = "attempts"
_MOST_BLOCKS_PER_FILE = 8


@dataclass(frozen=True)
class Written:
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
) -> list[Written]:
    """Write all pairs below `attempts`, as many files at a time as there are cores."""
    attempts = (output.root / _ATTEMPTS).absolute()
    attempts.make()
    files = -(-recipe.blocks // blocks_per_file(recipe))
    context = spark.sparkContext
    try:
        with shared(context, recipe) as recipes:
            numbers = context.parallelize(range(files), tasks or files)
            write = partial(write_files, recipes, attempts)
            return numbers.mapPartitions(write).collect()
    except BaseException:
        # Tasks that still run can make no more files once their directory is gone.
        with suppress(OSError):
            attempts.rename("abandoned")
        raise


def write_files(
    recipes: "Broadcast[Recipe]", attempts: Place, numbers: Iterable[int]
) -> Iterator[Written]:
    """Write the files of these numbers, each under a name of its own.

    A task may run twice, even twice at a time: the driver keeps one file of each
    number.
    """
    for number in numbers:
        name = f"part-{number:05d}-{uuid4().hex}.csv"
        pairs = write_pairs(attempts / name, _blocks(recipes.value, number))
        yield Written(number, name, pairs)


def _blocks(recipe: Recipe, file: int) -> Iterator[tuple[Int64s, Int64s]]:
    per_file = blocks_per_file(recipe)
    first = file * per_file
    return map(recipe.block, range(first, min(first + per_file, recipe.blocks)))


def keep_completed(output: Output, written: list[Written]) -> list[str]:
    """Give completed files their names, in order, and forget the other attempts."""
    names = []
    for file in sorted(written, key=lambda file: file.number):
        name = part_name(output, file.number)
        filesystem, source = (output.root / _ATTEMPTS / file.attempt).open()
        filesystem.move(source, (output.root / "pairs" / name).open()[1])
        names.append(name)
    (output.root / _ATTEMPTS).delete()
    return names
