"""Passwords: how long they serve, which may not come back, how often one may guess, two at a time; each option does what it says."""
import pymysql
from pymysql.constants import CLIENT

from support.address import Address
from support.report import Report

CAN_HANDLE_EXPIRED = 1 << 22


class Quiet(pymysql.connections.Connection):
    """Says nothing of itself before it is asked to: a session with an expired password refuses SET NAMES, too."""

    def set_character_set(self, *_):
        pass


class Passwords:
    def __init__(self, address: Address, report: Report):
        self.address, self.report = address, report

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def user(self, password: str) -> Address:
        return Address(self.address.host, self.address.port, "pw", password)

    def fails(self, code: int, password: str, *statements: str, by: Address | None = None) -> str:
        """The login, or the last of the statements, ends in the error; returns its text."""
        try:
            (by or self.user(password)).execute(*(statements or ("SELECT 1",)))
        except pymysql.err.MySQLError as error:
            assert error.args[0] == code, (statements, error, code)
            return error.args[1]
        raise AssertionError(f"{statements}: no error {code}")

    def works(self, password: str, *statements: str) -> tuple:
        return self.user(password).execute(*(statements or ("SELECT 1",)))

    def shown(self, expected: str) -> None:
        text = self.root("SHOW CREATE USER pw")[0][0]
        assert expected in text, text

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("passwords/" + name.removeprefix("case_")):
                self.root("DROP USER IF EXISTS pw", "CREATE USER pw IDENTIFIED BY 'a'")
                getattr(self, name)()
        self.root("DROP USER pw")

    def case_one_that_has_expired_must_be_changed(self):
        self.root("ALTER USER pw PASSWORD EXPIRE")
        self.shown("PASSWORD EXPIRE ACCOUNT")
        self.fails(1862, "a")
        connection = Quiet(host=self.address.host, port=self.address.port, user="pw", password="a", client_flag=CAN_HANDLE_EXPIRED, autocommit=None)
        with connection, connection.cursor() as cursor:
            for sql in ("SELECT 1", "SET @a = 1", "CREATE DATABASE x", "DO 1"):
                try:
                    cursor.execute(sql)
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == 1820, error
                else:
                    raise AssertionError(sql)
            cursor.execute("ALTER USER USER() IDENTIFIED BY 'b'")
            cursor.execute("SELECT 1")
            assert cursor.fetchall() == ((1,),)
        self.works("b")
        self.root("ALTER USER pw PASSWORD EXPIRE NEVER")
        self.shown("PASSWORD EXPIRE NEVER ACCOUNT")
        self.root("ALTER USER pw PASSWORD EXPIRE INTERVAL 30 DAY")
        self.shown("PASSWORD EXPIRE INTERVAL 30 DAY ACCOUNT")
        self.fails(1525, "", "ALTER USER pw PASSWORD EXPIRE INTERVAL 0 DAY", by=self.address)

    def case_former_ones_do_not_come_back(self):
        self.root("ALTER USER pw PASSWORD HISTORY 2 PASSWORD REUSE INTERVAL 1 DAY", "ALTER USER pw IDENTIFIED BY 'c'", "ALTER USER pw IDENTIFIED BY 'd'")
        self.shown("PASSWORD HISTORY 2 PASSWORD REUSE INTERVAL 1 DAY PASSWORD REQUIRE CURRENT DEFAULT")
        text = self.fails(3638, "", "ALTER USER pw IDENTIFIED BY 'c'", by=self.address)
        assert text == "Cannot use these credentials for 'pw@%' because they contradict the password history policy", text
        self.fails(3638, "d", "SET PASSWORD = 'd'")
        self.root("ALTER USER pw PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT", "ALTER USER pw IDENTIFIED BY 'c'")
        self.works("c")

    def case_the_present_one_is_asked_for(self):
        self.root("ALTER USER pw PASSWORD REQUIRE CURRENT")
        self.shown("PASSWORD REQUIRE CURRENT")
        for sql in ("ALTER USER USER() IDENTIFIED BY 'e'", "SET PASSWORD = 'e'"):
            self.fails(3892, "a", sql)
            self.fails(3891, "a", f"{sql} REPLACE 'x'")
        self.works("a", "SET PASSWORD = 'e' REPLACE 'a'")
        self.works("e", "ALTER USER pw IDENTIFIED BY 'f' REPLACE 'e'")
        self.fails(3893, "", "ALTER USER pw IDENTIFIED BY 'g' REPLACE 'f'", by=self.address)
        self.root("ALTER USER pw PASSWORD REQUIRE CURRENT OPTIONAL", "SET GLOBAL password_require_current = ON")
        self.works("f", "SET PASSWORD = 'a'")
        self.root("ALTER USER pw PASSWORD REQUIRE CURRENT DEFAULT")
        self.fails(3892, "a", "SET PASSWORD = 'b'")
        self.root("SET GLOBAL password_require_current = DEFAULT")

    def case_guessing_locks_the_account(self):
        self.root("ALTER USER pw FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 3")
        self.shown("FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 3")
        self.fails(1045, "x")
        self.works("a")
        self.fails(1045, "x")
        for password in ("x", "a"):
            text = self.fails(3955, password)
            assert text.endswith("Account is blocked for 3 day(s) (3 day(s) remaining) due to 2 consecutive failed logins."), text
        self.root("ALTER USER pw ACCOUNT UNLOCK")
        self.works("a")
        self.root("ALTER USER pw PASSWORD_LOCK_TIME UNBOUNDED")
        self.fails(1045, "x")
        assert "blocked for unlimited day(s)" in self.fails(3955, "x")
        self.root("FLUSH PRIVILEGES")
        self.works("a")

    def case_two_at_a_time(self):
        for plugin in ("caching_sha2_password", "mysql_native_password"):
            self.root(f"ALTER USER pw IDENTIFIED WITH {plugin} BY 'g'", "ALTER USER pw IDENTIFIED BY 'h' RETAIN CURRENT PASSWORD")
            for _ in range(2):
                self.works("g")
                self.works("h")
            self.root("ALTER USER pw DISCARD OLD PASSWORD")
            self.fails(1045, "g")
            self.works("h")
        text = self.fails(1227, "h", "ALTER USER USER() IDENTIFIED BY 'i' RETAIN CURRENT PASSWORD")
        assert "CREATE USER or APPLICATION_PASSWORD_ADMIN" in text, text
        self.root("GRANT APPLICATION_PASSWORD_ADMIN ON *.* TO pw")
        self.works("h", "SET PASSWORD = 'i' RETAIN CURRENT PASSWORD")
        self.works("h")
        self.fails(3895, "", "ALTER USER pw IDENTIFIED BY '' RETAIN CURRENT PASSWORD", by=self.address)
        self.fails(3894, "", "ALTER USER pw IDENTIFIED WITH caching_sha2_password BY 'j' RETAIN CURRENT PASSWORD", by=self.address)

    def case_attributes(self):
        self.root("ALTER USER pw COMMENT 'hi ''there'")
        self.shown("""ATTRIBUTE '{"comment": "hi \\'there"}'""")
        self.root("""ALTER USER pw ATTRIBUTE '{"a": 1, "comment": null}'""")
        self.shown("""ATTRIBUTE '{"a": 1}'""")
        for wrong in ("x", "[1]"):
            self.fails(3982, "", f"ALTER USER pw ATTRIBUTE '{wrong}'", by=self.address)


def run(address: Address, report: Report) -> None:
    assert CLIENT.CAPABILITIES & CAN_HANDLE_EXPIRED == 0, "a client that cannot change an expired password"
    Passwords(address, report).run()
