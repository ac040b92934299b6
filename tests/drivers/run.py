#!/usr/bin/env python3
"""Ordinary drivers of six kinds against one server.

    tests/drivers/run.py [--address HOST:PORT[:USER]] [LANGUAGE ...]
    tests/drivers/run.py --record HOST:PORT[:USER]      what MySQL answers to Connector/J's DatabaseMetaData, into metadata.json

Without an address it starts a Tidemark server of its own. Each language has a program beside this file that reads
`expected.json`, makes the same checks through its own driver, and prints a line per check: `ok NAME`,
`FAILED NAME: why` or `skipped NAME: why`. A language whose toolchain is not on the machine is reported as skipped.

The checks: connecting with each authentication plugin, with a wrong password and without one; every type, bound as a
prepared parameter, fetched by text and by binary protocol; a 20 MB value; commit and rollback; error numbers and
SQLSTATEs, among them a lock wait timeout and a deadlock; several statements in one; affected rows and generated ids; all of JDBC's
DatabaseMetaData.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.address import Address  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import ROOT, Server  # noqa: E402

BUILD = ROOT / "target/drivers"
PASSWORD = "s3cret & p@ss-word"


def programs() -> dict[str, tuple[list[str], list[list[str]], list[str], Path]]:
    """Language → tools it needs, commands that build it, command that runs it, folder."""
    java = BUILD / "java"
    return {
        "pymysql": (["python3"], [], [sys.executable, str(HERE / "python/with_pymysql.py")], HERE),
        "connector_python": (["python3"], [], [sys.executable, str(HERE / "python/with_connector.py")], HERE),
        "go": (["go"], [["go", "build", "-o", str(BUILD / "drivers-go"), "."]], [str(BUILD / "drivers-go")], HERE / "go"),
        "java": (["mvn", "java"], [["mvn", "-q", "-B", f"-DbuildDirectory={java}", "package"]], ["java", "-cp", f"{java}/drivers.jar:{java}/lib/*", "Drivers"], HERE / "java"),
        "node": (["node", "npm"], [["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(BUILD / "node")]],
                 ["node", str(BUILD / "node/main.mjs")], BUILD / "node"),
        "rust": (["cargo"], [["cargo", "build", "--quiet", "--target-dir", str(BUILD / "rust")]], [str(BUILD / "rust/debug/drivers")], HERE / "rust"),
    }


def prepare_accounts(address: Address) -> list[str]:
    """Users with either plugin; a server that has dropped one of them answers 1524, and its check is skipped."""
    plugins = []
    for plugin in ("mysql_native_password", "caching_sha2_password"):
        user = f"drv_{plugin.split('_')[0]}"
        try:
            address.execute(f"DROP USER IF EXISTS {user}@'%'",
                            f"CREATE USER {user}@'%' IDENTIFIED WITH {plugin} BY '{PASSWORD}'",
                            f"GRANT ALL ON drivers.* TO {user}@'%'")
            plugins.append(plugin)
        except Exception as error:
            if error.args[0] != 1524:
                raise
    return plugins


def run(language: str, address: Address, plugins: list[str], report: Report, record: bool = False) -> None:
    tools, builds, command, folder = programs()[language]
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        report.skip(language, f"no {', '.join(missing)} on this machine")
        return
    if language == "node":
        shutil.copytree(HERE / "node", folder, dirs_exist_ok=True)
    for build in builds:
        built = subprocess.run(build, cwd=folder, capture_output=True, text=True)
        if built.returncode:
            report.fail(f"{language}/build", (built.stdout + built.stderr)[-2000:])
            return
    address.execute("DROP DATABASE IF EXISTS drivers", "CREATE DATABASE drivers", "USE drivers",
                    "CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL)", "INSERT INTO accounts VALUES (1, 100), (2, 200)")
    environment = {**os.environ, "DB_HOST": address.host, "DB_PORT": str(address.port), "DB_USER": address.user,
                   "DB_PASSWORD": PASSWORD, "DB_PLUGINS": " ".join(plugins), "EXPECTED": str(HERE / "expected.json"), "METADATA": str(HERE / "metadata.json"), **({"RECORD": "1"} if record else {})}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired as late:
        report.fail(f"{language}/finishes", f"still running after {late.timeout:.0f} s: {(late.stdout or b'')[-500:]}")
        return
    for line in done.stdout.splitlines():
        verdict, _, rest = line.partition(" ")
        name, _, detail = rest.partition(": ")
        {"ok": report.ok, "FAILED": report.fail, "skipped": report.skip}.get(verdict, report.fail)(f"{language}/{name}", detail)
    if done.returncode or not (done.stdout or record):
        report.fail(f"{language}/finishes", f"exit status {done.returncode}: {done.stderr[-2000:]}")


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", help="HOST:PORT[:USER]; default: a Tidemark server of its own")
    parser.add_argument("--record", metavar="HOST:PORT:USER", help="write metadata.json from this MySQL server, and do no more")
    options = parser.parse_args()
    report = Report("drivers", options.filters)
    if options.record:
        run("java", Address.parse(options.record), [], report, record=True)
        return
    server = None
    if options.address:
        address = Address.parse(options.address)
    else:
        # On a busy machine a client may take longer for a login than the server waits for one.
        server = Server("drivers", "--connect-timeout=120").start()
        address = server.address
    try:
        plugins = prepare_accounts(address)
        for language in filter(report.wants, programs()):
            run(language, address, plugins, report)
        address.execute("SELECT 1")  # whatever the programs did, the server still answers
    finally:
        if server:
            server.__exit__()
    report.close()


if __name__ == "__main__":
    main()
