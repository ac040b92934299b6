"""Every recursive form of the grammar, as a statement of any depth or length.

`DEEP` nests: what stands inside the innermost parenthesis is `n` levels below the statement. `LONG` only repeats: a
chain of operators, a list. A form is a function of `n` that returns the statement; both kinds are read by the tests of
depth, which ask for powers of two up to 100,000.
"""


def nested(before, inner, after=""):
    return lambda n: before * n + inner + after * n


def select(before, inner, after=""):
    return lambda n: "SELECT " + before * n + inner + after * n


def chain(first, link):
    return lambda n: "SELECT " + first + link * n


def listed(start, item, end="", separator=", "):
    return lambda n: start + separator.join([item] * max(n, 1)) + end


def numbered(start, item, end="", separator=" "):
    """A list whose members have a number each, as names must differ."""
    return lambda n: start + separator.join(item.replace("#", str(i)) for i in range(max(n, 1))) + end


def common_tables(n):
    """A common table inside the query of a common table."""
    return "WITH t AS (" * n + "SELECT 1 AS a" + ") SELECT * FROM t" * n


def common_tables_in_turn(n):
    """A common table for each step, each of the one before."""
    steps = ["t0 AS (SELECT 1 AS a)"] + [f"t{i} AS (SELECT a FROM t{i - 1})" for i in range(1, n + 1)]
    return "WITH " + ", ".join(steps) + f" SELECT * FROM t{n}"


def right_nested_joins(n):
    return "SELECT 1 FROM one a" + "".join(f" JOIN one b{i}" for i in range(n)) + " ON 1" * n


def wider(depth_of_chain):
    """A chain of additions in the first operand of every parenthesis: what is counted is the tree's height, not the
    parser's recursion alone."""
    return lambda n: "SELECT " + "(" * n + "1" + ("+1" * depth_of_chain + ")") * n


def arrow_paths(depth_of_chain):
    return lambda n: "SELECT " + "ABS(" * n + "doc" + (" -> '$.a'" * depth_of_chain + ")") * n + " FROM one"


DEEP = {
    "parentheses": select("(", "1", ")"),
    "parentheses around a column": lambda n: "SELECT " + "(" * n + "a" + ")" * n + " FROM one",
    "parentheses and plus": select("(1+", "1", ")"),
    "parentheses and plus, at the left": select("(", "1", "+1)"),
    "parentheses and AND": select("(1 AND ", "1", ")"),
    "parentheses and OR, AND": select("(0 OR (1 AND ", "1", "))"),
    "chains in parentheses": wider(8),
    "chains of 40 in parentheses": wider(40),
    "minus": select("- ", "1"),
    "plus": select("+ ", "1"),
    "tilde": select("~ ", "1"),
    "bang": select("! ", "1"),
    "NOT": select("NOT ", "1"),
    "BINARY": select("BINARY ", "'a'"),
    "COLLATE": select("", "'a'", " COLLATE utf8mb4_bin"),
    "arrow": lambda n: "SELECT doc" + " -> '$.a'" * n + " FROM one",
    "long arrow": lambda n: "SELECT doc" + " ->> '$.a'" * n + " FROM one",
    "arrows in calls": arrow_paths(8),
    "IS NULL": select("", "1", " IS NULL"),
    "IS TRUE": select("", "1", " IS NOT TRUE"),
    "= ANY": select("", "1", " = ANY (SELECT 1)"),
    "IN a list, within": select("1 IN (", "1", ")"),
    "IN a list, after": select("", "1", " IN (1)"),
    "BETWEEN": select("1 BETWEEN 0 AND ", "1"),
    "BETWEEN, in parentheses": select("(1 BETWEEN 0 AND ", "1", ")"),
    "BETWEEN, the value": select("(", "1", " BETWEEN 0 AND 1)"),
    "LIKE": select("('a' LIKE ", "'a'", ")"),
    "REGEXP": select("('1' REGEXP ", "'1'", ")"),
    "SOUNDS LIKE": select("('a' SOUNDS LIKE ", "'a'", ")"),
    "CASE, the operand": select("CASE ", "1", " WHEN 1 THEN 1 END"),
    "CASE, the condition": select("CASE WHEN ", "1", " THEN 1 END"),
    "CASE, the value": select("CASE WHEN 1 THEN ", "1", " END"),
    "CASE, otherwise": select("CASE WHEN 0 THEN 1 ELSE ", "1", " END"),
    "ABS": select("ABS(", "1", ")"),
    "IF": select("IF(1,", "1", ",0)"),
    "COALESCE": select("COALESCE(NULL,", "1", ")"),
    "CONCAT": select("CONCAT('', ", "'a'", ")"),
    "HEX": select("LEFT(HEX(", "'a'", "), 1)"),
    "CAST": select("CAST(", "1", " AS SIGNED)"),
    "CONVERT USING": select("CONVERT(", "'a'", " USING utf8mb4)"),
    "DATE_ADD": select("DATE_ADD(", "'2020-01-01'", ", INTERVAL 1 DAY)"),
    "INTERVAL, the amount": select("'2020-01-01' + INTERVAL ", "1", " DAY"),
    "INTERVAL, leading": select("INTERVAL 1 DAY + ", "'2020-01-01'"),
    "INTERVAL, following": select("", "DATE'2020-01-01'", " + INTERVAL 1 SECOND"),
    "INTERVAL()": select("INTERVAL(", "1", ", 1)"),
    "EXTRACT": select("EXTRACT(YEAR FROM ", "'2020-01-01'", ")"),
    "TRIM": select("TRIM(BOTH 'x' FROM ", "'a'", ")"),
    "SUBSTRING": select("SUBSTRING(", "'a'", " FROM 1 FOR 1)"),
    "JSON_ARRAY": select("JSON_ARRAY(", "1", ")"),
    "JSON text": lambda n: "SELECT JSON_VALID('" + "[" * n + "]" * n + "')",
    "JSON path": lambda n: "SELECT JSON_EXTRACT('[]', '$" + "[0]" * n + "')",
    "XPath of predicates": lambda n: "SELECT EXTRACTVALUE('<a>1</a>', '" + "a[" * n + "1" + "]" * n + "')",
    "XPath of functions": lambda n: "SELECT EXTRACTVALUE('<a>1</a>', '" + "not(" * n + "1" + ")" * n + "')",
    "XPath of steps": lambda n: "SELECT EXTRACTVALUE('<a>1</a>', '" + "/a" * n + "')",
    "XPath of operators": lambda n: "SELECT EXTRACTVALUE('<a>1</a>', '1" + "+1" * n + "')",
    "XPath of sets": lambda n: "SELECT EXTRACTVALUE('<a>1</a>', '/a" + "|/a" * n + "')",
    "XPath of places": lambda n: "SELECT EXTRACTVALUE('<a>1</a>', '/a" + "[1]" * n + "')",
    "regular expression": lambda n: "SELECT 'a' REGEXP '" + "(" * n + "a" + ")" * n + "'",
    "regular expression, repeated": lambda n: "SELECT 'a' REGEXP 'a" + "*" * n + "'",
    "ROW": select("ROW(1, ", "1", ")"),
    "@v :=": select("@v := ", "1"),
    "aggregate": lambda n: "SELECT " + "(1 + " * n + "MAX(a)" + ")" * n + " FROM one",
    "subquery": select("(SELECT ", "1", ")"),
    "subquery and plus": select("(SELECT 1 + ", "1", ")"),
    "subquery in WHERE": lambda n: "SELECT 1 FROM one WHERE a = (" + "SELECT a FROM one WHERE a = (" * n + "1" + ")" * n + ")",
    "EXISTS": select("EXISTS (SELECT ", "1", ")"),
    "IN a query": select("1 IN (SELECT ", "1", ")"),
    "IN a query in WHERE": lambda n: "SELECT 1 FROM one WHERE " + "a IN (SELECT a FROM one WHERE " * n + "a = 1" + ")" * n,
    "correlated": lambda n: "SELECT a FROM one WHERE " + "EXISTS (SELECT 1 FROM one x WHERE x.a = one.a AND " * n + "1" + ")" * n,
    "derived table": nested("SELECT * FROM (", "SELECT 1 AS a", ") t"),
    "derived table with an expression": nested("SELECT a + 1 AS a FROM (", "SELECT 1 AS a", ") t"),
    "derived table with parentheses": nested("SELECT ((((a + 1) + 1) + 1) + 1) AS a FROM (", "SELECT 1 AS a", ") t"),
    "common table": common_tables,
    "common tables in turn": common_tables_in_turn,
    "query in parentheses": nested("(", "SELECT 1", ")"),
    "query in parentheses with LIMIT": nested("(", "SELECT 1", " LIMIT 1)"),
    "UNION in parentheses": nested("(SELECT 1 UNION ", "SELECT 1", ")"),
    "UNION in parentheses, at the left": nested("(", "SELECT 1", " UNION SELECT 1)"),
    "join in parentheses": lambda n: "SELECT 1 FROM " + "(" * n + "one" + ")" * n,
    "join in parentheses, right": lambda n: "SELECT 1 FROM " + "".join(f"(one a{i} JOIN " for i in range(n)) + "one" + ")" * n,
    "join in parentheses, left": lambda n: "SELECT 1 FROM " + "(" * n + "one" + "".join(f" JOIN one a{i})" for i in range(n)),
    "joins whose ON follow": right_nested_joins,
    "ON inside ON": lambda n: "SELECT 1 FROM one a JOIN one b ON " + "(1 AND " * n + "1" + ")" * n,
    "DO": lambda n: "DO " + "(" * n + "1" + ")" * n,
    "SET @a": lambda n: "SET @a = " + "(1+" * n + "1" + ")" * n,
    "INSERT": lambda n: "INSERT INTO sink (a) VALUES (" + "(1+" * n + "1" + ")" * n + ")",
    "UPDATE": lambda n: "UPDATE one SET a = " + "(1+" * n + "0" + ")" * n + " WHERE a = -1",
    "UPDATE WHERE": lambda n: "UPDATE one SET a = 1 WHERE a = " + "(1+" * n + "1" + ")" * n,
    "DELETE": lambda n: "DELETE FROM sink WHERE a = " + "(1+" * n + "1" + ")" * n,
    "ON DUPLICATE KEY UPDATE": lambda n: "INSERT INTO sink (a) VALUES (1) ON DUPLICATE KEY UPDATE a = " + "(1+" * n + "1" + ")" * n,
    "DEFAULT": lambda n: "CREATE TABLE IF NOT EXISTS sink (a INT DEFAULT (" + "(1+" * n + "1" + ")" * n + "))",
    "CHECK": lambda n: "CREATE TABLE IF NOT EXISTS sink (a INT, CHECK (a > " + "(1+" * n + "1" + ")" * n + "))",
    "EXPLAIN": lambda n: "EXPLAIN FORMAT=TREE SELECT a FROM one WHERE a > " + "(a+" * n + "1" + ")" * n,
    "EXPLAIN of EXPLAIN": nested("EXPLAIN ", "SELECT 1"),
    "PREPARE": lambda n: "PREPARE p FROM 'SELECT " + "(1+" * n + "1" + ")" * n + "'",
    "ORDER BY": lambda n: "SELECT a FROM one ORDER BY " + "(1+" * n + "a" + ")" * n,
    "GROUP BY": lambda n: "SELECT COUNT(*) FROM one GROUP BY " + "(1+" * n + "a" + ")" * n,
    "HAVING": lambda n: "SELECT a FROM one HAVING a < " + "(1+" * n + "1" + ")" * n,
    "version comment": nested("/*!50000 ", "SELECT 1", " */"),
}

def windows_in_turn(n):
    """A window for each step, each of which goes on from the next."""
    steps = [f"w{i} AS (w{i + 1})" for i in range(n)] + [f"w{n} AS (ORDER BY a)"]
    return "SELECT SUM(a) OVER w0 FROM one WINDOW " + ", ".join(steps)


LONG = {
    "windows of which each goes on from the next": windows_in_turn,
    "windows without a name": listed("SELECT 1 FROM one WHERE a = 0 ORDER BY ", "SUM(a) OVER (ORDER BY a)", separator=" + "),
    "plus": chain("1", "+1"),
    "plus after parentheses": chain("(1)", "+1"),
    "minus": chain("1", "-1"),
    "times": chain("1", "*1"),
    "divided": chain("1", "/1"),
    "DIV": chain("1", " DIV 1"),
    "modulo": chain("1", "%2"),
    "plus and times": chain("1", "+1*1"),
    "bit or": chain("1", "|1"),
    "bit and": chain("1", "&1"),
    "bit xor": chain("1", "^1"),
    "shift": chain("1", "<<0"),
    "OR": chain("0", " OR 0"),
    "pipes": chain("0", " || 0"),
    "AND": chain("1", " AND 1"),
    "XOR": chain("1", " XOR 1"),
    "OR of AND": chain("0", " OR 0 AND 1"),
    "equals": chain("1", " = 1"),
    "less": chain("1", " < 2"),
    "null-safe": chain("1", " <=> 1"),
    "mixed comparisons": chain("1", " = 1 < 2 <> 5"),
    "decimals": chain("1.5", " + 1.5 - 1.5"),
    "columns": lambda n: "SELECT a" + " + a" * n + " FROM one",
    "conditions": lambda n: "SELECT a FROM one WHERE a = 1" + " OR a = 2" * n,
    "conditions of two": lambda n: "SELECT a FROM one WHERE (a = 1 AND a = 1)" + " OR (a = 2 AND a = 3)" * n,
    "JSON conditions": lambda n: "SELECT a FROM one WHERE a = 1" + " OR doc -> '$.a' = 2" * n,
    "IN": lambda n: "SELECT a FROM one WHERE a IN (1" + ", 2" * n + ")",
    "IN of strings": lambda n: "SELECT a FROM one WHERE 'a' IN ('a'" + ", 'b'" * n + ")",
    "IN of rows": lambda n: "SELECT a FROM one WHERE (a, 1) IN ((1, 1)" + ", (2, 2)" * n + ")",
    "NOT IN": lambda n: "SELECT a FROM one WHERE a NOT IN (3" + ", 2" * n + ")",
    "CONCAT": listed("SELECT CONCAT(", "''", ")"),
    "COALESCE": listed("SELECT COALESCE(NULL, ", "1", ")"),
    "CASE": lambda n: "SELECT CASE 0" + " WHEN 1 THEN 1" * max(n, 1) + " END",
    "VALUES": listed("INSERT INTO sink (a) VALUES ", "(1)"),
    "UNION": lambda n: "SELECT 1" + " UNION SELECT 1" * n,
    "UNION ALL": lambda n: "SELECT 1" + " UNION ALL SELECT 1" * n,
    "EXCEPT": lambda n: "SELECT 1" + " EXCEPT SELECT 2" * n,
    "INTERSECT": lambda n: "SELECT 1" + " INTERSECT SELECT 1" * n,
    "mixed set operations": lambda n: "SELECT 1" + " UNION SELECT 1 EXCEPT SELECT 2 INTERSECT SELECT 2" * n,
    "comma joins": numbered("SELECT 1 FROM ", "one t#", separator=", "),
    "cross joins": numbered("SELECT 1 FROM one", " CROSS JOIN one t# ON 1"),
    "left joins": numbered("SELECT 1 FROM one", " LEFT JOIN one t# ON t#.a = one.a"),
    "natural joins": numbered("SELECT 1 FROM one", " NATURAL JOIN one t#"),
    "derived in joins": numbered("SELECT 1 FROM one", " JOIN (SELECT 1) t#"),
    "select list": listed("SELECT ", "1"),
    "GROUP BY": listed("SELECT 1 FROM one GROUP BY ", "a"),
    "ORDER BY": listed("SELECT 1 FROM one ORDER BY ", "a"),
    "subqueries side by side": listed("SELECT ", "(SELECT 1)", separator=" + "),
    "strings side by side": chain("'a'", " 'a'"),
    "LIKE of percents": lambda n: "SELECT 'abc' LIKE '" + "%" * n + "'",
    "LIKE of percents and letters": lambda n: "SELECT REPEAT('a', 1000) LIKE '" + "%a" * n + "b'",
    "SET": listed("SET ", "@a = 1"),
    "semicolons": lambda n: "SELECT 1" + ";" * n,
    "comments": lambda n: "SELECT 1" + " /* x */" * n,
}
