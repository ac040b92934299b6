"""validate_password: installed and removed as a component, with its variables, what it demands of passwords; and passwords that the
server makes. The expectations are MySQL 9.7's, by `--address` of such a server (which is set up anew) they are checked there.
"""
import pymysql

from support.address import Address
from support.report import Report

URN = "file://component_validate_password"
NAMES = ["changed_characters_percentage", "check_user_name", "dictionary_file", "length", "mixed_case_count", "number_count", "policy", "special_char_count"]
DEFAULTS = {"changed_characters_percentage": "0", "check_user_name": "ON", "dictionary_file": "", "length": "8", "mixed_case_count": "1", "number_count": "1",
            "policy": "MEDIUM", "special_char_count": "1"}
TOO_WEAK = (1819, "Your password does not satisfy the current policy requirements")
GOOD = "abcdefghA1!"


class Strength:
    def __init__(self, address: Address, report: Report):
        self.address, self.report = address, report
        self.is_tidemark = "tidemark" in address.execute("SELECT VERSION()")[0][0]

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("strength/" + name.removeprefix("case_")):
                self.clean_up()
                try:
                    getattr(self, name)()
                finally:
                    self.clean_up()

    def clean_up(self) -> None:
        self.root("DROP USER IF EXISTS strong_u, strong_v, strong_w, strong_x")
        if self.root("SELECT COUNT(*) FROM mysql.component WHERE component_urn LIKE '%validate_password'")[0][0]:
            self.root(*(f"SET GLOBAL validate_password.{name} = DEFAULT" for name in NAMES), f"UNINSTALL COMPONENT '{URN}'")

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def error(self, *statements: str) -> tuple[int, str] | None:
        try:
            self.root(*statements)
        except pymysql.err.MySQLError as error:
            return error.args[0], error.args[1]
        return None

    def case_install(self):
        install, uninstall = f"INSTALL COMPONENT '{URN}'", f"UNINSTALL COMPONENT '{URN}'"
        assert self.root("SHOW VARIABLES LIKE 'validate\\_password%'") == ()
        assert self.error("SELECT @@validate_password.length") == (1193, "Unknown system variable 'validate_password.length'")
        assert self.error("SET GLOBAL validate_password.length = 1") == (1193, "Unknown system variable 'validate_password.length'")
        assert self.root("SELECT VALIDATE_PASSWORD_STRENGTH('abcdefghA1!')") == ((0,),)
        assert self.error(uninstall) == (3537, f"Component specified by URN '{URN}' to unload has not been loaded before.")
        assert self.error(install) is None
        assert self.error(install) == (3529, f"Cannot load component from specified URN: '{URN}'.")
        assert self.error("INSTALL COMPONENT 'nosuch'") == (3527, "Cannot find schema in specified URN: 'nosuch'.")
        assert self.error("INSTALL COMPONENT 'file://component_nosuch'")[0] == 1126
        assert self.error("UNINSTALL COMPONENT 'file://component_nosuch'")[0] == 3537
        assert dict(self.root("SHOW VARIABLES LIKE 'validate\\_password%'")) == {f"validate_password.{name}": value for name, value in DEFAULTS.items()}
        assert dict(self.root("SHOW STATUS LIKE 'validate\\_password%'"))["validate_password.dictionary_file_words_count"] == "0"
        assert self.root("SELECT component_urn FROM mysql.component") == ((URN,),)
        assert self.error("SET SESSION validate_password.length = 5")[0] == 1229
        assert self.error(uninstall) is None
        assert self.root("SELECT component_urn FROM mysql.component") == ()

    def case_who_may_install(self):
        self.root("CREATE USER strong_u")
        user = Address(self.address.host, self.address.port, "strong_u")
        with user.connect() as connection, connection.cursor() as cursor:
            for statement, privilege in ((f"INSTALL COMPONENT '{URN}'", "INSERT"), (f"UNINSTALL COMPONENT '{URN}'", "DELETE")):
                try:
                    cursor.execute(statement)
                except pymysql.err.MySQLError as error:
                    assert error.args == (1142, f"{privilege} command denied to user 'strong_u'@'localhost' for table 'component'"), error
                else:
                    raise AssertionError(statement)

    def case_what_is_demanded(self):
        self.root(f"INSTALL COMPONENT '{URN}'")
        for statement in ("CREATE USER strong_u", "CREATE USER strong_u IDENTIFIED BY ''", "CREATE USER strong_u IDENTIFIED BY 'abcdefgh'",
                          "CREATE USER strong_u IDENTIFIED WITH caching_sha2_password", "CREATE USER strong_u IDENTIFIED BY 'abcA1!'",
                          "CREATE USER strong_u IDENTIFIED BY 'ABCDEFGH1!'", "CREATE USER strong_u IDENTIFIED BY 'abcdefghA1'"):
            assert self.error(statement) == TOO_WEAK, statement
        self.root(f"CREATE USER strong_u IDENTIFIED BY '{GOOD}'", "CREATE ROLE strong_x")
        for statement in ("SET PASSWORD FOR strong_u = 'abc'", "ALTER USER strong_u IDENTIFIED BY 'abc'"):
            assert self.error(statement) == TOO_WEAK, statement
        self.root(f"ALTER USER strong_u IDENTIFIED BY '{GOOD}x'", "ALTER USER strong_u ACCOUNT LOCK", "SET GLOBAL validate_password.policy = LOW",
                  "CREATE USER strong_v IDENTIFIED BY 'abcdefgh'")
        assert self.error("CREATE USER strong_w IDENTIFIED BY 'abcdefg'") == TOO_WEAK
        self.root("SET GLOBAL validate_password.length = 3")
        assert self.root("SELECT @@validate_password.length") == ((4,),)
        # The names are those of who sets the password.
        for name in (self.address.user, self.address.user[::-1]):
            assert self.error(f"CREATE USER strong_w IDENTIFIED BY '{name}'") == TOO_WEAK
        self.root("SET GLOBAL validate_password.check_user_name = OFF", f"CREATE USER strong_w IDENTIFIED BY '{self.address.user}'", "DROP USER strong_w",
                  "SET GLOBAL validate_password.number_count = 5")
        assert self.root("SELECT @@validate_password.length") == ((8,),)
        assert self.error("SET GLOBAL validate_password.policy = 7") == (1231, "Variable 'validate_password.policy' can't be set to the value of '7'")
        self.root("SET GLOBAL validate_password.policy = 2")
        assert self.root("SELECT @@validate_password.policy") == (("STRONG",),)

    def case_strength(self):
        self.root(f"INSTALL COMPONENT '{URN}'")
        for password, strength in (("NULL", None), ("''", 0), ("'abc'", 0), ("'abcdefg'", 25), ("'abcdefgh1'", 50), ("'abcdefghA1'", 50), (f"'{GOOD}'", 100), ("12345678", 50)):
            assert self.root(f"SELECT VALIDATE_PASSWORD_STRENGTH({password})") == ((strength,),), password

    def case_change(self):
        self.root(f"INSTALL COMPONENT '{URN}'", "SET GLOBAL validate_password.changed_characters_percentage = 50", f"CREATE USER strong_u IDENTIFIED BY '{GOOD}'")
        user = Address(self.address.host, self.address.port, "strong_u", GOOD)
        with user.connect() as connection, connection.cursor() as cursor:
            try:
                cursor.execute(f"ALTER USER USER() IDENTIFIED BY 'abcdefghA1?' REPLACE '{GOOD}'")
            except pymysql.err.MySQLError as error:
                assert error.args[0] == 4165 and "at least '5' characters" in error.args[1] and "only '1' character(s)" in error.args[1], error
            else:
                raise AssertionError("one character is enough")
            cursor.execute(f"ALTER USER USER() IDENTIFIED BY 'zyxwvuT9?' REPLACE '{GOOD}'")

    def case_random(self):
        def made(statement: str) -> tuple:
            with self.address.connect() as connection, connection.cursor() as cursor:
                cursor.execute("SET generated_random_password_length = 30")
                cursor.execute(statement)
                assert [column[0] for column in cursor.description] == ["user", "host", "generated password", "auth_factor"]
                rows = cursor.fetchall()
                assert all(row[1:2] + row[3:] == ("%", 1) and len(row[2]) == 30 for row in rows), rows
                return tuple((row[0], row[2]) for row in rows)

        def logs_in(user: str, password: str) -> None:
            Address(self.address.host, self.address.port, user, password).execute("SELECT 1")

        rows = made("CREATE USER strong_u IDENTIFIED BY RANDOM PASSWORD, strong_v IDENTIFIED BY 'x', strong_w IDENTIFIED WITH caching_sha2_password BY RANDOM PASSWORD")
        assert [row[0] for row in rows] == ["strong_u", "strong_w"] and rows[0][1] != rows[1][1]
        for user, password in rows:
            logs_in(user, password)
        changed = made("ALTER USER strong_u IDENTIFIED BY RANDOM PASSWORD RETAIN CURRENT PASSWORD")
        logs_in(*changed[0])
        logs_in(*rows[0])
        logs_in(*made("SET PASSWORD FOR strong_u TO RANDOM")[0])
        assert self.error("ALTER USER strong_nosuch IDENTIFIED BY RANDOM PASSWORD")[0] == 1396
        assert self.error("SET PASSWORD FOR strong_nosuch TO RANDOM") == (1133, "Can't find any matching row in the user table")
        with self.address.connect() as connection, connection.cursor() as cursor:
            for wanted, length in ((4, 5), (300, 255)):
                cursor.execute(f"SET generated_random_password_length = {wanted}")
                cursor.execute("SELECT @@generated_random_password_length")
                assert cursor.fetchone()[0] == length

    def case_rounds(self):
        self.root(f"CREATE USER strong_u IDENTIFIED BY '{GOOD}'")
        assert self.root("SELECT LEFT(authentication_string, 7) FROM mysql.user WHERE user = 'strong_u'")[0][0] in ("$A$00A$", b"$A$00A$")
        assert self.root("SELECT @@caching_sha2_password_digest_rounds") == ((10000,),)
        Address(self.address.host, self.address.port, "strong_u", GOOD).execute("SELECT 1")


def run(address: Address, report: Report) -> None:
    Strength(address, report).run()
