"""Every function, aggregate, window function and operator that the sources know, as templates of SQL with `{}` for each operand.

Functions are read from the tables below `crates/expr/src/func`, aggregates and window functions from the matches that resolve their names,
operators and the syntaxes of expressions from the parser's enumerations. What is added there is covered here by itself; a new kind of expression
fails until `SYNTAXES` says how it is written.
"""
import re

from support.server import ROOT

CRATES = ROOT / "crates"
DEFINITION = re.compile(r'\b(?:def|stable|volatile)\(\s*("[a-z0-9_. ]+"|[A-Z_]+),\s*\((\d+),\s*(\d+|MANY)\)')
ANY_DEFINITION = re.compile(r"\b(?:def|stable|volatile)\(\s*(?:\"|[A-Z_]+,)")
CONSTANT = re.compile(r'\bconst ([A-Z_]+): &str = "([^"]+)";')
# A call of more operands does nothing else with them.
OPERANDS_MAX = 4

# What waits by its meaning, or writes to what others see.
LEFT_OUT = {"sleep", "get_lock", "release_lock", "release_all_locks", "is_free_lock", "is_used_lock", "load_file"}
# What is not written as a call of its operands.
SPELLED = {
    "trim_leading": ["TRIM(LEADING FROM {})", "TRIM(LEADING {} FROM {})"],
    "trim_trailing": ["TRIM(TRAILING FROM {})", "TRIM(TRAILING {} FROM {})"],
    "trim": ["TRIM({})", "TRIM(BOTH {} FROM {})"],
    "position": ["POSITION({} IN {})"],
    "json_value": ["JSON_VALUE({}, '$[0]')", "JSON_VALUE({}, '$[1]' RETURNING CHAR)"],
    "member of": ["{} MEMBER OF ({})"],
    "timestampdiff": ["TIMESTAMPDIFF(SECOND, {}, {})"],
    "timestampadd": ["TIMESTAMPADD(SECOND, {}, {})"],
    "get_format": ["GET_FORMAT(DATE, {})"],
    "interval": ["INTERVAL({}, {})", "INTERVAL({}, {}, {})"],
    "benchmark": ["BENCHMARK(1000000000, {})"],
    # Only in the definition of an index.
    "cast_as_array": [],
    "name_const": [],
}
SCHEMA = "CAST('{\"type\": \"array\", \"uniqueItems\": true, \"items\": {\"type\": \"string\", \"pattern\": \"(a+)+b\"}}' AS JSON)"
# The kinds of expressions in the parser's tree.
SYNTAXES = {
    "Literal": ["DATE {}", "TIMESTAMP {}"],
    "And": ["{} AND {}"], "Or": ["{} OR {}"], "Not": ["NOT {}"],
    "IsNull": ["{} IS NULL"], "IsTruth": ["{} IS TRUE"],
    "Between": ["{} BETWEEN {} AND {}"],
    "InList": ["{} IN ({}, {})", "({}, 1) IN (({}, 2), ({}, 3))"],
    "InQuery": ["{} IN (SELECT {})"], "Quantified": ["{} > ALL (SELECT {})"],
    "Exists": ["EXISTS (SELECT {} AS x HAVING x = {})"],
    "Subquery": ["(SELECT {} UNION SELECT {} LIMIT 1)", "(SELECT COUNT(DISTINCT x) FROM (SELECT {} AS x UNION ALL SELECT {}) y)",
                 "(SELECT x FROM (SELECT {} AS x UNION ALL SELECT {}) y ORDER BY x LIMIT 1)",
                 "(SELECT COUNT(*) FROM (SELECT {} AS x) y JOIN (SELECT {} AS x) z USING (x))",
                 "(SELECT COUNT(*) FROM JSON_TABLE({}, '$[*]' COLUMNS (a CHAR(10) PATH '$')) j)",
                 "(SELECT COUNT(*) FROM JSON_TABLE({}, '$[*]' COLUMNS (a CHAR(10) PATH '$', NESTED PATH '$[*]' COLUMNS (b INT PATH '$'))) j)"],
    "Like": ["{} LIKE {}", "{} LIKE CONCAT('%', {}, '%b')", "{} LIKE {} ESCAPE '|'"],
    "Regexp": ["{} REGEXP {}", "{} REGEXP '(a+)+$|(ab,?)*c'"],
    "Case": ["CASE {} WHEN {} THEN 1 ELSE {} END"],
    "Cast": [f"CAST({{}} AS {ty})" for ty in
             ("BINARY", "CHAR", "CHAR CHARACTER SET latin1", "NCHAR", "SIGNED", "UNSIGNED", "DECIMAL(65, 30)", "DOUBLE", "FLOAT", "DATE", "TIME(6)", "DATETIME(6)",
              "YEAR", "JSON", "BINARY(1000000)", "CHAR(1000000)")],
    "ConvertUsing": [f"CONVERT({{}} USING {name})" for name in ("utf8mb4", "utf8mb3", "latin1", "utf16", "utf32", "sjis", "gbk", "gb18030", "ascii", "binary")],
    "Collate": [f"{{}} COLLATE {name} {operator} {{}}" for name in ("utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_unicode_ci", "utf8mb4_general_ci",
                                                                       "utf8mb4_bin", "utf8mb4_0900_bin", "utf8mb4_de_pb_0900_ai_ci", "utf8mb4_ja_0900_as_cs_ks")
                for operator in ("<", "LIKE")] + ["WEIGHT_STRING({} COLLATE utf8mb4_ja_0900_as_cs_ks)"],
    "AssignVar": ["@x := {}"],
    "Interval": [f"{{}} + INTERVAL {{}} {unit}" for unit in ("DAY", "SECOND", "DAY_MICROSECOND", "YEAR_MONTH")] + ["EXTRACT(DAY_MICROSECOND FROM {})"],
    "Row": ["({}, {}) < ({}, {})", "({}, 1) = ({}, 1)"],
    "Function": [f"JSON_SCHEMA_VALID({SCHEMA}, {{}})", "{} -> '$[*]'", "{} ->> '$**.a'", "CHAR({}, {} USING utf8mb4)", "WEIGHT_STRING({} AS CHAR(1000000))",
                 "JSON_EXTRACT({}, '$**[*]')", "JSON_SEARCH({}, 'all', '%a%b')", "JSON_SET({}, '$[last]', {})"],
    # Operators are listed by themselves; the others have no operand, or cannot stand in a query without tables.
    "Unary": [], "Binary": [], "Chain": [], "Param": [], "Column": [], "Local": [], "Transition": [], "UserVar": [], "SysVar": [], "Values": [], "Default": [], "Unsupported": [],
}
UNARY = {"Minus": "-{}", "Plus": "+{}", "BitNot": "~{}", "Binary": "BINARY {}"}
OVER = {"ROW_NUMBER": [], "RANK": [], "DENSE_RANK": [], "PERCENT_RANK": [], "CUME_DIST": [], "NTILE": [], "LAG": ["LAG(x, 1, {})"], "LEAD": ["LEAD(x, 1, {})"],
        "FIRST_VALUE": ["FIRST_VALUE(x)"], "LAST_VALUE": ["LAST_VALUE(x)"], "NTH_VALUE": ["NTH_VALUE(x, 2)"]}


def functions():
    """Each function's name, with the least and the most operands that are tried."""
    found = {}
    for source in sorted((CRATES / "expr/src/func").rglob("*.rs")):
        text = source.read_text()
        constants = dict(CONSTANT.findall(text))
        defined = DEFINITION.findall(text)
        assert len(defined) == len(ANY_DEFINITION.findall(text)), f"{source}: a definition is not understood"
        for name, least, most in defined:
            name = name.strip('"') if name.startswith('"') else constants.get(name)
            if name:
                found[name] = (int(least), OPERANDS_MAX if most == "MANY" else int(most))
    return found


def variants(path, name):
    """The names of an enumeration's variants."""
    body = re.search(rf"pub enum {name} \{{\n(.*?)\n\}}", (CRATES / path).read_text(), re.DOTALL).group(1)
    return re.findall(r"^    ([A-Z]\w*)", body, re.MULTILINE)


def templates():
    """All of them, each with a name."""
    for name, (least, most) in sorted(functions().items()):
        if name in LEFT_OUT:
            continue
        spelled = SPELLED.get(name)
        if spelled is None:
            counts = sorted({least or 1, min(most, OPERANDS_MAX), min(most, least + 1)} - {0})
            spelled = [f"{name}({', '.join(['{}'] * count)})" for count in counts if count <= most]
        yield from ((name, template) for template in spelled)
    operators = re.search(r"fn text\(self\).*?\n    \}\n", (CRATES / "parse/src/ast/expr.rs").read_text(), re.DOTALL).group(0)
    written = dict(re.findall(r'(\w+) => "([^"]+)"', operators))
    for variant in variants("parse/src/ast/expr.rs", "BinaryOp"):
        yield variant, f"{{}} {written[variant]} {{}}"
    for variant in variants("parse/src/ast/expr.rs", "UnaryOp"):
        yield variant, UNARY[variant]
    for variant in variants("parse/src/ast/expr.rs", "Expr"):
        yield from ((variant, template) for template in SYNTAXES[variant])
    aggregate = re.search(r"\nfn by_name\(.*?\n\}\n", (CRATES / "expr/src/aggregate.rs").read_text(), re.DOTALL).group(0)
    for name in re.findall(r'"([a-z_]+)"', aggregate):
        operands = "x, x" if name == "json_objectagg" else "x"
        for distinct in ("", "DISTINCT ") if name in ("count", "group_concat", "sum") else ("",):
            yield name, f"(SELECT {name}({distinct}{operands}) FROM (SELECT {{}} AS x UNION ALL SELECT {{}} UNION ALL SELECT {{}}) y)"
    window = re.search(r"pub fn resolve\(.*?\n    \}\n", (CRATES / "expr/src/window.rs").read_text(), re.DOTALL).group(0)
    for name in re.findall(r'"([A-Z_]+)" =>', window):
        for call in OVER[name] or [f"{name}({'2' if name == 'NTILE' else ''})"]:
            yield name, f"(SELECT MAX(w) FROM (SELECT {call} OVER (PARTITION BY x ORDER BY x) AS w FROM (SELECT {{}} AS x UNION ALL SELECT {{}}) y) z)".replace(
                "{}) OVER", "'b') OVER")
