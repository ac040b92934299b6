#!/usr/bin/env python3
"""Every collation against MySQL's: what each character weighs, and how random texts weigh, compare and sort.

    tests/collations/run.py --peer HOST:PORT[:USER] [--address HOST:PORT[:USER]] [--seed N] [--texts 2000] [FILTER...]

All characters of a collation's set are asked of both servers with `WEIGHT_STRING`, in sums of a few thousand; where sums differ,
character by character. Then both hold the same random texts, of characters that the collation treats in its own way and of others, in an
indexed column: their weights, their order, and how neighbours compare must be the same. What is known to differ is in `KNOWN`, with the
reason. A run takes some minutes: it is for whoever changes collations or their tables, and `tests/sql/collations_of_languages.test` has the part that every run of the
tests plays.
"""
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.address import Address  # noqa: E402
from support.report import FIXED_SEED, Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

DATABASE = "collations"
BLOCK = 4096
#: Characters that are inserted by one statement.
BATCH = 20_000
#: Collations with differences that are meant: pieces of texts that random ones do not have.
KNOWN = {
    # A zero byte ends the weights of a Thai text in MySQL.
    "tis620_thai_ci": ["\0"],
    # MySQL cannot store these in a column of this collation, and those of other collations of its set take them.
    "latin2_czech_cs": [chr(code) for code in range(0x7F, 0xA0)],
    # These are cases of each other in MySQL.
    "cp1250_czech_cs": ["ß", "§"],
    # MySQL keeps a weight of zero for these groups; here they weigh nothing, as the language has it.
    "utf8mb4_lt_0900": ["\u0307\u0300", "\u0307\u0301", "\u0307\u0303"],
}
#: What random texts are made of, beside characters of the whole set.
USUAL = ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789.-_'\t" "áàâäãåæçéèêëíìîïñóòôöõøœúùûüýÿßþðčćđďěľłńňřśšťůźžż"
         "ÄÖÜÅÆØÑČŠŽĐŁİıĞğŞş" "\u0300\u0301\u0303\u0307\u0308\u030a\u030c" "абвгдежзийклмнопрстуфхцчшщъыьэюяАБВЯёЁ" "αβγάώΑΩ" "אבג" "ابت"
         "กขคงเแโใไ็่้๊๋์ัาำ" "かきがぎカガｶﾞアーゝゞヽヾ" "亜中文阿丂㐀𠀀")
#: Written often: groups that some language takes for one letter.
GROUPS = ["ch", "CH", "Ch", "cH", "ll", "aa", "AA", "Aa", "dz", "dzs", "ddzs", "cs", "ccs", "Ccs", "lj", "nj", "dž", "i\u0307\u0301", "a\u0308", "ae", "カー", "かゝ", "ガヾ", "เก", "ก่", "n̄"]


#: Weighs by UTF-8 here, as indexes on disk have it.
BY_UTF8 = "latin1_bin"
#: Syllables that weigh 2 on the third level, as all others do, where they weigh 3 in MySQL.
SYLLABLES = range(0xD700, 0xD7B0)
#: Where cases have changed with versions of Unicode: characters there are cased by the newest here, and by that of the collation in MySQL.
CASED_LATER = [(0x180, 0x2AF), (0x370, 0x385), (0x3CF, 0x3FF), (0x460, 0x52F), (0x10A0, 0x10FF), (0x13A0, 0x13FF), (0x1C80, 0x1DBF),
               (0x1E96, 0x1E9F), (0x1EFA, 0x1EFF), (0x2100, 0x218F), (0x2C00, 0x2DFF), (0xA640, 0xABFF), (0x10400, 0x1E9FF)]
#: Its table of cases is odd in MySQL: the upper case of `ś` is `Ľ`.
ODD_CASES = "latin2_czech_cs"
#: Under Japanese collations a text that begins with one of these weighs by its last character, too, in MySQL; here it does not.
JAPANESE_MARKS = "ーゝゞヽヾ"


class Side:
    def __init__(self, address: Address):
        self.connection = address.connect(read_timeout=600)
        self.cursor = self.connection.cursor()
        self.ask(f"DROP DATABASE IF EXISTS {DATABASE}")
        self.ask(f"CREATE DATABASE {DATABASE}")
        self.ask(f"USE {DATABASE}")

    def ask(self, statement: str, *values) -> tuple:
        self.cursor.execute(statement, values or None)
        return self.cursor.fetchall()

    def collations(self) -> dict[str, tuple]:
        rows = self.ask("SELECT collation_name, character_set_name, id, is_default, sortlen, pad_attribute FROM information_schema.collations")
        return {row[0]: row[1:] for row in rows}

    def hold_characters(self, charset: str, texts: list[str]) -> None:
        self.ask("DROP TABLE IF EXISTS characters")
        self.ask(f"CREATE TABLE characters (code INT PRIMARY KEY, c VARCHAR(1) CHARACTER SET {charset} COLLATE {charset}_bin NOT NULL)")
        for at in range(0, len(texts), BATCH):
            rows = ",".join(f"({ord(c)},_utf8mb4 x'{c.encode().hex()}')" for c in texts[at:at + BATCH])
            self.ask(f"INSERT INTO characters VALUES {rows}")

    def sums(self, collation: str) -> dict[int, int]:
        return dict(self.ask(f"SELECT code DIV {BLOCK}, SUM(CRC32(CONCAT(code, HEX(WEIGHT_STRING(c COLLATE {collation}))))) FROM characters GROUP BY 1"))

    def weights(self, collation: str, block: int) -> dict[int, str]:
        return dict(self.ask(f"SELECT code, HEX(WEIGHT_STRING(c COLLATE {collation})) FROM characters WHERE code DIV {BLOCK} = {block}"))

    def hold_texts(self, charset: str, collation: str, texts: list[str]) -> None:
        self.ask("DROP TABLE IF EXISTS texts")
        self.ask(f"CREATE TABLE texts (id INT PRIMARY KEY, c VARCHAR(40) CHARACTER SET {charset} COLLATE {collation} NOT NULL, KEY (c), KEY (c(3)))")
        rows = ",".join(f"({n},_utf8mb4 x'{text.encode().hex()}')" for n, text in enumerate(texts))
        self.ask(f"INSERT INTO texts VALUES {rows}")

    def about_texts(self) -> dict[str, tuple]:
        return {
            "weigh": self.ask("SELECT id, HEX(WEIGHT_STRING(c)) FROM texts ORDER BY id"),
            "sort": self.ask("SELECT id FROM texts ORDER BY c, id"),
            "lie in an index": self.ask("SELECT COUNT(*), SUM(id * 7 MOD 1009) FROM texts FORCE INDEX (c) WHERE c > 'ch' AND c < 'sz'"),
            "compare": self.ask("SELECT a.id, a.c < b.c, a.c = b.c, STRCMP(a.c, b.c), a.c LIKE CONCAT(LEFT(b.c, 1), '%') FROM texts a JOIN texts b ON b.id = a.id + 1 "
                                "ORDER BY a.id"),
            "group": self.ask("SELECT COUNT(DISTINCT c) FROM texts"),
            "change case": self.ask("SELECT id, HEX(UPPER(c)), HEX(LOWER(c)) FROM texts ORDER BY id"),
        }


def texts_of(rng: random.Random, count: int, known: set[str], collation: str) -> list[str]:
    usual = [c for c in USUAL if c in known]
    groups = [group for group in GROUPS if set(group) <= known]
    every = sorted(known)
    out = []
    while len(out) < count:
        pieces = (rng.choice(groups) if dice < 0.2 else rng.choice(every) if dice < 0.4 else rng.choice(usual)
                  for dice in (rng.random() for _ in range(rng.randrange(9))))
        text = "".join(pieces)
        meant = [piece for name, some in KNOWN.items() if name in collation for piece in some]
        if "_ja_" in collation:
            text = text.lstrip(JAPANESE_MARKS)
        if any(ord(c) in SYLLABLES for c in text):
            continue
        if not any(piece in text for piece in meant):
            out.append(text)
    return out


def characters_of(side: Side, charset: str) -> list[str]:
    """The characters that a set can write."""
    if charset in ("utf8mb4", "utf16", "utf16le", "utf32"):
        return [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    if charset in ("utf8mb3", "ucs2"):
        return [chr(c) for c in range(0x10000) if not 0xD800 <= c < 0xE000]
    found = [side.ask(f"SELECT CONVERT(_{charset} x'{byte:02X}' USING utf8mb4)")[0][0] for byte in range(256)]
    return sorted({c for byte, c in enumerate(found) if c and c != "\ufffd" and (c != "?" or byte == 0x3F)})


def compare(report: Report, name: str, sides: list[Side], rng: random.Random, charset: str, known: list[str], texts: int) -> None:
    ours, theirs = (side.sums(name) for side in sides)
    differing = []
    for block in sorted(set(ours) | set(theirs)):
        if ours.get(block) != theirs.get(block):
            a, b = (side.weights(name, block) for side in sides)
            differing += [(f"U+{code:04X}", a[code], b[code]) for code in a
                          if a[code] != b.get(code) and not (code in SYLLABLES and name.startswith("utf8mb4"))]
    report.check(not differing, f"{name}: characters weigh the same", f"{len(differing)} differ: {differing[:5]}")
    some = texts_of(rng, texts, set(known), name)
    for side in sides:
        side.hold_texts(charset, name, some)
    ours, theirs = (side.about_texts() for side in sides)
    for what in ours:
        rows = [(a, b, [some[n] for n in a[:1] if 0 <= n < len(some)]) for a, b in zip(ours[what], theirs[what]) if a != b]
        if what == "change case" and name == ODD_CASES:
            continue
        if what == "change case":
            rows = [row for row in rows if not any(first <= ord(c) <= last for c in row[2][0] for first, last in CASED_LATER)
                    and not ("turkish" in name and set(row[2][0]) & set("iI"))]
        report.check(not rows and len(ours[what]) == len(theirs[what]), f"{name}: texts {what} alike", f"{len(rows)} differ: {rows[:3]}")


def run(report: Report, sides: list[Side], seed: int, texts: int) -> None:
    ours, theirs = (side.collations() for side in sides)
    charset_held, known = None, []
    for name, about in sorted(ours.items(), key=lambda item: (item[1][0], item[0])):
        if not report.wants(name) or about[0] == "binary" or name == BY_UTF8:
            continue
        report.equal(about, theirs.get(name), f"{name}: information_schema")
        if charset_held != about[0]:
            charset_held, known = about[0], characters_of(sides[1], about[0])
            for side in sides:
                side.hold_characters(charset_held, known)
        compare(report, name, sides, random.Random(f"{seed} {name}"), about[0], known, texts)
    missing = sorted(name for name in theirs if name not in ours)
    report.note(f"{len(ours)} of MySQL's {len(theirs)} collations are here; not: {', '.join(missing)}")


def main() -> None:
    parser = suite_parser(__doc__)
    parser.add_argument("--peer", type=Address.parse, required=True, metavar="HOST:PORT[:USER]", help="a MySQL 9.7 server")
    parser.add_argument("--address", type=Address.parse, metavar="HOST:PORT[:USER]", help="the server; default: a Tidemark of its own")
    parser.add_argument("--seed", type=int, default=FIXED_SEED, help="of the random texts")
    parser.add_argument("--texts", type=int, default=2000, help="random texts of each collation")
    options = parser.parse_args()
    report = Report("collations", options.filters)
    if options.address:
        run(report, [Side(options.address), Side(options.peer)], options.seed, options.texts)
    else:
        with Server("collations") as server:
            run(report, [Side(server.address), Side(options.peer)], options.seed, options.texts)
    report.close()


if __name__ == "__main__":
    main()
