"""Names with a NUL: no kind of name has one. MySQL 9.7 answers each of these with error 1064, at the quote."""
import pymysql

from wire import COM_INIT_DB, Wire, error_code

NUL = [
    "CREATE DATABASE %", "USE %", "DROP DATABASE %", "CREATE TABLE % (a INT)", "CREATE TABLE u (% INT)", "CREATE TABLE u (a INT, KEY % (a))",
    "CREATE TABLE u (a INT, CONSTRAINT % CHECK (a > 0))", "CREATE TABLE u (a INT PRIMARY KEY, CONSTRAINT % FOREIGN KEY (a) REFERENCES t (a))", "CREATE VIEW % AS SELECT 1",
    "CREATE VIEW w AS SELECT 1 AS %", "CREATE VIEW w (%) AS SELECT 1", "SELECT 1 AS %", "SELECT a AS % FROM t", "SELECT % FROM t", "SELECT * FROM %", "SELECT * FROM %.t",
    "SELECT * FROM t AS %", "WITH % AS (SELECT 1) SELECT * FROM %", "SELECT * FROM (SELECT 1) AS %", "WITH c (%) AS (SELECT 1) SELECT * FROM c", "SAVEPOINT %", "SET @% = 1",
    "SELECT @%", "SET @@% = 1", "CREATE USER %", "CREATE ROLE %", "GRANT SELECT ON %.* TO root@localhost", "GRANT SELECT ON names.% TO root@localhost", "GRANT SELECT (%) ON names.t TO root@localhost",
    "PREPARE % FROM 'SELECT 1'", "LOCK TABLES % READ", "LOCK TABLES t AS % READ", "ALTER TABLE t RENAME %", "ALTER TABLE t RENAME COLUMN a TO %", "ALTER TABLE t CHANGE a % INT",
    "ALTER TABLE t ADD COLUMN % INT", "ALTER TABLE t RENAME KEY k TO %", "ALTER TABLE t ADD KEY % (a)", "CREATE INDEX % ON t (a)", "RENAME TABLE t TO %", "DROP TABLE %", "DROP VIEW %",
    "DROP INDEX % ON t", "CREATE TEMPORARY TABLE % (a INT)", "CREATE TABLE % LIKE t", "CREATE TABLE u AS SELECT 1 AS %", "HANDLER t OPEN AS %", "INSERT INTO t (%) VALUES (1)",
    "UPDATE t SET % = 1", "SELECT * FROM t USE INDEX (%)", "ANALYZE TABLE %", "SHOW TABLES FROM %", "SHOW COLUMNS FROM %", "SHOW CREATE TABLE %", "SET NAMES %",
    "SELECT COUNT(*) FROM t WINDOW % AS (ORDER BY a)", "RELEASE SAVEPOINT %", "SELECT * FROM JSON_TABLE('[1]', '$[*]' COLUMNS (% INT PATH '$')) j", "DROP USER %", "ROLLBACK TO SAVEPOINT %",
]
# As strings, where MySQL takes what stands before the NUL, or all of it: an error here.
STRINGS = ["CREATE USER '%'@'h'", "CREATE USER 'x'@'%'", "DROP USER '%'@'h'", "CREATE ROLE '%'", "GRANT SELECT ON *.* TO '%'", "SET ROLE '%'", "SET DEFAULT ROLE '%' TO root@localhost",
           "CREATE DEFINER='%'@'h' VIEW w AS SELECT 1", "ALTER USER '%' ACCOUNT LOCK", "RENAME USER root@localhost TO '%'"]


class Names:
    def case_no_name_has_a_nul(self):
        self.address.execute("DROP DATABASE IF EXISTS names", "CREATE DATABASE names", "CREATE TABLE names.t (a INT, KEY k (a))")
        statements = [statement.replace("%", "`x\0y`") for statement in NUL] + [statement.replace("%", "x\0y") for statement in STRINGS]
        with self.address.connect(database="names") as connection, connection.cursor() as cursor:
            for statement in statements:
                try:
                    cursor.execute(statement)
                    raise AssertionError(f"{statement!r}: no error")
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == 1064 and "\0" not in error.args[1], (statement, error)
            cursor.execute("CREATE TABLE made AS SELECT 'x'")
            for statement in ("CREATE TABLE u AS SELECT 1 AS 'x\0y'", "CREATE TABLE u AS SELECT 'x\0y'"):
                try:
                    cursor.execute(statement)
                    raise AssertionError(f"{statement!r}: no error")
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == 1166, (statement, error)
            cursor.execute("SELECT 'x\0y', @'x\0y'")
            assert cursor.fetchall() == (("x\0y", None),)
        wire = Wire(self.address)
        assert error_code(wire.command(COM_INIT_DB, b"names\0x")) == 1049
        wire.close()
        self.address.execute("DROP DATABASE names")
