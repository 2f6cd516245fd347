"""What was learned, as plain arrays: from rows of numbers to one number a row.

Nothing here needs the library that it was learned with. Whoever made the arrays, a
regressor that exists can be asked: shapes and places are checked once, here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from brokerwise.kernels.latency_model import LEAVES, leaves_allowed, predict_trees
from brokerwise.model.arrays import (
    Bools,
    Bytes,
    Float64s,
    Int32s,
    Int64s,
    freeze_arrays,
    numbers,
    read_only,
)
from brokerwise.model.errors import InputError


class Regressor(Protocol):
    """Predicts a number for each row of a matrix."""

    def predict(self, rows: Float64s) -> Float64s: ...


@dataclass(frozen=True, eq=False)
class Scaling:
    """Subtracts a mean from each input, and divides by a scale."""

    mean: Float64s
    scale: Float64s

    def __post_init__(self) -> None:
        for name in ("mean", "scale"):
            values = finite(numbers(getattr(self, name), name), name)
            object.__setattr__(self, name, values)
        if len(self.mean) != len(self.scale) or not (self.scale > 0).all():
            raise InputError(
                f"scale: found {len(self.scale)} for {len(self.mean)} inputs, "
                "expected one each, above 0"
            )

    def __call__(self, rows: Float64s) -> Float64s:
        scaled: Float64s = (rows - self.mean) / self.scale
        return scaled


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A sum of products of powers of scaled inputs, each with its coefficient."""

    scaling: Scaling
    powers: Int32s  # of shape (terms, inputs)
    coefficients: Float64s

    def __post_init__(self) -> None:
        powers = np.asarray(self.powers, np.int32)
        values = finite(numbers(self.coefficients, "coefficients"), "coefficients")
        expected = (len(values), len(self.scaling.mean))
        if powers.shape != expected or (powers < 0).any() or (powers > 100).any():
            raise InputError(
                f"powers: found shape {powers.shape}, expected {expected}, each from 0 "
                "to 100"
            )
        object.__setattr__(self, "powers", read_only(powers))
        object.__setattr__(self, "coefficients", values)

    def predict(self, rows: Float64s) -> Float64s:
        scaled = self.scaling(rows)
        terms = np.ones((len(rows), len(self.powers)))
        for at in range(scaled.shape[1]):
            terms *= scaled[:, at : at + 1] ** self.powers[:, at]
        found: Float64s = terms @ self.coefficients
        return found


@dataclass(frozen=True, eq=False)
class Network:
    """Layers of weights and biases, with the larger of 0 and x between them."""

    scaling: Scaling
    weights: Sequence[Float64s]  # each of shape (inputs, outputs)
    biases: Sequence[Float64s]

    def __post_init__(self) -> None:
        inputs = len(self.scaling.mean)
        if not self.weights or len(self.weights) != len(self.biases):
            raise InputError("a network: expected weights and biases for each layer")
        for layer, (weights, biases) in enumerate(
            zip(self.weights, self.biases, strict=True)
        ):
            name = f"weights of layer {layer}"
            if weights.shape != (inputs, len(biases)):
                raise InputError(
                    f"{name}: found shape {weights.shape}, expected "
                    f"{(inputs, len(biases))}"
                )
            finite(weights, name)
            finite(biases, f"biases of layer {layer}")
            inputs = len(biases)
        if inputs != 1:
            raise InputError(f"a network: found {inputs} outputs, expected 1")

    def predict(self, rows: Float64s) -> Float64s:
        values = self.scaling(rows)
        last = len(self.weights) - 1
        for layer, (weights, biases) in enumerate(
            zip(self.weights, self.biases, strict=True)
        ):
            values = values @ weights + biases
            if layer < last:
                values = np.maximum(values, 0.0)
        return values[:, 0]


@dataclass(frozen=True, eq=False)
class Trees:
    """A sum of regression trees of at most 8 leaves, and of `first`.

    Attributes
    ----------
    inputs
        Numbers in a row.
    tree
        The tree of each node: 0, 1, ..., the nodes of a tree one after the other.
    left, right
        Where a row goes whose input `feature` is at most `threshold`, and where it
        goes else: places in the tree, after that of the node itself; 0 at a leaf.
    value
        That of a leaf.
    """

    inputs: int
    first: float
    tree: Int32s
    feature: Int32s
    threshold: Float64s
    left: Int32s
    right: Int32s
    value: Float64s
    starts: Int64s = field(init=False)

    def __post_init__(self) -> None:
        whole = dict.fromkeys(("tree", "feature", "left", "right"), np.int32)
        freeze_arrays(self, "trees", **whole)
        for name in ("threshold", "value"):
            values = finite(numbers(getattr(self, name), name), name)
            object.__setattr__(self, name, values)
        finite(np.array([self.first]), "first")
        for name in ("feature", "threshold", "left", "right", "value"):
            if len(getattr(self, name)) != len(self.tree):
                raise InputError(
                    f"{name} of trees: found {len(getattr(self, name)):,}, expected "
                    f"{len(self.tree):,}, one a node"
                )
        object.__setattr__(self, "starts", self._starts())
        self._check_nodes()

    def _starts(self) -> Int64s:
        """The first node of each tree, and the number of nodes."""
        steps = np.diff(self.tree, prepend=-1)
        if ((steps != 0) & (steps != 1)).any():
            raise InputError("tree: expected 0, 1, ..., the nodes of each together")
        return np.append(np.flatnonzero(steps == 1), len(self.tree))

    def _check_nodes(self) -> None:
        sizes = np.diff(self.starts)
        place = np.arange(len(self.tree)) - self.starts[self.tree]
        leaf = (self.left == 0) & (self.right == 0)
        for name, child in (("left", self.left), ("right", self.right)):
            wrong = ~leaf & ((child <= place) | (child >= sizes[self.tree]))
            self._refuse(wrong, name, child, "the place of a later node of its tree")
        wrong = ~leaf & ((self.feature < 0) | (self.feature >= self.inputs))
        self._refuse(wrong, "feature", self.feature, f"0 to {self.inputs - 1}")
        inner = np.flatnonzero(~leaf)
        begin = self.starts[self.tree[inner]]
        children = np.append(begin + self.left[inner], begin + self.right[inner])
        parents = np.bincount(children, minlength=len(self.tree))
        wrong = parents != np.where(place == 0, 0, 1)
        self._refuse(wrong, "parents", parents, "one of every node but the first")
        leaves = np.bincount(self.tree[leaf], minlength=len(sizes))
        if (leaves > LEAVES).any():
            raise InputError(
                f"trees: found one of {leaves.max()} leaves, expected at most {LEAVES}"
            )

    def _refuse(self, wrong: Bools, name: str, values: Any, expected: str) -> None:
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InputError(
                f"{name} of node {at + 1:,} of the trees: found {values[at]}, "
                f"expected {expected}"
            )

    def predict(self, rows: Float64s) -> Float64s:
        bounds, thresholds, allowed, values = self._tables
        rows = np.ascontiguousarray(rows, np.float64)
        return predict_trees(rows, bounds, thresholds, allowed, values, self.first)

    @cached_property
    def _tables(self) -> tuple[Int64s, Float64s, Bytes, Float64s]:
        inner = self.left > 0
        each = [
            np.unique(self.threshold[inner & (self.feature == at)])
            for at in range(self.inputs)
        ]
        bounds = np.cumsum([0, *map(len, each)], dtype=np.int64)
        thresholds = np.concatenate([*each, np.empty(0)])
        allowed, values = leaves_allowed(
            self.starts,
            self.feature,
            self.threshold,
            self.left,
            self.right,
            self.value,
            bounds,
            thresholds,
        )
        return bounds, thresholds, allowed, values


def finite(values: Float64s, name: str) -> Float64s:
    """The same values, none of which is NaN or infinite."""
    wrong = ~np.isfinite(values)
    if wrong.any():
        raise InputError(f"{name}: found {values[wrong][0]}, expected finite numbers")
    return values
