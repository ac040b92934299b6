#!/usr/bin/env python3
"""Writes the tables of collations that are recorded from a MySQL server: `crates/types/src/collation/data`.

    tests/collations/record.py --address HOST:PORT[:USER] [languages] [bytes]

A collation is what `WEIGHT_STRING` shows of it: of each byte, in sets that have one for a character; else of each character alone, and of the groups that weigh otherwise than their characters do one
after the other. Groups are searched among two characters of the Latin alphabets, Cyrillic and combining marks, and in languages that have
some among three and four letters. Indexes on disk hold sort keys made of these weights: what is written is the same in each run, and a
language is only ever added behind the last.
"""
import argparse
import itertools
import struct
import sys
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.address import Address  # noqa: E402

DATA = HERE.parents[1] / "crates/types/src/collation/data"

#: In the order of `languages.rs`: those on version 4.0.0 of the Unicode Collation Algorithm, then those on 9.0.0.
V4 = ("icelandic latvian romanian slovenian polish estonian spanish swedish turkish czech danish lithuanian slovak spanish2 roman persian "
      "esperanto hungarian sinhala german2 croatian vietnamese").split()
V9 = "de_pb is lv ro sl pl et es sv tr cs da lt sk es_trad la eo hu hr vi ru nb nn sr_latn bs bg gl mn_cyrl".split()
#: In the order of `bytes.rs`: character sets of a byte for each character, and such of their collations as are a weight for each,
#: or two in a table each.
SETS = ("latin1 latin2 latin5 latin7 cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866 koi8r koi8u greek hebrew macroman macce dec8 hp8 swe7 "
        "armscii8 geostd8 keybcs2 tis620").split()
BYTE_COLLATIONS = ("latin1_swedish_ci latin1_german1_ci latin1_danish_ci latin1_general_ci latin1_general_cs latin1_spanish_ci latin1_german2_ci "
                   "latin2_general_ci latin2_hungarian_ci latin2_croatian_ci latin5_turkish_ci latin7_general_ci latin7_general_cs "
                   "latin7_estonian_cs cp1250_general_ci cp1250_croatian_ci cp1250_polish_ci cp1251_general_ci cp1251_general_cs "
                   "cp1251_bulgarian_ci cp1251_ukrainian_ci cp1256_general_ci cp1257_general_ci cp1257_lithuanian_ci cp850_general_ci "
                   "cp852_general_ci cp866_general_ci koi8r_general_ci koi8u_general_ci greek_general_ci hebrew_general_ci "
                   "macroman_general_ci macce_general_ci dec8_swedish_ci hp8_english_ci swe7_swedish_ci armscii8_general_ci "
                   "geostd8_general_ci keybcs2_general_ci").split()
#: In the order of `passes.rs`: collations of several turns, with what stands between them; the weight of spaces that are not shown.
TURNS = {"tis620_thai_ci": (1, b"", 0), "latin2_czech_cs": (4, b"\1", 2), "cp1250_czech_cs": (2, b"", 0)}
#: Behind the other languages: with an order of ideographs. Levels, and the collation that has them all.
EAST_ASIAN = {"ja": (4, "utf8mb4_ja_0900_as_cs_ks"), "zh": (3, "utf8mb4_zh_0900_as_cs")}
#: What stands in front of weights that sort behind Japanese ideographs.
PREFIX = 0xFB86
#: Japanese marks that weigh as the sign before them does.
CONTEXT_MARKS = "\u30fc\u309d\u309e\u30fd\u30fe"
KANA = [*range(0x3041, 0x3100), *range(0x31F0, 0x3200), *range(0xFF66, 0xFFA0)]
ACCENTED = [*range(0x41, 0x5B), *range(0x61, 0x7B), *range(0xC0, 0x250), *range(0x300, 0x346)]
#: Where pairs of characters are searched for groups.
PAIRED = [*range(0x41, 0x250), *range(0x300, 0x346), *range(0x400, 0x460), *range(0x1E00, 0x1F00), 0x387]
#: A weight is moved for all characters at once if so many have it; else each of them is moved.
WHOLESALE = 20
#: Characters that a question names at once.
BATCH = 20_000
DATABASE = "recorded_collations"


class Server:
    """A MySQL server, with a table of all characters in a database of its own."""

    def __init__(self, address: Address):
        self.cursor = address.connect(read_timeout=600).cursor()
        self.ask(f"DROP DATABASE IF EXISTS {DATABASE}")
        self.ask(f"CREATE DATABASE {DATABASE}")
        self.ask(f"USE {DATABASE}")
        self.ask("SET SESSION cte_max_recursion_depth = 2000000")
        self.ask("CREATE TABLE characters (code INT PRIMARY KEY, c VARCHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, "
                 "base VARBINARY(200) NOT NULL DEFAULT '')")
        self.ask("INSERT INTO characters (code, c) WITH RECURSIVE n AS (SELECT 0 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 0x10FFFF) "
                 "SELECT x, CONVERT(CONVERT(UNHEX(LPAD(HEX(x), 8, '0')) USING utf32) USING utf8mb4) FROM n WHERE x NOT BETWEEN 0xD800 AND 0xDFFF")

    def ask(self, statement: str) -> tuple:
        self.cursor.execute(statement)
        return self.cursor.fetchall()

    def base(self, collation: str) -> dict[str, bytes]:
        """What `WEIGHT_STRING` shows of each character under the collation that others are compared with."""
        self.ask(f"UPDATE characters SET base = WEIGHT_STRING(c COLLATE {collation})")
        return {chr(code): weights for code, weights in self.ask("SELECT code, base FROM characters")}

    def differing(self, collation: str) -> dict[str, bytes]:
        """What it shows of those characters that differ from that."""
        rows = self.ask(f"SELECT code, WEIGHT_STRING(c COLLATE {collation}) FROM characters WHERE WEIGHT_STRING(c COLLATE {collation}) <> base")
        return {chr(code): weights for code, weights in rows}

    def weights(self, collation: str, texts: list[str]) -> dict[str, bytes]:
        """What it shows of each text."""
        found = {}
        for at in range(0, len(texts), BATCH):
            some = texts[at:at + BATCH]
            rows = ", ".join(f"ROW(_utf8mb4 x'{text.encode().hex()}')" for text in some)
            values = self.ask(f"SELECT WEIGHT_STRING(CONVERT(column_0 USING utf8mb4) COLLATE {collation}) FROM (VALUES {rows}) v")
            found.update(zip(some, (row[0] for row in values)))
        return found

    def groups(self, collation: str, codes: list[int]) -> list[str]:
        """Pairs of characters that weigh otherwise than they do alone under a collation of one level."""
        self.ask("DROP TABLE IF EXISTS some")
        self.ask(f"CREATE TABLE some (code INT PRIMARY KEY, c VARCHAR(1) CHARACTER SET utf8mb4 COLLATE {collation}, w VARBINARY(200)) "
                 f"SELECT code, c, WEIGHT_STRING(c COLLATE {collation}) AS w FROM characters WHERE code IN ({', '.join(map(str, codes))})")
        rows = self.ask("SELECT a.code, b.code FROM some a, some b WHERE WEIGHT_STRING(CONCAT(a.c, b.c)) <> CONCAT(a.w, b.w)")
        return [chr(a) + chr(b) for a, b in rows]


def levels_of(weights: bytes, count: int) -> list[list[int]]:
    """The levels of a weight string; a zero parts them. One of a single level has no zeros that mean anything."""
    words = [word for word, in struct.iter_unpack(">H", weights)]
    if count == 1:
        return [[word for word in words if word]]
    levels = [[]]
    for word in words:
        if word:
            levels[-1].append(word)
        else:
            levels.append([])
    # A group that weighs nothing is shown with one zero more.
    while len(levels) > count:
        levels.remove([])
    return levels


class Language:
    """The weights of a language: those moved for all characters, those of characters and of groups."""

    def __init__(self, server: Server, collation: str, base: dict[str, list], count: int):
        self.server, self.collation, self.count = server, collation, count
        own = {c: levels_of(w, count) for c, w in server.differing(collation).items()}
        self.ranges = [self.wholesale(base, own, level) for level in range(count)]
        self.own = base | own
        touched = own if not any(self.ranges) else base
        self.chars = {c: self.own[c] for c in touched if self.own[c] != self.ranged(base[c])}
        self.groups: dict[str, list] = {}
        codes = sorted({*PAIRED, *(ord(c) for c in self.chars if c > "\0")})
        self.search(server.groups(collation.replace("as_cs", "ai_ci"), codes))
        letters = sorted(set("".join(self.groups)))
        if self.groups:
            self.search(["".join(some) for some in itertools.product(letters, repeat=3)])
        if any(len(group) == 3 for group in self.groups):
            self.search(["".join(some) for some in itertools.product(letters, repeat=4)])

    @staticmethod
    def wholesale(base: dict, own: dict, level: int) -> list[tuple[int, int, int]]:
        """First and last weight and what is added to them."""
        seen: dict[int, Counter] = defaultdict(Counter)
        if len(own) < WHOLESALE:
            return []
        for c, weights in base.items():
            after = own.get(c, weights)[level]
            if len(weights[level]) == len(after):
                for before, moved in zip(weights[level], after):
                    seen[before][moved] += 1
        ranges: list[list[int]] = []
        previous = None
        for weight in sorted(seen):
            to, times = seen[weight].most_common(1)[0]
            added = (to - weight) & 0xFFFF if times * 2 > seen[weight].total() else 0
            if added and previous == added:
                ranges[-1][1] = weight
            elif added:
                ranges.append([weight, weight, added])
            previous = added
        held = [(first, last, added) for first, last, added in ranges
                if sum(seen[w].total() for w in seen if first <= w <= last) >= WHOLESALE]
        return held

    def ranged(self, weights: list[list[int]]) -> list[list[int]]:
        def moved(weight: int, level: int) -> int:
            for first, last, added in self.ranges[level]:
                if first <= weight <= last:
                    return (weight + added) & 0xFFFF
            return weight
        return [[moved(weight, level) for weight in some] for level, some in enumerate(weights)]

    def expected(self, text: str) -> list[list[int]]:
        """The weights by what is known: the longest group first, else the character."""
        weights: list[list[int]] = [[] for _ in range(self.count)]
        at = 0
        while at < len(text):
            length = next((n for n in (4, 3, 2) if text[at:at + n] in self.groups), 1)
            some = self.groups[text[at:at + length]] if length > 1 else self.own[text[at]]
            for level, more in zip(weights, some):
                level += more
            at += length
        return weights

    def search(self, texts: list[str]) -> None:
        shown = {text: levels_of(weights, self.count) for text, weights in self.server.weights(self.collation, texts).items()}
        self.groups.update({text: weights for text, weights in shown.items() if weights != self.expected(text)})

    def words(self) -> list[int]:
        """Levels; of each its ranges; characters and groups by place of their weights; the weights. See `languages.rs`."""
        head = [self.count]
        for ranges in self.ranges:
            head += [len(ranges), *itertools.chain(*ranges)]
        groups = sorted(self.groups, key=lambda group: (group[0], -len(group), group))
        head += [len(self.chars), len(groups)]
        weights: list[int] = []
        places: dict[tuple, int] = {}
        first = len(head) + 3 * len(self.chars) + 5 * len(groups)

        def place(levels: list[list[int]]) -> int:
            words = tuple(itertools.chain(*([len(some), *some] for some in levels)))
            if words not in places:
                places[words] = first + len(weights)
                weights.extend(words)
            return places[words]

        body: list[int] = []
        for c in sorted(self.chars):
            body += [ord(c) & 0xFFFF, ord(c) >> 16, place(self.chars[c])]
        for group in groups:
            body += [*(ord(c) for c in group.ljust(4, "\0")), place(self.groups[group])]
        return head + body + weights


class EastAsian(Language):
    """A language with an order of ideographs: of those with a weight of their own, which no other characters have."""

    def __init__(self, server: Server, name: str, base: dict[str, list]):
        self.count, self.collation = EAST_ASIAN[name]
        self.server = server
        self.own = {c: self.filled(levels_of(w, self.count)) for c, w in server.base(self.collation).items()}
        base = {c: self.filled(levels) for c, levels in base.items()}
        self.ideographs = {c: levels[0][0] for c, levels in self.own.items()
                           if len(levels[0]) == 1 and len(base[c][0]) > 1 and base[c][0][0] >= 0xFB00
                           or len(levels[0]) == 1 and name == "zh" and self.is_moved_alone(base[c][0], levels[0])}
        self.ranges = [self.moves(base), *([] for _ in range(self.count - 1))]
        self.chars = {c: levels for c, levels in self.own.items() if levels != self.known(c, base[c])}
        self.groups = {}
        if name == "ja":
            # A mark at the beginning of a text weighs by the last sign of the text in MySQL; that is not taken for a group.
            pairs = [chr(a) + chr(b) for a, b in itertools.product(KANA, KANA) if chr(b) in CONTEXT_MARKS and chr(a) not in CONTEXT_MARKS]
        else:
            pairs = [chr(a) + chr(b) for a, b in itertools.product(ACCENTED, ACCENTED)]
        self.search(pairs)

    def filled(self, levels: list) -> list:
        return levels + [[]] * (self.count - len(levels))

    @staticmethod
    def is_moved_alone(before: list[int], after: list[int]) -> bool:
        """Whether a character has come among the ideographs, which begin where letters did."""
        return before != after and 0x1C47 <= after[0] < 0xBDBF

    def moves(self, base: dict) -> list[tuple[int, int, int]]:
        """First and last weight and what is added to them; 0: they get the prefix."""
        found: dict[int, Counter] = defaultdict(Counter)
        for c, levels in base.items():
            before, after = levels[0], self.own[c][0]
            if c in self.ideographs or not before:
                continue
            if len(after) == len(before):
                found[before[0]][(after[0] - before[0]) & 0xFFFF or None] += 1
            elif after[0] == PREFIX and after[1] == before[0]:
                found[before[0]][0] += 1
        ranges: list[list[int]] = []
        previous = None
        for weight in sorted(found):
            added = found[weight].most_common(1)[0][0]
            if added is not None and added == previous:
                ranges[-1][1] = weight
            elif added is not None:
                ranges.append([weight, weight, added])
            previous = added
        return [(first, last, added) for first, last, added in ranges]

    def ranged(self, weights: list[list[int]]) -> list[list[int]]:
        primary: list[int] = []
        for place, weight in enumerate(weights[0]):
            added = next((added for first, last, added in self.ranges[0] if first <= weight <= last), None)
            # What is computed moves by its first weight.
            if added is None or place and weight >= 0x8000:
                primary.append(weight)
            elif added == 0:
                primary += [PREFIX, weight]
            else:
                primary.append((weight + added) & 0xFFFF)
        return [primary, *weights[1:]]

    def known(self, c: str, base: list[list[int]]) -> list[list[int]]:
        """What a character weighs unless it is listed."""
        if c in self.ideographs:
            return self.filled([[self.ideographs[c]], [0x20], [2]])
        return self.ranged(base)

    def expected(self, text: str) -> list[list[int]]:
        return self.filled(super().expected(text))

    def search(self, texts: list[str]) -> None:
        shown = {text: self.filled(levels_of(weights, self.count)) for text, weights in self.server.weights(self.collation, texts).items()}
        self.groups.update({text: weights for text, weights in shown.items() if weights != self.expected(text)})

    def table(self) -> list[int]:
        """The order of ideographs; see `ideographs.rs`."""
        pages = max(ord(c) >> 8 for c in self.ideographs) + 1
        numbers, bits, weights = [], [], []
        for page in range(pages):
            mine = [c for c in range(page << 8, page + 1 << 8) if chr(c) in self.ideographs]
            numbers.append(len(bits) // 17 if mine else 0xFFFF)
            if mine:
                bits += [sum(1 << c % 16 for c in mine if c % 256 // 16 == word) for word in range(16)] + [len(weights)]
                weights += [self.ideographs[chr(c)] for c in mine]
        return [pages, 2 + pages + len(bits), *numbers, *bits, *weights]


def languages(server: Server) -> None:
    sections: list[list[int]] = []
    places: list[int] = []
    at = 1 + len(V4) + len(V9) + len(EAST_ASIAN)

    def add(language: Language) -> None:
        nonlocal at
        words = language.words()
        for place, section in zip(places, sections):
            if section == words:
                places.append(place)
                sections.append([])
                break
        else:
            places.append(at)
            sections.append(words)
            at += len(words)
        print(f"{language.collation}: {len(language.chars)} characters, {len(language.groups)} groups, {2 * len(sections[-1])} bytes", flush=True)

    base = {c: levels_of(w, 1) for c, w in server.base("utf8mb4_unicode_ci").items()}
    for name in V4:
        add(Language(server, f"utf8mb4_{name}_ci", base, 1))
    base = {c: levels_of(w, 3) for c, w in server.base("utf8mb4_0900_as_cs").items()}
    for name in V9:
        add(Language(server, f"utf8mb4_{name}_0900_as_cs", base, 3))
    for name in EAST_ASIAN:
        language = EastAsian(server, name, base)
        add(language)
        table = language.table()
        (DATA / f"ideographs-{name}.bin").write_bytes(struct.pack(f"<{len(table)}H", *table))
        print(f"{language.collation}: {len(language.ideographs)} ideographs, {2 * len(table)} bytes", flush=True)
    words = [len(places), *places, *itertools.chain(*sections)]
    (DATA / "languages.bin").write_bytes(struct.pack(f"<{len(words)}H", *words))


def bytes_of(server: Server, what: str, charset: str) -> list:
    """What an expression of each byte is."""
    rows = " UNION ALL ".join(f"SELECT {byte} AS byte, _{charset} x'{byte:02X}' AS c" for byte in range(256))
    return [row[0] for row in server.ask(f"SELECT {what} FROM ({rows}) b ORDER BY byte")]


def single_bytes(server: Server) -> None:
    sets = b""
    for name in SETS:
        chars = [int.from_bytes(c, "big") for c in bytes_of(server, "CAST(CONVERT(CONVERT(c USING utf8mb4) USING utf32) AS BINARY)", name)]
        # What has no character is converted to a question mark, or in `tis620` to U+FFFD.
        chars = [0 if c in (0x3F, 0xFFFD) and byte != 0x3F else c for byte, c in enumerate(chars)]
        sets += struct.pack("<256H", *chars) + b"".join(bytes_of(server, "CAST(UPPER(c) AS BINARY)", name))
        sets += b"".join(bytes_of(server, "CAST(LOWER(c) AS BINARY)", name))
    (DATA / "byte-sets.bin").write_bytes(sets)
    tables = b""
    for name in BYTE_COLLATIONS:
        weights = bytes_of(server, f"WEIGHT_STRING(c COLLATE {name})", name.split("_")[0])
        tables += bytes(some[0] for some in weights)
        if any(len(some) == 2 for some in weights):
            tables += bytes(some[1] if len(some) == 2 else 0 for some in weights)
    for name, (count, between, spaces) in TURNS.items():
        turns = [bytearray(256) for _ in range(count)]
        for byte, weights in enumerate(bytes_of(server, f"WEIGHT_STRING(c COLLATE {name})", name.split("_")[0])):
            shown = weights.rstrip(b"\0").split(between) if between else [weights[turn:turn + 1] for turn in range(count)]
            for turn, some in zip(turns, shown):
                turn[byte] = some[0] if some else spaces if byte in b"\t " else 0
        tables += b"".join(turns)
    (DATA / "byte-weights.bin").write_bytes(tables)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", type=Address.parse, required=True, metavar="HOST:PORT[:USER]", help="a MySQL 9.7 server")
    parser.add_argument("what", nargs="*", default=["languages", "bytes"], help="what to record: languages, bytes")
    options = parser.parse_args()
    server = Server(options.address)
    for what in options.what:
        {"languages": languages, "bytes": single_bytes}[what](server)


if __name__ == "__main__":
    main()
