"""go-sql-driver/mysql's own tests, unchanged.

Its newest version needs a newer Go than Debian 12 has; there the tests of an older version run.
"""
import json
import os
import re
import subprocess

import install
from known import Known, Result
from support.address import Address

MODULE = "github.com/go-sql-driver/mysql"
# Each version with the Go that it needs, the newest first.
VERSIONS = [((1, 21), "v1.9.3"), ((1, 18), "v1.8.1")]
DATABASE = "gotest"
# It expects that a machine of the internet does not answer; where one does, Go's test program ends there.
LEFT_OUT = "TestConnectorReturnsTimeout"
SECONDS = 600


def run(report, address: Address, is_mysql: bool, filters: list[str]) -> None:
    installed = go()
    version = next((version for needed, version in VERSIONS if installed >= needed), None)
    if not version:
        raise install.Missing(f"needs Go {'.'.join(map(str, VERSIONS[-1][0]))}, this is {'.'.join(map(str, installed))}")
    folder = install.go_module(MODULE, version)
    address.execute(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}")
    local_infile = address.execute("SELECT @@GLOBAL.local_infile")[0][0]
    if not local_infile and not is_mysql:
        address.execute("SET GLOBAL local_infile = ON")
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "MYSQL_TEST_ADDR": f"{address.host}:{address.port}", "MYSQL_TEST_USER": address.user, "MYSQL_TEST_PASS": address.password,
                   "MYSQL_TEST_DBNAME": DATABASE, "MYSQL_TEST_CONCURRENT": "1"}
    # What to run by name, for `-skip` is newer than some of them.
    listed = subprocess.run(["go", "test", "-list=.", "."], cwd=folder, env=environment, capture_output=True, text=True)
    chosen = [name for name in re.findall(r"^(?:Test|Fuzz|Example)\w+$", listed.stdout, re.MULTILINE) if name != LEFT_OUT and (not filters or any(word in name for word in filters))]
    command = ["go", "test", "-json", "-count=1", f"-run=^({'|'.join(chosen)})$", f"-timeout={SECONDS}s", "."]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    known = Known("go_driver")
    why = (listed.stdout + listed.stderr) if not chosen else (done.stdout + done.stderr)
    known.tell(report, "tests", results(done.stdout) or [Result("tests", "failed", why[-1500:])], is_mysql)


def go() -> tuple[int, int]:
    """The version of Go that is installed."""
    install.tools("go")
    said = install.run("go", "version")
    found = re.search(r"go(\d+)\.(\d+)", said)
    if not found:
        raise install.Missing(f"no Go: {said}")
    return int(found[1]), int(found[2])


def results(output: str) -> list[Result]:
    """The tests without their parts: a part that fails makes its test fail."""
    told, ended = {}, []
    for line in output.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        test = event.get("Test", "").split("/")[0]
        if test and event["Action"] == "output":
            told[test] = told.get(test, "") + event["Output"]
        elif test and event["Test"] == test and event["Action"] in ("pass", "fail", "skip"):
            ended.append((test, event["Action"]))
    unfinished = [(test, "fail") for test in told if test not in dict(ended)]
    words = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    return [Result(test, words[action], "" if action == "pass" else told.get(test, "")[-600:]) for test, action in ended + unfinished]
