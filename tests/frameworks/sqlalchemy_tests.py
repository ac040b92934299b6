"""SQLAlchemy's suite for dialects and its tests of MySQL's, unchanged, through mysqlclient and PyMySQL."""
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import install
from known import Known, Result
from support.address import Address

DRIVERS = {"mysqlclient": "mysqldb", "pymysql": "pymysql"}
# Each in fresh databases: a class whose tables cannot be made leaves those that could.
PARTS = {"suite": "test/dialect/test_suite.py", "mysql": "test/dialect/mysql"}
DATABASES = ["sqlalchemy_test", "test_schema"]      # the second's name is SQLAlchemy's
SECONDS = 1800
READ_SECONDS = 60


def play(driver: str, part: str, address: Address, words: list[str]) -> list[Result]:
    folder, output = install.sdist(install.requirement("SQLAlchemy")), install.BUILD / f"sqlalchemy-{driver}-{part}-{address.port}.xml"
    output.unlink(missing_ok=True)
    address.execute(*(sql for name in DATABASES for sql in (f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name} CHARACTER SET utf8mb4")))
    url = f"mysql+{DRIVERS[driver]}://{address.user}@{address.host}:{address.port}/{DATABASES[0]}?charset=utf8mb4&read_timeout={READ_SECONDS}"
    # No limit to how many tests may fail, and one process: its tests drop each other's tables.
    command = [str(install.python()), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--maxfail=100000", f"--junitxml={output}", "--dburi", url, PARTS[part], *words]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
        end = (done.stdout + done.stderr).strip()[-1500:]
    except subprocess.TimeoutExpired:
        end = f"still running after {SECONDS} s"
    address.execute(*(f"DROP DATABASE IF EXISTS {name}" for name in DATABASES))
    if not output.exists():
        return [Result(f"{driver}_{part}", "failed", end)]
    return [result(case) for case in ElementTree.parse(output).iter("testcase")]


def result(case: ElementTree.Element) -> Result:
    """A test by its class and name, without the driver and the server's version that SQLAlchemy puts into the class's name."""
    name = f"{re.sub(r'_mysql[+_0-9a-z]*$', '', case.get('classname').rsplit('.', 1)[-1])}.{case.get('name')}"
    for child in case:
        if child.tag in ("failure", "error"):
            lines = [line for line in (child.text or child.get("message") or "").splitlines() if line.strip()]
            error = [line for line in lines if "Error" in line or "assert" in line]
            return Result(name, "failed", (error or lines or ["?"])[-1].strip()[:500])
        if child.tag == "skipped":
            return Result(name, "skipped", child.get("message") or "")
    return Result(name, "passed")


def run(report, address: Address, is_mysql: bool, filters: list[str]) -> None:
    known = Known("sqlalchemy")
    words = ["-k", " or ".join(filters)] if filters and not set(filters) <= set(DRIVERS) else []
    for driver in DRIVERS:
        for part in PARTS:
            if not filters or words or driver in filters:
                known.tell(report, f"{driver}_{part}", play(driver, part, address, words), is_mysql)
