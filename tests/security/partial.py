"""Partial revokes: what is taken in one database from privileges that are held everywhere, who passes such restrictions on, and who
granted on a table. The expectations are MySQL 9.7's, by `--address` of such a server (which may be changed) they are checked there.
"""
import json

import pymysql

from support.address import Address
from support.report import Report

UNKNOWN_AS = 3836


class Partial:
    def __init__(self, address: Address, report: Report):
        self.address, self.report = address, report
        self.is_tidemark = "tidemark" in address.execute("SELECT VERSION()")[0][0]
        self.user = Address(address.host, address.port, "part_u")

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("partial/" + name.removeprefix("case_")):
                self.clean_up()
                self.root("CREATE DATABASE part_a", "CREATE TABLE part_a.t (id INT)", "CREATE DATABASE part_b", "CREATE TABLE part_b.t (id INT)",
                          "CREATE USER part_u, part_v", "CREATE ROLE part_r", "SET GLOBAL partial_revokes = ON")
                try:
                    getattr(self, name)()
                finally:
                    self.clean_up()

    def clean_up(self) -> None:
        self.root("DROP USER IF EXISTS part_u, part_v, part_r", "DROP DATABASE IF EXISTS part_a", "DROP DATABASE IF EXISTS part_b", "SET GLOBAL partial_revokes = OFF")

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def fails(self, number: int, statement: str, address: Address | None = None) -> None:
        try:
            (address or self.address).execute(statement)
        except pymysql.err.MySQLError as error:
            assert error.args[0] == number, (statement, error)
        else:
            raise AssertionError(f"{statement}: no error {number}")

    def grants(self, user: str, using: str = "") -> list[str]:
        lines = [line.replace(f"`{user}`@`%`", "U") for line, in self.root(f"SHOW GRANTS FOR {user} {using}")]
        return [line for line in lines if line != "GRANT USAGE ON *.* TO U"]

    def case_taken_in_one_database(self):
        self.root("GRANT SELECT, INSERT, UPDATE ON *.* TO part_u", "REVOKE INSERT ON part_a.* FROM part_u", "REVOKE INSERT ON part_a.* FROM part_u",
                  "REVOKE SELECT, INSERT ON part_b.* FROM part_u")
        self.fails(1141, "REVOKE DELETE ON part_a.* FROM part_u")
        self.fails(1147, "REVOKE UPDATE ON part_a.t FROM part_u")
        assert self.grants("part_u") == ["GRANT SELECT, INSERT, UPDATE ON *.* TO U", "REVOKE INSERT ON `part_a`.* FROM U", "REVOKE SELECT, INSERT ON `part_b`.* FROM U"]
        attributes = json.loads(self.root("SELECT user_attributes FROM mysql.user WHERE user = 'part_u'")[0][0])
        assert sorted((entry["Database"], entry["Privileges"]) for entry in attributes["Restrictions"]) == [("part_a", ["INSERT"]), ("part_b", ["SELECT", "INSERT"])]
        with self.user.connect() as connection, connection.cursor() as cursor:
            def seen(statement: str) -> int:
                try:
                    cursor.execute(statement)
                except pymysql.err.MySQLError as error:
                    return error.args[0]
                return 0
            statements = ["SELECT * FROM part_a.t", "INSERT INTO part_a.t VALUES (1)", "UPDATE part_a.t SET id = 1", "SELECT * FROM part_b.t", "INSERT INTO part_b.t VALUES (1)",
                          "UPDATE part_b.t SET id = 1", "SELECT * FROM part_a.t JOIN part_b.t u", "PREPARE p FROM 'SELECT * FROM part_b.t'"]
            assert [seen(statement) for statement in statements] == [0, 1142, 0, 1142, 1142, 0, 1142, 1142]
        self.root("GRANT INSERT ON part_a.* TO part_u", "GRANT SELECT ON *.* TO part_u")
        assert self.grants("part_u") == ["GRANT SELECT, INSERT, UPDATE ON *.* TO U", "REVOKE INSERT ON `part_b`.* FROM U"] or not self.is_tidemark
        self.root("REVOKE INSERT ON *.* FROM part_u")
        assert "GRANT SELECT, UPDATE ON *.* TO U" in self.grants("part_u") and not [line for line in self.grants("part_u") if line.startswith("REVOKE")]

    def case_off(self):
        self.root("GRANT SELECT ON *.* TO part_u", "REVOKE SELECT ON part_a.* FROM part_u")
        self.fails(3896, "SET GLOBAL partial_revokes = OFF")
        self.root("REVOKE ALL PRIVILEGES, GRANT OPTION FROM part_u", "SET GLOBAL partial_revokes = OFF", "GRANT SELECT ON *.* TO part_u")
        self.fails(1141, "REVOKE SELECT ON part_a.* FROM part_u")

    def case_roles(self):
        self.root("GRANT SELECT, INSERT ON *.* TO part_u", "REVOKE SELECT ON part_a.* FROM part_u", "GRANT SELECT ON *.* TO part_r", "REVOKE SELECT ON part_b.* FROM part_r",
                  "GRANT part_r TO part_u")
        assert self.grants("part_u", "USING part_r")[:2] == ["GRANT SELECT, INSERT ON *.* TO U", "GRANT `part_r`@`%` TO U"]
        self.fails(1142, "SELECT * FROM part_a.t", self.user)
        self.root("SET DEFAULT ROLE part_r TO part_u")
        self.user.execute("SELECT * FROM part_a.t", "SELECT * FROM part_b.t")
        self.root("REVOKE SELECT ON part_a.* FROM part_r")
        self.fails(1142, "SELECT * FROM part_a.t", self.user)

    def case_restrictions_go_with_a_grant(self):
        self.root("GRANT SELECT, INSERT ON *.* TO part_u WITH GRANT OPTION", "REVOKE SELECT ON part_a.* FROM part_u")
        self.fails(1044, "GRANT SELECT ON part_a.* TO part_v", self.user)
        self.fails(1142, "GRANT SELECT ON part_a.t TO part_v", self.user)
        self.fails(1044, "GRANT SELECT ON `part%`.* TO part_v", self.user) if self.is_tidemark else None
        self.user.execute("GRANT SELECT, INSERT ON *.* TO part_v", "GRANT INSERT ON part_a.* TO part_v")
        assert "REVOKE SELECT ON `part_a`.* FROM U" in self.grants("part_v")
        self.root("GRANT SELECT ON *.* TO part_v")
        assert not [line for line in self.grants("part_v") if line.startswith("REVOKE")]
        # What is held without a restriction keeps none.
        self.user.execute("GRANT SELECT ON *.* TO part_v")
        assert not [line for line in self.grants("part_v") if line.startswith("REVOKE")]

    def case_grant_as(self):
        self.root("GRANT SELECT, INSERT ON *.* TO part_u WITH GRANT OPTION", "REVOKE SELECT ON part_a.* FROM part_u", "GRANT SELECT ON *.* TO part_v AS part_u")
        assert self.grants("part_v") == ["GRANT SELECT ON *.* TO U", "REVOKE SELECT ON `part_a`.* FROM U"]
        self.root("GRANT INSERT ON *.* TO part_v AS part_u WITH ROLE NONE")
        assert self.grants("part_v") == ["GRANT SELECT, INSERT ON *.* TO U", "REVOKE SELECT ON `part_a`.* FROM U"]
        self.fails(3835, "GRANT SELECT ON part_a.* TO part_v AS part_u")
        self.fails(UNKNOWN_AS, "GRANT SELECT ON *.* TO part_v AS part_nosuch")
        self.fails(UNKNOWN_AS, "GRANT SELECT ON *.* TO part_v AS part_u WITH ROLE part_r")
        self.root("GRANT ALL ON *.* TO part_r")
        # An account cannot rid itself of its restrictions by another's name.
        for statement in ("GRANT SELECT ON *.* TO part_u AS part_r", "GRANT SELECT ON *.* TO part_v AS part_r", "GRANT SELECT ON *.* TO part_v AS root@localhost"):
            try:
                self.user.execute(statement)
            except pymysql.err.MySQLError as error:
                assert error.args[0] in (UNKNOWN_AS, 1227, 1045), (statement, error)
            else:
                raise AssertionError(statement)
        assert "REVOKE SELECT ON `part_a`.* FROM U" in self.grants("part_u")

    def case_grantor(self):
        self.root("GRANT SELECT ON part_a.t TO part_v")
        grantor = "SELECT grantor FROM mysql.tables_priv WHERE user = 'part_v' AND db = 'part_a'"
        assert self.root(grantor) == (("root@localhost",),)
        self.root("GRANT INSERT ON part_a.t TO part_u WITH GRANT OPTION")
        self.user.execute("GRANT INSERT ON part_a.t TO part_v")
        assert self.root(grantor) == (("part_u@localhost",),)


def run(address: Address, report: Report) -> None:
    Partial(address, report).run()
