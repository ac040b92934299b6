"""Random files and the statements that read or write them: LOAD DATA and SELECT … INTO OUTFILE with every option.

A case is made of choices: a table, an SQL mode, what divides, encloses, escapes, begins and ends, the character set, the list of
columns with user variables and SET, and LOCAL, REPLACE or IGNORE; its file is made of the separators that the statement names
(and of the usual ones), within fields, between them and cut short. `{file}` in a statement is the file's name.
"""
import random
from dataclasses import dataclass

# Each table, how it is made, and its columns.
TABLES = {
    "plain": ("a VARCHAR(30), b VARCHAR(30), c VARCHAR(30)", "abc"),
    "typed": ("i INT NOT NULL, s VARCHAR(6) NOT NULL DEFAULT 'd', d DATE, n DECIMAL(6,2) DEFAULT 7, e ENUM('x','yy') NOT NULL", "isdne"),
    "keyed": ("k INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(20) UNIQUE, n INT DEFAULT 7", "ksn"),
    "bytes": ("v VARBINARY(20), t TEXT CHARACTER SET latin1, x BIT(8), w CHAR(5) CHARACTER SET ucs2", "vtxw"),
    "fixed": ("c CHAR(3) CHARACTER SET latin1, i INT, v VARCHAR(2) CHARACTER SET latin1", "civ"),
    "made": ("a INT, g INT AS (a * 2), s SET('p','q'), f FLOAT, j JSON, CHECK (a < 100)", "agsfj"),
    "times": ("t TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, u DATETIME(2) DEFAULT '2001-02-03', y YEAR, z TIME", "tuyz"),
}
# For INTO OUTFILE: rows of each table.
ROWS = {
    "plain": """('a,b', 'c"d', 'e\\\\f'), (NULL, '', 'N'), ('x\ty', '1\n2', 'q\\'r'), ('\\\\N', 'NULL', '"'), ('a;b|c', '\r\n', '\0'), ('é€', 'nb0', '>>')""",
    "typed": """(1, 'x', '2020-01-02', 1.5, 'x'), (-20, 'a"b', NULL, NULL, 'yy'), (0, '', '0000-00-00', -0.25, '')""",
    "keyed": """(1, 'one', 1), (2, NULL, NULL), (3, '1,2', 3)""",
    "bytes": """(X'00FF5C22', 'é', 65, 'ab'), (NULL, NULL, NULL, NULL), ('a\tb', 'ü"', 44, 'é€')""",
    "fixed": """('abc', 1, 'xy'), (NULL, NULL, NULL), ('é', -2147483648, '\n'), ('', 0, '')""",
    "made": """(1, DEFAULT, 'p,q', 1.5, '{"k": "v\\\\n"}'), (NULL, DEFAULT, '', -1e30, '[1, "x"]'), (3, DEFAULT, NULL, NULL, NULL)""",
    "times": """('2020-01-02 03:04:05', '2021-01-01 00:00:00.25', 1999, '-838:59:59'), ('2020-01-02 03:04:05', NULL, NULL, '00:00:01')""",
}
# Those that both servers have, without those that MySQL 9.7 warns of wherever they are named.
WIDE = ["utf16", "utf16le", "utf32"]
SETS = ["binary", "utf8mb4", "latin1", "cp1251", "ascii", "koi8r", "greek", *WIDE]
FIELD_ENDS = ["\t", ",", ";", "|", "", "<>", ",,", "ab", "n", "0", "1", " ", "é", "\\", '"', "\n", ", ", "::=", "N", "."]
ENCLOSED = ['"', "'", "", "|", "\\", "é", ",", "a", "1", '""']
ESCAPES = ["\\", "", '"', "|", "'", "N", "xx", "é", "\n", "0"]
LINE_ENDS = ["\n", "\r\n", "", ";", "|", "\r", "<br>", "\n\n", "x", "é", ",", "END", "\\"]
LINE_STARTS = [">", "xxx", "", "# ", "é", '"', "\n", ","]
ATOMS = ["a", "bc", "", "1", "12", "-1.5", "300", "x", "yy", "p", "p,q", "2020-01-02", "NULL", "N", "N", " ", "abcdefgh", "1e3", "é", "€", "{}", "[1]",
         "x y", "0", "99", "1999", "ü", "æ\\", "n", "t"]
# NUL only for these tables: in other columns it would end the text of an error.
WITH_NUL = ("plain", "bytes")


@dataclass
class Case:
    table: str
    mode: str
    statement: str
    # Of LOAD DATA, the file's bytes; of INTO OUTFILE, None.
    file: bytes | None
    # Of INTO OUTFILE: the statement that reads the file back.
    back: str = ""


# Given ones: numbers with a fixed number of places, and what comes without any separator, or with one of several characters.
GIVEN = [Case("made", "", f"SELECT {columns} FROM made INTO OUTFILE '{{file}}' {clauses}", None) for columns, clauses in [
    ("ROUND(a / 3, 2), ROUND(1e0 / 3, 3), CAST(f AS FLOAT), f + 0e0, -1e10, PI() + 0e0, ROUND(f, 1)", ""),
    ("a, f, g", "FIELDS TERMINATED BY ''"),
    ("CAST(a AS CHAR(3)), REPEAT(s, 2), s", "FIELDS TERMINATED BY ''"),
    ("a, j", "FIELDS TERMINATED BY ''"),
    ("j, a", "FIELDS TERMINATED BY '.'"),
    ("a, s", "FIELDS ENCLOSED BY 'xx'"),
    ("a, s", "FIELDS ESCAPED BY 'xx'"),
    ("a, s", "FIELDS ESCAPED BY 'éé'"),
    ("a, s", "FIELDS OPTIONALLY ENCLOSED BY '€' ESCAPED BY '€'"),
]] + [Case("bytes", "", f"SELECT {columns} FROM bytes INTO OUTFILE '{{file}}' {clauses}", None) for columns, clauses in [
    ("t, x", "FIELDS TERMINATED BY '' LINES TERMINATED BY '|'"),
    ("v, t, x", "FIELDS TERMINATED BY '0'"),
    ("v, CONCAT(v, v), x", "CHARACTER SET utf32"),
    ("v, CONCAT(v, v), x", "CHARACTER SET utf16"),
    ("v, CONCAT(v, v), x", "CHARACTER SET ascii"),
    ("v, CONCAT(v, v), x", "CHARACTER SET latin1"),
    ("v, CONCAT(v, v), x", "CHARACTER SET cp1251"),
    ("v, CONCAT(v, v), x", "CHARACTER SET greek"),
    ("UNHEX('C0E0A4')", "CHARACTER SET greek"),
    ("v, CONCAT(v, v), x", "CHARACTER SET utf8mb4"),
]]


def quoted(text: str) -> str:
    written = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
    return "'" + "".join(written.get(letter, letter) for letter in text) + "'"


class Maker:
    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def format(self, table: str) -> tuple[dict[str, str], str]:
        """What divides, encloses, escapes, begins and ends; and the clauses that say so."""
        pick = self.random.choice
        marks = {"field_end": "\t", "enclosed": "", "escape": "\\", "line_end": "\n", "line_start": ""}
        fields, lines = [], []
        if self.chance(0.75) or table == "fixed":
            marks["field_end"] = "" if table == "fixed" and self.chance(0.7) else pick(FIELD_ENDS[:4] * 4 + FIELD_ENDS)
            end = marks["field_end"]
            text = f"X'{end.encode().hex()}'" if end and self.chance(0.1) else quoted(end)
            fields.append(f"TERMINATED BY {text}")
        if self.chance(0.5) and not (table == "fixed" and self.chance(0.7)):
            marks["enclosed"] = pick(ENCLOSED[:1] * 8 + ENCLOSED)
            fields.append(("OPTIONALLY " if self.chance(0.4) else "") + f"ENCLOSED BY {quoted(marks['enclosed'])}")
        if self.chance(0.35):
            marks["escape"] = pick(ESCAPES[:3] * 3 + ESCAPES)
            fields.append(f"ESCAPED BY {quoted(marks['escape'])}")
        if self.chance(0.25):
            marks["line_start"] = pick(LINE_STARTS)
            lines.append(f"STARTING BY {quoted(marks['line_start'])}")
        if self.chance(0.5):
            marks["line_end"] = pick(LINE_ENDS[:3] * 3 + LINE_ENDS)
            lines.append(f"TERMINATED BY {quoted(marks['line_end'])}")
        self.random.shuffle(lines)
        clauses = f" {pick(['FIELDS', 'COLUMNS'])} {' '.join(fields)}" if fields else ""
        return marks, clauses + (f" LINES {' '.join(lines)}" if lines else "")

    def mode(self) -> str:
        return self.random.choice(["STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE", "", "STRICT_TRANS_TABLES", "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO", "NO_BACKSLASH_ESCAPES"])

    def load(self) -> Case:
        table = self.random.choice(list(TABLES))
        marks, clauses = self.format(table)
        duplicates = self.random.choice(["", "", "", "REPLACE ", "IGNORE "])
        local = "LOCAL " if self.chance(0.4) else ""
        charset = self.random.choice(SETS if table in WITH_NUL else SETS[1:-len(WIDE)]) if self.chance(0.4) else ""
        skip = self.random.choice([0, 1, 1, 2, 9]) if self.chance(0.2) else 0
        columns, assignments = self.columns(table)
        if "@" in columns and charset in WIDE:
            columns = assignments = ""
        mode = self.mode()
        if mode == "NO_BACKSLASH_ESCAPES":
            # The texts above are written with escapes.
            clauses = clauses if "\\" not in clauses else ""
            marks = marks if clauses else {"field_end": "\t", "enclosed": "", "escape": "", "line_end": "\n", "line_start": ""}
        statement = f"LOAD DATA {local}INFILE '{{file}}' {duplicates}INTO TABLE {table}" + (f" CHARACTER SET {charset}" if charset else "") + clauses
        if skip:
            statement += f" IGNORE {skip} {self.random.choice(['LINES', 'ROWS'])}"
        statement += columns + assignments
        return Case(table, mode, statement, self.file(table, marks, charset or "utf8mb4", is_valid="@" in columns))

    def columns(self, table: str) -> tuple[str, str]:
        """The list of columns, and SET."""
        if self.chance(0.6):
            return "", ""
        names = list(TABLES[table][1])
        if self.chance(0.5):
            self.random.shuffle(names)
        names = names[:self.random.randint(1, len(names))]
        chosen = [f"@v{at}" if self.chance(0.35) and table != "fixed" else name for at, name in enumerate(names)]
        if self.chance(0.05):
            chosen = []
        assignments = []
        for at, name in enumerate(chosen):
            if name.startswith("@"):
                others = [other for other in TABLES[table][1] if other not in chosen and other != "j"]
                if not others:
                    continue
                target = names[at] if names[at] in others and self.chance(0.7) else self.random.choice(others)
                value = self.random.choice(["{v}", "CONCAT({v}, '!')", "NULLIF({v}, '')", "HEX({v})", "{v} + 1", "LENGTH({v})", "CHARSET({v})", "DEFAULT", "NULL", "(SELECT {v})", "IFNULL({v}, 'none')"])
                assignments.append(f"{target} = " + value.format(v=name))
        if self.chance(0.15):
            others = [other for other in TABLES[table][1] if other not in chosen]
            assignments += [f"{self.random.choice(others)} = {self.random.choice(['5', 'NULL', 'DEFAULT', names[0], 'nope'])}"] if others else []
        return f" ({', '.join(chosen)})", f" SET {', '.join(assignments)}" if assignments else ""

    def file(self, table: str, marks: dict[str, str], charset: str, is_valid: bool) -> bytes:
        text = "".join(self.line(table, marks) for _ in range(self.random.choice([0, 1, 1, 2, 2, 3, 4])))
        if text and self.chance(0.3):
            text = text[:-self.random.randint(1, min(3, len(text)))]
        codec = {"utf8mb4": "utf8", "binary": "utf8", "koi8r": "koi8_r", "greek": "iso8859_7", "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be"}.get(charset, charset)
        if self.chance(0.2) and not is_valid:
            codec = self.random.choice(["utf8", "latin1", "cp1251"] + (["utf-16-be"] if table in WITH_NUL else []))
        return text.encode(codec, "replace")

    def line(self, table: str, marks: dict[str, str]) -> str:
        count = len(TABLES[table][1]) + self.random.choice([0] * 6 + [-1, 1, 2])
        if not marks["field_end"] and not marks["enclosed"]:
            # Fields as wide as their columns, more or less.
            widths = [3, 11, 2]
            fields = [self.field(table, marks).ljust(width if self.chance(0.9) else 1)[:width] for width in widths]
        else:
            fields = [self.field(table, marks) for _ in range(max(count, 0))]
        start = marks["line_start"] if self.chance(0.9) else self.random.choice(["", "junk", marks["line_start"][:1]])
        noise = self.random.choice(["", "", "", "zz", marks["escape"]]) if marks["line_start"] else ""
        end = marks["line_end"] or self.random.choice([marks["field_end"], "", "\n"])
        if self.chance(0.05):
            end = self.random.choice(["\r\n", "\n", end[:1], end * 2])
        return noise + start + marks["field_end"].join(fields) + end

    def field(self, table: str, marks: dict[str, str]) -> str:
        quote, escape = marks["enclosed"][:1], marks["escape"][:1]
        specials = [marks["field_end"], marks["line_end"], quote, quote * 2, escape + "N", escape + self.random.choice("ntrbZqé" + ("0" if table in WITH_NUL else "")), escape * 2, escape, "\n", "\r", ",", '"', "\\", "\\N", marks["field_end"][:1], marks["line_end"][:1], escape + marks["field_end"], escape + quote]
        if self.chance(0.15):
            text = self.random.choice([escape + "N", "NULL", quote + "NULL" + quote, "\\N", "", quote, quote * 2])
            return text
        atoms = ATOMS + (["\0"] if table in WITH_NUL else [])
        parts = [self.random.choice(atoms)]
        while self.chance(0.3):
            parts.append(self.random.choice(specials) if self.chance(0.6) else self.random.choice(atoms))
        self.random.shuffle(parts)
        text = "".join(parts)
        if quote and self.chance(0.65):
            inner = text.replace(quote, quote * 2) if self.chance(0.7) else text
            return quote + inner + (quote if self.chance(0.93) else "")
        if escape and self.chance(0.5):
            for mark in filter(None, dict.fromkeys([marks["field_end"][:1], marks["line_end"][:1], quote])):
                text = text.replace(mark, escape + mark)
        return text

    def write(self) -> Case:
        table = self.random.choice(list(TABLES))
        _, clauses = self.format(table)
        charset = f" CHARACTER SET {self.random.choice(SETS)}" if self.chance(0.4) else ""
        columns = "*"
        # Without what MySQL warns of in dates since 8.0.29.
        is_read_back = table in WITH_NUL or table != "times" and not charset.endswith(tuple(WIDE))
        if self.chance(0.3):
            columns = ", ".join(self.random.sample(TABLES[table][1], self.random.randint(1, len(TABLES[table][1]))))
        if self.chance(0.2):
            columns = self.random.choice(["1, 'a', NULL, 1.5", "UNHEX('5C22'), _latin1 X'E9'", "NOW()", "TRUE, '', 1e10", "CAST('[1]' AS JSON), 0x41"])
        statement = f"SELECT {columns} FROM {table} INTO OUTFILE '{{file}}'{charset}{clauses}"
        back = f"LOAD DATA INFILE '{{file}}' REPLACE INTO TABLE {table}{charset}{clauses}" if columns == "*" and is_read_back else ""
        return Case(table, "", statement, None, back)
