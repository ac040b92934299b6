"""phpMyAdmin's pages about a server, as its package brings them, served by PHP's own web server."""
import re
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

from support.report import Report
from support.server import Server, free_port

PACKAGE = Path("/usr/share/phpmyadmin")
#: What each page shows that it is for.
PAGES = {
    "server/status": "Network traffic", "server/status/processes": "Processes", "server/status/queries": "Questions since startup",
    "server/status/variables": "Innodb buffer pool read requests", "server/status/advisor": "Justification", "server/status/monitor": "Start Monitor",
    "server/variables": "innodb buffer pool size", "server/databases": "performance_schema", "server/engines": "InnoDB", "server/privileges": "User accounts overview",
    "database/structure&db=sys": "statement_analysis",
}
#: MySQL refuses these, too: a database of phpMyAdmin's own that there need not be, and what older servers know.
REFUSED = {"SHOW TABLES FROM `phpmyadmin`", "SHOW MASTER LOGS", "SELECT @@`storage_engine`"}
FAILED = "SELECT DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE SUM_ERRORS > 0"


def install(home: Path, server: Server, user: str, password: str) -> Path:
    """A copy that reads a configuration of its own."""
    copy = home / "phpmyadmin"
    shutil.copytree(PACKAGE, copy)
    configuration, scratch = home / "phpmyadmin.inc.php", home / "phpmyadmin-scratch"
    scratch.mkdir()
    server_line = {"auth_type": "config", "host": server.address.host, "port": str(server.address.port), "user": user, "password": password}
    members = ", ".join(f"'{key}' => '{value}'" for key, value in server_line.items())
    configuration.write_text(f"<?php\n$cfg['blowfish_secret'] = '{'x' * 32}';\n$cfg['Servers'][1] = [{members}];\n$cfg['SendErrorReports'] = 'never';\n")
    places = copy / "libraries/vendor_config.php"
    text = re.sub(r"'tempDir' => .*", f"'tempDir' => '{scratch}/',", places.read_text())
    places.write_text(re.sub(r"'configFile' => .*", f"'configFile' => '{configuration}',", text))
    return copy


def pages(report: Report, server: Server, user: str, password: str) -> None:
    modules = subprocess.run(["php", "-m"], capture_output=True, text=True).stdout if shutil.which("php") else ""
    if not PACKAGE.is_dir() or "mysqli" not in modules:
        report.skip("phpMyAdmin", "it is not installed")
        return
    before = {row[0] for row in server.address.execute(FAILED)}
    port, copy = free_port(), install(server.home, server, user, password)
    with open(server.home / "php.log", "wb") as log, subprocess.Popen(["php", "-S", f"127.0.0.1:{port}", "-t", str(copy)], stdout=log, stderr=log) as process:
        try:
            for route, wanted in PAGES.items():
                page = read(f"http://127.0.0.1:{port}/index.php?route=/{route}")
                told = re.findall(r"#[12]\d{3} - [^<]*|Fatal error[^<]*|Warning in [^<]*", page)
                report.check(wanted in page and not told, f"phpMyAdmin's page {route}", f"{told} {page[-300:] if wanted not in page else ''}")
        finally:
            process.terminate()
    failed = {row[0] for row in server.address.execute(FAILED)} - before
    report.equal(failed - REFUSED, set(), "no statement of phpMyAdmin's is refused that MySQL takes")


def read(url: str) -> str:
    for _ in range(100):
        try:
            return urllib.request.urlopen(url, timeout=30).read().decode(errors="replace")
        except ConnectionError:
            time.sleep(0.1)
        except OSError as error:
            if not isinstance(getattr(error, "reason", None), ConnectionError):
                return f"{type(error).__name__}: {error}"
            time.sleep(0.1)
    return "no answer"
