"""The places in which a parameter stands, and the values that are bound to it."""
import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """A value as the binary protocol sends it (type and bytes), or as a user variable has it (an expression)."""
    code: int = 0
    data: bytes = b""
    variable: str = ""


def whole(value: int, code: int = 8) -> Bound:
    return Bound(code, struct.pack("<q", value))


def coded(code: int, value: str) -> Bound:
    return Bound(code, bytes([len(value)]) + value.encode())


def moment(code: int, *parts: int) -> Bound:
    data = struct.pack("<HBB", *parts[:3]) if len(parts) == 3 else struct.pack("<HBBBBBI", *parts)
    return Bound(code, bytes([len(data)]) + data)


def clock(sign: int, *parts: int) -> Bound:
    data = struct.pack("<BIBBBI", sign, *parts)
    return Bound(11, bytes([len(data)]) + data)


#: Texts that are numbers, moments, neither, or both in part.
TEXTS = ["12", "-3", "12.5", "12x", "abc", "", "18446744073709551615", "2024-05-06", "2024-05-06 10:11:12", "10:11:12", "[1, 2]"]
BINARY: dict[str, Bound] = {
    "int": whole(12),
    "negative": whole(-3),
    "long": whole(20240506),
    "unsigned": Bound(8 | 0x8000, struct.pack("<Q", 12)),
    "huge": Bound(8 | 0x8000, struct.pack("<Q", 2**64 - 1)),
    "double": Bound(5, struct.pack("<d", 12.5)),
    "float": Bound(4, struct.pack("<f", 12.0)),
    "decimal": coded(246, "12.50"),
    "date": moment(10, 2024, 5, 6),
    "datetime": moment(12, 2024, 5, 6, 10, 11, 12, 500000),
    "time": clock(0, 0, 10, 11, 12, 0),
    "null": Bound(6),
    "blob": coded(252, "12"),
    "bytes": coded(252, "abc"),
    **{f"'{text}'": coded(253, text) for text in TEXTS},
}
VARIABLES: dict[str, Bound] = {
    "@int": Bound(variable="12"),
    "@unsigned": Bound(variable="CAST(12 AS UNSIGNED)"),
    "@double": Bound(variable="1.25e1"),
    "@decimal": Bound(variable="12.50"),
    "@null": Bound(variable="NULL"),
    "@binary": Bound(variable="CAST('12' AS BINARY)"),
    **{f"@'{text}'": Bound(variable=f"'{text}'") for text in ("12", "12.5", "abc", "2024-05-06", "10:11:12")},
}
VALUES = BINARY | VARIABLES

#: Columns, and their values in the first two rows; in the third they are NULL.
COLUMNS: dict[str, tuple[str, str, str]] = {
    "ti": ("TINYINT", "12", "-3"),
    "i": ("INT", "12", "20240506"),
    "u": ("INT UNSIGNED", "12", "0"),
    "g": ("BIGINT", "-3", "101112"),
    "bu": ("BIGINT UNSIGNED", "12", "18446744073709551615"),
    "d": ("DECIMAL(10, 2)", "12.50", "-3"),
    "f": ("FLOAT", "12.5", "12"),
    "r": ("DOUBLE", "12.5", "20240506"),
    "bi": ("BIT(8)", "12", "49"),
    "y": ("YEAR", "2012", "2024"),
    "dt": ("DATE", "'2024-05-06'", "'2012-12-12'"),
    "dm": ("DATETIME(1)", "'2024-05-06 10:11:12.5'", "'2024-05-06'"),
    "ts": ("TIMESTAMP NULL", "'2024-05-06 10:11:12'", "'2024-05-06'"),
    "tm": ("TIME", "'10:11:12'", "'00:00:12'"),
    "c": ("CHAR(30)", "'12'", "'abc'"),
    "s": ("VARCHAR(30)", "'2024-05-06'", "'10:11:12'"),
    "l": ("VARCHAR(30) CHARACTER SET latin1", "'12.5'", "'12'"),
    "vb": ("VARBINARY(30)", "'12'", "'abc'"),
    "tx": ("TEXT", "'12'", "'abc'"),
    "j": ("JSON", "'12'", "'[1, 2]'"),
    "e": ("ENUM('abc', '12', '10:11:12')", "'12'", "'abc'"),
    "st": ("SET('abc', '12', '12.5')", "'12'", "'abc'"),
}

#: Where a parameter stands with a column, `{}`. A parameter that is there twice has the same value.
BESIDE: dict[str, str] = {
    "=": "{} = ?",
    "<": "? < {}",
    "<=>": "{} <=> ?",
    "in": "{} IN (?, ?)",
    "in_1": "{} IN (?, 1)",
    "between": "{} BETWEEN ? AND ?",
    "like": "{} LIKE ?",
    "row": "({}, id) = (?, 1)",
    "sum": "{} + ? = 24",
    "+": "{} + ?",
    "turned": "? - {}",
    "*": "{} * ?",
    "/": "{} / ?",
    "div": "{} DIV ?",
    "%": "{} % ?",
    "|": "{} | ?",
    "ifnull": "IFNULL({}, ?)",
    "coalesce": "COALESCE(?, {})",
    "if": "IF(id = 1, ?, {})",
    "case": "CASE id WHEN 1 THEN ? ELSE {} END",
    "case_of": "CASE {} WHEN ? THEN 1 ELSE 2 END",
    "nullif": "NULLIF({}, ?)",
    "nullif_of": "NULLIF(?, {})",
    "greatest": "GREATEST({}, ?)",
    "least": "LEAST(?, {})",
    "concat": "CONCAT({}, ?)",
}
#: Statements that write the parameter into a column; what the table has then is the answer.
WRITES: dict[str, str] = {
    "insert": "INSERT INTO {t} (id, {c}) VALUES (9, ?)",
    "select": "INSERT INTO {t} (id, {c}) SELECT 9, ?",
    "update": "UPDATE {t} SET {c} = ? WHERE id = 1",
    "duplicate": "INSERT INTO {t} (id) VALUES (1) ON DUPLICATE KEY UPDATE {c} = ?",
    "where": "UPDATE {t} SET id = id + 100 WHERE {c} = ?",
    "delete": "DELETE FROM {t} WHERE {c} >= ?",
}

#: Whole queries.
QUERIES: list[str] = [
    "SELECT ?", "SELECT ? + ?", "SELECT ? + 1", "SELECT 1.5 + ?", "SELECT ? * 1e0", "SELECT - ?", "SELECT ~ ?", "SELECT ? | ?", "SELECT NOT ?",
    "SELECT ? = ?", "SELECT ? < 5", "SELECT ? = '12'", "SELECT ? <=> NULL", "SELECT ? IS NULL", "SELECT ? IS TRUE", "SELECT ? AND 1", "SELECT ? XOR 1",
    "SELECT ? BETWEEN 1 AND 20", "SELECT 12 BETWEEN ? AND ?", "SELECT ? IN (12, 13)", "SELECT ? IN ('12', 13)", "SELECT ? LIKE '1%'", "SELECT 'abc' LIKE ?",
    "SELECT id FROM t WHERE i = ? + ?", "SELECT id FROM t WHERE i = - ?", "SELECT id FROM t WHERE d > ? * ?", "SELECT id FROM t WHERE dt = IFNULL(?, ?)",
    "SELECT id FROM t WHERE i = COALESCE(?, 3)", "SELECT id FROM t WHERE i = CASE WHEN id = 1 THEN ? ELSE ? END", "SELECT id FROM t WHERE i = IF(1, ?, ?)",
    "SELECT id FROM t WHERE i + ? > 13", "SELECT id FROM t WHERE ?", "SELECT id FROM t ORDER BY ?, id", "SELECT COUNT(*), ? FROM t GROUP BY ?",
    "SELECT SUM(?) FROM t", "SELECT AVG(?) FROM t", "SELECT MAX(?) FROM t", "SELECT COUNT(?) FROM t", "SELECT GROUP_CONCAT(?) FROM t", "SELECT BIT_OR(?) FROM t",
    "SELECT SUM(i + ?) FROM t", "SELECT id FROM t GROUP BY id HAVING SUM(i) = ?", "SELECT id FROM t GROUP BY id HAVING MAX(dt) = ?",
    "SELECT id FROM t LIMIT ?", "SELECT id FROM t LIMIT 1 OFFSET ?",
    "SELECT id FROM t WHERE ? IN (SELECT i FROM t)", "SELECT id FROM t WHERE ? = (SELECT MAX(i) FROM t)", "SELECT ? IN (SELECT dt FROM t)",
    "SELECT ? > ALL (SELECT d FROM t)", "SELECT id FROM t WHERE i IN (SELECT ?)", "SELECT id FROM t WHERE (i, d) IN ((?, ?))", "SELECT (?, ?) = (12, 12.5)",
    "SELECT i FROM t UNION ALL SELECT ?", "SELECT ? UNION ALL SELECT dt FROM t", "SELECT ? UNION SELECT ?", "SELECT * FROM (SELECT ? AS x) AS q WHERE x = 12",
    "WITH q AS (SELECT ? AS x) SELECT x + 1 FROM q", "SELECT LAG(i, 1, ?) OVER (ORDER BY id) FROM t", "SELECT NTILE(?) OVER (ORDER BY id) FROM t",
    "SELECT SUM(i) OVER (ORDER BY id ROWS ? PRECEDING) FROM t", "SELECT CAST(? AS SIGNED)", "SELECT CAST(? AS UNSIGNED)", "SELECT CAST(? AS DECIMAL(10, 1))",
    "SELECT CAST(? AS DOUBLE)", "SELECT CAST(? AS FLOAT)", "SELECT CAST(? AS CHAR)", "SELECT CAST(? AS BINARY)", "SELECT CAST(? AS DATE)", "SELECT CAST(? AS TIME)",
    "SELECT CAST(? AS DATETIME)", "SELECT CAST(? AS YEAR)", "SELECT CAST(? AS JSON)", "SELECT CONVERT(? USING latin1)", "SELECT ? COLLATE utf8mb4_bin", "SELECT BINARY ?",
    "SELECT ? + INTERVAL 1 DAY", "SELECT '2024-05-06' + INTERVAL ? DAY", "SELECT dt + INTERVAL ? HOUR FROM t", "SELECT tm + INTERVAL ? SECOND FROM t",
    "SELECT ? - INTERVAL 1 HOUR", "SELECT EXTRACT(YEAR FROM ?)", "SELECT TRIM(? FROM 'abc')", "SELECT ? MEMBER OF ('[12, \"abc\"]')", "SELECT CASE ? WHEN 12 THEN 'x' ELSE ? END",
    "SELECT IF(?, 'yes', 'no')", "SELECT IFNULL(?, ?)", "SELECT COALESCE(?, 1.5)", "SELECT IF(1, ?, 7)", "SELECT NULLIF(?, 12)", "SELECT NULLIF(?, ?)",
    "SELECT GREATEST(?, 5)", "SELECT LEAST(?, 'x')", "SELECT ELT(?, 'a', 'b')", "SELECT ELT(2, 'a', ?)", "SELECT FIELD(?, 1, 12)", "SELECT INTERVAL(?, 1, 10, 20)",
]
#: Functions with a parameter for one argument.
CALLS: list[str] = [
    "ABS(?)", "CEIL(?)", "FLOOR(?)", "ROUND(?)", "ROUND(?, 1)", "ROUND(12.345, ?)", "TRUNCATE(?, 1)", "TRUNCATE(12.345, ?)", "MOD(?, 5)", "MOD(17, ?)", "SIGN(?)",
    "SQRT(?)", "POW(?, 2)", "POW(2, ?)", "EXP(?)", "LN(?)", "LOG(2, ?)", "SIN(?)", "ATAN2(?, 1)", "DEGREES(?)", "CRC32(?)", "CONV(?, 10, 16)", "CONV('ff', ?, 10)",
    "HEX(?)", "BIN(?)", "OCT(?)", "CHAR(?)", "ASCII(?)", "ORD(?)", "BIT_COUNT(?)", "FORMAT(?, 2)", "FORMAT(1234.5, ?)", "INET_NTOA(?)", "INET_ATON(?)",
    "LENGTH(?)", "CHAR_LENGTH(?)", "UPPER(?)", "REVERSE(?)", "CONCAT(?, 'x')", "CONCAT(?, 1)", "CONCAT(?, ?)", "CONCAT_WS(?, 'a', 'b')", "CONCAT_WS(',', ?, 1)",
    "LEFT(?, 1)", "LEFT('abcdef', ?)", "RIGHT('abcdef', ?)", "SUBSTRING(?, 2)", "SUBSTRING('abcdef', ?)", "SUBSTRING('abcdef', 1, ?)", "SUBSTRING_INDEX('a1a2a', ?, 1)",
    "SUBSTRING_INDEX('a,b,c', ',', ?)", "REPEAT(?, 2)", "REPEAT('a', ?)", "SPACE(?)", "LPAD(?, 5, 'x')", "LPAD('a', ?, 'x')", "LPAD('a', 5, ?)", "INSERT('abcdef', ?, 2, 'x')",
    "INSERT('abcdef', 2, 2, ?)", "LOCATE(?, 'ab12')", "LOCATE('b', 'abcb', ?)", "INSTR('ab12', ?)", "REPLACE('ab12', ?, 'x')", "STRCMP(?, '12')", "TRIM(?)", "QUOTE(?)",
    "SOUNDEX(?)", "MD5(?)", "SHA2(?, 256)", "SHA2('a', ?)", "TO_BASE64(?)", "UNHEX(?)", "COMPRESS(?)", "FIND_IN_SET(?, '12,abc')", "MAKE_SET(?, 'a', 'b')", "EXPORT_SET(?, 'Y', 'N', ',', 5)",
    "REGEXP_LIKE(?, '1')", "REGEXP_REPLACE('ab12', '1', ?)", "REGEXP_INSTR('ab12', ?)", "REGEXP_SUBSTR('ab12ab', 'b', ?)", "WEIGHT_STRING(?)", "CHARSET(?)", "COLLATION(?)", "COERCIBILITY(?)",
    "DATE(?)", "TIME(?)", "TIMESTAMP(?)", "TIMESTAMP(?, '1:0:0')", "TIMESTAMP('2024-05-06', ?)", "YEAR(?)", "MONTH(?)", "DAY(?)", "HOUR(?)", "MINUTE(?)", "SECOND(?)", "MICROSECOND(?)",
    "DAYNAME(?)", "MONTHNAME(?)", "DAYOFYEAR(?)", "WEEKDAY(?)", "WEEK(?)", "WEEK('2024-05-06', ?)", "YEARWEEK(?)", "QUARTER(?)", "TO_DAYS(?)", "TO_SECONDS(?)", "FROM_DAYS(?)", "LAST_DAY(?)",
    "DATEDIFF(?, '2024-05-01')", "TIMEDIFF(?, '1:0:0')", "ADDTIME(?, '1:0:0')", "ADDTIME('10:0:0', ?)", "SUBTIME(?, '1:0:0')", "TIMESTAMPADD(DAY, ?, '2024-05-06')", "TIMESTAMPADD(DAY, 1, ?)",
    "TIMESTAMPDIFF(DAY, ?, '2024-05-09')", "DATE_ADD(?, INTERVAL 1 MONTH)", "ADDDATE(?, 1)", "ADDDATE('2024-05-06', ?)", "DATE_FORMAT(?, '%Y-%m')", "DATE_FORMAT('2024-05-06', ?)",
    "TIME_FORMAT(?, '%H')", "STR_TO_DATE(?, '%Y-%m-%d')", "STR_TO_DATE('12', ?)", "MAKEDATE(?, 100)", "MAKEDATE(2024, ?)", "MAKETIME(?, 1, 1)", "MAKETIME(1, 1, ?)", "SEC_TO_TIME(?)", "TIME_TO_SEC(?)",
    "FROM_UNIXTIME(?)", "FROM_UNIXTIME(0, ?)", "UNIX_TIMESTAMP(?)", "PERIOD_ADD(?, 1)", "PERIOD_ADD(202405, ?)", "PERIOD_DIFF(?, 202401)", "CONVERT_TZ(?, '+00:00', '+01:00')", "GET_FORMAT(DATE, ?)",
    "JSON_ARRAY(?)", "JSON_OBJECT('a', ?)", "JSON_OBJECT(?, 1)", "JSON_QUOTE(?)", "JSON_UNQUOTE(?)", "JSON_VALID(?)", "JSON_TYPE(?)", "JSON_LENGTH(?)", "JSON_DEPTH(?)", "JSON_KEYS(?)",
    "JSON_EXTRACT('[1, 12]', ?)", "JSON_EXTRACT(?, '$[0]')", "JSON_CONTAINS('[12, 1]', ?)", "JSON_SET('{}', '$.a', ?)", "JSON_SEARCH('[\"12\"]', 'one', ?)", "JSON_ARRAY_APPEND('[]', '$', ?)",
    "JSON_MERGE_PATCH('[1]', ?)", "JSON_VALUE(?, '$[0]')", "JSON_PRETTY(?)", "JSON_OVERLAPS('[12]', ?)", "JSON_STORAGE_SIZE(?)",
    "UUID_TO_BIN(?)", "BIN_TO_UUID(?)", "INET6_ATON(?)", "INET6_NTOA(?)", "IS_IPV4(?)", "IS_UUID(?)", "AES_ENCRYPT(?, 'k')", "RANDOM_BYTES(?) IS NULL", "RAND(?)", "SLEEP(? * 0)", "LAST_INSERT_ID(?)",
    "GET_LOCK(?, 0)", "RELEASE_LOCK(?)", "FORMAT_BYTES(?)", "FORMAT_PICO_TIME(?)", "ANY_VALUE(?)", "ISNULL(?)", "NAME_CONST('a', 1) + ?", "UNCOMPRESSED_LENGTH(?)", "VALIDATE_PASSWORD_STRENGTH(?)",
]
