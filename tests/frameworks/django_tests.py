"""Django's own tests, unchanged, through mysqlclient.

Those labels of its suite are run whose tests use a database, some at a time: each time Django makes two databases with the tables
of all of them. A label that keeps the others from starting is found by running each alone.
"""
import json
import os
import re
import subprocess
from pathlib import Path

import install
from known import Known, Result
from support.address import Address

USES_DATABASE = re.compile(r"^class \w+\(.*\b(TestCase|TransactionTestCase|LiveServerTestCase|\w+DataTestCase)\b", re.MULTILINE)
LABELS_AT_ONCE = 12
SECONDS = 1800


def labels(tests: Path) -> list[str]:
    """The folders of Django's tests that have models and a test with a database."""
    texts = {folder.name: [path.read_text(errors="replace") for path in folder.rglob("test*.py")] for folder in sorted(tests.iterdir()) if folder.is_dir()}
    return [name for name, files in texts.items() if any(USES_DATABASE.search(text) for text in files)
            and any((tests / name).glob("models*")) and name not in ("gis_tests", "postgres_tests")]


def play(tests: Path, chosen: list[str], address: Address) -> tuple[list[Result], str]:
    """The results of the labels, and why there are none if there are none."""
    results = install.BUILD / f"django-results-{address.port}.txt"
    results.unlink(missing_ok=True)
    environment = {**os.environ, "DB_HOST": address.host, "DB_PORT": str(address.port), "DB_USER": address.user, "DB_NAME": f"django_{os.getpid()}",
                   "RESULTS": str(results), "PYTHONPATH": str(Path(__file__).parent / "django"), "PYTHONWARNINGS": "ignore"}
    command = [str(install.python()), "runtests.py", "--settings=tidemark_settings", "--noinput", "--parallel=1", "-v0", *chosen]
    try:
        done = subprocess.run(command, cwd=tests, env=environment, capture_output=True, text=True, timeout=SECONDS)
        end = (done.stdout + done.stderr).strip()[-1500:]
    except subprocess.TimeoutExpired:
        end = f"still running after {SECONDS} s"
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return [Result(*line) for line in lines], end


def run(report, address: Address, is_mysql: bool, filters: list[str]) -> None:
    tests = install.sdist(install.requirement("Django")) / "tests"
    known, chosen = Known("django"), [name for name in labels(tests) if not filters or name in filters]
    for at in range(0, len(chosen), LABELS_AT_ONCE):
        batch = chosen[at:at + LABELS_AT_ONCE]
        results, end = play(tests, batch, address)
        batches = [(batch, results, end)] if results else [([label], *play(tests, [label], address)) for label in batch]
        for names, results, end in batches:
            if not results:
                known.tell(report, names[0], [Result(names[0], "failed", end)], is_mysql)
            for name in names:
                known.tell(report, name, [result for result in results if label_of(result.test) == name], is_mysql)


def label_of(test: str) -> str:
    """`queries` of `queries.tests.QTests.test_a`, and of `setUpClass (queries.tests.QTests)`."""
    return test.split("(")[-1].split(".")[0]
