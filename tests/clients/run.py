#!/usr/bin/env python3
"""The command line clients and the server's own command line.

    tests/clients/run.py

A new user's path (start, create, insert, select, Ctrl-C, start again); batch scripts; the Unix socket; mariadb-admin;
dumps and their reload, of one database and of all; what the server says about options it knows, does not know, or has no use for; a directory or a
port that is taken (and `first_contact.py`); copies of a server at work; what is saved of a
damaged one. Where the machine has MySQL's own `mysql` as well, the batch runs through it too.
"""
import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pymysql

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import first_contact as contact  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server, ServerFailed, binary, free_port  # noqa: E402

report = Report("clients", suite_parser(__doc__).parse_args().filters)


def client(program: str, server: Server, *arguments: str, script: str = "") -> subprocess.CompletedProcess:
    # No connection encryption is asked for: MariaDB's programs say --skip-ssl, MySQL's prefer it and do without.
    command = [program, "--no-defaults", *server.address.client_arguments(), "--default-character-set=utf8mb4", *arguments]
    return subprocess.run(command, input=script, capture_output=True, text=True, timeout=120)


def serve(home: Path, *arguments: str, seconds: float = 60) -> subprocess.CompletedProcess:
    """A start that should end by itself."""
    try:
        return subprocess.run([binary(), "serve", *arguments], capture_output=True, text=True, cwd=home, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(late.args, -1, (late.stdout or b"").decode(), "it started instead of refusing")


def on_a_terminal(*command: str) -> str:
    """What a program writes where it finds a terminal."""
    ours, its = os.openpty()
    # A bar is cut to the width, which a new terminal does not have.
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    # Where the kind of terminal is not said, there is none for the program.
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env={**os.environ, "TERM": "xterm"})
    os.close(its)
    written = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    process.wait(timeout=60)
    os.close(ours)
    return written.decode(errors="replace")


def new_user() -> None:
    """First command, first table, Ctrl-C, and the data is there."""
    server = Server("clients")
    with server:
        greeting = server.output.read_text()
        report.check(str(server.port) in greeting and "127.0.0.1" in greeting and "root" in greeting, "start_says_how_to_connect", greeting)
        made = client("mariadb", server, "-e", "CREATE DATABASE first; USE first; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO t VALUES (1, 'hello')")
        report.check(made.returncode == 0, "create_and_insert", made.stderr)
        for how in (signal.SIGINT, signal.SIGTERM):
            report.equal(server.stop(how), 0, f"stops_on_{how.name}")
            server.start()
            seen = client("mariadb", server, "-N", "first", "-e", "SELECT * FROM t")
            report.equal(seen.stdout, "1\thello\n", f"data_after_{how.name}")
        report.check(server.stop() == 0 and server.check().returncode == 0, "tidemark_check")
    with Server("clients") as bare:
        process = subprocess.Popen([binary(), f"--port={free_port()}"], cwd=bare.home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        report.check(process.returncode == 0 and (bare.home / "tidemark-data").is_dir(), "serve_is_the_default", line)


def batch(server: Server) -> None:
    programs = ["mariadb"]
    other = shutil.which("mysql")
    if other and "MariaDB" not in subprocess.run([other, "--version"], capture_output=True, text=True).stdout:
        programs.append("mysql")
    for program in programs:
        client(program, server, "-e", "DROP DATABASE IF EXISTS shop")
        ran = client(program, server, script=(HERE / "batch.sql").read_text())
        report.check(ran.returncode == 0 and ran.stdout == (HERE / "batch.out").read_text(), f"{program}_batch", ran.stdout + ran.stderr)
        wrong = client(program, server, "shop", script="SELECT 1;\nSELECT nope FROM goods;\nSELECT 2;\n")
        report.check(wrong.returncode == 1 and "ERROR 1054 (42S22) at line 2" in wrong.stderr and "2" not in wrong.stdout, f"{program}_stops_at_an_error", wrong.stderr)
        forced = client(program, server, "-N", "--force", "shop", script="SELECT nope FROM goods;\nSELECT 'went on';\n")
        report.check("went on" in forced.stdout, f"{program}_force", forced.stderr)
        table = client(program, server, "-t", "shop", "-e", "SELECT id, name FROM goods WHERE id = 1")
        report.equal(table.stdout, "+----+------+\n| id | name |\n+----+------+\n|  1 | tea  |\n+----+------+\n", f"{program}_table")
        verbose = client(program, server, "-vvv", "shop", "-e", "UPDATE goods SET price = 1 WHERE id = 1")
        report.check("Rows matched: 1  Changed: 1  Warnings: 0" in verbose.stdout, f"{program}_info", verbose.stdout + verbose.stderr)
        # With name completion on, the client asks for every table's fields.
        completed = client(program, server, "--auto-rehash", "shop", script="SELECT 'completed';\n")
        report.check(completed.returncode == 0 and "completed" in completed.stdout, f"{program}_field_lists", completed.stderr)
        status = client(program, server, script="status\n")
        report.check(status.returncode == 0 and "Server version" in status.stdout, f"{program}_status", status.stdout + status.stderr)
    socket = subprocess.run(["mariadb", "--no-defaults", "-uroot", "-S", str(server.home / "tidemark.sock"), "-N", "-e", "SELECT 'by socket'"], capture_output=True, text=True)
    report.check(socket.stdout == "by socket\n", "unix_socket", socket.stderr)
    refused = subprocess.run(["mariadb", "--no-defaults", *server.address.client_arguments(), "-pwrong", "-e", "SELECT 1"], capture_output=True, text=True)
    report.check("ERROR 1045 (28000)" in refused.stderr, "wrong_password", refused.stderr)
    nowhere = client("mariadb", server, "no_such_database", "-e", "SELECT 1")
    report.check("ERROR 1049 (42000)" in nowhere.stderr, "no_such_database", nowhere.stderr)


def accounts(server: Server) -> None:
    client("mariadb", server, "-e", "CREATE USER 'app'@'%' IDENTIFIED BY 'pw'; CREATE DATABASE app; GRANT SELECT, INSERT ON app.* TO 'app'@'%'; CREATE TABLE app.t (id INT)")

    def as_app(sql: str, password: str = "pw") -> str:
        command = ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{server.port}", "-uapp", f"-p{password}", "-N", "-e", sql]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    report.equal(as_app("INSERT INTO app.t VALUES (1); SELECT * FROM app.t"), "1\n", "account_may")
    report.check("ERROR 1142 (42000)" in as_app("DELETE FROM app.t"), "account_may_not_delete", as_app("DELETE FROM app.t"))
    report.check("ERROR 1044 (42000)" in as_app("CREATE DATABASE other"), "account_may_not_create", as_app("CREATE DATABASE other"))
    report.check("ERROR 1045 (28000)" in as_app("SELECT 1", "wrong"), "account_wrong_password")
    client("mariadb", server, "-e", "ALTER USER 'app'@'%' IDENTIFIED BY 'new'; REVOKE INSERT ON app.* FROM 'app'@'%'")
    report.check("ERROR 1045 (28000)" in as_app("SELECT 1", "pw"), "account_old_password", as_app("SELECT 1", "pw"))
    report.check("ERROR 1142 (42000)" in as_app("INSERT INTO app.t VALUES (2)", "new"), "account_revoked", as_app("INSERT INTO app.t VALUES (2)", "new"))
    server.stop()
    server.start()
    report.equal(as_app("SELECT COUNT(*) FROM app.t", "new"), "1\n", "account_after_restart")
    client("mariadb", server, "-e", "DROP USER 'app'@'%'")
    report.check("ERROR 1045 (28000)" in as_app("SELECT 1", "new"), "account_dropped")


def administration(server: Server) -> None:
    for command, expected in (("ping", "mysqld is alive"), ("status", "Uptime"), ("version", "Server version"), ("processlist", "root"), ("variables", "max_connections"), ("extended-status", "Threads_connected")):
        ran = client("mariadb-admin", server, command)
        report.check(ran.returncode == 0 and expected in ran.stdout, f"admin_{command}", (ran.stdout + ran.stderr)[-500:])


def loading(server: Server) -> None:
    """LOAD DATA LOCAL and mariadb-import: the client sends its file, also where the statement has failed before the file's end."""
    rows = server.datadir.parent / "plenty.txt"
    rows.write_text("".join(f"{n}\tv{n}\n" for n in range(100_000)))
    client("mariadb", server, script="CREATE DATABASE loads; USE loads; CREATE TABLE plenty (a INT PRIMARY KEY, b VARCHAR(20)); CREATE TABLE small (a TINYINT PRIMARY KEY, b VARCHAR(20))")
    load = f"LOAD DATA LOCAL INFILE '{rows}' REPLACE INTO TABLE"
    off = client("mariadb", server, "--local-infile=1", "loads", script=f"{load} plenty")
    report.check("ERROR 3948 (42000)" in off.stderr, "local_infile_is_off", off.stderr)
    client("mariadb", server, script="SET GLOBAL local_infile = ON")
    failed = client("mariadb", server, "--local-infile=1", "--force", "loads", script=f"{load} small; SELECT 'in step', COUNT(*) FROM small; {load} plenty; SELECT COUNT(*), SUM(a) FROM plenty")
    report.check("ERROR 1264 (22003)" in failed.stderr, "load_local_fails", failed.stderr)
    report.check("in step\t0" in failed.stdout and "100000\t4999950000" in failed.stdout, "load_local_stays_in_step", failed.stdout + failed.stderr)
    imported = client("mariadb-import", server, "--local", "--delete", "loads", str(rows))
    report.check("Records: 100000  Deleted: 0  Skipped: 0  Warnings: 0" in imported.stdout, "import", imported.stdout + imported.stderr)
    counted = client("mariadb", server, "-N", "-e", "SELECT COUNT_STAR > 2 FROM performance_schema.events_stages_summary_global_by_event_name WHERE EVENT_NAME = 'stage/sql/load data'")
    report.equal(counted.stdout, "1\n", "loading_is_a_stage")
    client("mariadb", server, script="SET GLOBAL local_infile = OFF; DROP DATABASE loads")


FORMATS = ["", "FIELDS TERMINATED BY ','", "FIELDS TERMINATED BY ',' ENCLOSED BY '\"'", "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY '\\r\\n'",
           "FIELDS TERMINATED BY '||' ESCAPED BY '#' LINES STARTING BY '>>' TERMINATED BY '<<'", "FIELDS TERMINATED BY '\\t' ENCLOSED BY '\\''", "FIELDS TERMINATED BY ';'"]


def fixed_rows(execute, allowed: Path) -> None:
    """Fields of fixed width, as MySQL 9.7 writes and reads them: a line may be longer or end early, or have no end; an absent field is the default, but never NULL."""
    execute("CREATE TABLE f.w (a INT, b CHAR(2), t TINYINT NOT NULL DEFAULT 7, e ENUM('x', 'yy'), d DATE, n VARCHAR(3) DEFAULT (UPPER('n'))) CHARSET latin1", "CREATE TABLE f.nothing (c CHAR(0))",
            "INSERT INTO f.w VALUES (1, 'ab', 2, 'x', '2024-02-29', 'abc'), (-2147483648, 'é', -128, 'yy', '1000-01-01', 'def')")
    whole = execute("SELECT * FROM f.w")
    for at, form in enumerate(("", "LINES TERMINATED BY ''", "LINES STARTING BY '> ' TERMINATED BY ';\\r\\n'", "ESCAPED BY ''")):
        path, form = allowed / f"fixed{at}.txt", f"CHARACTER SET latin1 FIELDS TERMINATED BY '' {form}"
        execute(f"SELECT * FROM f.w INTO OUTFILE '{path}' {form}", "TRUNCATE f.w", f"LOAD DATA INFILE '{path}' INTO TABLE f.w {form}")
        report.equal(execute("SELECT * FROM f.w"), whole, f"files/fixed/read_as_written/{at}")
    for name, rows, options, expected in (
        ("short_and_long", "1          ab3   yy2024-01-02xyzmore\n2          \\\nb\n\n3          ab9   \n", "",
         [(1, "ab", 3, "yy", "2024-01-02", "xyz"), (2, "\nb", 7, "", "0000-00-00", ""), (0, "", 7, "", "0000-00-00", ""), (3, "ab", 9, "", "0000-00-00", "")]),
        ("no_end", "names of columns".ljust(32) + "1          ab3   yy2024-01-02x  2     ", "LINES TERMINATED BY '' IGNORE 1 LINES",
         [(1, "ab", 3, "yy", "2024-01-02", "x  "), (2, "", 7, "", "0000-00-00", "")]),
        ("some_columns", "5   ab\n", "(t, b) SET n = LOWER(b)", [(None, "ab", 5, None, None, "ab")]),
    ):
        (allowed / name).write_bytes(rows.encode("latin1"))
        execute("TRUNCATE f.w", "SET sql_mode = ''", f"LOAD DATA INFILE '{allowed / name}' INTO TABLE f.w CHARACTER SET latin1 FIELDS TERMINATED BY '' ENCLOSED BY '' {options}")
        found = execute("SELECT a, b, t, e, CAST(d AS CHAR), n FROM f.w")
        report.equal([tuple(row) for row in found], expected, f"files/fixed/{name}")


def files() -> None:
    """Files of the server's machine: what INTO OUTFILE writes LOAD DATA reads again; nothing waits for a pipe; KILL ends reading that goes nowhere."""
    server = Server("files")
    allowed = server.home / "files"
    allowed.mkdir()
    server.arguments.append(f"--secure-file-priv={allowed}")
    with server:
        execute = server.address.execute
        execute("CREATE DATABASE f", "CREATE TABLE f.a (id INT PRIMARY KEY, d DECIMAL(10,2), s VARCHAR(60), b VARBINARY(300), t DATETIME, j JSON)", "CREATE TABLE f.c LIKE f.a",
                "INSERT INTO f.a VALUES (1, 1.5, 'plain', 'x', '2024-02-29 01:02:03', '{\"a\": [1, \"b\\\\t\"]}'), (2, NULL, NULL, NULL, NULL, NULL), (3, -2, 'NULL', '', NULL, '\"N\"'), "
                "(4, 0, 'tab\t line\n return\r quote\" tick'' back\\\\ comma, bars|| <<>> #', UNHEX('" + bytes(range(256)).hex() + "'), NULL, '1'), (5, 0, '\\\\N', 'N', NULL, 'null')")
        chance = random.Random(4)
        for n in range(6, 200):
            text = "".join(chance.choice("ab\\\\,;|<>#\"'N0\t\n\r") for _ in range(chance.randrange(20)))
            execute(f"INSERT INTO f.a VALUES ({n}, {n}, CONVERT(UNHEX('{text.encode().hex()}') USING utf8mb4), NULL, NULL, NULL)")
        whole = execute("SELECT * FROM f.a ORDER BY id")
        for at, form in enumerate(FORMATS):
            path = allowed / f"{at}.txt"
            # Bytes that are no text are refused where a file has a character set.
            execute(f"SELECT * FROM f.a INTO OUTFILE '{path}' CHARACTER SET latin1 {form}", "TRUNCATE f.c", f"LOAD DATA INFILE '{path}' INTO TABLE f.c CHARACTER SET latin1 {form}")
            report.equal(execute("SELECT * FROM f.c ORDER BY id"), whole, f"files/read_as_written/{at}")
        fixed_rows(execute, allowed)
        pipe = allowed / "pipe"
        os.mkfifo(pipe)
        (allowed / "short").write_text("abc\n")
        (allowed / "long").write_text("a" * 3_000_000)
        for name, statement, number in (
            ("a_pipe_is_refused", f"LOAD DATA INFILE '{pipe}' INTO TABLE f.c", 1085),
            ("rows_of_a_dump", f"SELECT id FROM f.a INTO DUMPFILE '{allowed / 'dumped'}'", 1172),
            ("variables_have_no_width", f"LOAD DATA INFILE '{allowed / 'short'}' INTO TABLE f.w FIELDS TERMINATED BY '' (@a)", 1409),
            ("rows_without_a_byte", f"LOAD DATA INFILE '{allowed / 'short'}' INTO TABLE f.nothing FIELDS TERMINATED BY '' LINES TERMINATED BY ''", 1235),
        ):
            refused = client("mariadb", server, "-e", statement)
            report.check(f"ERROR {number}" in refused.stderr, f"files/{name}", refused.stderr)
        report.check(not (allowed / "dumped").exists(), "files/errors_leave_none")
        execute("CREATE USER part", "GRANT FILE ON *.* TO part", "GRANT INSERT (id), SELECT ON f.c TO part")
        denied = subprocess.run(["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{server.port}", "-upart", "-e", f"LOAD DATA INFILE '{allowed / '0.txt'}' INTO TABLE f.c"], capture_output=True, text=True, timeout=60)
        report.check("ERROR 1142" in denied.stderr, "files/columns_need_privileges", denied.stderr)
        slow = subprocess.Popen(["mariadb", "--no-defaults", *server.address.client_arguments(), "-e", f"LOAD DATA INFILE '{allowed / 'long'}' INTO TABLE f.c LINES TERMINATED BY '{'a' * 100_000}b'"], stderr=subprocess.PIPE, text=True)
        found, deadline = [], time.monotonic() + 30
        while not found and time.monotonic() < deadline:
            found = execute("SELECT id FROM information_schema.processlist WHERE info LIKE 'LOAD DATA%'")
        execute(*(f"KILL QUERY {row[0]}" for row in found))
        report.check("ERROR 1317" in slow.communicate(timeout=60)[1], "files/kill_ends_reading")


def dump(server: Server) -> None:
    client("mariadb", server, script="""
        DROP DATABASE IF EXISTS dumped; CREATE DATABASE dumped; USE dumped;
        CREATE TABLE a (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, s VARCHAR(50) COLLATE utf8mb4_bin, d DECIMAL(20,5), t DATETIME(6), b BLOB, e ENUM('x','y'), KEY (s), KEY (d, t));
        INSERT INTO a (s, d, t, b, e) VALUES ('it''s', 1.5, '2024-02-29 12:34:56.123456', x'00ff275c0a', 'y'), (NULL, NULL, NULL, NULL, NULL), ('größer 😀', -99999.99999, '1000-01-01', '', 'x');
        CREATE TABLE `odd name` (`a b` BIGINT UNSIGNED PRIMARY KEY, f DOUBLE);
        INSERT INTO `odd name` VALUES (18446744073709551615, 0.1), (0, -1e300);
        CREATE TABLE `empty` (n INT);
        CREATE VIEW z AS SELECT a.*, `a b` FROM a JOIN `odd name` ON f < d;
        CREATE SQL SECURITY INVOKER VIEW above (s, `n t`) AS SELECT s, t + INTERVAL 1 DAY FROM z WHERE d > 0 UNION SELECT 'it''s', NULL;
    """)
    look = "SELECT id, s, d, t, HEX(b), e FROM a ORDER BY id; SELECT * FROM `odd name` ORDER BY 1; SHOW CREATE TABLE a; SHOW CREATE TABLE `odd name`; SHOW FULL TABLES; SELECT * FROM above ORDER BY 1; SHOW CREATE VIEW above; SHOW CREATE VIEW z"
    before = client("mariadb", server, "dumped", "-e", look)
    report.check(before.returncode == 0 and "größer" in before.stdout, "dump_source", before.stderr)
    dumped = client("mariadb-dump", server, "--single-transaction", "--hex-blob", "dumped")
    if not report.check(dumped.returncode == 0 and "Dump completed" in dumped.stdout, "dump", dumped.stderr):
        return
    client("mariadb", server, "-e", "DROP DATABASE dumped; CREATE DATABASE dumped")
    loaded = client("mariadb", server, "dumped", script=dumped.stdout)
    report.check(loaded.returncode == 0, "reload", loaded.stderr)
    after = client("mariadb", server, "dumped", "-e", look)
    report.check(after.stdout == before.stdout, "reload_is_the_same", after.stdout + after.stderr)


ACCOUNTS = [
    "CREATE ROLE reader; CREATE USER 'ada'@'%' IDENTIFIED BY 'pw1', 'bob'@'localhost' IDENTIFIED WITH mysql_native_password BY 'pw2' ATTRIBUTE '{\"team\": 1}'",
    "ALTER USER 'bob'@'localhost' WITH MAX_QUERIES_PER_HOUR 77 PASSWORD EXPIRE INTERVAL 90 DAY PASSWORD HISTORY 3",
    "GRANT SELECT ON one.* TO reader; GRANT reader TO 'ada'@'%' WITH ADMIN OPTION; SET DEFAULT ROLE reader TO 'ada'@'%'",
    "GRANT BACKUP_ADMIN, PROCESS ON *.* TO 'ada'@'%'; GRANT UPDATE ON two.c TO 'bob'@'localhost' WITH GRANT OPTION; GRANT INSERT (id), SELECT (id) ON one.p TO 'bob'@'localhost'",
]


def dump_everything(server: Server) -> None:
    """A dump of all databases, accounts with it, is loaded into an empty server."""
    for statements in (*ACCOUNTS[:1], """
        CREATE DATABASE one; CREATE DATABASE two;
        CREATE TABLE one.p (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(50) COLLATE utf8mb4_bin, KEY (s));
        CREATE TABLE two.c (id INT PRIMARY KEY, p INT, j JSON, t TIMESTAMP(3) NULL, d DECIMAL(9,2) DEFAULT 1.5, FOREIGN KEY (p) REFERENCES one.p (id) ON DELETE CASCADE, CONSTRAINT positive CHECK (id > 0));
        INSERT INTO one.p (s) VALUES ('a'), (NULL), ('größer 😀'); INSERT INTO two.c (id, p, j, t) VALUES (1, 1, '{"a": [1]}', '2024-02-29 12:00:00.125'), (2, NULL, NULL, NULL)
    """, *ACCOUNTS[1:]):
        made = client("mariadb", server, script=statements)
        report.check(made.returncode == 0, "everything_source", made.stderr)
    look = """SELECT * FROM one.p ORDER BY id; SELECT * FROM two.c ORDER BY id; SHOW CREATE TABLE two.c; SHOW CREATE USER 'ada'@'%'; SHOW CREATE USER 'bob'@'localhost';
              SHOW GRANTS FOR 'ada'@'%'; SHOW GRANTS FOR 'bob'@'localhost'; SHOW GRANTS FOR reader"""
    before = client("mariadb", server, script=look)
    dumped = client("mariadb-dump", server, "--all-databases", "--single-transaction", "--hex-blob")
    if not report.check(before.returncode == 0 and dumped.returncode == 0, "everything_dump", before.stderr + dumped.stderr):
        return
    with Server("clients") as empty:
        loaded = client("mariadb", empty, script=dumped.stdout)
        report.check(loaded.returncode == 0, "everything_loaded", loaded.stderr)
        report.equal(client("mariadb", empty, script=look).stdout, before.stdout, "everything_is_the_same")
        login = subprocess.run(["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{empty.port}", "-uada", "-ppw1", "-N", "-e", "SELECT COUNT(*) FROM one.p"], capture_output=True, text=True, timeout=60)
        report.equal(login.stdout, "3\n", "everything_account_logs_in")
        again = client("mariadb-dump", empty, "--all-databases", "--single-transaction", "--hex-blob")
        report.check(again.returncode == 0, "everything_dumped_again", again.stderr)
    client("mariadb", server, script="DROP DATABASE two; DROP DATABASE one; DROP USER 'ada'@'%', 'bob'@'localhost'; DROP ROLE reader")


def dump_of_mysql() -> None:
    """What MySQL's own dump does to the `mysql` database: accounts are taken over, the server's tables stay."""
    with Server("clients") as server:
        loaded = client("mariadb", server, script=(HERE / "mysql-9.7.sql").read_text())
        report.check(loaded.returncode == 0, "mysqls_dump_loads", loaded.stderr)
        for user, password, sql, expected in (
                ("app", "secret", "SELECT CURRENT_USER(), COUNT(*) FROM shop.goods", "app@%\t1\n"),
                ("root", "", "SELECT user FROM mysql.user WHERE account_locked = 'N' ORDER BY user", "app\nroot\n"),
                ("root", "", "SHOW GRANTS FOR app", "GRANT PROCESS ON *.* TO `app`@`%`\nGRANT BACKUP_ADMIN ON *.* TO `app`@`%`\nGRANT SELECT, INSERT ON `shop`.* TO `app`@`%`\nGRANT UPDATE ON `shop`.`goods` TO `app`@`%`\n"),
                ("root", "", "SELECT COUNT(*) FROM mysql.help_topic", "")):
            asked = subprocess.run(["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{server.port}", f"-u{user}", f"-p{password}", "-N", "-e", sql], capture_output=True, text=True, timeout=60)
            report.equal(asked.stdout, expected, f"mysqls_dump/{sql}")
        refused = subprocess.run(["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{server.port}", "-uapp", "-psecret", "-e", "INSERT INTO mysql.user (Host, User) VALUES ('%', 'eve')"], capture_output=True, text=True, timeout=60)
        report.check("ERROR 1044" in refused.stderr, "only_who_may_do_everything_loads_accounts", refused.stderr)


def options() -> None:
    home = Server("options")
    here, data = home.home, f"--datadir={home.datadir}"
    study = Server("options", f"--defaults-file={HERE / 'study-2010.cnf'}")
    with study:
        wanted = {"innodb_buffer_pool_size": str(2000 << 20), "max_connections": "2000", "transaction_isolation": "READ-COMMITTED",
                  "innodb_flush_method": "O_DIRECT", "innodb_max_dirty_pages_pct": "80.000000", "innodb_log_file_size": str(100 << 20), "innodb_thread_concurrency": "0"}
        seen = dict(study.address.execute("SHOW GLOBAL VARIABLES"))
        differing = {name: seen.get(name) for name, value in wanted.items() if seen.get(name) != value}
        report.check(not differing, "study_2010_values", str(differing))
        log = study.output.read_text()
        report.check("table_cache" in log and "arn" in log, "study_2010_warns_of_table_cache", log)
    refused = serve(here, data, "--no-such-option=1")
    report.check(refused.returncode not in (0, -1) and "no-such-option" in (refused.stdout + refused.stderr).replace("_", "-"), "unknown_option", refused.stdout + refused.stderr)
    (here / "bad.cnf").write_text("[mysqld]\nno_such_variable = 1\n")
    refused = serve(here, data, f"--defaults-file={here / 'bad.cnf'}")
    report.check(refused.returncode not in (0, -1) and "no_such_variable" in (refused.stdout + refused.stderr).replace("-", "_"), "unknown_variable_in_file", refused.stdout + refused.stderr)
    refused = serve(here, data, "--innodb-buffer-pool-size=plenty")
    report.check(refused.returncode not in (0, -1), "bad_value", refused.stdout + refused.stderr)
    refused = serve(here, data, f"--defaults-file={here / 'none.cnf'}")
    report.check(refused.returncode not in (0, -1), "missing_file", refused.stdout + refused.stderr)
    (here / "good.cnf").write_text("# comment\n[client]\nuser=nobody\n[mysqld]\nmax-connections = 7   \nloose_no_such_variable = 1\ninnodb-buffer-pool-size=64M\nsql_mode=''\n[other]\nnonsense\n")
    with Server("options", f"--defaults-file={here / 'good.cnf'}", "--loose-nor-this=2", "--max_connections=9") as server:
        seen = dict(server.address.execute("SHOW GLOBAL VARIABLES"))
        report.equal((seen.get("max_connections"), seen.get("innodb_buffer_pool_size"), seen.get("sql_mode")), ("9", str(64 << 20), ""), "file_and_command_line")
        taken = serve(here, f"--datadir={server.datadir}", f"--port={free_port()}")
        told = taken.stderr.splitlines()[-1] if taken.stderr else ""
        report.check(taken.returncode not in (0, -1) and "in use" in told and "--datadir" in told and "salvage" not in told, "directory_in_use", taken.stdout + taken.stderr)
        taken = serve(here, f"--datadir={here / 'another'}", f"--port={server.port}")
        report.check(taken.returncode not in (0, -1) and f"127.0.0.1:{server.port}" in taken.stderr and "--port" in taken.stderr, "port_in_use", taken.stdout + taken.stderr)
        busy = server.check()
        report.check(busy.returncode != 0, "check_of_a_running_server_is_refused", busy.stdout)
    nothing = subprocess.run([binary(), "check", f"--datadir={here / 'nothing'}"], capture_output=True, text=True)
    report.check(nothing.returncode != 0, "check_of_nothing_is_an_error", nothing.stdout)
    for flag, word in (("--help", "datadir"), ("--version", "tidemark")):
        told = subprocess.run([binary(), flag], capture_output=True, text=True)
        report.check(told.returncode == 0 and word in told.stdout.lower(), f"says{flag.replace('--', '_')}", told.stdout + told.stderr)
    home.__exit__()


def backup() -> None:
    """CLONE LOCAL copies a server at work; the copy starts."""
    server = Server("backup")
    server.arguments.append(f"--tidemark-log-archive-dir={server.home / 'archive'}")
    with server:
        server.address.execute("CREATE DATABASE d", "CREATE TABLE d.account (id INT PRIMARY KEY, balance INT, filler VARCHAR(3000))",
                               "INSERT INTO d.account VALUES " + ", ".join(f"({n}, 100, REPEAT('x', 2500))" for n in range(2000)), "CREATE USER nobody")
        at_work, errors = threading.Event(), []

        def transfer(seed: int) -> None:
            chance, connection = random.Random(seed), server.address.connect(database="d", autocommit=False)
            while not at_work.is_set():
                a, b = sorted(chance.sample(range(2000), 2))
                try:
                    with connection.cursor() as cursor:
                        cursor.execute(f"UPDATE account SET balance = balance - 7 WHERE id = {a}")
                        cursor.execute(f"UPDATE account SET balance = balance + 7 WHERE id = {b}")
                    connection.commit()
                except pymysql.err.Error as error:
                    errors.append(str(error))
                    return

        threads = [threading.Thread(target=transfer, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        copy = server.home / "copy"
        made = client("mariadb", server, "-e", f"CLONE LOCAL DATA DIRECTORY = '{copy}'")
        report.check(made.returncode == 0, "clone_local", made.stderr)
        backup_commands(server)
        slow = server.address.connect()
        with slow.cursor() as cursor:
            cursor.execute("SET GLOBAL clone_max_data_bandwidth = 1")
        killed = subprocess.Popen(["mariadb", "--no-defaults", *server.address.client_arguments(), "-e", f"CLONE LOCAL DATA DIRECTORY = '{server.home / 'slow'}'"], stderr=subprocess.PIPE, text=True)
        state, deadline = "", time.monotonic() + 30
        while not state and time.monotonic() < deadline:
            found = server.address.execute("SELECT id, state FROM information_schema.processlist WHERE state LIKE 'Copying pages%'")
            state = found[0][1] if found else ""
        report.check(state.endswith("%") and (server.home / "slow").is_dir(), "clone_says_how_far_it_is", state)
        server.address.execute(f"KILL QUERY {found[0][0]}")
        report.check("ERROR 1317" in killed.communicate(timeout=60)[1] and not (server.home / "slow").exists(), "killed_clone_leaves_nothing")
        for path, number in (("relative", 1525), (copy, 1007), (server.datadir / "within", 3632)):
            refused = client("mariadb", server, "-e", f"CLONE LOCAL DATA DIRECTORY = '{path}'")
            report.check(f"ERROR {number}" in refused.stderr, f"clone_to_{Path(path).name}_is_{number}", refused.stderr)
        denied = subprocess.run(["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{server.port}", "-unobody", "-e", f"CLONE LOCAL DATA DIRECTORY = '{server.home / 'other'}'"], capture_output=True, text=True, timeout=60)
        report.check("ERROR 1227" in denied.stderr, "clone_wants_a_privilege", denied.stderr)
        at_work.set()
        for thread in threads:
            thread.join(60)
        report.check(not errors, "clone_disturbs_nobody", "; ".join(errors))
        server.address.execute("INSERT INTO d.account VALUES (5000, 1, 'after the copy')")
        time.sleep(2.5)
        moment = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        time.sleep(1)
        server.address.execute("DELETE FROM d.account")
        server.kill()
        restored = server.home / "restored"
        made = subprocess.run([binary(), "restore", f"--from={copy}", f"--archive={server.home / 'archive'}", f"--datadir={restored}", f"--until={moment}"], capture_output=True, text=True, timeout=120)
        report.check(made.returncode == 0, "restore_until", made.stdout + made.stderr)
        with Server("backup", datadir=restored) as other:
            total = other.address.execute("SELECT SUM(balance), COUNT(*) FROM d.account")[0]
            report.equal(tuple(map(int, total)), (200001, 2001), "restored_to_a_moment")
        checked = server.check(copy)
        report.check(checked.returncode == 0, "clone_is_checked", checked.stdout + checked.stderr)
        with Server("backup", datadir=copy) as other:
            total = other.address.execute("SELECT SUM(balance), COUNT(*) FROM d.account")[0]
            report.equal(tuple(map(int, total)), (200000, 2000), "clone_starts")


def backup_commands(server: Server) -> None:
    """`tidemark backup`, over TCP and the socket, with and without a password; what is wrong is said, and leaves nothing."""
    server.address.execute("CREATE USER keeper IDENTIFIED BY 'it''s'", "GRANT BACKUP_ADMIN ON *.* TO keeper")
    options = server.home / "client.cnf"
    options.write_text(f"[client]\nhost = 127.0.0.1\nport = {server.port}\nuser = keeper\npassword = \"it's\"\ndefault-character-set = utf8mb4\n")
    tcp, socket = ["--host=127.0.0.1", f"--port={server.port}"], [f"--socket={server.home / 'tidemark.sock'}"]

    def run(name: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run([binary(), "backup", f"--to={server.home / name}", *arguments], capture_output=True, text=True, timeout=120, env=os.environ | environment)

    for name, arguments, environment in (
        ("root_by_tcp", tcp, {}), ("root_by_socket", socket, {}), ("options_in_a_file", [f"--defaults-file={options}"], {}),
        ("password_by_tcp", [*tcp, "--user=keeper", "--password=it's"], {}), ("password_by_socket", [*socket, "--user=keeper"], {"MYSQL_PWD": "it's"}),
    ):
        made = run(name, *arguments, **environment)
        checked = server.check(server.home / name)
        report.check(made.returncode == 0 and checked.returncode == 0, f"backup_command/{name}", made.stderr + checked.stderr)
    for name, arguments, word in (
        ("wrong_password", [*tcp, "--user=keeper", "--password=x"], "error 1045"), ("no_privilege", [*tcp, "--user=nobody"], "error 1227"),
        ("root_by_tcp", tcp, "error 1007"), ("no_server", ["--port=1"], "cannot connect"), ("mistyped", ["--tcp"], "no option 'tcp'"),
    ):
        refused = run(name, *arguments)
        report.check(refused.returncode != 0 and word in refused.stderr, f"backup_command/refused/{name}", refused.stderr)
    server.address.execute("SET GLOBAL clone_max_data_bandwidth = 1")
    interrupted = subprocess.Popen([binary(), "backup", f"--to={server.home / 'interrupted'}", *socket], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not (server.home / "interrupted").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    interrupted.send_signal(signal.SIGINT)
    said = interrupted.communicate(timeout=60)[1]
    report.check(interrupted.returncode != 0 and "error 1317" in said and not (server.home / "interrupted").exists(), "backup_command/interrupted", said)
    server.address.execute("SET GLOBAL clone_max_data_bandwidth = 0")


def damage() -> None:
    """A page changed behind the server's back is found by `tidemark check`, which names it."""
    server = Server("damage")
    with server:
        server.address.execute("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(200), KEY (v))",
                               "INSERT INTO d.t VALUES " + ", ".join(f"({n}, REPEAT('x', {n % 200}))" for n in range(2000)))
        server.stop()
        report.equal(server.check().returncode, 0, "check_before_damage")
        shown = on_a_terminal(binary(), "check", f"--datadir={server.datadir}")
        report.check("Checking pages" in shown and "%" in shown and "No faults." in shown, "check_shows_how_far_it_is", shown)
        page = 16384
        with open(server.datadir / "data", "r+b") as file:
            pages = os.fstat(file.fileno()).st_size // page
            for number in reversed(range(pages)):
                file.seek(number * page)
                content = file.read(page)
                if b"xxxxxxxxxx" in content:
                    at = content.index(b"xxxxxxxxxx")
                    file.seek(number * page + at)
                    file.write(b"y")
                    break
        found = server.check()
        report.check(found.returncode != 0 and str(number) in found.stdout + found.stderr, "check_names_the_damaged_page", f"page {number}: " + found.stdout + found.stderr)


def salvage() -> None:
    """Several damaged pages: the check lists them all, innodb_force_recovery reads past them, salvage writes the rest as SQL."""
    server = Server("salvage")
    with server:
        server.address.execute("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(600), b BLOB, j JSON, at DATETIME(3), KEY (id, at))",
                               "INSERT INTO d.t VALUES " + ", ".join(f"({n}, REPEAT('x', 500), x'00FF{n:04x}', '{{\"n\": {n}}}', '2024-02-29 12:00:00.125')" for n in range(2000)),
                               "CREATE TABLE d.`whole one` (id INT PRIMARY KEY, s VARCHAR(20))", "INSERT INTO d.`whole one` VALUES (1, 'it''s'), (2, NULL)")
        server.stop()
        page, damaged = 16384, []
        with open(server.datadir / "data", "r+b") as file:
            pages = ((n, file.seek(n * page) and file.read(page)) for n in range(1, os.fstat(file.fileno()).st_size // page))
            leaves = [n for n, content in pages if content[17] == 0 and b"x" * 400 in content]
            for number in leaves[3::15]:
                file.seek(number * page + 8000)
                file.write(b"damaged")
                damaged.append(number)
        checked = server.check()
        unnamed = [number for number in damaged if f"page {number} is corrupt" not in checked.stdout]
        report.check(len(damaged) > 2 and checked.returncode != 0 and not unnamed, "check_lists_all_damage", f"{damaged}: " + checked.stdout[-1000:])
        server.start()
        asked = client("mariadb", server, "-e", "SELECT COUNT(v) FROM d.t")
        report.check("ERROR 1030" in asked.stderr and "page" in asked.stderr, "a_damaged_page_is_an_error", asked.stdout + asked.stderr)
        server.stop()
        for level, drop in ((1, True), (4, False)):
            server.start(f"--innodb-force-recovery={level}")
            asked = client("mariadb", server, "-N", "-e", "SELECT COUNT(v) FROM d.t")
            report.check(asked.returncode == 0 and 1500 < int(asked.stdout) < 2000, f"forced_{level}_reads_on", asked.stdout + asked.stderr)
            report.check("ERROR 1881" in client("mariadb", server, "-e", "INSERT INTO d.t (id) VALUES (-1)").stderr or not drop, f"forced_{level}_changes_no_rows")
            made = client("mariadb", server, "-e", "CREATE TABLE d.new (id INT)")
            report.check(made.returncode == 0 if drop else "ERROR 1874" in made.stderr, f"forced_{level}_definitions", made.stderr)
            server.stop()
        out = server.home / "salvaged"
        run = subprocess.run([binary(), "salvage", f"--datadir={server.datadir}", f"--to={out}"], capture_output=True, text=True, timeout=120)
        report.check(run.returncode == 0 and (out / "d.t.sql").is_file(), "salvage", run.stdout + run.stderr)
        with Server("salvage") as other:
            for name in ("d.t.sql", "d.whole one.sql"):
                loaded = client("mariadb", other, script=(out / name).read_text())
                report.check(loaded.returncode == 0, f"salvaged_loads/{name}", loaded.stderr)
            rows = other.address.execute("SELECT COUNT(*), SUM(b = CONCAT(x'00FF', UNHEX(LPAD(HEX(id), 4, '0')))), SUM(j->'$.n' = id), SUM(at = '2024-02-29 12:00:00.125') FROM d.t")[0]
            report.check(1500 < rows[0] < 2000 and len(set(map(int, rows))) == 1, "salvaged_rows", str(rows))
            report.equal(other.address.execute("SELECT * FROM d.`whole one` ORDER BY id"), ((1, "it's"), (2, None)), "salvaged_whole_table")


def first_contact() -> None:
    contact.run(report)


def main():
    for suite in (part for part in (new_user, first_contact, options, damage, dump_of_mysql, backup, salvage, files) if report.wants(part.__name__)):
        try:
            suite()
        except (ServerFailed, OSError, subprocess.SubprocessError) as error:
            report.fail(suite.__name__, str(error))
    with_server = [part for part in (batch, accounts, administration, loading, dump, dump_everything) if report.wants(part.__name__)]
    try:
        if with_server:
            with Server("clients") as server:
                for suite in with_server:
                    suite(server)
    except (ServerFailed, OSError, subprocess.SubprocessError) as error:
        report.fail("session", str(error))
    report.close()


if __name__ == "__main__":
    main()
