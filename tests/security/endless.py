"""No function and no operator goes on for long once its statement is to end, whatever it is given.

All of them (`calls.py` takes them from the sources) get large texts in each of their places, under `max_execution_time = 100` and, where that has
taken long, without it and with KILL QUERY. What is measured is the processor time that the server takes beyond the limit, or after the KILL, so that a busy
machine does not fail it.

    tests/security/endless.py --megabytes 64 --kinds all          the hunt, with a release build

The operands beside the large one are drawn; small texts find out which of them make a call long, and these are tried with the large ones.
"""
import argparse
import random
import sys
import threading
import time
from pathlib import Path

import pymysql

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import calls
from support.patience import patience, processor_s
from support.report import FIXED_SEED, Report
from support.server import Server

LIMIT_S = 0.1
# Beyond the limit: what copying and comparing texts of this size takes, and looking for the end between pieces.
BEYOND_S = 0.5
# A statement that has not ended after so long is endless.
ENDLESS_S = 30
SMALL = 4 << 10
# So many ways to fill the places beside the large text are tried, in the hunt and in short.
DRAWN, DRAWN_IN_SHORT = 24, 5
BESIDE = ["'a'", "'b'", "'$'", "'$[*]'", "'$[last]'", "'$**.a'", "1", "2", "3", "16", "1000000000", "'one'", "'all'", "'%a%b'", "'%Y-%m-%d %H'", "'de_DE'", "'c'", "'2020-02-02 02:02'",
          "JSON_ARRAY(1, 'a')", "@t", "@u"]
KINDS = {
    "letters": lambda n: "a" * n,
    "characters": lambda n: "ä" * (n // 2),
    "digits": lambda n: "1" * n,
    "words": lambda n: "ab," * (n // 3),
    "pattern": lambda n: "%a_" * (n // 3),
    "array": lambda n: "[" + "1," * (n // 2) + "1]",
    "strings": lambda n: "[" + '"ab",' * (n // 5) + '"b"]',
    "object": lambda n: "{" + "".join(f'"{i}":1,' for i in range(n // 11)) + '"b":1}',
    "nested": lambda n: "[" + ("[" * 90 + "1" + "]" * 90 + ",") * (n // 182) + "1]",
    "deep text": lambda n: "[" * 90 + '"' + "a" * n + '"' + "]" * 90,
    "deep object": lambda n: '{"a":' * 90 + '"' + "b" * n + '"' + "}" * 90,
    "elements": lambda n: "<r>" + "<a>b</a>" * (n // 8) + "</r>",
    "base64": lambda n: "QUJD" * (n // 4),
    "statement": lambda n: "SELECT " + "a+" * (n // 2) + "1",
}
IN_SHORT = ["characters", "array", "deep text"]


class Hunt:
    def __init__(self, server, report, megabytes, draws, seed):
        self.server, self.report, self.megabytes, self.draws, self.random = server, report, megabytes, draws, random.Random(seed)
        self.late, self.count, self.killed, self.longest = [], 0, 0, (0.0, "")

    def connect(self, kind, size):
        """A connection whose variables @t and @u have large texts, which differ in their last letter."""
        connection = self.server.address.connect(read_timeout=ENDLESS_S * 2, autocommit=True)
        with connection.cursor() as cursor:
            text = KINDS[kind](size)
            cursor.execute("SET @t = %s, max_execution_time = 0", (text,))
            cursor.execute("SET @u = CONCAT(@t, 'b'), group_concat_max_len = 1000000000, sql_mode = ''")
        return connection

    def drawn(self, template):
        """Calls with a large text in each place, what is beside drawn."""
        places = template.count("{}")
        for place in range(places):
            beside = [[self.random.choice(BESIDE) for _ in range(places)] for _ in range(self.draws)]
            beside = beside[:1] if places == 1 else beside + [["@u"] * places, ["@t"] * places]
            for operands in beside:
                operands[place] = "@t"
                yield place, fill(template, operands)

    def chosen(self, kind):
        """Of each template and place the calls that were longest with a small text."""
        connection = self.connect(kind, SMALL)
        best = {}
        with connection, connection.cursor() as cursor:
            cursor.execute("SET max_execution_time = 100")
            for name, template in calls.templates():
                for place, call in self.drawn(template):
                    began = time.monotonic()
                    error = run_call(cursor, call)
                    assert error not in (2006, 2013), f"the server has gone: {call}\n{self.server.log_tail()}"
                    took = time.monotonic() - began
                    # A call that has a value has gone further than one that was refused.
                    rank = (error in (None, 3024), took)
                    best.setdefault((name, template, place), []).append((rank, call))
        for (name, _, _), tried in best.items():
            tried.sort(reverse=True)
            yield from ((name, call) for call in dict.fromkeys(call for _, call in tried[:2]))

    def run(self, kind):
        known = list(dict.fromkeys(call for _, call in self.chosen(kind)))
        connection = self.connect(kind, self.megabytes << 20)
        for call in known:
            self.count += 1
            with connection.cursor() as cursor:
                cursor.execute("SET max_execution_time = 100")
                took = self.measured(lambda: run_call(cursor, call), call, kind)
            if took is None:
                connection = self.again(kind)
                continue
            if took > LIMIT_S * 0.8 and self.kill(connection, call, kind) is None:
                connection = self.again(kind)
        connection.close()

    def again(self, kind):
        """After what does not end, a new server."""
        self.server.kill()
        self.server.start()
        return self.connect(kind, self.megabytes << 20)

    def measured(self, run, call, kind, limit_s=LIMIT_S):
        """The processor time that the call takes; None if it does not end."""
        began = processor_s(self.server.process.pid)
        error = run()
        if error in (2006, 2013):
            self.is_late(kind, call, "does not end" if self.server.is_running() else "ended the server")
            return None
        took = processor_s(self.server.process.pid) - began
        self.judge(kind, call, took - limit_s)
        return took

    def judge(self, kind, call, beyond_s):
        self.longest = max(self.longest, (round(beyond_s, 2), call))
        if beyond_s > BEYOND_S:
            self.is_late(kind, call, f"{beyond_s:.2f} s")

    def is_late(self, kind, call, how):
        self.late.append(call)
        self.report.note(f"late: {kind}: {call}: {how}")

    def kill(self, connection, call, kind):
        """The processor time from the KILL to the end."""
        self.killed += 1
        ended = []
        with connection.cursor() as cursor:
            cursor.execute("SET max_execution_time = 0")
            thread = threading.Thread(target=lambda: ended.append(run_call(cursor, call)))
            began = processor_s(self.server.process.pid)
            thread.start()
            while processor_s(self.server.process.pid) - began < LIMIT_S / 2 and thread.is_alive():
                time.sleep(0.005)
            killed = processor_s(self.server.process.pid)
            with self.server.address.connect() as admin, admin.cursor() as other:
                other.execute(f"KILL QUERY {connection.thread_id()}")
            thread.join(patience(ENDLESS_S))
            if thread.is_alive() or ended[0] in (2006, 2013):
                self.is_late(kind, call, "does not end after KILL")
                self.server.kill()
                thread.join()
                return None
            took = processor_s(self.server.process.pid) - killed
            self.judge(kind, f"KILL of {call}", took)
            return took


def fill(template, operands):
    parts = template.split("{}")
    return "".join(part + operand for part, operand in zip(parts, [*operands, ""]))


def run_call(cursor, call):
    """Runs it; returns the error's number, None for a value."""
    try:
        cursor.execute(f"SELECT LENGTH({call})")
        cursor.fetchall()
    except pymysql.err.MySQLError as error:
        return error.args[0]
    return None


def run(address, report, megabytes=1, kinds=IN_SHORT, draws=DRAWN_IN_SHORT, seed=FIXED_SEED):
    del address
    with Server("endless", "--max-allowed-packet=256M", "--innodb-buffer-pool-size=64M", "--tidemark-total-memory=6G", "--tidemark-statement-memory=4G") as server:
        report.check(len(list(calls.templates())) > 400, "endless: functions and operators are found")
        for kind in kinds:
            with report.case(f"endless: every function and operator ends: {kind}"):
                hunt = Hunt(server, report, megabytes, draws, seed)
                hunt.run(kind)
                longest, call = hunt.longest
                report.note(f"{kind}: {hunt.count} calls, {hunt.killed} killed; the longest went on for {longest:.2f} s: {call}")
                assert not hunt.late, f"{len(hunt.late)} went on"
        report.equal(server.stop(), 0, "endless: stops")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--kinds", nargs="*", choices=[*KINDS, "all"], default=["all"])
    parser.add_argument("--draws", type=int, default=DRAWN, help="ways to fill the places beside the large text that are tried with a small one")
    parser.add_argument("--seed", type=int, default=FIXED_SEED)
    options = parser.parse_args()
    report = Report("endless")
    run(None, report, options.megabytes, list(KINDS) if "all" in options.kinds else options.kinds, options.draws, options.seed)
    report.close()


if __name__ == "__main__":
    main()
