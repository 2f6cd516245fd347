"""A plot with logarithmic axes as one SVG, for the documentation."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from math import ceil, floor, log10

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 150, 20, 50
LABEL = 15
COLOURS = ("#1f6feb", "#b35900", "#2e7d32", "#7b3fb5")


def log_plot(
    x: Sequence[float], lines: Mapping[str, Sequence[float]], label: str
) -> str:
    """Lines through points; values of zero or less have no place and are left out."""
    values = [v for line in lines.values() for v in line if v > 0]
    across = (floor(log10(min(x))), ceil(log10(max(x))))
    up = (floor(log10(min(values))), ceil(log10(max(values))))
    body = [*_grid(across, up, label)]
    drawn = {
        name: [
            (
                _place(a, across, LEFT, WIDTH - RIGHT),
                _place(v, up, HEIGHT - BOTTOM, TOP),
            )
            for a, v in zip(x, line, strict=True)
            if v > 0
        ]
        for name, line in lines.items()
        if max(line) > 0
    }
    heights = _apart({name: points[-1][1] for name, points in drawn.items()})
    for (name, points), colour in zip(drawn.items(), cycle(COLOURS), strict=False):
        body += _line(name, points, heights[name], colour)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>{"".join(body)}</svg>\n'
    )


def _place(value: float, span: tuple[int, int], start: float, end: float) -> float:
    return start + (end - start) * (log10(value) - span[0]) / (span[1] - span[0])


def _grid(across: tuple[int, int], up: tuple[int, int], label: str) -> list[str]:
    parts = []
    for power in range(across[0], across[1] + 1):
        x = _place(10.0**power, across, LEFT, WIDTH - RIGHT)
        parts.append(
            f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>'
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
            f'10<tspan dy="-5" font-size="9">{power}</tspan></text>'
        )
    for power in range(up[0], up[1] + 1):
        y = _place(10.0**power, up, HEIGHT - BOTTOM, TOP)
        parts.append(
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{10.0**power:g}</text>"
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{label}</text>'
    )
    return parts


def _apart(heights: Mapping[str, float]) -> dict[str, float]:
    """Heights for labels: where their lines end, but none on top of another."""
    found: dict[str, float] = {}
    last = -float(LABEL)
    for name in sorted(heights, key=lambda name: heights[name]):
        last = found[name] = max(heights[name], last + LABEL)
    return found


def _line(
    name: str, points: Sequence[tuple[float, float]], height: float, colour: str
) -> list[str]:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points
    )
    return [
        f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}',
        f'<text x="{points[-1][0] + 8:.1f}" y="{height + 4:.1f}" fill="{colour}">'
        f"{name}</text>",
    ]
