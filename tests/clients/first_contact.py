"""What a start says, and what it leaves alone: the log's lines in each form, foreign directories, option files written for MySQL, `--initialize`."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pymysql

from support.address import Address
from support.patience import patience
from support.report import Report
from support.server import Server, binary, free_port

# As Debian's and Ubuntu's packages of MySQL 8.0 have it, but for the paths and the account.
STOCK = """[mysqld_safe]
socket = {home}/safe.sock
nice = 0
[mysqld]
pid-file = {home}/mysqld.pid
socket = {home}/mysqld.sock
port = {port}
datadir = {home}/data
tmpdir = /tmp
bind-address = 127.0.0.1
mysqlx-bind-address = 127.0.0.1
key_buffer_size = 16M
max_allowed_packet = 64M
thread_stack = 256K
thread_cache_size = -1
myisam-recover-options = BACKUP
max_connections = 151
table_open_cache = 4000
general_log_file = {home}/mysql.log
log_error = {home}/error.log
slow_query_log = 1
slow_query_log_file = {home}/mysql-slow.log
long_query_time = 2
server-id = 1
log_bin = {home}/mysql-bin.log
binlog_expire_logs_seconds = 2592000
max_binlog_size = 100M
replica_parallel_workers = 4
gtid_mode = ON
enforce_gtid_consistency = ON
[mysqldump]
quick
quote-names
"""


def tidemark(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    """A command that ends by itself."""
    return subprocess.run([binary(), *arguments], capture_output=True, text=True, cwd=cwd, timeout=patience(60))


def run(report: Report) -> None:
    with_home = Server("first-contact")
    home = with_home.home
    try:
        for part in (log_lines, directories, stock_file, switches, usage, initialize, identity):
            here = home / part.__name__
            here.mkdir()
            part(report, here)
    finally:
        with_home._home.cleanup()


def served(home: Path, *arguments: str, until: str = "ready for connections", log: Path | None = None) -> tuple[str, str]:
    """Starts a server, stops it once its log has this, and returns what it wrote to the terminal and to the log."""
    output = home / "terminal"
    with open(output, "w") as terminal:
        process = subprocess.Popen([binary(), "serve", *arguments], stdout=terminal, stderr=subprocess.STDOUT, cwd=home)
    deadline = time.monotonic() + patience(60)
    watched = log or output
    while process.poll() is None and time.monotonic() < deadline and not (watched.exists() and until in watched.read_text()):
        time.sleep(0.05)
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=patience(60))
    return output.read_text(), log.read_text() if log else ""


def log_lines(report: Report, home: Path) -> None:
    wanted = ["starts as process", "made a new data directory in", "ready for connections. Version: '", "Stopping.", "Stopped."]
    text = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z \[(?:Note|Warning|Error)\] .")
    for form in ("text", "json"):
        log = home / f"{form}.log"
        options = [f"--datadir={home / form}", f"--port={free_port()}", f"--log-format={form}"]
        terminal, written = served(home, *options, f"--log-error={log}", log=log)
        lines = written.splitlines()
        said = [json.loads(line)["msg"] for line in lines] if form == "json" else lines
        report.check(form == "json" or all(text.match(line) for line in lines), f"log/{form}/every_line_has_the_form", written)
        missing = [part for part in wanted if not any(part in line for line in said)]
        report.check(not missing, f"log/{form}/start_and_stop", f"{missing} in {written}")
        report.check("Stopped." in terminal, f"log/{form}/the_terminal_is_told", terminal)
        # Beside its own port, one that is taken.
        with Server("first-contact") as other:
            taken = tidemark("serve", f"--datadir={home / form}", f"--port={other.port}", f"--log-format={form}", f"--log-error={log}", cwd=home)
        last = log.read_text().splitlines()[-1]
        report.check(taken.returncode == 1 and "cannot listen on" in last and "Error" in last, f"log/{form}/the_fatal_error", last)
        report.check("cannot listen on" in taken.stderr, f"log/{form}/the_fatal_error_on_the_terminal", taken.stderr)
    terminal, _ = served(home, f"--datadir={home / 'json'}", f"--port={free_port()}", "--log-format=json")
    report.check(all("msg" in json.loads(line) for line in terminal.splitlines()), "log/json/nothing_else_is_said", terminal)
    told, _ = served(home, f"--datadir={home / 'text'}", f"--port={free_port()}", f"--innodb-buffer-pool-size={2 * memory_bytes()}")
    report.check(any("[Warning] Memory" in line for line in told.splitlines()), "log/a_pool_larger_than_the_machine", told)


def memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def directories(report: Report, home: Path) -> None:
    somebodys, deep, file = home / "somebodys", home / "not/there", home / "file"
    somebodys.mkdir()
    (somebodys / "letter.txt").write_text("Dear …")
    file.write_text("")
    mysqls = home / "mysqls"
    mysqls.mkdir()
    (mysqls / "ibdata1").write_text("")
    for name, path, part in (("files_of_somebody", somebodys, "letter.txt is there"), ("parents", deep, f"{home}/not is not there"),
                             ("a_file", file, "it is a file, not a directory"), ("mysqls", mysqls, "MySQL or MariaDB")):
        for more in ([], ["--log-error=error.log"]):
            before = sorted(home.rglob("*"))
            refused = tidemark("serve", f"--datadir={path}", f"--port={free_port()}", *more, cwd=home)
            report.check(refused.returncode == 1 and part in refused.stderr, f"directories/{name}", refused.stderr)
            report.check("salvage" not in refused.stderr and "innodb_force_recovery" not in refused.stderr, f"directories/{name}/no_hint_at_damage", refused.stderr)
            report.equal(sorted(home.rglob("*")), before, f"directories/{name}/nothing_is_left")
    mounted = home / "mounted"
    (mounted / "lost+found").mkdir(parents=True)
    terminal, written = served(home, f"--datadir={mounted}", f"--port={free_port()}", "--log-error=error.log", log=mounted / "error.log")
    report.check("made a new data directory" in written, "directories/an_empty_volume_is_taken", terminal + written)


def stock_file(report: Report, home: Path) -> None:
    options = home / "my.cnf"
    options.write_text(STOCK.format(home=home, port=free_port()))
    terminal, written = served(home, f"--defaults-file={options}", log=home / "error.log")
    report.check("ready for connections" in written, "stock_file/starts", terminal + written)
    for name in ("mysqlx_bind_address", "replica_parallel_workers", "gtid_mode", "log_bin"):
        report.check(f"[Warning] '{name}' is accepted but does nothing" in written, f"stock_file/warns_of_{name}", written)
    options.write_text(options.read_text().replace("[mysqldump]", "replicate-do-db = shop\n[mysqldump]"))
    refused = tidemark("serve", f"--defaults-file={options}", cwd=home)
    report.check(refused.returncode == 2 and "line 31: 'replicate_do_db' is not supported" in refused.stderr, "stock_file/refuses_a_filter", refused.stderr)
    options.write_text("port = 3307\n[mysqld]\n")
    refused = tidemark("serve", f"--defaults-file={options}", cwd=home)
    report.check(refused.returncode == 2 and "line 1: an option before any [section]" in refused.stderr, "stock_file/options_before_a_section", refused.stderr)


def switches(report: Report, home: Path) -> None:
    data = f"--datadir={home / 'data'}"
    shown = tidemark("--print-defaults", data, "--port=7", cwd=home)
    report.check(shown.returncode == 0 and f"{data} --port=7" in shown.stdout, "switches/print_defaults", shown.stdout + shown.stderr)
    shown = tidemark("--verbose", "--help", cwd=home)
    report.check(shown.returncode == 0 and re.search(r"^innodb_buffer_pool_size +134217728$", shown.stdout, re.MULTILINE) is not None, "switches/verbose_help", shown.stdout)
    checked = tidemark("--validate-config", data, "--mysqlx=OFF", "--upgrade=AUTO", cwd=home)
    report.check(checked.returncode == 0 and "'mysqlx' is accepted" in checked.stderr and not (home / "data").exists(), "switches/validate_config", checked.stderr)
    checked = tidemark("--validate-config", data, "--innodb-buffer-pool-sise=1G", cwd=home)
    report.check(checked.returncode == 2 and "did you mean" in checked.stderr, "switches/validate_config_finds_mistakes", checked.stderr)
    refused = tidemark("--daemonize", data, cwd=home)
    report.check(refused.returncode == 2 and "--daemonize is not supported" in refused.stderr, "switches/daemonize", refused.stderr)


def usage(report: Report, home: Path) -> None:
    data, port = f"--datadir={home / 'data'}", free_port()
    for words, part in ((["serv"], "did you mean 'serve'?"), (["serve", data, "--port"], "'port' needs a value"), (["serve", data, "--nonsense"], "unknown option 'nonsense'"),
                        (["backup"], "backup needs --to"), (["restore", data], "restore needs --from"), (["check", data, "--deep"], "no option 'deep'"),
                        (["serve", data, "--log-format=xml"], "text or json")):
        refused = tidemark(*words, cwd=home)
        report.check(refused.returncode == 2 and part in refused.stderr, f"usage/{' '.join(words[:1] + words[2:])}", refused.stderr)
    same = tidemark("serve", data, f"--port={port}", f"--status-port={port}", cwd=home)
    report.check(same.returncode == 1 and f"port and status_port are both {port}" in same.stderr, "usage/one_port_for_two", same.stderr)
    told, _ = served(home, data, f"--port={port}", until="Stop with")
    report.check("Status page:   none (--status-port" in told, "usage/how_to_have_the_page", told)


def initialize(report: Report, home: Path) -> None:
    made = tidemark("--initialize", f"--datadir={home / 'with'}", "--console", cwd=home)
    found = re.search(r"A temporary password is generated for root@localhost: (\S+)", made.stderr)
    if report.check(made.returncode == 0 and found is not None, "initialize/logs_a_password", made.stderr):
        log = home / "with.log"
        port = free_port()
        with open(log, "w") as output:
            process = subprocess.Popen([binary(), f"--datadir={home / 'with'}", f"--port={port}"], stdout=output, stderr=output, cwd=home)
        try:
            deadline = time.monotonic() + patience(60)
            while "ready for connections" not in log.read_text() and time.monotonic() < deadline:
                time.sleep(0.05)
            root = Address("127.0.0.1", port, "root", found[1])
            report.equal(errno(root, "SELECT 1"), 1862, "initialize/the_password_has_expired")
            changed = subprocess.run(["mariadb", "--no-defaults", "--connect-expired-password", *root.client_arguments(), f"-p{found[1]}", "-e", "ALTER USER root@localhost IDENTIFIED BY 'mine'"],
                                     capture_output=True, text=True, timeout=patience(60))
            report.equal(changed.stderr, "", "initialize/it_lets_in_who_changes_it")
            report.equal(errno(Address("127.0.0.1", port, "root", "mine"), "SELECT 1"), 0, "initialize/and_can_be_changed")
            report.equal(errno(Address("127.0.0.1", port, "root", ""), "SELECT 1"), 1045, "initialize/nobody_gets_in_without")
        finally:
            process.terminate()
            process.wait(timeout=patience(60))
    again = tidemark("--initialize-insecure", f"--datadir={home / 'with'}", cwd=home)
    report.check(again.returncode == 1 and "is one already" in again.stderr, "initialize/not_twice", again.stderr)
    script = home / "init.sql"
    script.write_text("CREATE DATABASE made;\n")
    made = tidemark("--initialize-insecure", f"--datadir={home / 'without'}", f"--init-file={script}", "--default-time-zone=SYSTEM", cwd=home)
    report.check(made.returncode == 0 and "empty password" in made.stderr, "initialize_insecure", made.stderr)
    with Server("first-contact", datadir=home / "without") as server:
        report.equal(server.address.execute("SHOW DATABASES LIKE 'made'"), (("made",),), "initialize_insecure/runs_an_init_file")


def errno(address: Address, sql: str) -> int:
    """The number of the error with which a statement, or the login for it, ends; 0 for none."""
    try:
        address.execute(sql)
    except pymysql.err.MySQLError as error:
        return error.args[0]
    return 0


def identity(report: Report, home: Path) -> None:
    with Server("first-contact", datadir=home / "data") as server:
        ask = "SELECT @@server_uuid"
        first = server.address.execute(ask)[0][0]
        report.check(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", first) is not None, "server_uuid/is_one", first)
        server.address.execute(f"CLONE LOCAL DATA DIRECTORY = '{home / 'copy'}'")
        checked = server.check(home / "copy")
        report.check("This is a copy of a running server" in checked.stdout, "a_copy_is_called_one", checked.stdout)
        server.address.execute("SET PERSIST_ONLY innodb_buffer_pool_size = 9437184", "SET PERSIST innodb_redo_log_capacity = 16777216")
        server.stop()
        server.start()
        report.equal(server.address.execute(ask)[0][0], first, "server_uuid/stays")
        sizes = server.address.execute("SELECT @@innodb_buffer_pool_size, @@innodb_redo_log_capacity, VARIABLE_VALUE FROM performance_schema.global_status "
                                       "WHERE VARIABLE_NAME = 'Innodb_buffer_pool_pages_total'")[0]
        report.equal(sizes, (9437184, 16777216, "576"), "sizes_are_kept_for_the_next_start")
        try:
            server.address.execute("SET GLOBAL innodb_buffer_pool_size = 1000000000000000")
            error = "it was set"
        except pymysql.err.MySQLError as refused:
            error = f"{refused.args[0]} {refused.args[1]}"
        report.check(error.startswith("1231") and "the memory of the machine" in error, "a_pool_of_a_petabyte", error)
    with Server("first-contact", datadir=home / "copy") as copy:
        report.check(copy.address.execute(ask)[0][0] not in ("", first), "server_uuid/a_copy_has_its_own")
    shutil.rmtree(home / "copy")
