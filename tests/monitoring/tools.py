"""Programs of the MySQL world that look at a server, as their packages bring them. Each must end well and say what it is for; what
is not installed is skipped, see tests/setup.sh.
"""
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import phpmyadmin
from support.report import Report
from support.server import Server, free_port

USER, PASSWORD = "watcher", "seen"
TIME_MAX_S = 60
COLLECTORS = """auto_increment.columns binlog_size engine_innodb_status global_status global_variables info_schema.innodb_cmp info_schema.innodb_cmpmem
info_schema.innodb_metrics info_schema.innodb_tablespaces info_schema.processlist info_schema.schemastats info_schema.tables info_schema.tablestats info_schema.userstats
mysql.user perf_schema.eventsstatements perf_schema.eventsstatementssum perf_schema.eventswaits perf_schema.file_events perf_schema.file_instances
perf_schema.indexiowaits perf_schema.memory_events perf_schema.replication_group_member_stats perf_schema.replication_group_members perf_schema.tableiowaits slave_status""".split()
INNOTOP_MODES = {"A": "qps", "C": "Com_select", "D": "victim", "I": "thread_purpose", "K": "blocking_thread", "L": "lock_type", "O": "num_times_open", "Q": "mysql_thread_id",
                 "S": "QPS", "T": "txn_status", "U": "rows_read"}


def run(report: Report, *command: str, **environment: str) -> str | None:
    """What the program says; `None` if it is not there or does not end well."""
    name = Path(command[0]).name
    if not shutil.which(command[0]):
        report.skip(name, "it is not installed")
        return None
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_MAX_S, env={**os.environ, **environment}, errors="replace")
    if done.returncode:
        report.fail(f"{name} ends well", f"status {done.returncode}: {(done.stderr or done.stdout)[-500:]}")
        return None
    return done.stdout + done.stderr


def says(report: Report, name: str, output: str | None, *wanted: str) -> None:
    if output is not None:
        missing = [text for text in wanted if not re.search(text, output)]
        report.check(not missing, f"{name} says what it is for", f"{missing} not in: {output[-800:]}")


def deadlock(server: Server) -> None:
    with server.address.connect() as one, server.address.connect() as other:
        a, b = one.cursor(), other.cursor()
        for cursor, id in ((a, 1), (b, 2)):
            cursor.execute("BEGIN")
            cursor.execute(f"UPDATE app.keys SET b = 9 WHERE id = {id}")
        waiting = threading.Thread(target=lambda: attempt(a, "UPDATE app.keys SET b = 9 WHERE id = 2"))
        waiting.start()
        time.sleep(0.3)
        attempt(b, "UPDATE app.keys SET b = 9 WHERE id = 1")
        waiting.join()


def attempt(cursor, sql: str) -> None:
    try:
        cursor.execute(sql)
    except Exception:  # one of the two is rolled back
        pass


def exporter(report: Report, server: Server) -> None:
    program = shutil.which("prometheus-mysqld-exporter")
    if not program:
        report.skip("prometheus-mysqld-exporter", "it is not installed")
        return
    port = free_port()
    source = f"{USER}:{PASSWORD}@({server.address.host}:{server.address.port})/"
    flags = [f"--collect.{name}" for name in COLLECTORS]
    with subprocess.Popen([program, f"--web.listen-address=127.0.0.1:{port}", *flags], env={**os.environ, "DATA_SOURCE_NAME": source},
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            page = ""
            for _ in range(100):
                try:
                    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
                    break
                except OSError:
                    time.sleep(0.1)
        finally:
            process.terminate()
        errors = [line for line in process.stderr.read().splitlines() if "level=error" in line]
    report.equal(errors, [], "no collector of mysqld_exporter meets an error")
    for metric in ("mysql_up 1", "mysql_global_status_innodb_buffer_pool_read_requests", "mysql_info_schema_innodb_metrics_", "mysql_perf_schema_index_io_waits_total",
                   "mysql_perf_schema_file_events_total", "mysql_perf_schema_events_statements_total"):
        report.check(metric in page, f"it has {metric.split()[0]}", page[-500:])


def tools(report: Report, server: Server) -> None:
    server.address.execute(
        f"CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'", f"GRANT ALL ON *.* TO {USER}@'%'",
        "CREATE TABLE app.keys (id INT PRIMARY KEY, a INT, b INT, KEY by_a (a), KEY by_ab (a, b))", "INSERT INTO app.keys VALUES (1, 1, 1), (2, 2, 2)")
    host, port = server.address.host, str(server.address.port)
    name = f"h={host},P={port},u={USER},p={PASSWORD}"
    client = ["-h", host, "-P", port, f"-u{USER}", f"-p{PASSWORD}"]
    with server.address.connect() as connection, connection.cursor() as cursor:
        slow = server.datadir / "tools-slow.log"
        cursor.execute(f"SET GLOBAL slow_query_log_file = '{slow.name}'")
        cursor.execute("SET GLOBAL slow_query_log = ON")
        cursor.execute("SET long_query_time = 0")
        for n in range(3):
            cursor.execute(f"SELECT b FROM app.keys WHERE a = {n}")
        cursor.execute("SET GLOBAL slow_query_log = OFF")
    says(report, "pt-query-digest", run(report, "pt-query-digest", str(slow)), r"SELECT app\.keys", r"Rows examine")
    says(report, "pt-duplicate-key-checker", run(report, "pt-duplicate-key-checker", name), "by_a is a left-prefix of by_ab")
    deadlock(server)
    says(report, "pt-deadlock-logger", run(report, "pt-deadlock-logger", name, "--run-time", "1", "--interval", "1"), "UPDATE app.keys")
    says(report, "pt-mysql-summary", run(report, "pt-mysql-summary", "--sleep", "1", "--", f"-h{host}", f"-P{port}", f"-u{USER}", f"-p{PASSWORD}"),
         r"Buffer Pool Size \| 128\.0M", "Innodb_buffer_pool_read_requests")
    tuned = run(report, "mysqltuner", "--host", host, "--port", port, "--user", USER, "--pass", PASSWORD, "--forcemem", "8000", "--forceswap", "1000", "--nocolor")
    says(report, "mysqltuner", tuned, "InnoDB Read buffer efficiency", "Table cache hit rate")
    if tuned is not None:
        report.check("Failed to execute" not in tuned, "every statement of mysqltuner is answered", tuned[-800:])
    says(report, "mysqladmin", run(report, "mysqladmin", *client, "extended-status"), "Innodb_data_fsyncs", "Handler_read_rnd_next")
    says(report, "mytop", run(report, "mytop", "-b", "-h", host, "--port", port, "-u", USER, "-p", PASSWORD), r"Queries: +\d", "Cmd")
    if shutil.which("innotop") and subprocess.run(["perl", "-MDBD::MariaDB", "-e", "1"], capture_output=True).returncode == 0:
        for mode, wanted in INNOTOP_MODES.items():
            says(report, f"innotop, mode {mode},", run(report, "innotop", "--nonint", "--count", "1", "-h", host, "-P", port, "-u", USER, "-p", PASSWORD, "-m", mode,
                                                       HOME=str(server.datadir)), wanted)
    else:
        report.skip("innotop", "it is not installed")
    exporter(report, server)
    phpmyadmin.pages(report, server, USER, PASSWORD)
