"""What a program that watches a MySQL server can ask of it by name: status variables, metrics, tables and their columns.

`mysql.json` is what MySQL 9.7 has, recorded with `run.py --record HOST:PORT:USER`. What of it is missing here stands in
docs/compatibility.md between two comments, written with `run.py --write`; the suite fails if the two do not agree.
"""
import json
import textwrap
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "mysql.json"
DOCUMENT = HERE.parents[1] / "docs" / "compatibility.md"
BEGIN, END = "<!-- missing: written by tests/monitoring/run.py --write -->\n", "<!-- missing: end -->\n"
SCHEMAS = ("information_schema", "performance_schema", "sys")
WIDTH = 140
COLUMNS = """SELECT TABLE_SCHEMA, LOWER(TABLE_NAME), LOWER(COLUMN_NAME) FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA IN ('information_schema', 'performance_schema', 'sys') ORDER BY 1, 2, ORDINAL_POSITION"""


def surface(address) -> dict:
    """Names of status variables, and each table with its columns in order."""
    (columns,) = (address.execute(COLUMNS),)
    tables = defaultdict(list)
    for schema, table, column in columns:
        tables[f"{schema}.{table}"].append(column)
    status = [name for name, _ in address.execute("SHOW GLOBAL STATUS")]
    metrics = [name for (name,) in address.execute("SELECT NAME FROM information_schema.INNODB_METRICS")]
    return {"status": sorted(status), "metrics": sorted(metrics), "tables": dict(sorted(tables.items()))}


def recorded() -> dict:
    return json.loads(RECORDED.read_text())


def record(address) -> None:
    seen = surface(address)
    lines = [f'  "{name}": {json.dumps(seen[name])}' for name in ("status", "metrics")]
    tables = ",\n".join(f"    {json.dumps(name)}: {json.dumps(columns)}" for name, columns in seen["tables"].items())
    RECORDED.write_text("{\n" + ",\n".join(lines) + ',\n  "tables": {\n' + tables + "\n  }\n}\n")


def missing(here: dict, there: dict) -> list[tuple[str, list[str]]]:
    """What `there` has and `here` has not, by what it is."""
    tables = [name for name in there["tables"] if name not in here["tables"]]
    found = [("Status variables", [name for name in there["status"] if name not in here["status"]])]
    for schema in SCHEMAS:
        names = [name.split(".")[1] for name in tables if name.startswith(schema + ".")]
        # The second form of a view goes with the first.
        names = [name for name in names if not (name.startswith("x$") and name[2:] in names)]
        found.append((f"Tables of `{schema}`", [name.upper() if schema == SCHEMAS[0] else name for name in names]))
    columns = [f"{table}.{column}" for table, of in there["tables"].items() if table in here["tables"]
               for column in of if column not in here["tables"][table]]
    found.append(("Columns", columns))
    return found


def text(found: list[tuple[str, list[str]]]) -> str:
    """As it stands in the document."""
    paragraphs = []
    for what, names in found:
        if names:
            listed = ", ".join(f"`{name}`" for name in names)
            paragraphs.append("\n".join(textwrap.wrap(f"{what} that are not there: {listed}.", WIDTH, break_on_hyphens=False)) + "\n")
    return "\n".join(paragraphs)


def documented() -> str:
    page = DOCUMENT.read_text()
    return page.split(BEGIN)[1].split(END)[0]


def write(found: list[tuple[str, list[str]]]) -> None:
    before, rest = DOCUMENT.read_text().split(BEGIN)
    DOCUMENT.write_text(before + BEGIN + text(found) + END + rest.split(END)[1])


def differences(here: dict, there: dict) -> list[str]:
    """Tables that are there under MySQL's name with other columns, or in another order."""
    wrong = []
    for table, columns in there["tables"].items():
        ours = here["tables"].get(table)
        if ours is not None and [column for column in columns if column in ours] != ours:
            wrong.append(f"{table}: {[column for column in ours if column not in columns] or 'order'}")
    return wrong
