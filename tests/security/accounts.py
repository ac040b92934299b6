"""Accounts: nobody gets more than was given. Each check is a way by which somebody once did."""
import threading
import time
from unittest import mock

import pymysql

from support.address import Address
from support.patience import is_within
from support.report import Report


class Accounts:
    def __init__(self, address: Address, report: Report):
        self.address, self.report = address, report

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def login(self, user: str, password: str = "", **options) -> pymysql.connections.Connection:
        return Address(self.address.host, self.address.port, user, password).connect(**options)

    def refused(self, code: int, statement: str, user: str | None = None, password: str = "") -> None:
        """The statement fails with the error, run by root or by the user."""
        try:
            if user is None:
                self.root(statement)
            else:
                Address(self.address.host, self.address.port, user, password).execute(statement)
        except pymysql.err.MySQLError as error:
            assert error.args[0] == code, f"{statement}: {error}, expected {code}"
            return
        raise AssertionError(f"{statement}: no error {code}")

    def no_login(self, user: str, password: str = "", code: int = 1045, **options) -> None:
        try:
            self.login(user, password, **options).close()
        except pymysql.err.OperationalError as error:
            assert error.args[0] == code, error
            return
        raise AssertionError(f"{user} is let in")

    def fresh(self, *users: str) -> None:
        """Accounts on this machine without privileges or passwords."""
        for user in users:
            self.root(f"DROP USER IF EXISTS {user}@localhost", f"CREATE USER {user}@localhost")

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("accounts/" + name.removeprefix("case_")):
                getattr(self, name)()

    def case_grant_changes_no_password(self):
        self.fresh("owner")
        self.root("CREATE DATABASE IF NOT EXISTS app_db", "GRANT ALL ON app_db.* TO owner@localhost WITH GRANT OPTION")
        self.refused(1064, "GRANT USAGE ON app_db.* TO root@localhost IDENTIFIED BY 'pwned'", "owner")
        self.refused(1064, "GRANT SELECT ON app_db.* TO owner@localhost REQUIRE NONE")
        self.no_login("root", "pwned")

    def case_unknown_privileges_are_none(self):
        self.fresh("bk")
        self.refused(1149, "GRANT NO_SUCH_THING ON *.* TO bk@localhost")
        self.root("GRANT BACKUP_ADMIN ON *.* TO bk@localhost")
        self.refused(3619, "GRANT BACKUP_ADMIN ON app_db.* TO bk@localhost")
        self.refused(1227, "SET GLOBAL max_connections = 151", "bk")
        lines = [line for (line,) in self.root("SHOW GRANTS FOR bk@localhost")]
        assert lines == ["GRANT USAGE ON *.* TO `bk`@`localhost`", "GRANT BACKUP_ADMIN ON *.* TO `bk`@`localhost`"], lines
        self.root("GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO bk@localhost")
        self.login("bk").cursor().execute("SET GLOBAL long_query_time = 10")
        self.root("REVOKE SYSTEM_VARIABLES_ADMIN ON *.* FROM bk@localhost")
        self.refused(1227, "SET GLOBAL long_query_time = 10", "bk")

    def case_a_pattern_is_no_name(self):
        self.fresh("owner", "friend")
        self.root("CREATE DATABASE IF NOT EXISTS app_db", "CREATE DATABASE IF NOT EXISTS app_secret_db")
        self.root("GRANT ALL ON app_db.* TO owner@localhost WITH GRANT OPTION")
        self.refused(1044, "GRANT ALL ON `app%db`.* TO owner@localhost", "owner")
        self.refused(1044, "GRANT ALL ON `%`.* TO friend@localhost", "owner")
        self.login("owner").cursor().execute(r"GRANT SELECT ON `app\_db`.* TO friend@localhost")
        self.refused(1044, "USE app_secret_db", "owner")

    def case_the_most_specific_grant_decides(self):
        self.fresh("reader")
        self.root("CREATE DATABASE IF NOT EXISTS app_db", "CREATE TABLE IF NOT EXISTS app_db.t (id INT)")
        self.root("GRANT ALL ON `app%`.* TO reader@localhost", r"GRANT SELECT ON `app\_db`.* TO reader@localhost")
        self.login("reader").cursor().execute("SELECT * FROM app_db.t")
        self.refused(1142, "INSERT INTO app_db.t VALUES (1)", "reader")

    def case_create_user_is_not_root(self):
        self.fresh("clerk", "other")
        self.root("GRANT CREATE USER ON *.* TO clerk@localhost")
        for statement in ("ALTER USER root@localhost IDENTIFIED BY 'x'", "DROP USER root@localhost",
                          "RENAME USER root@localhost TO gone@localhost", "SET PASSWORD FOR root@localhost = 'x'"):
            self.refused(1227, statement, "clerk")
        self.refused(1227, "SET GLOBAL max_connections = 151", "clerk")
        self.login("clerk").cursor().execute("ALTER USER other@localhost IDENTIFIED BY 'x'")
        self.login("other", "x").close()

    def case_revoke_is_not_undone(self):
        """SET PASSWORD in four loops while privileges are taken away and the account is dropped."""
        for _ in range(5):
            self.fresh("victim")
            self.root("CREATE DATABASE IF NOT EXISTS app_db", "GRANT ALL ON app_db.* TO victim@localhost")
            connections = [self.login("victim") for _ in range(4)]
            stop = threading.Event()

            def loop(connection):
                cursor = connection.cursor()
                while not stop.is_set():
                    try:
                        cursor.execute("SET PASSWORD = ''")
                    except pymysql.err.MySQLError:
                        return

            threads = [threading.Thread(target=loop, args=(connection,)) for connection in connections]
            for thread in threads:
                thread.start()
            time.sleep(0.05)
            self.root("REVOKE ALL ON app_db.* FROM victim@localhost")
            time.sleep(0.05)
            lines = [line for (line,) in self.root("SHOW GRANTS FOR victim@localhost")]
            self.root("DROP USER victim@localhost")
            time.sleep(0.05)
            stop.set()
            for thread in threads:
                thread.join(20)
            assert lines == ["GRANT USAGE ON *.* TO `victim`@`localhost`"], lines
            assert self.root("SELECT COUNT(*) FROM mysql.user WHERE user = 'victim'")[0][0] == 0, "DROP USER was undone"

    def case_plans_do_not_outlive_a_change_of_user(self):
        self.fresh("nobody")
        self.root("DROP DATABASE IF EXISTS hidden", "CREATE DATABASE hidden", "CREATE TABLE hidden.t (id INT PRIMARY KEY, v INT)", "INSERT INTO hidden.t VALUES (1, 1)")
        connection = pymysql.connect(host=self.address.host, port=self.address.port, user=self.address.user, password=self.address.password)
        with connection.cursor() as cursor:
            for statement in ("SELECT * FROM hidden.t WHERE id = 1", "DELETE FROM hidden.t WHERE id = 7"):
                cursor.execute(statement)
        self.change_user(connection, "nobody")
        for statement in ("SELECT * FROM hidden.t WHERE id = 1", "DELETE FROM hidden.t WHERE id = 7"):
            try:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
            except pymysql.err.MySQLError as error:
                assert error.args[0] == 1142, error
            else:
                raise AssertionError(f"{statement} runs after the change of user")
        connection.close()

    @staticmethod
    def change_user(connection, user: str) -> None:
        """COM_CHANGE_USER to an account without a password, which PyMySQL does not offer."""
        packet = user.encode() + b"\0" + b"\0" + b"\0" + (45).to_bytes(2, "little") + b"mysql_native_password\0"
        connection._execute_command(17, packet)
        answer = connection._read_packet()
        if answer.is_auth_switch_request():
            connection.write_packet(b"")
            connection._read_packet()

    def case_locked_accounts(self):
        self.root("DROP USER IF EXISTS svc@localhost", "CREATE USER svc@localhost ACCOUNT LOCK")
        self.no_login("svc", code=1045)
        assert "ACCOUNT LOCK" in self.root("SHOW CREATE USER svc@localhost")[0][0]
        self.root("ALTER USER svc@localhost ACCOUNT UNLOCK")
        self.login("svc").close()
        self.root("ALTER USER svc@localhost ACCOUNT LOCK")
        self.no_login("svc", code=1045)

    def case_require_ssl(self):
        self.root("DROP USER IF EXISTS svc@localhost", "CREATE USER svc@localhost REQUIRE SSL")
        self.no_login("svc", ssl_disabled=True)
        self.login("svc", ssl={"verify_mode": "none", "check_hostname": False}).close()
        assert "REQUIRE SSL" in self.root("SHOW CREATE USER svc@localhost")[0][0]
        self.root("ALTER USER svc@localhost REQUIRE NONE")
        self.login("svc", ssl_disabled=True).close()

    def case_options_that_do_nothing_are_refused(self):
        self.root("DROP USER IF EXISTS svc@localhost")
        for nonsense in ("REQUIRE NONSENSE", "ACCOUNT", "WITH", "PASSWORD", "NONSENSE"):
            self.refused(1064, f"CREATE USER svc@localhost {nonsense}")
        self.refused(3523, "REVOKE some_role FROM root@localhost")
        self.root("CREATE USER svc@localhost IDENTIFIED WITH 'caching_sha2_password' REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK "
                  "PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT")

    def case_the_old_password_is_over(self):
        """A login that began before ALTER USER does not end after it with the password of before.

        Its first proof is wrong, so that the server asks for the password itself, which is sent once it has been changed.
        """
        self.root("DROP USER IF EXISTS late@localhost", "CREATE USER late@localhost IDENTIFIED BY 'old'")
        asked, changed, seen = threading.Event(), threading.Event(), []

        class Held(pymysql.connections.Connection):
            def write_packet(held, payload):
                if payload == b"old\0":
                    asked.set()
                    changed.wait(10)
                super().write_packet(payload)

        def login():
            try:
                Held(host=self.address.host, port=self.address.port, user="late", password="old",
                     ssl={"verify_mode": "none", "check_hostname": False}).close()
                seen.append("let in")
            except pymysql.err.MySQLError as error:
                seen.append(error.args[0])

        with mock.patch("pymysql._auth.scramble_caching_sha2", return_value=b"\x01" * 32):
            thread = threading.Thread(target=login)
            thread.start()
            try:
                assert asked.wait(10), f"the server did not ask for the password: {seen}"
                self.root("ALTER USER late@localhost IDENTIFIED BY 'new'")
            finally:
                changed.set()
                thread.join(20)
        assert seen == [1045], seen
        self.no_login("late", "old")
        self.login("late", "new").close()

    def case_long_passwords_cost_nothing(self):
        self.root("DROP USER IF EXISTS longer@localhost")
        started = time.monotonic()
        self.refused(1396, f"CREATE USER longer@localhost IDENTIFIED BY '{'x' * 1_000_000}'")
        assert is_within(time.monotonic() - started, 2)
        self.root(f"CREATE USER longer@localhost IDENTIFIED BY '{'x' * 256}'")
        self.login("longer", "x" * 256).close()
        self.refused(1396, f"ALTER USER longer@localhost IDENTIFIED BY '{'x' * 257}'")
        self.refused(1396, f"SET PASSWORD FOR longer@localhost = '{'x' * 257}'")

    def case_loopback_addresses(self):
        self.root("DROP USER IF EXISTS loop@'127.0.0.1'", "CREATE USER loop@'127.0.0.1'")
        self.login("loop").close()


def run(address: Address, report: Report) -> None:
    Accounts(address, report).run()
