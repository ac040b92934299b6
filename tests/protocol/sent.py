"""Texts as they are sent: rows, names and error texts in each character set that a client may ask for, byte by byte as MySQL 9.7 sends them.

    tests/protocol/sent.py HOST:PORT:USER > tests/protocol/sent.json        records the table from a MySQL server

An entry has the character set of results, the statement, and what came: the names of tables and columns, the numbers of the columns'
character sets, and the rows' values or an error. What is in no character set aside, all of it must be valid in the client's.

Not compared are the tables and sets that SHOW gives its columns, and the text of an error in a form of Unicode with zeros, of which MySQL
sends what comes before the first.
"""
import json
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.address import Address  # noqa: E402
from wire import Wire  # noqa: E402

RECORDED = Path(__file__).with_name("sent.json")
DATABASE = "sent"
WIDE = ["ucs2", "utf16", "utf16le", "utf32"]
# Character sets of results, and Python's names for them; None: there is nothing to be valid in.
RESULTS = {"utf8mb4": "utf8", "utf8mb3": "utf8", "latin1": "cp1252", "cp1251": "cp1251", "ascii": "ascii", "koi8r": "koi8_r", "greek": "iso8859_7", "ucs2": "utf_16_be", "utf16": "utf_16_be",
           "utf16le": "utf_16_le", "utf32": "utf_32_be", "binary": None, "NULL": None}
SETUP = """
CREATE TABLE t (id INT PRIMARY KEY, l VARCHAR(9) CHARACTER SET latin1, c VARCHAR(9) CHARACTER SET cp1251, u VARCHAR(9), m VARCHAR(9) CHARACTER SET utf8mb3, w VARCHAR(9) CHARACTER SET ucs2, x VARCHAR(9) CHARACTER SET utf16, y VARCHAR(9) CHARACTER SET utf32, a VARCHAR(9) CHARACTER SET ascii, g VARCHAR(9) CHARACTER SET greek, b VARBINARY(9), el ENUM('é', 'ü') CHARACTER SET latin1, ew ENUM('é', 'Ж') CHARACTER SET ucs2, eu ENUM('é', 'Ж'), sl SET('é', 'ü') CHARACTER SET latin1, j JSON, d DATE, n INT)
INSERT INTO t VALUES (1, 'é€', 'Ж', 'é€Ж😀', 'é€Ж', 'éЖ', 'é😀', 'Ж😀', 'a', 'αβ', X'C3A9FF00', 'é', 'Ж', 'é', 'é,ü', '{"é": "Ж😀"}', '2020-01-02', 7)
CREATE TABLE `täb€Ж` (`cölЖ` INT, `e€` ENUM('ä€') CHARACTER SET latin1 DEFAULT 'ä€', UNIQUE KEY `kéЖ` (`cölЖ`), CONSTRAINT `chéЖ` CHECK (`cölЖ` < 9)) COMMENT 'cömment Ж'
INSERT INTO `täb€Ж` VALUES (1, DEFAULT)
CREATE VIEW `viéЖ` AS SELECT `cölЖ` AS `äЖ` FROM `täb€Ж`
"""
STATEMENTS = """
SELECT l, c, u, m, w, x, y, a FROM t
SELECT b, el, ew, eu, sl, j, d, n FROM t
SELECT 'é€Ж😀' AS u, N'éЖ', _latin1 X'E980', _cp1251 X'C6E9', _ucs2 X'00C00416', _utf16 X'D83DDE00', _utf32 X'00000416', _utf8mb3 'é' AS m, _binary 'é' AS b, _ascii 'a'
SELECT _ucs2 0x00C0, IF(1, _ucs2 0x00C0, 'a'), IF(0, 1, _latin1 X'E9'), COALESCE(_utf16 X'00E9'), CASE WHEN 1 THEN _cp1251 X'C6' END, NULLIF(_ucs2 X'0416', 'a'), IFNULL(NULL, _utf32 X'000000E9')
SELECT X'C3A9', 0xE9, b'11101001', X'FF', CAST('é' AS BINARY), BINARY 'Ж', CONCAT(X'E9', 'a'), UNHEX('E9C3')
SELECT CONCAT(l, u), CONCAT(c, w), CONCAT(l, 1), CONCAT(n, 'é'), CONCAT(el, ew), CONCAT_WS(l, u, m), REPLACE(w, 'Ж', 'é'), UPPER(c), LOWER(g), REVERSE(x), LEFT(y, 1), LPAD(l, 5, 'ü'), REPEAT(eu, 2), TRIM(w) FROM t
SELECT GROUP_CONCAT(w), GROUP_CONCAT(el), MAX(c), MIN(ew), JSON_ARRAYAGG(l), JSON_OBJECTAGG(w, c), ANY_VALUE(y) FROM t
SELECT CONVERT(u USING latin1), CONVERT(c USING ucs2), CONVERT(w USING cp1251), CAST(u AS CHAR CHARACTER SET latin1), CAST(w AS CHAR), CONVERT(b USING latin1), CONVERT(u, BINARY) FROM t
SELECT JSON_EXTRACT(j, '$."é"'), j->>'$."é"', JSON_KEYS(j), JSON_QUOTE('é'), JSON_UNQUOTE('"Ж"'), JSON_ARRAY(el, l), JSON_PRETTY(j) FROM t
SELECT HEX(l), HEX(w), ORD(w), CHAR(233), CHAR(0xE9 USING latin1), CHAR(0x416 USING ucs2), CHAR(233, 128 USING cp1251), BIN(5), FORMAT(1234.5, 2), DATE_FORMAT('2020-02-03', '%M'), ELT(1, l, w), MAKE_SET(1, w, l), EXPORT_SET(1, 'é', 'Ж', '€', 2), QUOTE(w), SOUNDEX(w), TO_BASE64(w), WEIGHT_STRING(l), INSERT(w, 1, 1, 'ü'), SUBSTRING_INDEX(u, 'Ж', 1), REGEXP_REPLACE(u, 'Ж', 'é'), REGEXP_SUBSTR(w, '.') FROM t
SET @v = 'éЖ'
SELECT @v, @v AS `ä€`
SELECT 1 AS `é€Ж`, 2 AS 'ü', 'Ж', 'é' 'a', 1 + 'é', `cölЖ`, `täb€Ж`.`e€` FROM `täb€Ж`
SELECT * FROM `täb€Ж` AS `Ä€Ж`
SELECT `äЖ` FROM `viéЖ` AS `ö`
SELECT * FROM (SELECT 'é' AS `ж`, _ucs2 X'0416' AS w) AS `dé`
SELECT MAX(`cölЖ`) + 1 FROM `täb€Ж`
SELECT w FROM t UNION SELECT 'é'
SELECT l FROM t UNION ALL SELECT c FROM t
SELECT el FROM t UNION SELECT ew FROM t
SELECT w, COUNT(*) FROM t GROUP BY w WITH ROLLUP
SELECT d.v FROM t, JSON_TABLE('["é", "Ж"]', '$[*]' COLUMNS (v VARCHAR(9) CHARACTER SET latin1 PATH '$')) AS d
SELECT FIRST_VALUE(w) OVER (), LAG(el, 1, 'é') OVER () FROM t
WITH RECURSIVE r AS (SELECT w, 1 AS n FROM t UNION ALL SELECT CONCAT(w, 'é'), n + 1 FROM r WHERE n < 2) SELECT * FROM r
SHOW COLUMNS FROM `täb€Ж`
SHOW COLUMNS FROM t LIKE 'e%'
SHOW CREATE TABLE `täb€Ж`
SHOW CREATE TABLE t
SHOW TABLES
SHOW TABLES LIKE 't%'
SHOW INDEX FROM `täb€Ж`
SHOW VARIABLES LIKE 'character_set_c%'
SHOW CREATE DATABASE sent
SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'sent' ORDER BY 1
SELECT COLUMN_NAME, COLUMN_TYPE, COLUMN_DEFAULT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'sent' AND TABLE_NAME LIKE 't_b%' ORDER BY 1
SELECT CONSTRAINT_NAME FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'sent'
EXPLAIN FORMAT=JSON INTO @plan SELECT * FROM `täb€Ж` AS `ä` WHERE `cölЖ` = 1
SELECT `nö€Ж` FROM t
SELECT * FROM `nö€Ж`
SELECT nöЖ()
SELECT é Ж 'ü'
SELECT 'é
INSERT INTO `täb€Ж` VALUES (1, 'ä€')
INSERT INTO `täb€Ж` VALUES (99, 'ä€')
INSERT INTO `täb€Ж` VALUES ('éЖ', 'ä€')
INSERT INTO `täb€Ж` VALUES (2, 'öЖ')
INSERT INTO t (id, l) VALUES (2, 'Ж')
INSERT INTO t (id, a) VALUES (2, 'é')
INSERT INTO t (id, d) VALUES (2, 'éЖ')
INSERT INTO t (id, j) VALUES (2, 'éЖ')
INSERT INTO t (`é`) VALUES (1)
SELECT CAST('éЖ' AS SIGNED), 1 + _latin1 X'E961', DATE('éЖ'), CAST(X'E9' AS SIGNED)
SHOW WARNINGS
SELECT CONVERT('é' USING `ж`)
SELECT 'a' COLLATE `ж`
SET @@`é` = 1
USE `é`
DROP TABLE `é`
DROP TABLE IF EXISTS `éЖ`
SHOW WARNINGS
KILL 'é'
SELECT JSON_EXTRACT('é', '$')
SELECT JSON_EXTRACT('{}', 'é')
SELECT REGEXP_LIKE('a', '(é')
SELECT 1 FROM t ORDER BY `é`
SELECT t.`é` FROM t
CREATE TABLE t (`é` INT)
CREATE TABLE u (a INT, FOREIGN KEY `fé` (a) REFERENCES `né` (b))
ALTER TABLE t DROP COLUMN `é`
ALTER TABLE t ADD KEY `é` (`Ж`)
PREPARE `é` FROM 'SELECT Ж Ж'
EXECUTE `Ж`
SELECT * FROM t LIMIT 'é'
GRANT SELECT ON sent.`é` TO `Ж`@`ü`
"""


def statements() -> list[str]:
    return STATEMENTS.strip().splitlines()


def length_encoded(packet: bytes, at: int) -> tuple[bytes | None, int]:
    """A text with its length in front, and where the next begins."""
    first = packet[at]
    if first == 0xFB:
        return None, at + 1
    wide = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first, 0)
    length = int.from_bytes(packet[at + 1:at + 1 + wide], "little") if wide else first
    start = at + 1 + wide
    return packet[start:start + length], start + length


class Answer:
    """What came for a statement: texts, and the number of each column's character set."""

    def __init__(self, wire: Wire, results: str, sql: str):
        self.is_shown, self.is_wide = sql.startswith("SHOW"), results in WIDE
        self.names: list[list[bytes]] = []
        self.sets: list[int] = []
        self.rows: list[list[bytes | None]] = []
        self.error = b""
        packets = wire.query(sql)
        if packets[0][:1] == b"\xff":
            self.error = packets[0][1:3] + packets[0][9:]
        elif packets[0][:1] != b"\x00":
            count = packets[0][0]
            for packet in packets[1:1 + count]:
                names, at = [], 0
                for _ in range(6):
                    text, at = length_encoded(packet, at)
                    names.append(text)
                self.names.append(names[1:])
                self.sets.append(int.from_bytes(packet[at + 1:at + 3], "little"))
            for packet in packets[2 + count:-1]:
                if packet[:1] == b"\xff":
                    self.error = packet[1:3] + packet[9:]
                    break
                row, at = [], 0
                for _ in range(count):
                    text, at = length_encoded(packet, at)
                    row.append(text)
                self.rows.append(row)

    def as_json(self) -> list:
        def shown(text: bytes | None) -> str | None:
            return None if text is None else text.decode("latin1")

        names = [[shown(column[at]) for at in ([3] if self.is_shown else [1, 3])] for column in self.names]
        sets = [] if self.is_shown else self.sets
        error = [int.from_bytes(self.error[:2], "little"), "" if self.is_wide else shown(self.error[2:])]
        return [names, sets, [[shown(value) for value in row] for row in self.rows], error]

    def texts(self) -> list[bytes]:
        """All that is in the client's character set."""
        names = [name for column in self.names for name in column]
        values = [value for row in self.rows for value, charset in zip(row, self.sets) if charset != 63 and value is not None]
        return names + values + [self.error[2:]]


def prepared(address: Address) -> None:
    address.execute(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", *SETUP.strip().splitlines())


def connected(address: Address, results: str) -> Wire:
    wire = Wire(address)
    for sql in (f"USE {DATABASE}", "SET NAMES utf8mb4", f"SET character_set_results = {results}"):
        packet = wire.query(sql)[0]
        assert packet[:1] == b"\x00", (sql, packet)
    return wire


def answers(address: Address):
    """Each character set of results, each statement, and what came."""
    for results in RESULTS:
        wire = connected(address, results)
        for number, sql in enumerate(statements()):
            yield results, f"{number} {sql}", Answer(wire, results, sql)
        wire.close()


class Sent:
    def case_texts_are_sent_in_the_clients_set(self):
        prepared(self.address)
        recorded = json.loads(RECORDED.read_text())
        wrong = []
        for results, sql, answer in answers(self.address):
            codec = RESULTS[results]
            for text in answer.texts() if codec else []:
                try:
                    text.decode(codec)
                except UnicodeDecodeError:
                    wrong.append(f"{results}: {sql}: {text!r} is not valid")
            if (seen := answer.as_json()) != (expected := recorded[results][sql]):
                wrong.append(f"{results}: {sql}\n      expected {expected}\n      seen     {seen}")
        self.address.execute(f"DROP DATABASE {DATABASE}")
        assert not wrong, f"{len(wrong)} differ:\n    " + "\n    ".join(wrong[:40])


if __name__ == "__main__":
    address = Address.parse(sys.argv[1])
    prepared(address)
    table: dict[str, dict[str, list]] = {}
    for results, sql, answer in answers(address):
        table.setdefault(results, {})[sql] = answer.as_json()
    address.execute(f"DROP DATABASE {DATABASE}")
    entries = (f"{json.dumps(results)}: {{\n" + ",\n".join(f"{json.dumps(sql)}: {json.dumps(came)}" for sql, came in answered.items()) + "\n}" for results, answered in table.items())
    print("{\n" + ",\n".join(entries) + "\n}")
