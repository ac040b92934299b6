"""What a server answers to texts that go on after their last semicolon, or hold comments alone; as MySQL 9.7.

One entry per result: `ok`, `rows`, or an error's number; a `+` says that the result announces another one. A client
that was told so waits for it, so that a `+` at the end would be a hang.
"""
# The text; what a client without MULTI_STATEMENTS is answered, and one with it.
TEXTS: list[tuple[bytes, str, str]] = [
    (b"SELECT 1;\n", "rows", "rows"),
    (b"do 1;;", "ok", "ok"),
    (b" do 1 \t\n;\r\n ; ", "ok", "ok"),
    (b"do 1; ", "ok", "ok"),
    (b"do 1\0", "ok", "ok"),
    (b"do 1; do 2", "1064", "ok+ ok"),
    (b"do 1; do 2; ", "1064", "ok+ ok"),
    (b"do 1; -- x", "ok", "ok+ ok"),
    (b"do 1; # x\n", "ok", "ok+ ok"),
    (b"do 1; /* x */", "ok", "ok+ ok"),
    (b"SELECT 1; /* x */", "rows", "rows+ ok"),
    (b"SELECT 1 /* x */;", "rows", "rows"),
    (b"do 1; -- x; do 2", "ok", "ok+ ok"),
    (b"do 1; -- x\n do 2", "1064", "ok+ ok"),
    (b"do 1;;do 2", "1064", "ok+ 1064"),
    (b"do 1; /* x */; do 2", "1064", "ok+ 1064"),
    (b"do 1; x", "1064", "ok+ 1064"),
    (b"do 1;/*!99999 do 2 */", "ok", "ok+ ok"),
    (b"do 1;/*!50000 do 2 */;", "1064", "ok+ ok"),
    (b"select 1;select 2;/* x */;", "1064", "rows+ rows+ ok"),
    (b"show warnings; -- x", "rows", "rows+ ok"),
    (b"-- hi", "ok", "ok"),
    (b"--", "ok", "ok"),
    (b"--x", "1064", "1064"),
    (b"# x\n# y\n", "ok", "ok"),
    (b"/* x */;", "ok", "ok"),
    (b"/*!99999 nonsense */;", "ok", "ok"),
    (b"/*!50000 do 1 */;", "ok", "ok"),
    (b"/*!50000 */", "ok", "ok"),
    (b"/*!50000 do 1", "1064", "1064"),
    (b"do 1 /* x", "1064", "1064"),
    (b"", "1065", "1065"),
    (b" ;; ", "1065", "1065"),
    (b"\0", "1065", "1065"),
    (b"; do 1", "1064", "1064"),
    (b"prepare s from 'do 1;;'", "ok", "ok"),
    (b"prepare s from 'do 1; -- x'", "ok", "ok"),
    (b"prepare s from 'do 1; do 2'", "1064", "1064"),
    (b"prepare s from '-- x'", "1295", "1295"),
    (b"prepare s from ' ; '", "1065", "1065"),
]

MORE_RESULTS = 8


def answers(wire, text: bytes) -> str:
    """All results of one COM_QUERY, in the notation above."""
    wire.send(b"\x03" + text)
    results = []
    while True:
        packet = wire.read()
        if packet[:1] == b"\xff":
            results.append(str(int.from_bytes(packet[1:3], "little")))
            return " ".join(results)
        kind = "ok"
        if packet[:1] != b"\x00":
            kind = "rows"
            for _ in range(packet[0] + 1):  # definitions and what ends them
                wire.read()
            while (packet := wire.read())[:1] != b"\xfe" or len(packet) >= 9:
                pass
        more = int.from_bytes(packet[3:5], "little") & MORE_RESULTS
        results.append(kind + ("+" if more else ""))
        if not more:
            return " ".join(results)
