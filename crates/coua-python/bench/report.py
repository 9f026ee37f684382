"""The figures of docs/python.md, between its two marks: report.py FOLDER [PAGE]. Without PAGE they are printed.

FOLDER has what `run` writes: circumstances.txt, engines.tsv, and a file of peers.py for each number of keys.
"""

import csv
import sys
import textwrap
from pathlib import Path
from typing import Any

MARKS = "<!-- figures: `crates/coua-python/bench/run` writes this -->", "<!-- end of the figures -->"
STEPS = {
    "`add`": "add",
    "`in`": "in",
    "`discard`": "discard",
    "list: add": "add, list",
    "list: in": "in, list",
    "array: add": "add, array",
    "array: in": "in, array",
    "array: discard": "discard, array",
}
SIZES = {"bytes a key": "bytes", "pickled": "pickled", "rate": "rate", "lost": "lost"}
NAMES = {"coua": "`CuckooFilter(n, 0.001)`", "coua, growing": "`CuckooFilter()`", "coua BloomFilter": "`BloomFilter(n, 0.001)`"}
# Not contestants.
BESIDE = ("coua in Rust", "coua in Rust, growing", "the loop alone")
# Filter and figure, to the value for each number of keys.
Sheet = dict[tuple[str, str], list[float]]


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def sheets_of(folder: Path) -> tuple[list[int], dict[str, Sheet]]:
    """The numbers of keys, and a sheet for each kind of key."""
    sheets: dict[str, Sheet] = {"str": {}, "u64": {}}
    files = sorted(folder.glob("peers-*.tsv"), key=lambda path: int(path.stem.split("-")[1]))
    for path in files:
        for line in lines_of(path):
            sheets[line["kind"]].setdefault((line["filter"], line["figure"]), []).append(float(line["value"]))
    for sheet in sheets.values():
        for name, figure in list(sheet):
            if figure == "in, present":
                both = zip(sheet[name, figure], sheet[name, "in, absent"], strict=True)
                sheet[name, "in"] = [(present + absent) / 2 for present, absent in both]
    return [int(path.stem.split("-")[1]) for path in files], sheets


def short(value: float) -> str:
    if value and value < 0.01:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def wrapped(text: str, hang: str = "") -> str:
    return textwrap.fill(text, 118, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def cell(sheet: Sheet, name: str, figure: str) -> str:
    """The values for all numbers of keys; bold is the fastest contestant."""
    texts = []
    for turn, value in enumerate(sheet.get((name, figure), [])):
        rivals = [values[turn] for (other, of), values in sheet.items() if of == figure and other not in BESIDE and turn < len(values)]
        is_best = figure in STEPS.values() and name not in BESIDE and value == min(rivals)
        texts.append(f"**{short(value)}**" if is_best else short(value))
    return " / ".join(texts)


def peers(sheet: Sheet) -> str:
    columns = STEPS | SIZES
    lines = [row(["", *columns]), "|---" * (len(columns) + 1) + "|"]
    for name in dict.fromkeys(name for name, _ in sheet):
        lines.append(row([NAMES.get(name, name), *(cell(sheet, name, figure) for figure in columns.values())]))
    return "\n".join(lines)


def ratio(sheet: Sheet, figure: str, name: str, other: str) -> str:
    pairs = zip(sheet[name, figure], sheet[other, figure], strict=True)
    return " / ".join(f"{mine / theirs:.2f}" for mine, theirs in pairs)


def ratios(sheets: dict[str, Sheet]) -> str:
    text = sheets["str"]
    calls = [
        f"{ratio(text, 'add', 'coua', other)} (`add`) and {ratio(text, 'in', 'coua', other)} (`in`) of {other}"
        for other in ("abloom", "abloom, serializable")
    ]
    batches = [
        f"{kind}: {', '.join(f'{step} ' + ratio(sheets[key], f'{step}, array', 'coua', 'coua in Rust') for step in ('add', 'in', 'discard'))}"
        for key, kind in (("u64", "integers"), ("str", "strings"))
    ]
    said = (
        f"* A single call with a string, in times that of another package: {'; '.join(calls)}.",
        f"* A batch of an array, in times that of the same batch in Rust: {'; '.join(batches)}.",
    )
    return "\n".join(wrapped(line, "  ") for line in said)


def engines(lines: list[dict[str, Any]]) -> str:
    rows = [row(["", "run", "CPU s", "MB", "rows lost or left twice"]), "|---|---|---|---|---|"]
    for line in lines:
        name = {"polars": "Polars", "duckdb": "DuckDB"}[line["engine"]]
        way = f"`{line['way'].split(',')[0]}`{', in order' * ('in order' in line['way'])}" if "coua" in line["way"] else f"{name}: {line['way']}"
        rows.append(row([way, line["run"], line["seconds"], line["megabytes"], line["wrong"]]))
    return "\n".join(rows)


def figures(folder: Path) -> str:
    sizes, sheets = sheets_of(folder)
    lines = lines_of(folder / "engines.tsv")
    about = (
        f"{' / '.join(f'{size:,}' for size in sizes)} keys; {(folder / 'circumstances.txt').read_text().strip()}. `in` is the mean "
        "of keys that are there and keys that are not; bold is the fastest. \"coua in Rust\" is the same batch without Python. "
        "zpds takes integers in arrays only; cuckoopy, in pure Python, was run once, with no more than a million strings."
    )
    paragraphs = [
        wrapped(about),
        "Strings of 30 to 80 characters:",
        peers(sheets["str"]),
        "Integers:",
        peers(sheets["u64"]),
        ratios(sheets),
        f"Engines, {int(lines[0]['input']):,} rows:",
        engines(lines),
    ]
    return "\n\n".join(paragraphs)


def main() -> None:
    text = figures(Path(sys.argv[1]))
    if len(sys.argv) < 3:
        print(text)
        return
    page = Path(sys.argv[2])
    before, rest = page.read_text().split(MARKS[0])
    _, after = rest.split(MARKS[1])
    page.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
