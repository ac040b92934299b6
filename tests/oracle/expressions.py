"""Random expressions over the columns of a query, of all functions that are the same at every call.

A signature says what a function takes and gives: n number, s text, d date or time, j JSON, p condition, i small number, a anything.
A capital letter is a constant.
"""
import random

SIGNATURES = """
n ABS(n) CEIL(n) FLOOR(n) ROUND(n) ROUND(n,I) TRUNCATE(n,I) SIGN(n) MOD(n,n) POW(i,i) SQRT(n) EXP(i) LN(n) LOG2(n) LOG10(n) SIN(n) COS(n) ATAN(n,n)
n DEGREES(i) RADIANS(i) BIT_COUNT(n) CRC32(s) LENGTH(a) CHAR_LENGTH(s) BIT_LENGTH(s) ASCII(s) ORD(s) LOCATE(s,s) LOCATE(s,s,i) INSTR(s,s) POSITION(s#IN#s)
n FIELD(s,s,s) FIELD(n,n,n) STRCMP(s,s) FIND_IN_SET(s,s) MONTH(d) DAY(d) YEAR(d) QUARTER(d) HOUR(d) MINUTE(d) SECOND(d) MICROSECOND(d) DAYOFWEEK(d)
n WEEKDAY(d) DAYOFYEAR(d) WEEK(d) WEEK(d,I) YEARWEEK(d) TO_DAYS(d) TO_SECONDS(d) TIME_TO_SEC(d) UNIX_TIMESTAMP(d) DATEDIFF(d,d) TIMESTAMPDIFF(DAY,d,d)
n TIMESTAMPDIFF(MONTH,d,d) TIMESTAMPDIFF(SECOND,d,d) EXTRACT(YEAR_MONTH#FROM#d) EXTRACT(HOUR#FROM#d) INTERVAL(n,n,n) JSON_LENGTH(j) JSON_DEPTH(j)
n JSON_VALID(a) JSON_CONTAINS(j,j) JSON_CONTAINS_PATH(j,'one','$.a') COALESCE(n,n) IFNULL(n,n) NULLIF(n,n) IF(p,n,n) GREATEST(n,n) LEAST(n,n,n)
n CAST(n#AS#SIGNED) CAST(s#AS#SIGNED) CAST(n#AS#UNSIGNED) CAST(n#AS#DECIMAL(12,3)) CAST(s#AS#DECIMAL(8,1)) CAST(a#AS#DOUBLE) CAST(d#AS#SIGNED)
n (n+n) (n-n) (n*n) (n/n) (n#DIV#n) (n#%#n) (n&n) (n|n) (n^n) (n<<i) (n>>i) (-n) (~n) (n+i) (n*I) (s+n) (p) (p+p) INET_ATON(s)
n CASE#WHEN#p#THEN#n#ELSE#n#END CASE#n#WHEN#n#THEN#n#WHEN#i#THEN#n#END REGEXP_INSTR(s,R) PERIOD_DIFF(202401,202312)
s UPPER(s) LOWER(s) REVERSE(s) LEFT(s,i) RIGHT(s,i) SUBSTRING(s,i) SUBSTRING(s,i,i) SUBSTRING(s,-I) LPAD(s,i,s) RPAD(s,i,s) TRIM(s) LTRIM(s) RTRIM(s)
s TRIM(LEADING#s#FROM#s) TRIM(BOTH#s#FROM#s) REPLACE(s,s,s) REPEAT(s,i) CONCAT(s,s) CONCAT(s,n) CONCAT_WS(s,s,s) CONCAT_WS(S,n,d,s) HEX(a) HEX(n) QUOTE(s)
s INSERT(s,i,i,s) SUBSTRING_INDEX(s,s,i) SOUNDEX(s) MD5(s) SHA1(s) SHA2(s,256) TO_BASE64(s) BIN(n) OCT(n) CONV(n,10,16) FORMAT(n,I) ELT(i,s,s,s)
s MAKE_SET(n,s,s,s) EXPORT_SET(i,s,s,S,8) SPACE(i) DATE_FORMAT(d,'%Y-%m-%d#%H:%i') DATE_FORMAT(d,'%W#%M#%j#%U#%e') MONTHNAME(d) DAYNAME(d) CAST(a#AS#CHAR)
s CAST(s#AS#CHAR(3)) CAST(s#AS#BINARY) CAST(s#AS#BINARY(4)) JSON_TYPE(j) JSON_UNQUOTE(j) JSON_QUOTE(s) COALESCE(s,s) IFNULL(s,s) NULLIF(s,s) IF(p,s,s)
s GREATEST(s,s) LEAST(s,s) REGEXP_REPLACE(s,R,s) REGEXP_SUBSTR(s,R) INET_NTOA(n) UNHEX(HEX(s)) CASE#WHEN#p#THEN#s#ELSE#s#END CHAR(i+60) CONVERT(s#USING#latin1)
s TIME_FORMAT(d,'%H.%i.%s') UNHEX(s) FROM_BASE64(TO_BASE64(s)) CONCAT(d,s) CONCAT(j,s)
d DATE(d) LAST_DAY(d) (d+INTERVAL#i#DAY) (d-INTERVAL#i#MONTH) (d+INTERVAL#i#HOUR) (d+INTERVAL#I#YEAR) (d-INTERVAL#n#MINUTE) DATE_ADD(d,INTERVAL#'1:30'#HOUR_MINUTE)
d MAKEDATE(2000+i,n) FROM_DAYS(730000+n) FROM_UNIXTIME(ABS(n)) STR_TO_DATE(s,'%Y-%m-%d') CAST(d#AS#DATE) CAST(d#AS#DATETIME(3)) CAST(d#AS#TIME) TIMESTAMP(d)
d TIMESTAMP(d,'10:20:30') ADDTIME(d,'01:00:01') SUBTIME(d,'1.5') SEC_TO_TIME(n) MAKETIME(i,i,i) TIME(d) COALESCE(d,d) IFNULL(d,d) NULLIF(d,d) IF(p,d,d)
d GREATEST(d,d) LEAST(d,d) CAST(s#AS#DATE) CAST(s#AS#DATETIME) TIMESTAMPADD(DAY,i,d) TIMEDIFF(d,d) CONVERT_TZ(d,'+00:00','+02:00')
j JSON_EXTRACT(j,P) j JSON_ARRAY(a,a) JSON_ARRAY(n,j) JSON_OBJECT('a',a,'b',n) JSON_SET(j,'$.a',a) JSON_INSERT(j,'$.c',n) JSON_REPLACE(j,'$.b',s) JSON_REMOVE(j,'$.a')
j JSON_MERGE_PATCH(j,j) JSON_MERGE_PRESERVE(j,j) JSON_KEYS(j) JSON_ARRAY_APPEND(j,'$',n) CAST(n#AS#JSON) CAST(d#AS#JSON) IF(p,j,j) COALESCE(j,j)
p (n?n) (n?n) (n?N) (n?N) (N?n) (s?s) (s?S) (s?S) (d?d) (d?D) (d?D) (j?j) (j?n) (j?s) (a?a) (n?s) (n<=>n) (s<=>S) (d<=>d) (a<=>a) (n#BETWEEN#N#AND#N) (n#BETWEEN#n#AND#n)
p (s#BETWEEN#S#AND#S) (d#BETWEEN#D#AND#D) (s#NOT#BETWEEN#s#AND#s) (n#IN#(N,N,N)) (n#IN#(n,N,NULL)) (s#IN#(S,S)) (s#IN#(S,s,S)) (d#IN#(D,D)) (n#NOT#IN#(N,N)) (a#IN#(a,a))
p (s#LIKE#L) (s#NOT#LIKE#L) (s#LIKE#s) (s#REGEXP#R) (n#LIKE#L) (d#LIKE#L) (a#IS#NULL) (a#IS#NOT#NULL) (p#IS#TRUE) (p#IS#FALSE) (p#IS#UNKNOWN) (p#IS#NOT#TRUE) (p#AND#p)
p (p#AND#p) (p#AND#p) (p#OR#p) (p#OR#p) (p#XOR#p) (NOT#p) (n) (s) (p=p) (p<=>p) IF(p,p,p) COALESCE(p,p) ((n,s)=(N,S)) ((n,n)>(N,N)) ((n,s)#IN#((N,S),(N,S)))
p (p?I) ISNULL(a) (n#BETWEEN#N#AND#n) (s#COLLATE#utf8mb4_bin?S) (S?s#COLLATE#utf8mb4_general_ci) (BINARY#s=S) CASE#WHEN#p#THEN#p#ELSE#p#END
p (c?C) (c?C) (c?C) (c#BETWEEN#C#AND#C) (c#IN#(C,C,C)) (c#IN#(C,NULL)) (c<=>C) (c#IS#NULL) (c#NOT#IN#(C,C)) (c#LIKE#L) (NOT#c?C) (c?C#AND#c?C) (c?C#OR#c?C)
"""

WORDS = ["", "a", "A", "b", "ab", "aB", "abc", "z", "ß", "ss", "é", "e", "0", "1", "10", "2x", " a", "a ", "zebra", "Ω", "-1", "1e1", "2024-02-29", "12:30:00", "%", "a_b", "\\\\"]
NUMBERS = ["0", "1", "2", "3", "5", "7", "10", "-1", "-5", "100", "127", "255", "1.5", "-2.25", "0.5e0", "1e3", "99999999999", "-0.001", "18446744073709551615", "20240229"]
DATES = ["'2024-02-29'", "'2023-12-31 23:59:59'", "'1999-01-01'", "DATE'2024-01-31'", "TIMESTAMP'2024-02-29 12:30:00'", "TIME'12:30:00'", "'2024-02-29 12:30:00.500'", "20240229", "'-10:00:00'"]
DOCUMENTS = ["'null'", "'1'", "'{\"a\": 1, \"b\": [1, 2]}'", "'[1, \"a\", null]'", "'\"a\"'", "'{}'", "'true'", "'[]'", "'1.5'"]
PATTERNS = ["'a%'", "'%b'", "'_'", "'%'", "'A_'", "'s%'", "'%e%'", "''", "'1%'", "'2024%'"]
REGULAR = ["'^a'", "'[0-9]+'", "'b$'", "'.'", "'a|e'", "'(a)(b)?'"]
PATHS = ["'$'", "'$.a'", "'$.b'", "'$.b[0]'", "'$[1]'", "'$[*]'", "'$.*'", "'$**.a'"]
COMPARISONS = ["=", "=", "=", "<", ">", "<=", ">=", "<>"]


def parsed() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in SIGNATURES.split("\n"):
        kind, *forms = line.split(" ") if line else [""]
        found.setdefault(kind, []).extend(forms)
    return found


FORMS = parsed()
LETTERS = set("nsdjpiacNSDICLRP?")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class Expressions:
    """Expressions over columns, each with a name, a kind and a literal of its type."""

    def __init__(self, chance: random.Random, columns: list[tuple[str, str, callable]]):
        self.chance, self.columns = chance, columns

    def column(self, kind: str) -> str | None:
        names = [name for name, its, _ in self.columns if its == kind]
        return self.chance.choice(names) if names else None

    def constant(self, kind: str) -> str:
        chance = self.chance
        if chance.random() < 0.05:
            return "NULL"
        if kind in "ni":
            return chance.choice(NUMBERS) if kind == "n" else str(chance.randint(0, 6))
        if kind == "s":
            return quoted(chance.choice(WORDS))
        return f"CAST({chance.choice(DOCUMENTS)} AS JSON)" if kind == "j" else chance.choice(DATES)

    def leaf(self, kind: str) -> str:
        if kind == "i":
            return self.constant("i")
        if kind == "p":
            kind = "n"
        name = self.column(kind)
        return name if name and self.chance.random() < 0.8 else self.constant(kind)

    def of(self, kind: str, depth: int) -> str:
        """An expression of this kind; calls stand at most `depth` deep in each other."""
        chance = self.chance
        if kind == "a":
            kind = chance.choice("nsdj")
        if kind == "i" or kind != "p" and (depth <= 0 or chance.random() < 0.35):
            return self.leaf(kind)
        forms = FORMS[kind]
        if kind == "p" and depth <= 0:
            forms = forms[-13:]
        return self.filled(chance.choice(forms), depth - 1)

    def filled(self, form: str, depth: int) -> str:
        """The form with every letter that stands for something replaced. A `c` and the `C`s behind it belong together."""
        out, at, own, text = [], 0, None, False
        while at < len(form):
            letter = form[at]
            text ^= letter == "'"
            alone = letter == "?" or not text and letter in LETTERS and not (at and (form[at - 1].isalnum() or form[at - 1] == "_")) \
                and not (at + 1 < len(form) and (form[at + 1].isalnum() or form[at + 1] == "_"))
            if alone and letter == "c":
                own = self.chance.choice(self.columns)
                out.append(own[0])
            elif alone and letter == "C":
                out.append(own[2]())
            elif alone:
                out.append(self.part(letter, depth))
            else:
                out.append(" " if letter == "#" else letter)
            at += 1
        return "".join(out)

    def part(self, letter: str, depth: int) -> str:
        chance = self.chance
        lists = {"?": COMPARISONS, "L": PATTERNS, "R": REGULAR, "P": PATHS}
        if letter in lists:
            return chance.choice(lists[letter])
        if letter in "NSDI":
            return self.constant(letter.lower())
        return self.of(letter, depth)

    def key(self, kind: str, depth: int) -> str:
        """One that GROUP BY and ORDER BY do not take for the number of a column."""
        found = self.of(kind, depth)
        return f"ABS({found})" if found[0].isdigit() or found[0] == "-" else found

    def condition(self, depth: int = 3) -> str:
        return self.of("p", depth)
