"""Switches: a variable or option that promises something keeps it, or is refused. None does nothing without a word."""
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pymysql

from support.address import Address
from support.report import Report
from support.server import Server, binary, free_port

READ_ONLY = "The MySQL server is running with the --{} option so it cannot execute this statement"
# With read_only, for an account that administers nothing.
REFUSED = ["INSERT INTO app_db.t VALUES (1, 1, 1)", "UPDATE app_db.t SET a = 1 WHERE id = 1", "DELETE FROM app_db.t WHERE id = 1",
           "REPLACE INTO app_db.t VALUES (1, 1, 1)", "SELECT * FROM app_db.t FOR UPDATE", "CREATE TABLE app_db.t2 (a INT)",
           "ALTER TABLE app_db.t ADD COLUMN x INT", "CREATE INDEX i ON app_db.t (a)", "DROP TABLE app_db.t", "DROP TABLE app_db.nosuch",
           "TRUNCATE TABLE app_db.t", "RENAME TABLE app_db.t TO app_db.t2", "CREATE DATABASE app_x", "DROP DATABASE app_db",
           "ANALYZE TABLE app_db.t", "OPTIMIZE TABLE app_db.t", "LOCK TABLES app_db.t WRITE", "START TRANSACTION READ WRITE",
           "SET PASSWORD = ''", "UPDATE app_db.t x JOIN app_db.t y ON x.id = y.id SET x.a = 1"]
ALLOWED = ["SELECT * FROM app_db.t", "SELECT * FROM app_db.t FOR SHARE", "BEGIN", "COMMIT", "START TRANSACTION READ ONLY", "ROLLBACK", "SET @a = 1",
           "DO 1", "LOCK TABLES app_db.t READ", "UNLOCK TABLES", "CHECKSUM TABLE app_db.t", "SHOW TABLES FROM app_db",
           "EXPLAIN UPDATE app_db.t SET a = 1 WHERE id = 1", "SELECT 1 INTO @x"]


class Switches:
    def __init__(self, server: Server, report: Report):
        self.server, self.address, self.report = server, server.address, report

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("switches/" + name.removeprefix("case_")):
                getattr(self, name)()

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def fails(self, code: int, statement: str, cursor=None) -> str:
        try:
            cursor.execute(statement) if cursor else self.root(statement)
        except pymysql.err.MySQLError as error:
            assert error.args[0] == code, f"{statement}: {error}, expected {code}"
            return error.args[1]
        raise AssertionError(f"{statement}: no error {code}")

    def fresh(self) -> Address:
        """A table, and an account that may do everything with it."""
        self.root("DROP DATABASE IF EXISTS app_db", "CREATE DATABASE app_db", "CREATE TABLE app_db.t (id INT PRIMARY KEY, a INT, b INT)",
                  "INSERT INTO app_db.t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)", "DROP USER IF EXISTS app@localhost", "CREATE USER app@localhost",
                  "GRANT ALL ON `app%`.* TO app@localhost")
        return Address(self.address.host, self.address.port, "app")

    def case_read_only(self):
        app = self.fresh()
        with app.connect() as connection, app.connect() as writer, connection.cursor() as cursor, writer.cursor() as writing:
            cursor.execute("PREPARE kept FROM 'UPDATE app_db.t SET a = 5 WHERE id = 1'")
            cursor.execute("UPDATE app_db.t SET a = 7 WHERE id = 1")
            writing.execute("BEGIN")
            writing.execute("INSERT INTO app_db.t VALUES (9, 9, 9)")
            self.root("SET GLOBAL read_only = ON")
            try:
                assert self.fails(1290, "COMMIT", writing) == READ_ONLY.format("read-only")
                for statement in REFUSED + ["UPDATE app_db.t SET a = 7 WHERE id = 1", "EXECUTE kept"]:
                    text = self.fails(1290, statement, cursor)
                    assert text == READ_ONLY.format("read-only"), text
                for statement in ALLOWED:
                    cursor.execute(statement)
                self.root("UPDATE app_db.t SET a = 8 WHERE id = 1", "CREATE TABLE app_db.by_root (a INT)")
            finally:
                self.root("SET GLOBAL read_only = OFF")
            cursor.execute("EXECUTE kept")
            assert self.root("SELECT id, a FROM app_db.t") == ((1, 5), (2, 2), (3, 3))

    def case_super_read_only(self):
        self.fresh()
        self.root("SET GLOBAL super_read_only = ON")
        try:
            assert self.root("SELECT @@read_only, @@super_read_only") == ((1, 1),)
            for statement in REFUSED + ["CREATE USER other@localhost"]:
                text = self.fails(1290, statement)
                assert text == READ_ONLY.format("super-read-only"), text
            self.root(*ALLOWED)
            self.root("SET GLOBAL read_only = OFF")
            assert self.root("SELECT @@read_only, @@super_read_only") == ((0, 0),)
        finally:
            self.root("SET GLOBAL read_only = OFF")
        self.root("INSERT INTO app_db.t VALUES (5, 5, 5)")

    def case_read_only_from_the_start(self):
        with Server("switches", "--read-only", "--super-read-only=ON") as server:
            try:
                server.address.execute("CREATE DATABASE d")
            except pymysql.err.MySQLError as error:
                assert error.args[0] == 1290, error
            else:
                raise AssertionError("CREATE DATABASE succeeds")

    def case_offline_mode(self):
        app = self.fresh()
        connection, busy, root = app.connect(), app.connect(), self.address.connect()
        ended = []

        def sleep():
            try:
                with busy.cursor() as cursor:
                    cursor.execute("SELECT SLEEP(30)")
                    ended.append(cursor.fetchall())
            except pymysql.err.MySQLError as error:
                ended.append(error.args[0])

        thread = threading.Thread(target=sleep)
        thread.start()
        time.sleep(0.3)
        self.root("SET GLOBAL offline_mode = ON")
        try:
            thread.join(5)
            assert ended and ended[0] in (2013, 1053, 1317), ended
            for _ in range(2):
                try:
                    connection.ping(reconnect=False)
                except pymysql.err.MySQLError:
                    break
            else:
                raise AssertionError("an ordinary client is still there")
            try:
                app.connect().close()
            except pymysql.err.MySQLError as error:
                assert error.args == (3032, "The server is currently in offline mode"), error
            else:
                raise AssertionError("an ordinary client is let in")
            with root.cursor() as cursor:
                cursor.execute("SELECT 1")
        finally:
            self.root("SET GLOBAL offline_mode = OFF")
            root.close()
        app.connect().close()

    def case_offline_mode_wants_its_privilege(self):
        app = self.fresh()
        self.root("GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO app@localhost")
        with app.connect() as connection, connection.cursor() as cursor:
            self.fails(1227, "SET GLOBAL offline_mode = ON", cursor)

    def case_init_connect(self):
        app = self.fresh()
        self.root("SET GLOBAL init_connect = 'SET @welcome = 7; SET SESSION sql_safe_updates = 1'")
        try:
            assert app.execute("SELECT @welcome, @@sql_safe_updates") == ((7, 1),)
            assert self.root("SELECT @welcome, @@sql_safe_updates") == ((None, 0),)
            self.root("SET GLOBAL init_connect = 'SELECT * FROM app_db.nosuch'")
            try:
                app.connect().cursor().execute("SELECT 1")
            except pymysql.err.MySQLError as error:
                assert error.args[0] in (1184, 2013), error
            else:
                raise AssertionError("init_connect fails, and the client is let in")
        finally:
            self.root("SET GLOBAL init_connect = ''")

    def case_sql_safe_updates(self):
        self.fresh()
        with self.address.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_safe_updates = 1")
            for statement in ("UPDATE app_db.t SET a = 1", "DELETE FROM app_db.t", "UPDATE app_db.t SET a = 1 WHERE b = 2", "DELETE FROM app_db.t WHERE b = 2"):
                self.fails(1175, statement, cursor)
            for statement in ("UPDATE app_db.t SET a = 1 LIMIT 1", "UPDATE app_db.t SET a = 1 WHERE id = 2", "DELETE FROM app_db.t WHERE id = 3"):
                cursor.execute(statement)

    def case_max_join_size(self):
        self.fresh()
        with self.address.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET max_join_size = 2")
            cursor.execute("SELECT @@sql_big_selects")
            assert cursor.fetchall() == ((0,),)
            text = self.fails(1104, "SELECT * FROM app_db.t", cursor)
            assert text.startswith("The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE"), text
            self.fails(1104, "UPDATE app_db.t x JOIN app_db.t y SET x.a = 1", cursor)
            for statement in ("SELECT * FROM app_db.t WHERE id = 1", "EXPLAIN SELECT * FROM app_db.t", "SET sql_big_selects = 1", "SELECT * FROM app_db.t x, app_db.t y"):
                cursor.execute(statement)

    def case_sql_require_primary_key(self):
        self.fresh()
        with self.address.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_require_primary_key = 1")
            for statement in ("CREATE TABLE app_db.p (a INT)", "ALTER TABLE app_db.t DROP PRIMARY KEY"):
                self.fails(3750, statement, cursor)
            cursor.execute("CREATE TABLE app_db.p (a INT PRIMARY KEY)")

    def case_alter_the_way_that_was_asked_for(self):
        self.fresh()
        for statement, code, text in (
                ("ALTER TABLE app_db.t MODIFY a BIGINT, LOCK=NONE", 1846, "LOCK=NONE is not supported. Reason: "),
                ("CREATE INDEX i ON app_db.t (a) ALGORITHM=INSTANT", 1845, "ALGORITHM=INSTANT is not supported for this operation. Try ALGORITHM=COPY/INPLACE."),
                ("ALTER TABLE app_db.t MODIFY a BIGINT, ALGORITHM=INPLACE", 1846, "ALGORITHM=INPLACE is not supported. Reason: Cannot change column type INPLACE. Try ALGORITHM=COPY."),
                ("ALTER TABLE app_db.t RENAME COLUMN a TO c, ALGORITHM=FAST", 1800, "Unknown ALGORITHM 'FAST'"),
                ("ALTER TABLE app_db.t RENAME COLUMN a TO c, LOCK=ALL", 1801, "Unknown LOCK type 'ALL'")):
            seen = self.fails(code, statement)
            assert seen.startswith(text), seen
        self.root("ALTER TABLE app_db.t RENAME COLUMN a TO c, ALGORITHM=INSTANT", "ALTER TABLE app_db.t ALTER COLUMN c SET DEFAULT 5, LOCK=NONE",
                  "CREATE INDEX i ON app_db.t (c) ALGORITHM=INPLACE LOCK=EXCLUSIVE", "DROP INDEX i ON app_db.t LOCK=NONE", "ALTER TABLE app_db.t ADD COLUMN d INT, ALGORITHM=COPY")

    def case_variables_that_do_nothing_say_so(self):
        with self.address.connect() as connection, connection.cursor() as cursor:
            for statement, name in (("SET GLOBAL key_buffer_size = 1048576", "key_buffer_size"), ("SET read_buffer_size = 16384", "read_buffer_size")):
                cursor.execute(statement)
                cursor.execute("SHOW WARNINGS")
                (level, code, text), = cursor.fetchall()
                assert (level, code) == ("Warning", 1287) and name in text, (level, code, text)
                cursor.execute(statement.split("=")[0] + "= DEFAULT")
                cursor.execute("SHOW WARNINGS")
                assert cursor.fetchall() == ()
            self.fails(1235, "SET GLOBAL authentication_policy = '*,*,*'", cursor)
            for statement in ("SET GLOBAL event_scheduler = ON", "SET GLOBAL tls_version = 'TLSv1.1'", "SET GLOBAL ssl_cipher = 'RC4-MD5'"):
                self.fails(1231, statement, cursor)
            for statement in ("SET GLOBAL ssl_capath = '/tmp'", "SET GLOBAL innodb_read_only = ON"):
                try:
                    cursor.execute(statement)
                except pymysql.err.MySQLError as error:
                    assert error.args[0] in (1238, 1235), (statement, error)
                else:
                    raise AssertionError(f"{statement} succeeds")
            for statement in ("SET GLOBAL event_scheduler = DISABLED", "SET GLOBAL event_scheduler = OFF"):
                cursor.execute(statement)

    def started(self, *options: str, cnf: str | None = None) -> str:
        """What a server says that is not to start."""
        with tempfile.TemporaryDirectory() as home:
            if cnf is not None:
                (Path(home) / "my.cnf").write_text(cnf)
                options = (f"--defaults-file={home}/my.cnf", *options)
            done = subprocess.run([binary(), "serve", f"--datadir={home}/data", f"--port={free_port()}", *options], capture_output=True, text=True, timeout=30)
            # 2: what is wrong is the command line.
            assert done.returncode in (1, 2), done
            return done.stderr

    def case_options_that_cannot_be_had_end_the_start(self):
        for option, word in (("--port=99999", "'port' cannot be 99999"), ("--lower-case-table-names=1", "lower_case_table_names"), ("--innodb-read-only", "innodb_read_only"),
                             ("--init-file=/no/such/file", "/no/such/file"), ("--log-error=/no/such/dir/log", "/no/such/dir/log"), ("--pid-file=/no/such/dir/pid", "/no/such/dir/pid"),
                             ("--ssl-ca=/no/such/file", "ssl_ca"), ("--tls-version=TLSv1.1", "tls_version"), ("--event-scheduler=ON", "event_scheduler"),
                             ("--ssl-cipher=RC4-MD5", "ssl_cipher"), ("--skip-grant-tables", "--socket")):
            said = self.started(option)
            assert word in said, (option, said)
        said = self.started("--max-conections=5")
        assert "did you mean 'max_connections'?" in said, said
        said = self.started(cnf="[client]\nport=1\n[mysqld]\n# comment\nmax_connections = many\n")
        assert "my.cnf, line 5: " in said and "max_connections" in said, said
        said = self.started(cnf="[mysqld]\nmax_conections = 5\n")
        assert "my.cnf, line 2: unknown variable 'max_conections=5'; did you mean 'max_connections'?" in said, said

    def case_ordinary_options(self):
        with tempfile.TemporaryDirectory() as home:
            home = Path(home)
            (home / "init.sql").write_text("CREATE DATABASE made;\n-- a comment\nCREATE TABLE made.t (a INT);\nCREATE USER made@localhost;\n")
            with Server("switches", "--log-bin=mysql-bin", "--default-time-zone=+03:00", f"--init-file={home}/init.sql", f"--pid-file={home}/pid",
                        f"--log-error={home}/log", "--tls-version=TLSv1.3") as server:
                rows = server.address.execute("SELECT @@time_zone, @@log_bin, @@tls_version, (SELECT COUNT(*) FROM made.t)")
                assert rows == (("+03:00", 0, "TLSv1.3", 0),), rows
                assert (home / "pid").read_text() == f"{server.process.pid}\n"
                Address("127.0.0.1", server.port, "made").connect().close()
                try:
                    Address("127.0.0.1", server.port, "made", "wrong").connect().close()
                except pymysql.err.OperationalError:
                    pass
                (home / "log").rename(home / "log.1")
                server.address.execute("FLUSH LOGS", "CREATE DATABASE later", "ALTER USER made@localhost IDENTIFIED BY 'hidden'")
                first, second = (home / "log.1").read_text(), (home / "log").read_text()
                assert "'log_bin' is accepted but does nothing" in first, first
                assert "made@localhost has logged in" in first, first
                assert "Access denied for user 'made'@'localhost' (using password: YES)" in first, first
                assert "CREATE DATABASE later" in second and "ALTER USER made@localhost IDENTIFIED BY <secret>" in second, second
                assert "hidden" not in first + second
            assert not (home / "pid").exists()
            failing = home / "fails.sql"
            failing.write_text("CREATE DATABASE a; NONSENSE;")
            assert "fails.sql" in self.started(f"--init-file={failing}")

    def case_shutdown(self):
        with Server("switches") as server:
            server.address.execute("CREATE USER app@localhost", "CREATE DATABASE kept")
            app = Address("127.0.0.1", server.port, "app")
            with server.address.connect() as connection:
                connection._execute_command(8, b"")  # COM_SHUTDOWN, which MySQL 9 does not have any more
                try:
                    connection._read_packet()
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == 1047, error
                else:
                    raise AssertionError("COM_SHUTDOWN was done")
            for address, code in ((app, 1227), (server.address, None)):
                try:
                    address.connect().cursor().execute("SHUTDOWN")
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == code, error
                else:
                    assert code is None, "SHUTDOWN by anybody"
            assert server.process.wait(30) == 0
            server.start()
            assert server.address.execute("SHOW DATABASES LIKE 'kept'") == (("kept",),)

    def case_signals_open_the_logs_anew(self):
        with tempfile.TemporaryDirectory() as home:
            home = Path(home)
            with Server("switches", f"--log-error={home}/log", f"--general-log-file={home}/general", "--general-log=ON") as server:
                for signal_number, mark in ((signal.SIGUSR1, "first"), (signal.SIGHUP, "second")):
                    for log in ("log", "general"):
                        (home / log).rename(home / f"{log}.{mark}")
                    server.process.send_signal(signal_number)
                    deadline = time.monotonic() + 20
                    while not ((home / "log").exists() and (home / "general").exists()):
                        assert time.monotonic() < deadline and server.is_running(), mark
                        time.sleep(0.05)
                    server.address.execute(f"SELECT '{mark}'")
                    assert mark in (home / "general").read_text()
                    assert mark not in (home / f"general.{mark}").read_text()

    def case_values_that_are_stored_stop_no_start(self):
        """Whatever SET PERSIST and PERSIST_ONLY have taken, for every variable: the next start is one."""
        hostile = ["''", "'/no/such/directory/file'", "'control'", "'redo-0000000099'", "'server-key.pem'", "'%%@,'", "NULL", "-1", "0", "1", "18446744073709551615",
                   f"'{'x' * 3000}'"]
        taken = 0
        for value in hostile:
            with Server("switches") as server:
                with server.address.connect() as connection, connection.cursor() as cursor:
                    cursor.execute("SELECT VARIABLE_NAME FROM performance_schema.global_variables")
                    names = [name for (name,) in cursor.fetchall()]
                    # Those that read files or write them are put in place as well.
                    files = [name for name in names if name.startswith(("ssl_", "general_log", "slow_query_log", "tls_"))]
                    for how, name in [("PERSIST", name) for name in files] + [("PERSIST_ONLY", name) for name in names]:
                        try:
                            cursor.execute(f"SET {how} `{name}` = {value}")
                            taken += 1
                        except pymysql.err.MySQLError as error:
                            assert error.args[0] in (1105, 1193, 1227, 1228, 1229, 1231, 1232, 1235, 1238, 1272, 1292, 1298, 1115, 1193, 3680, 1064, 1273, 1286, 1649, 3822, 1621), (how, name, value, error)
                server.stop()
                server.start_of_any_kind()
        assert taken > 1000, taken

    def case_no_log_is_written_over_the_data(self):
        with Server("switches") as server:
            for name in ("general_log_file", "slow_query_log_file"):
                for file in ("control", "./data", "server-key.pem", "redo-0000000099", str(server.datadir / "doublewrite"), "/no/such/directory/log", "", "/tmp"):
                    for how in ("GLOBAL", "PERSIST"):
                        try:
                            server.address.execute(f"SET {how} {name} = '{file}'")
                        except pymysql.err.MySQLError as error:
                            assert error.args == (1231, f"Variable '{name}' can't be set to the value of '{file}'"), error
                        else:
                            raise AssertionError(f"{how} {name} = {file}")
            # What was stored while its directory was there.
            gone = server.home / "gone"
            gone.mkdir()
            server.address.execute(f"SET PERSIST general_log_file = '{gone}/log'", "SET PERSIST general_log = ON", "SET PERSIST ssl_cert = 'none.pem'", "SET PERSIST ssl_key = 'none.pem'")
            server.stop()
            (gone / "log").unlink()
            gone.rmdir()
            server.start()
            assert server.address.execute("SELECT @@general_log, @@ssl_cert") == ((0, "none.pem"),)
            said = server.output.read_text()
            assert "for logging" in said and "there is no TLS" in said, said
            gone.mkdir()
            server.address.execute("SET GLOBAL general_log = ON", "SELECT 'again'")
            assert "again" in (gone / "log").read_text()
            for option in ("--log-error=control", "--pid-file=data", "--log-error=redo-0000000001"):
                before = (server.datadir / "control").read_bytes()
                server.stop() if server.is_running() else None
                done = subprocess.run([binary(), "serve", f"--datadir={server.datadir}", f"--port={free_port()}", option], capture_output=True, text=True, timeout=60)
                assert done.returncode == 1 and "the server's own" in done.stderr, done
                assert (server.datadir / "control").read_bytes()[:8] == before[:8]
            server.start()

    def case_no_copy_is_made_within_the_data(self):
        with Server("switches") as server:
            for path, code in ((f"{server.datadir}/none/copy", 3632), (f"{server.datadir}/copy", 3632), (f"{server.datadir}/a/b/c", 3632), (str(server.datadir), 1007),
                               ("copy", 1525), (f"{server.home}/none/../data/copy", 1525), (f"{server.home}/none/copy", None)):
                try:
                    server.address.execute(f"CLONE LOCAL DATA DIRECTORY = '{path}'")
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == code, (path, error)
                else:
                    assert code is None, path
            assert (server.home / "none/copy/control").exists()

    def case_a_certificate_that_a_power_cut_has_torn_is_made_again(self):
        with Server("switches") as server:
            server.stop()
            certificate, key = server.datadir / "server-cert.pem", server.datadir / "server-key.pem"
            for tear in (lambda: certificate.write_bytes(b""), lambda: key.write_bytes(key.read_bytes()[:60]), certificate.unlink, key.unlink):
                tear()
                server.start()
                assert "made again" in server.log_tail(), server.log_tail()
                with server.address.connect(ssl={"check_hostname": False, "verify_mode": "none"}) as connection, connection.cursor() as cursor:
                    cursor.execute("SHOW STATUS LIKE 'Ssl_version'")
                    assert cursor.fetchone()[1].startswith("TLS")
                server.stop()
            server.start()

    def case_one_alter_keeps_nobody_waiting(self):
        """More than 64 indexes, old and new together, are built while nobody uses the table; everybody else goes on."""
        with Server("switches") as server:
            columns = [f"c{n}" for n in range(60)]
            server.address.execute("CREATE DATABASE d", f"CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, {', '.join(f'{c} INT' for c in columns)})",
                                   f"INSERT INTO d.t ({', '.join(columns)}) WITH RECURSIVE n AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM n WHERE n < 900) "
                                   f"SELECT {', '.join(['n'] * 60)} FROM n")
            for _ in range(6):
                server.address.execute(f"INSERT INTO d.t ({', '.join(columns)}) SELECT {', '.join(columns)} FROM d.t")
            server.address.execute("ALTER TABLE d.t " + ", ".join(f"ADD INDEX i{c} ({c})" for c in columns[:40]))
            changes = [f"DROP INDEX i{c}" for c in columns[:30]] + [f"ADD INDEX j{c} ({c})" for c in columns[:30]]
            done = {}

            def alter() -> None:
                began = time.monotonic()
                server.address.execute("ALTER TABLE d.t " + ", ".join(changes))
                done["took"] = time.monotonic() - began

            thread = threading.Thread(target=alter)
            thread.start()
            time.sleep(0.05)
            longest, rounds = 0.0, 0
            while thread.is_alive():
                for statement in ("CREATE USER IF NOT EXISTS a@localhost", "GRANT SELECT ON d.* TO a@localhost", "REVOKE SELECT ON d.* FROM a@localhost", "SET PERSIST max_connect_errors = 77",
                                  "CREATE TABLE d.other (id INT PRIMARY KEY)", "ALTER TABLE d.other ADD COLUMN v INT, ADD INDEX (v)", "DROP TABLE d.other", "CREATE DATABASE e", "DROP DATABASE e"):
                    began = time.monotonic()
                    server.address.execute(statement)
                    longest = max(longest, time.monotonic() - began)
                rounds += 1
            thread.join()
            assert rounds > 1 and longest < max(1.0, done["took"] / 4), (rounds, longest, done)
            assert server.address.execute("SELECT COUNT(*) FROM d.t FORCE INDEX (jc3) WHERE c3 > 0") == ((57600,),)

    def case_the_way_back_from_a_lost_password(self):
        server = Server("switches")
        with server:
            server.address.execute("ALTER USER root@localhost IDENTIFIED BY 'lost'")
            server.stop()
            socket_path = str(server.home / "tidemark.sock")
            process = subprocess.Popen([binary(), "serve", f"--datadir={server.datadir}", f"--port={server.port}", f"--socket={socket_path}", "--skip-grant-tables"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                deadline = time.monotonic() + 30
                while not Path(socket_path).exists() and time.monotonic() < deadline:
                    time.sleep(0.05)
                time.sleep(0.3)
                try:
                    server.address.connect(connect_timeout=2).close()
                except pymysql.err.OperationalError as error:
                    assert error.args[0] == 2003, error
                else:
                    raise AssertionError("it listens on the network")
                with pymysql.connect(unix_socket=socket_path, user="anybody", autocommit=True) as connection, connection.cursor() as cursor:
                    try:
                        cursor.execute("ALTER USER root@localhost IDENTIFIED BY 'found'")
                    except pymysql.err.MySQLError as error:
                        assert error.args == (1290, READ_ONLY.format("skip-grant-tables")), error
                    else:
                        raise AssertionError("an account is changed while accounts do not count")
                    cursor.execute("SELECT COUNT(*) FROM mysql.user")
                    cursor.execute("FLUSH PRIVILEGES")
                    cursor.execute("ALTER USER root@localhost IDENTIFIED BY 'found'")
                try:
                    pymysql.connect(unix_socket=socket_path, user="anybody").close()
                except pymysql.err.OperationalError as error:
                    assert error.args[0] == 1045, error
                else:
                    raise AssertionError("accounts do not hold after FLUSH PRIVILEGES")
            finally:
                process.terminate()
                assert process.wait(30) == 0
            with subprocess.Popen([binary(), "serve", f"--datadir={server.datadir}", f"--port={server.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                try:
                    found = Address("127.0.0.1", server.port, "root", "found")
                    deadline = time.monotonic() + 30
                    while True:
                        try:
                            found.connect().close()
                            break
                        except pymysql.err.OperationalError as error:
                            assert error.args[0] == 2003 and time.monotonic() < deadline, error
                            time.sleep(0.1)
                finally:
                    process.terminate()


def run(_: Address, report: Report) -> None:
    """On a server of its own, whose switches it sets."""
    with Server("switches") as server:
        Switches(server, report).run()
