#!/usr/bin/env python3
"""The floors: no crate and no module uses one that stands above it.

    tests/floors.py [--arrows]       with --arrows every arrow between the modules of a crate is printed as well

The floors are those drawn in docs/architecture.md, the block of text that begins with a line `crates/…`:

    crates/sql          statement text → rows
      session           transactions, statements, savepoints
      exec, ddl, show   queries and changes of data; definitions; SHOW
      plan              names, access paths, join order

A line may use the lines below it. Names with a comma between them stand on one floor and may not use each other. What stands
under a line of one name and further to the right are its parts, again from top to bottom. Behind two spaces a line says what it is.

Read are the members' Cargo.toml (their dependencies, not those of tests) and every path that begins with `crate::`, `super::` or
`self::` in the sources, without comments, strings and what is `#[cfg(test)]`. A name that a module's own file re-exports counts
as the module it comes from. Also checked: every crate and, where parts are drawn, every module is in the drawing, nothing
is drawn that is not there, no folders of one parent use each other in a circle, and each `allow(clippy::…)` gives its reason.

Rows have one way to be changed: above the engine, what it offers for that is called from the files in `MAY_CHANGE_ROWS` alone. Every
function that the engine's `access.rs` gives a transaction to is either known to change rows or known not to.

First the check itself is checked, on a crate made for it.
"""
import re
import tempfile
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from support.report import Report, suite_parser

ROOT = Path(__file__).resolve().parents[1]
DRAWING = ROOT / "docs/architecture.md"

Module = tuple[str, ...]        # the path of a module below its crate's root, which is ()


@dataclass
class Drawn:
    """A name in the drawing. Of two siblings the one on the higher floor may use the other."""
    name: str
    floor: int
    line: int
    parts: dict[str, "Drawn"] = field(default_factory=dict)


def read_drawing(text: str) -> dict[str, Drawn]:
    """Crate → what is drawn of it."""
    lines = text.splitlines()
    first = next(n for n, line in enumerate(lines) if re.match(r" *crates/\w", line))
    top: dict[str, Drawn] = {}
    open_at: list[tuple[int, dict[str, Drawn]]] = [(-1, top)]      # the lines that a following one may stand under, by their indent
    for number, line in enumerate(lines[first:], first + 1):
        if line.startswith("```"):
            break
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        names = [name.strip() for name in re.split(r"  +", line.strip())[0].split(",")]
        while open_at[-1][0] >= indent:
            open_at.pop()
        siblings = open_at[-1][1]
        drawn = {name.removeprefix("crates/"): Drawn(name, -number, number) for name in names}
        siblings.update(drawn)
        open_at.append((indent, next(iter(drawn.values())).parts))
    return top


# ----------------------------------------------------------------------------------------------- reading sources

TOKENS = re.compile(r"""//[^\n]* | /\*.*?\*/ | b?r(\#*)".*?"\1 | b?"(?:\\.|[^"\\])*" | b?'(?:\\[^u]|\\u\{\w+\}|\\x..|[^'\\])'""", re.VERBOSE | re.DOTALL)
TEST_ATTRIBUTE = re.compile(r"#\[cfg\((?:all\()?\s*test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*")
PATH_START = re.compile(r"(?<![\w:])((?:crate|self|super(?:::super)*)(?=::))")


def blank(found: re.Match) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def code_of(text: str) -> str:
    """The text without comments, strings and what is compiled for tests only; lines stay where they are."""
    text = TOKENS.sub(blank, text)
    while found := TEST_ATTRIBUTE.search(text):
        end = end_of_item(text, found.end())
        text = text[:found.start()] + re.sub(r"[^\n]", " ", text[found.start():end]) + text[end:]
    return text


def end_of_item(text: str, at: int) -> int:
    """Behind the `;` or the closing brace that ends the item at `at`."""
    depth = 0
    for position in range(at, len(text)):
        letter = text[position]
        if letter in "{([":
            depth += 1
        elif letter in "})]":
            depth -= 1
            if depth == 0 and letter == "}":
                return position + 1
        elif letter == ";" and depth == 0:
            return position + 1
    return len(text)


def test_files(text: str) -> set[str]:
    """Modules of files of their own that are declared for tests only."""
    return {found[1] for found in re.finditer(r"#\[cfg\((?:all\()?\s*test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", TOKENS.sub(blank, text))}


def paths_at(code: str, at: int) -> list[list[str]]:
    """The paths that begin at `at`: one, or as many as the tree of a `use` has leaves."""
    segment = re.compile(r"\s*(?:::)?\s*(?:r#)?(\w+|\*)")
    path: list[str] = []
    while True:
        if found := segment.match(code, at):
            path.append(found[1])
            at = found.end()
        if not (more := re.compile(r"\s*::\s*").match(code, at)):
            return [path]
        at = more.end()
        if code[at] == "{":
            end = end_of_item(code, at)
            return [path + rest for part in split_tree(code[at + 1:end - 1]) for rest in paths_at(part, 0)]
        if not re.match(r"[\w*]", code[at]):        # a turbofish
            return [path]


def split_tree(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return [part for part in [*parts, text[start:].strip()] if part]


@dataclass
class Use:
    """Module `user` names `path`, from the crate's root on."""
    user: Module
    path: list[str]
    file: Path
    line: int


class Crate:
    def __init__(self, folder: Path):
        self.folder, self.name = folder, folder.name
        self.files: dict[Module, Path] = {}
        self.is_folder: set[Module] = set()
        self.code: dict[Module, str] = {}
        root = next(path for path in (folder / "src/lib.rs", folder / "src/main.rs") if path.exists())
        self.read((), root, root.parent)
        # What a module's own file re-exports, by the name that it gives it: () for a glob.
        self.exports: dict[Module, dict[str, list[str]]] = {module: self.reexports(module) for module in self.files}
        self.uses = [use for module in self.files for use in self.uses_of(module)]

    def read(self, module: Module, file: Path, folder: Path) -> None:
        """`folder` is where the module's own modules lie."""
        text = file.read_text()
        self.files[module], self.code[module] = file, code_of(text)
        if file.name in ("mod.rs", "lib.rs", "main.rs"):
            self.is_folder.add(module)
        for found in re.finditer(r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", self.code[module], re.MULTILINE):
            name = found[1]
            for candidate in (folder / f"{name}.rs", folder / name / "mod.rs"):
                if candidate.exists():
                    self.read((*module, name), candidate, folder / name)

    def absolute(self, module: Module, path: list[str]) -> list[str]:
        if path[0] == "crate":
            return path[1:]
        base = list(module)
        while path and path[0] in ("super", "self"):
            if path[0] == "super" and base:
                base.pop()
            path = path[1:]
        return base + path

    def reexports(self, module: Module) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for use in re.finditer(r"^[ \t]*pub(?:\([^)]*\))?\s+use\s+", self.code[module], re.MULTILINE):
            end = self.code[module].index(";", use.end())
            for part in split_tree(self.code[module][use.end():end]):
                for path in paths_at(part, 0):
                    if path and path[0] not in ("crate", "self", "super"):
                        path = ["self", *path]
                    path = self.absolute(module, path)
                    if path[-1] == "self":
                        path = path[:-1]
                    found[path[-1]] = path
        return found

    def uses_of(self, module: Module) -> list[Use]:
        code, found = self.code[module], []
        for start in PATH_START.finditer(code):
            line = code.count("\n", 0, start.start()) + 1
            found += [Use(module, self.absolute(module, path), self.files[module], line) for path in paths_at(code, start.start())]
        return found

    def home(self, path: list[str], depth: int = 0) -> Module:
        """The module in which the path ends, re-exports followed."""
        module: Module = ()
        for at, name in enumerate(path):
            if (*module, name) in self.files:
                module = (*module, name)
                continue
            exported = self.exports[module].get(name)
            if exported and depth < 8 and exported != path[:at + 1]:
                return self.home(exported + path[at + 1:], depth + 1)
            break
        return module

    def arrows(self) -> dict[tuple[Module, Module], Use]:
        """Which module uses which, with the first place of each; but for a module and its own parts."""
        found: dict[tuple[Module, Module], Use] = {}
        for use in self.uses:
            used = self.home(use.path)
            if any(one != other for one, other in zip(use.user, used)):
                found.setdefault((use.user, used), use)
        return found


# ----------------------------------------------------------------------------------------------------- the rules

def place(use: Use) -> str:
    return f"{use.file.relative_to(ROOT)}:{use.line}"


def check_parts(crate: Crate, parent: Module, drawn: Drawn, arrows: dict[tuple[Module, Module], Use]) -> list[str]:
    """What is wrong between the modules of `parent` as the drawing has them."""
    there = {module[len(parent)] for module in crate.files if len(module) > len(parent) and module[:len(parent)] == parent}
    shown = "::".join((crate.name, *parent))
    wrong = [f"{shown} has a module {name} that is not drawn" for name in sorted(there - set(drawn.parts))]
    wrong += [f"docs/architecture.md:{part.line}: {shown} has no module {name}" for name, part in drawn.parts.items() if name not in there]
    at = len(parent)
    for (user, used), use in arrows.items():
        if len(user) <= at or len(used) <= at or user[:at] != parent or used[:at] != parent or user[at] == used[at]:
            continue
        one, other = drawn.parts.get(user[at]), drawn.parts.get(used[at])
        if one and other and one.floor <= other.floor:
            why = "stands above it" if one.floor < other.floor else "stands on the same floor"
            wrong.append(f"{place(use)}: {'::'.join(user)} uses {'::'.join(used)}, but {other.name} {why}")
    for name, part in drawn.parts.items():
        if part.parts and name in there:
            wrong += check_parts(crate, (*parent, name), part, arrows)
    return wrong


def circles(crate: Crate, arrows: dict[tuple[Module, Module], Use]) -> list[str]:
    """Folders of one parent that use each other, directly or through others."""
    wrong = []
    for parent in crate.is_folder:
        at, edges = len(parent), defaultdict(dict)
        for (user, used), use in arrows.items():
            if len(user) > at and len(used) > at and user[:at] == used[:at] == parent and user[at] != used[at]:
                if {(*parent, user[at]), (*parent, used[at])} <= crate.is_folder:
                    edges[user[at]].setdefault(used[at], use)
        for name in sorted(edges):
            if back := way(edges, name):
                steps = ", ".join(f"{one} → {other} ({place(edges[one][other])})" for one, other in zip(back, back[1:]))
                if back[0] == min(back):
                    wrong.append(f"a circle in {'::'.join((crate.name, *parent))}: {steps}")
    return wrong


def way(edges: dict[str, dict[str, Use]], start: str) -> list[str] | None:
    """The shortest way from `start` back to it."""
    ways, seen = [[start]], set()
    while ways:
        steps = ways.pop(0)
        for following in edges.get(steps[-1], {}):
            if following == start:
                return [*steps, start]
            if following not in seen:
                seen.add(following)
                ways.append([*steps, following])
    return None


def without_reason(file: Path) -> list[str]:
    """Lints of clippy's that are silenced without a `reason = "…"`."""
    found = re.finditer(r"^[ \t]*#!?\[(?:cfg_attr\(.*?)?allow\((clippy::[^\]]*)\]", file.read_text(), re.MULTILINE)
    return [f"{file.relative_to(ROOT)}: {one[1].split(',')[0].rstrip(')')} is allowed without a reason" for one in found if "reason" not in one[1]]


# Where calls that change rows may stand, and why.
ROW_WRITER = "crates/sql/src/exec/change/row_writer/"
MAY_CHANGE_ROWS = {
    ROW_WRITER: {"insert_with", "modify", "modify_duplicate", "modify_range", "update_range"},
    # ALTER's copy goes into a table that no name leads to yet: triggers are not activated by it, nor is it logged row by row.
    "crates/database/src/ddl/alter/copy.rs": {"copy_rows"},
    # Indexes get entries of rows that stay as they are.
    "crates/database/src/ddl/alter/carry_out.rs": {"add_index", "finish_build"},
    # Rows go with their table's trees, as in MySQL without triggers and row events.
    "crates/database/src/ddl/drop.rs": {"Ddl::truncate"},
}
CHANGES_ROWS = {"insert", "insert_with", "modify", "modify_duplicate", "modify_range", "update_range"}
CHANGES_TABLES = {"copy_rows", "add_index", "finish_build", "truncate"}
KEEPS_ROWS = {"get", "scan", "scan_to_change"}
ACCESS = ROOT / "crates/engine/src/access.rs"


def row_changes(code: str) -> list[tuple[str, int]]:
    """The calls that change rows of a table, each with its line. `insert` and `truncate` are also what maps and lists have: the one is
    given a transaction, the other is asked of `ddl`."""
    named = "|".join(sorted((CHANGES_ROWS | CHANGES_TABLES) - {"insert", "truncate", "add_index", "finish_build"}))
    calls = re.compile(rf"\.\s*({named})\s*\(|\.\s*(insert)\s*\(\s*[^,()]*\btxn\b|\bddl\s*\.\s*(truncate|add_index|finish_build)\s*\(")
    found = []
    for call in calls.finditer(code):
        name = next(filter(None, call.groups()))
        found.append((f"Ddl::{name}" if name == "truncate" else name, code.count("\n", 0, call.start()) + 1))
    return found


def unknown_access(text: str) -> set[str]:
    """The engine's functions that are given a transaction and of which it is not known whether they change rows."""
    functions = re.findall(r"pub fn (\w+)[^{]*?txn: &mut Transaction", code_of(text))
    return set(functions) - CHANGES_ROWS - KEEPS_ROWS


def wrong_changes(crates: list[Crate]) -> list[str]:
    wrong = [f"{ACCESS.relative_to(ROOT)}: does {name} change rows? tests/floors.py is to know" for name in sorted(unknown_access(ACCESS.read_text()))]
    used = defaultdict(set)
    for crate in crates:
        for module, code in crate.code.items():
            path = str(crate.files[module].relative_to(ROOT))
            place = next((place for place in MAY_CHANGE_ROWS if path.startswith(place)), path)
            for name, line in row_changes(code):
                used[place].add(name)
                if name not in MAY_CHANGE_ROWS.get(place, ()):
                    wrong.append(f"{path}:{line}: {name} changes rows past the row writer")
    for place, names in MAY_CHANGE_ROWS.items():
        wrong += [f"tests/floors.py: {place} does not call {name}" for name in sorted(names - used[place])]
    return wrong


def check_the_checker(report: Report) -> None:
    """A crate with one arrow of each kind, and what must be found in it."""
    drawing = read_drawing("# One\n\n```\n crates/toy     a toy\n   top           uses all\n   left, right   side by side\n   low\n```\n")
    sources = {
        "lib.rs": "mod left;\nmod low;\nmod right;\nmod top;\npub use top::Named;\n",
        "top.rs": "use crate::{left::{self, L}, low::Low};\npub struct Named;\n",
        "left/mod.rs": "// use crate::top::Named;\nconst S: &str = \"crate::top\";\n#[cfg(test)]\nmod tests {\n    use crate::top::Named;\n}\nuse super::right::inner::R;\npub struct L;\n",
        "right/mod.rs": "mod inner;\nfn f() { crate::left::g::<u8>(); }\n",
        "right/inner.rs": "pub struct R;\n",
        "low.rs": "use crate::Named;\npub struct Low;\n",
    }
    with tempfile.TemporaryDirectory(dir=ROOT / "tests") as home:
        for name, text in sources.items():
            file = Path(home) / "toy/src" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        toy = Crate(Path(home) / "toy")
        arrows = toy.arrows()
        prefix = f"{Path(home).relative_to(ROOT)}/toy/src/"
        wrong = [line.replace(prefix, "") for line in check_parts(toy, (), drawing["toy"], arrows) + circles(toy, arrows)]
    report.equal(wrong, ["left/mod.rs:7: left uses right::inner, but right stands on the same floor", "low.rs:1: low uses top, but top stands above it",
                         "right/mod.rs:2: right uses left, but left stands on the same floor",
                         "a circle in toy: left → right (left/mod.rs:7), right → left (right/mod.rs:2)"], "checker")
    code = "map.insert(key, 1);\ntable\n    .insert(&mut txn.borrow_mut(), row);\nt.modify_range(txn, f)\nlist.truncate(1); change.ddl.truncate(id)\nt.modifying(txn)"
    report.equal(row_changes(code), [("insert", 3), ("modify_range", 4), ("Ddl::truncate", 5)], "row_changes/checker")
    unknown = unknown_access("impl Table {\n pub fn get(&self, txn: &mut Transaction) {}\n pub fn upsert(&self,\n txn: &mut Transaction) {}\n pub fn id(&self) {}\n}")
    report.equal(unknown, {"upsert"}, "row_changes/access_checker")


def dependencies(folder: Path) -> list[str]:
    """The members of the workspace that a crate is built on."""
    manifest = tomllib.loads((folder / "Cargo.toml").read_text())
    return [name.removeprefix("tidemark-") for name in manifest.get("dependencies", {}) if name.startswith("tidemark-")]


def main() -> None:
    parser = suite_parser(__doc__)
    parser.add_argument("--arrows", action="store_true", help="print every arrow between the modules of a crate")
    options = parser.parse_args()
    report = Report("floors", options.filters)
    check_the_checker(report)
    drawing = read_drawing(DRAWING.read_text())
    folders = {path.parent.name: path.parent for path in sorted(ROOT.glob("crates/*/Cargo.toml"))}
    wrong = [f"crates/{name} is not drawn" for name in folders if name not in drawing]
    wrong += [f"docs/architecture.md:{crate.line}: there is no crates/{name}" for name, crate in drawing.items() if name not in folders]
    for name, folder in folders.items():
        for used in dependencies(folder):
            if name in drawing and used in drawing and drawing[name].floor <= drawing[used].floor:
                wrong.append(f"crates/{name}/Cargo.toml: {name} uses {used}, which does not stand below it")
    report.check(not wrong, "crates", "".join(f"\n    {line}" for line in wrong))
    crates = {name: Crate(folder) for name, folder in folders.items()}
    for name, crate in crates.items():
        arrows = crate.arrows()
        if options.arrows:
            pairs = sorted({(user[0], used[0]) for user, used in arrows if user and used and user[0] != used[0]})
            print("".join(f"  {name}: {user} → {used}\n" for user, used in pairs), end="")
        if name in drawing and drawing[name].parts and report.wants(name):
            wrong = check_parts(crate, (), drawing[name], arrows)
            report.check(not wrong, f"{name}/modules", "".join(f"\n    {line}" for line in wrong))
        if report.wants(name):
            wrong = circles(crate, arrows)
            report.check(not wrong, f"{name}/circles", "".join(f"\n    {line}" for line in wrong))
    if report.wants("row_changes"):
        wrong = wrong_changes([crates["database"], crates["sql"]])
        report.check(not wrong, "row_changes", "".join(f"\n    {line}" for line in wrong))
    unreasoned = [line for file in sorted(ROOT.glob("crates/**/*.rs")) for line in without_reason(file)]
    report.check(not unreasoned, "reasons", "".join(f"\n    {line}" for line in unreasoned))
    report.close()


if __name__ == "__main__":
    main()
