#!/usr/bin/env python3
"""Draws the pictures of how-it-works with the cuckoo filter of that page, in the colors of the page of `coua explore`."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
FRONT, QUIET = "#1c2330", "#5a6475"
# Border and fill.
BLUE, ORANGE = ("#1d5fc4", "#dbe8ff"), ("#8f4200", "#ffe6cc")
GREEN, RED = ("#12602e", "#d6f2df"), ("#b3261e", "#ffdfdc")
USED, FREE = ("#d5dae3", "#f2f4f8"), ("#d5dae3", "#fff")
WIDE, HIGH, GAP = 34, 24, 12

source = (HERE.parent / "how-it-works.md").read_text()
page: dict = {}
exec(re.search(r"^# cuckoo\.py\n(.*?)^```$", source, re.DOTALL | re.MULTILINE)[1], page)
CuckooFilter = page["CuckooFilter"]


def text(x, y, words, color):
    return f'<text x="{x}" y="{y}" text-anchor="middle" fill="{color}">{words}</text>\n'


def box(x, y, width, words, kind):
    border, fill = kind
    drawn = f'<rect x="{x}" y="{y}" width="{width}" height="{HIGH}" rx="4" stroke="{border}" fill="{fill}"/>\n'
    return drawn + text(x + width / 2, y + 17, words, FRONT if kind in (USED, FREE) else border)


def arrow(path, color):
    return f'<path d="{path}" fill="none" stroke="{color[0]}" stroke-width="1.5" marker-end="url(#tip)"/>\n'


def left(bucket):
    return GAP + bucket * (WIDE + GAP)


def middle(bucket):
    return left(bucket) + WIDE // 2


def table(buckets, y, kinds):
    """A table. `kinds` has the look of the slots that are marked, by bucket and fingerprint."""
    drawn = ""
    for bucket, slots in enumerate(buckets):
        for row, fingerprint in enumerate(slots):
            kind = kinds.get((bucket, fingerprint), USED if fingerprint else FREE)
            drawn += box(left(bucket), y + row * (HIGH + 2), WIDE, f"{fingerprint:02x}" if fingerprint else "", kind)
        drawn += text(middle(bucket), y + len(slots) * (HIGH + 2) + 16, bucket, QUIET)
    return drawn


def write(name, width, height, drawn):
    tip = '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
    (HERE / name).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">\n'
        '<rect width="100%" height="100%" fill="#fff"/>\n'
        f'<defs>{tip}<path d="M0 0 L8 4 L0 8 z" fill="{QUIET}"/></marker></defs>\n{drawn}</svg>\n'
    )


def draw_buckets():
    """The two buckets of a key."""
    seen = CuckooFilter(buckets=16)
    for n in range(36):
        seen.insert(f"item {n}")
    seen.insert("kestrel")
    fingerprint, first = seen.locate("kestrel")
    other = seen.other(fingerprint, first)
    center = left(8) - GAP // 2
    drawn = box(center - 45, 8, 90, "kestrel", (FRONT, "#fff"))
    kinds = {}
    for bucket, kind in ((first, BLUE), (other, ORANGE)):
        drawn += arrow(f"M{center} 34 L{middle(bucket)} 76", kind)
        kinds[bucket, 0] = kinds[bucket, fingerprint] = kind
    way = arrow(f"M{middle(first)} 208 C{middle(first)} 250 {middle(other)} 250 {middle(other)} 208", (QUIET, ""))
    way = way.replace("marker-end", 'marker-start="url(#tip)" marker-end')
    way += text((middle(first) + middle(other)) // 2, 232, f"⊕ hash({fingerprint:02x}) = ⊕ {first ^ other}", QUIET)
    write("buckets.svg", left(16), 256, drawn + table(seen.table, 80, kinds) + way)


def steps_of(seen, key):
    """Each fingerprint that looks for room, its bucket, and the table then."""
    steps = []

    def replace(bucket, old, new):
        steps.append((new, bucket, [list(slots) for slots in seen.table]))
        return CuckooFilter.replace(seen, bucket, old, new)

    seen.replace = replace
    assert seen.insert(key)
    # The first step is at the first bucket of the key. The kicks begin in the other one.
    return steps[1:]


def draw_evictions():
    """An insert with three kicks: what is in hand, and where it goes."""
    seen = CuckooFilter(buckets=8)
    for egg in range(1, 26):
        assert seen.insert(f"egg {egg}")
    steps = steps_of(seen, "egg 26")
    assert len(steps) == 4
    drawn, width, height = "", left(8), 190
    for number, (hand, bucket, slots) in enumerate([*steps, (0, 0, seen.table)]):
        frame = box(left(bucket), 8, WIDE, f"{hand:02x}", RED) + arrow(f"M{middle(bucket)} 34 V50", RED) if hand else ""
        placed = {steps[number - 1][1::-1]: BLUE} if number else {}
        place = f"{number % 2 * (width + 20)} {number // 2 * height}"
        drawn += f'<g transform="translate({place})">\n{frame}{table(slots, 54, placed)}</g>\n'
    write("evictions.svg", 2 * width + 20, (len(steps) + 2) // 2 * height, drawn)


def draw_split():
    """The cuts of a hash before and after a split. A bit is drawn wide enough to be seen moving."""
    parts = ("segment 分段", ORANGE, 130), ("bucket 桶", BLUE, 340), ("fingerprint 指纹", GREEN, 600)
    drawn = ""
    for moved in (0, 30):
        x = GAP
        for words, kind, cut in parts:
            end = cut + moved if kind != GREEN else cut
            drawn += box(x, GAP + moved * 2, end - x, words, kind)
            x = end
    drawn += "".join(arrow(f"M{cut} 38 L{cut + 30} 70", RED) for cut in (130, 340))
    write("split.svg", 612, 108, drawn)


draw_buckets()
draw_evictions()
draw_split()
