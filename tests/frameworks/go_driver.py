"""go-sql-driver/mysql's own tests, unchanged."""
import json
import os
import subprocess

import install
from known import Known, Result
from support.address import Address

MODULE, VERSION = "github.com/go-sql-driver/mysql", "v1.9.3"
DATABASE = "gotest"
# It expects that a machine of the internet does not answer; where one does, Go's test program ends there.
LEFT_OUT = "TestConnectorReturnsTimeout"
SECONDS = 600


def run(report, address: Address, is_mysql: bool, filters: list[str]) -> None:
    folder = install.go_module(MODULE, VERSION)
    address.execute(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}")
    local_infile = address.execute("SELECT @@GLOBAL.local_infile")[0][0]
    if not local_infile and not is_mysql:
        address.execute("SET GLOBAL local_infile = ON")
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "MYSQL_TEST_ADDR": f"{address.host}:{address.port}", "MYSQL_TEST_USER": address.user, "MYSQL_TEST_PASS": address.password,
                   "MYSQL_TEST_DBNAME": DATABASE, "MYSQL_TEST_CONCURRENT": "1"}
    command = ["go", "test", "-json", "-count=1", f"-skip={LEFT_OUT}", f"-timeout={SECONDS}s", *([f"-run={'|'.join(filters)}"] if filters else []), "."]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    known = Known("go_driver")
    known.tell(report, "tests", results(done.stdout) or [Result("tests", "failed", (done.stdout + done.stderr)[-1500:])], is_mysql)


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
