"""The table of the devices on which clgeom was tested, with the results.

clgeom selftest --all --json > here.json                                  # on every machine
python bench/bench_matrix.py here.json there.json                         # into bench/results/matrix.json
python bench/bench_matrix.py                                              # the table for docs/devices.rst
"""

import argparse
import json
from pathlib import Path

RECORD = Path(__file__).resolve().parent / "results" / "matrix.json"
KEPT = ("device", "platform", "version", "driver", "kind", "fp64", "refused")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "devices.rst"
BEGIN, END = ".. devices begin\n", ".. devices end\n"


def merged(rows, record, date):
    """The rows of the matrix and of a record; those of the record replace older ones of the same device and driver."""
    kept = {(row["platform"], row["driver"], row["device"]): row for row in rows}
    for device in record["devices"]:
        row = {name: device[name] for name in KEPT}
        row |= {
            "clgeom": record["version"],
            "date": date,
            "checks": len(device["outcomes"]),
            "failed": sorted(outcome["name"] for outcome in device["outcomes"] if not outcome["ok"]),
            "answers": {
                outcome["name"]: outcome["detail"]
                for outcome in device["outcomes"]
                if outcome["detail"].startswith("digest")
            },
        }
        kept[row["platform"], row["driver"], row["device"]] = row
    return [kept[key] for key in sorted(kept)]


def differing(rows) -> list:
    """Names of the exact answers that differ between two devices."""
    seen = {}
    for row in rows:
        for name, answer in row["answers"].items():
            seen.setdefault(name, set()).add(answer)
    return sorted(name for name, answers in seen.items() if len(answers) > 1)


def table(rows) -> str:
    """The matrix as reStructuredText."""
    lines = [".. csv-table::", '   :header: "device", "driver", "kind", "float64", "checks passed"', ""]
    for row in rows:
        passed = f"{row['checks'] - len(row['failed'])} of {row['checks']}"
        found = "refused: computes wrongly" if row["refused"] else passed
        cells = (
            row["device"],
            f"{row['platform']} {row['driver']}",
            row["kind"],
            "yes" if row["fp64"] else "no",
            found,
        )
        lines.append("   " + ", ".join(f'"{cell}"' for cell in cells))
    return "\n".join(lines) + "\n"


def with_table(text, rows) -> str:
    """The text of docs/devices.rst with the table of these rows."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{table(rows)}\n{END}{rest.split(END)[1]}"


def main():
    import datetime

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="*", metavar="JSON", help="output of clgeom selftest --all --json")
    options = parser.parse_args()
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["devices"] if RECORD.exists() else []
    for name in options.records:
        rows = merged(rows, json.loads(Path(name).read_text(encoding="utf-8")), datetime.date.today().isoformat())
    if options.records:
        RECORD.write_text(json.dumps({"devices": rows}, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    print(table(rows))
    for name in differing(rows):
        print(f"differs between devices: {name}")


if __name__ == "__main__":
    main()
