#!/usr/bin/env python3
"""`tidemark lab`: a small run of all experiments, and its report in a real browser.

    tests/lab/run.py [--pictures DIRECTORY] [FILTER...]

One server is a Tidemark of the lab's own, the other one does not exist: what refuses is a row of the page, and no reason to stop.
The page is opened in Chromium on a wide screen, as wide as a telephone, in the dark and on paper. PostgreSQL takes part where it is installed.
With --pictures a screenshot of the example in docs/lab is written there, and nothing else is done.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import pymysql

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.browser import Browser, program  # noqa: E402
from support.patience import is_within, patience  # noqa: E402
from support.postgres import PASSWORD, Postgres, programs  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server, binary, free_port, scratch  # noqa: E402

SMALL = ["--quick", "--seconds", "0.05", "--repeats", "2", "--rows", "300", "--clients", "1,2"]
NAME_OF_MARKUP = "<img src=x onerror=console.error(1)>"
# Plots of the server that was measured, and of the study.
PLOTS = {"clients-2010": 2, "ratio-2015": 2, "hot-row-2015": 2, "three-points-79005": 1, "clients-2017": 1, "open-writers": 1, "tpcc-2015": 1, "queue": 2, "meaning": 0}
# A process for each connection is dear: the other two differ from clients-2010 by connections and statements alone.
WITHOUT_MANY_CONNECTIONS = sorted(set(PLOTS) - {"open-writers", "three-points-79005"})
# Each condition is broken by one of these, and what transactions do afterwards mends none.
DAMAGE = [
    "UPDATE tpcc_warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1",                                                   # 1, 8
    "UPDATE tpcc_district SET d_ytd = d_ytd + 1 WHERE d_w_id = 2 AND d_id = 1",                                     # 9
    "INSERT INTO tpcc_orders (o_id, o_d_id, o_w_id, o_c_id, o_carrier_id, o_ol_cnt) VALUES (100000, 2, 1, 1, 1, 0)",    # 2
    # 3; deliveries that come so far find an order and a line, and leave a gap
    *(f"INSERT INTO tpcc_{table} VALUES " + ", ".join(f"({row.format(order)})" for order in range(100000, 100100, 10)) for table, row in (
        ("new_orders (no_o_id, no_d_id, no_w_id)", "{}, 3, 1"), ("orders (o_id, o_d_id, o_w_id, o_c_id, o_ol_cnt)", "{}, 3, 1, 1, 1"),
        ("order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_amount)", "{}, 3, 1, 1, 0"))),
    "DELETE FROM tpcc_order_line WHERE ol_w_id = 1 AND ol_d_id = 4 AND ol_o_id = 1 AND ol_number = 1",              # 4, 6
    "UPDATE tpcc_orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 5 AND o_id = 1",                      # 5, 7
    "UPDATE tpcc_customer SET c_balance = c_balance + 1 WHERE c_w_id = 1 AND c_d_id = 6 AND c_id = 1",              # 10, 12
    "UPDATE tpcc_customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 1 AND c_d_id = 7 AND c_id = 1",    # 11
]
# ER_NO_REFERENCED_ROW_2
FOREIGN_KEY = 1452
PICTURED = "hot-row-2015"
SECTIONS = "[...document.querySelectorAll('section')].map(s => [s.dataset.experiment, s.querySelectorAll('figure svg').length])"
# Plots that have no size, or no curve that is as wide as a finger.
EMPTY_PLOTS = """[...document.querySelectorAll('figure svg')].filter(svg => svg.getBoundingClientRect().width < 200 ||
    ![...svg.querySelectorAll('polyline')].some(line => line.getBoundingClientRect().width > 40)).map(svg => svg.getAttribute('aria-label'))"""
# What is wider than the window, but for what scrolls by itself.
TOO_WIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.wide') && e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.tagName)"""
COLORS = "[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.querySelector('svg text')).fill, getComputedStyle(document.querySelector('svg rect')).fill]"
HIDDEN_FIGURES = "[...document.querySelectorAll('details table')].filter(table => !table.checkVisibility({contentVisibilityAuto: true}) || table.getBoundingClientRect().height < 20).length"
BROKEN_SVG = "document.documentElement.tagName !== 'svg' || document.querySelector('parsererror') !== null"


def lab(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([binary(), "lab", *arguments], capture_output=True, text=True, timeout=1200, **options)


def cells(results: Path) -> list[dict]:
    lines = map(json.loads, results.read_text().splitlines())
    return [line for line in lines if line["kind"] == "cell"]


def brightness(color: str) -> float:
    return sum(map(float, re.findall(r"[\d.]+", color)[:3])) / 3


def refused(results: Path) -> set[tuple[str, str]]:
    return {(line["server"], line["experiment"]) for line in cells(results) if line.get("error")}


def run(report: Report, home: Path) -> Path:
    results = home / "results.jsonl"
    with Server("lab", "--max-connections=1000") as server:
        done = lab("run", *SMALL, "--results", str(results), "--server", f"here=mysql://root@127.0.0.1:{server.port}/lab", "--server", f"away=mysql://127.0.0.1:{free_port()}")
    report.check(done.returncode == 0, "run", done.stdout[-2000:] + done.stderr[-2000:])
    report.equal(refused(results), {("away", name) for name in PLOTS}, "run/only_the_server_that_is_away_refuses")
    return results


def tpcc(report: Report, home: Path) -> None:
    """The consistency conditions notice what is wrong, and tables that are wrong are made anew."""
    results = home / "tpcc.jsonl"
    with Server("lab-tpcc") as server:
        once = ["run", "tpcc-2015", "--quick", "--seconds", "0.05", "--repeats", "1", "--clients", "2", "--server", f"here=mysql://root@127.0.0.1:{server.port}/lab", "--results"]
        report.check(lab(*once, str(home / "clean.jsonl")).returncode == 0, "tpcc/clean_run")
        report.equal(broken(home / "clean.jsonl"), [[]] * 4, "tpcc/conditions_hold")
        server.address.execute("USE lab", *DAMAGE)
        done = lab(*once, str(results))
        seen = broken(results)
        report.check(len(seen[0]) == 12 and not any(seen[1:]), "tpcc/each_condition_notices_damage", str(seen))
        report.check("AGAINST THE DOCUMENTATION" in done.stdout, "tpcc/damage_is_told", done.stdout[-2000:])
        lab("report", str(results), "--out", str(home / "tpcc"))
        page = (home / "tpcc" / "index.html").read_text()
        report.check("12 of 48 consistency checks are broken" in page, "tpcc/damage_is_the_verdict")


def references(report: Report, home: Path) -> None:
    """A load with foreign keys, and one with the indexes alone that those need: consistent afterwards, and only with the keys is a broken reference refused."""
    with Server("lab-references") as server:
        once = ["load", "tpcc", "--quick", "--warehouses", "2", "--clients", "4", "--warm", "0", "--seconds", "1", "--server", f"mysql://root@127.0.0.1:{server.port}/lab"]
        orphan = "UPDATE lab.tpcc_order_line SET ol_i_id = 1001 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1"
        keys = "SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_schema = 'lab'"
        indexes = "SELECT COUNT(DISTINCT table_name, index_name) FROM information_schema.statistics WHERE table_schema = 'lab' AND index_name LIKE '%refers%'"
        for option, count in (("--foreign-keys", 10), ("--foreign-key-indexes", 0)):
            done = lab(*once, option)
            rate = re.search(r"^tps +([\d.]+)", done.stdout, re.M)
            report.check(done.returncode == 0 and rate and float(rate.group(1)) > 0, f"references/{option}/load", done.stdout + done.stderr)
            report.equal(server.address.execute(keys), ((count,),), f"references/{option}/keys")
            report.equal(server.address.execute(indexes), ((4,),), f"references/{option}/indexes")
            try:
                server.address.execute(orphan)
                refused = 0
            except pymysql.err.IntegrityError as error:
                refused = error.args[0]
            report.equal(refused, FOREIGN_KEY if count else 0, f"references/{option}/orphan")
        # Not consistent any more, and told at the end of the next load, which has no way to mend it.
        server.address.execute("UPDATE lab.tpcc_warehouse SET w_ytd = w_ytd + 1")
        done = lab(*once, "--foreign-key-indexes")
        report.check(done.returncode != 0 and "not consistent: 01: W_YTD" in done.stderr, "references/damage_is_told", done.stdout + done.stderr)


def work(report: Report, _home: Path) -> None:
    """A client that has 5 ms of work before each of its 5 statements ends at most 40 transactions a second."""
    with Server("lab-work") as server:
        done = lab("load", "rc3", "--clients", "1", "--tables", "1", "--rows", "100", "--warm", "0", "--seconds", "0.5", "--work", "5000000", "--server", f"mysql://root@127.0.0.1:{server.port}/lab")
        rate = re.search(r"^tps +([\d.]+)", done.stdout, re.M)
        report.check(done.returncode == 0 and rate and 0 < float(rate.group(1)) <= 40, "work/bounds_the_rate", done.stdout + done.stderr)


def sysbench(report: Report, home: Path) -> None:
    """Stock sysbench runs the cells that it can, and the level of the server is as it was."""
    results = home / "sysbench.jsonl"
    with Server("lab-sysbench") as server:
        level = "SELECT @@global.transaction_isolation"
        before = server.address.execute("SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE", level)
        done = lab("run", *SMALL, "--repeats", "1", "--client", "sysbench", "clients-2010", "ratio-2015", "clients-2017", "queue", "meaning", "--results", str(results),
                   "--server", f"here=mysql://root@127.0.0.1:{server.port}/lab")
        report.check(done.returncode == 0, "sysbench/run", done.stdout[-2000:] + done.stderr)
        report.equal(server.address.execute(level), before, "sysbench/level_is_put_back")
    for name, left in (("ratio-2015", "24 of 36"), ("queue", "2 of 2"), ("meaning", "4 of 4")):
        report.check(f"{name}: {left} cells cannot be measured with sysbench: " in done.stdout, f"sysbench/says_what_it_cannot/{name}", done.stdout[:2000])
    lines = cells(results)
    report.equal(len(lines), 4 + 12 + 4, "sysbench/cells")
    report.equal([line for line in lines if line.get("error") or line["values"]["tps"] <= 0 or "client=sysbench" not in line["scale"]], [], "sysbench/figures")


def broken(results: Path) -> list[list[str]]:
    """The conditions that do not hold, cell by cell."""
    return [[name for name, finding in line["findings"].items() if finding["possible"]] for line in cells(results)]


def postgres(report: Report, home: Path) -> None:
    """What PostgreSQL does not have says so, and nothing else does; levels mean what its documentation says; every proof of a password."""
    if programs() is None:
        report.skip("postgres", "PostgreSQL is not installed")
        return
    results, stock = home / "postgres.jsonl", home / "postgres-sysbench.jsonl"
    once = [*SMALL, "--repeats", "1", "--clients", "2"]
    with Postgres() as peer:
        def at(account: str) -> str:
            return f"pg=pgsql://{account}:{quote(PASSWORD, safe='')}@127.0.0.1:{peer.port}/lab"
        done = lab("run", *WITHOUT_MANY_CONNECTIONS, *once, "--results", str(results), "--server", at("scram-sha-256"))
        report.check(done.returncode == 0, "postgres/run", done.stdout[-2000:] + done.stderr)
        for method, why in (("trust", None), ("md5", None), ("password", "wants the password itself"), ("nobody", "no pg_hba.conf entry")):
            one = home / f"{method}.jsonl"
            lab("run", *once, "clients-2010", "--results", str(one), "--server", at(method))
            errors = {line.get("error") for line in cells(one)}
            report.check(errors == {None} if why is None else all(why in error for error in errors), f"postgres/login/{method}", str(errors))
        done = lab("run", *once, "--client", "sysbench", "clients-2010", "clients-2017", "--results", str(stock), "--server", at("trust"))
        report.equal([line.get("error") for line in cells(stock)], [None] * 4, "postgres/sysbench")
        # Everybody deletes the one row and inserts it again: a key that is taken meanwhile is tried again, and told.
        done = lab("load", "psel", "--clients", "16", "--tables", "1", "--rows", "1", "--level", "RC", "--warm", "0", "--seconds", "1", "--server", at("trust").split("=", 1)[1])
        report.check(done.returncode == 0 and "duplicate_keys" in done.stdout, "postgres/keys_that_are_taken", done.stdout + done.stderr)
    lines = cells(results)
    lacking = {(line["experiment"], line["cell"].split("level=")[1]) for line in lines if "has no READ UNCOMMITTED" in line.get("error", "")}
    report.equal(lacking, {("ratio-2015", "RU"), ("tpcc-2015", "RU")}, "postgres/what_it_lacks")
    report.equal([line for line in lines if line.get("error") and "has no READ UNCOMMITTED" not in line["error"]], [], "postgres/no_other_errors")
    meant = {line["cell"]: line["findings"] for line in lines if line["experiment"] == "meaning"}
    report.equal([(cell, name) for cell, findings in meant.items() for name, finding in findings.items() if finding["possible"] != finding["promised_possible"]], [],
                 "postgres/meaning_is_what_is_documented")
    report.equal([sum(finding["possible"] for finding in meant[f"level={level}"].values()) for level in ("RU", "RC", "RR", "SER")], [5, 5, 1, 0], "postgres/meaning")
    report.equal([line["findings"] for line in lines if line["experiment"] == "tpcc-2015" and any(finding["possible"] for finding in line.get("findings", {}).values())], [],
                 "postgres/tpcc_conditions_hold")
    loads = [line for line in lines if line["experiment"] in ("clients-2010", "clients-2017") and not line.get("error")]
    report.check(all("server_cpu_us" in line["values"] for line in loads), "postgres/processor_time_of_its_processes", str(loads))
    settings = next(json.loads(line)["settings"] for line in results.read_text().splitlines() if '"kind":"server"' in line)
    report.check(settings.get("fsync") == "off" and settings.get("shared_buffers") == "64MB" and settings["version"].startswith("PostgreSQL "), "postgres/settings", str(settings))


def resume(report: Report, home: Path) -> None:
    """A run that is killed goes on with what is missing, and ends the server that the one before has left."""
    results, here = home / "killed.jsonl", home / "tmp"
    here.mkdir()
    environment = {"env": {**os.environ, "TMPDIR": str(here)}}
    command = ["run", *SMALL, "clients-2017", "clients-2010", "--seconds", "0.3", "--results", str(results)]
    first = subprocess.Popen([binary(), "lab", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **environment)
    deadline = time.monotonic() + 120
    while (not results.exists() or len(cells(results)) < 3) and time.monotonic() < deadline:
        time.sleep(0.02)
    first.kill()
    first.wait()
    before = results.read_text()
    left = list(here.glob("tidemark-lab-*/address"))
    report.check(3 <= len(cells(results)) < 16 and len(left) == 1, "resume/is_killed_in_the_middle", f"{len(cells(results))} cells, {left}")
    # What a run was writing when it was killed: a line without its end.
    results.write_text(before + '{"kind":"cell","experi')
    done = lab(*command, **environment)
    report.check(done.returncode == 0, "resume/goes_on", done.stdout[-2000:] + done.stderr)
    keys = [(line["experiment"], line["cell"], line["repeat"]) for line in cells(results)]
    report.check(len(keys) == len(set(keys)) == 16, "resume/every_cell_once", str(sorted(keys)))
    report.check(results.read_text().startswith(before), "resume/keeps_what_was_there")
    report.equal(list(here.iterdir()), [], "resume/nothing_is_left_behind")
    done = lab(*command, **environment)
    report.check("All of it is in the results" in done.stdout, "resume/then_it_is_done", done.stdout[-500:])


def stop(report: Report, home: Path) -> None:
    """SIGINT ends a load while its tables are filled, which would take minutes; what is half filled is made anew."""
    with Server("lab-stop") as server:
        load = ["load", "point", "--clients", "1", "--tables", "1", "--warm", "0", "--seconds", "0.1", "--server", f"mysql://root@127.0.0.1:{server.port}/lab"]
        filling = subprocess.Popen([binary(), "lab", *load, "--rows", "50000000"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        deadline = time.monotonic() + 60
        there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'lab' AND table_name = 'sbtest1'"
        while server.address.execute(there) == ((0,),) and time.monotonic() < deadline:
            time.sleep(0.02)
        filling.send_signal(signal.SIGINT)
        asked = time.monotonic()
        try:
            said, _ = filling.communicate(timeout=patience(60))
        except subprocess.TimeoutExpired:
            filling.kill()
            said, _ = filling.communicate()
        took = time.monotonic() - asked
        report.check(filling.returncode == 1 and "interrupted" in said and is_within(took, 20), "stop/filling_ends", f"{filling.returncode} after {took:.1f} s: {said}")
        done = lab(*load, "--rows", "100")
        report.check(done.returncode == 0, "stop/made_anew", done.stdout + done.stderr)
        report.equal(server.address.execute("SELECT COUNT(*) FROM lab.sbtest1"), ((100,),), "stop/is_whole")


def refusals(report: Report, home: Path) -> None:
    """What a server refuses is said in its words, and rules no anomaly out; a file of something else is left as it was."""
    results, notes = home / "rights.jsonl", home / "notes"
    with Server("lab-refusals", "--max-connections=10") as server:
        server.address.execute("CREATE DATABASE lab", "CREATE USER reader@'%'", "GRANT CREATE, DROP, INSERT, SELECT, DELETE ON lab.* TO reader@'%'")
        url = f"127.0.0.1:{server.port}/lab"
        lab("run", "meaning", "--quick", "--repeats", "1", "--results", str(results), "--server", f"here=mysql://reader@{url}")
        lines = cells(results)
        report.check(len(lines) == 4 and all("1142" in line.get("error", "") for line in lines), "refusals/a_missing_right_is_no_verdict", str(lines))
        done = lab("load", "point", "--clients", "50", "--tables", "1", "--rows", "10", "--seconds", "0.1", "--server", f"mysql://root@{url}")
        report.check(done.returncode == 1 and "1040: Too many connections" in done.stderr, "refusals/too_many_connections", done.stdout + done.stderr)
        notes.write_text("notes without an end")
        done = lab("run", "meaning", "--quick", "--results", str(notes), "--server", f"here=mysql://root@{url}")
        report.check(done.returncode == 1 and "is no result of the lab" in done.stderr, "refusals/another_file", done.stdout + done.stderr)
        report.equal(notes.read_text(), "notes without an end", "refusals/another_file_is_left")


def simulate(report: Report, home: Path) -> None:
    """The simulator's page, from the service times that the program has."""
    done = lab("simulate", "--out", str(home / "simulated"))
    report.check(done.returncode == 0 and "2017, 72 cores" in done.stdout, "simulate", done.stdout + done.stderr)
    if not program():
        report.skip("simulate/page", "there is no Chromium")
        return
    page = home / "simulated" / "index.html"
    with Browser() as browser:
        phone = browser.open(page.as_uri(), width=360, height=740, dark=True)
        report.equal(phone.evaluate("document.querySelectorAll('figure svg').length"), 5, "simulate/plots")
        report.equal(phone.evaluate(EMPTY_PLOTS), [], "simulate/plots_have_curves")
        report.equal(phone.evaluate("[document.documentElement.scrollWidth, document.scripts.length]"), [360, 0], "simulate/page_is_readable")
        report.equal(phone.complaints, [], "simulate/console")


def in_browser(report: Report, page: Path) -> None:
    url = page.as_uri()
    with Browser() as browser:
        wide = browser.open(url)
        report.equal(dict(wide.evaluate(SECTIONS)), PLOTS, "page/plots")
        report.equal(wide.evaluate(EMPTY_PLOTS), [], "page/plots_have_curves")
        rows = wide.evaluate("[...document.querySelectorAll('.refused tbody th')].map(th => th.textContent)")
        report.equal(rows, ["away"] * len(PLOTS), "page/the_server_that_is_away_is_a_row_of_each")
        report.equal(wide.evaluate("document.querySelectorAll('.verdict').length"), len(PLOTS), "page/verdicts")
        report.equal(wide.evaluate("document.scripts.length"), 0, "page/no_script")
        report.check(wide.evaluate(HIDDEN_FIGURES) > 0, "page/figures_are_folded")
        light = wide.evaluate(COLORS)
        report.check(brightness(light[0]) > 230 > 100 > brightness(light[1]), "page/light", str(light))

        phone = browser.open(url, width=360, height=740, dark=True)
        report.equal(phone.evaluate("document.documentElement.scrollWidth"), 360, "phone/no_scrolling_sideways")
        report.equal(phone.evaluate(TOO_WIDE), [], "phone/nothing_is_cut")
        dark = phone.evaluate(COLORS)
        report.check(brightness(dark[0]) < 60 and brightness(dark[2]) < 60 < 180 < brightness(dark[1]), "dark/page_and_plots", str(dark))

        phone.media(dark=True, kind="print")
        paper = phone.evaluate(COLORS)
        report.check(brightness(paper[0]) > 230 > 100 > brightness(paper[1]), "print/is_light", str(paper))
        report.equal(phone.evaluate(HIDDEN_FIGURES), 0, "print/figures_are_unfolded")
        printed = phone.pdf()
        report.check(printed.startswith(b"%PDF") and len(printed) > 20_000, "print/is_made", f"{len(printed)} bytes")

        for opened, name in ((wide, "wide"), (phone, "phone")):
            report.equal(opened.complaints, [], f"{name}/console")
            report.equal([asked for asked in opened.requests if asked != url and not asked.startswith("data:")], [], f"{name}/asks_nobody")
        plots = sorted(page.parent.glob("*.svg"))
        report.equal(len(plots), sum(PLOTS.values()), "files/plots")
        for plot in plots:
            alone = browser.open(plot.as_uri(), dark=True)
            fill = alone.evaluate("getComputedStyle(document.querySelector('text')).fill")
            report.check(not alone.evaluate(BROKEN_SVG) and not alone.complaints and brightness(fill) > 180, f"files/{plot.name}", f"{alone.complaints} {fill}")


def markup(report: Report, results: Path, home: Path) -> None:
    """Names and errors of a file that somebody else has made are texts."""
    bad, out = home / "bad.jsonl", home / "bad"
    text = results.read_text().replace('"here"', json.dumps(NAME_OF_MARKUP)).replace("cannot connect", "<script>alert(1)</script>")
    bad.write_text(text)
    done = lab("report", str(bad), "--out", str(out))
    report.check(done.returncode == 0, "markup/report", done.stderr)
    with Browser() as browser:
        page = browser.open((out / "index.html").as_uri())
        report.equal(page.evaluate("[document.scripts.length, document.images.length]"), [0, 0], "markup/is_text")
        report.equal(page.complaints, [], "markup/console")


def command(report: Report, home: Path) -> None:
    empty = home / "empty.jsonl"
    empty.write_text("")
    for name, path, why in (("empty", empty, "nothing in the results"), ("absent", home / "none", "No such file"), ("other", Path(__file__), "is no result of the lab")):
        done = lab("report", str(path), "--out", str(home / "none-out"))
        report.check(done.returncode != 0 and why in done.stderr, f"command/{name}", done.stdout + done.stderr)


def page(report: Report, home: Path) -> None:
    results = run(report, home)
    done = lab("report", str(results), "--out", str(home / "out"))
    report.check(done.returncode == 0, "report", done.stderr)
    if not program():
        report.skip("page", "there is no Chromium")
        return
    in_browser(report, home / "out" / "index.html")
    markup(report, results, home)


def picture(directory: Path) -> None:
    with Browser() as browser:
        example = browser.open((HERE.parents[1] / "docs/lab/index.html").as_uri(), width=1000, height=1300)
        example.evaluate(f"document.querySelector('section[data-experiment={PICTURED}]').scrollIntoView()")
        (directory / "lab.png").write_bytes(example.picture(whole=False))


def main() -> int:
    parser = suite_parser(__doc__)
    parser.add_argument("--pictures", type=Path, help="where the screenshot is written")
    options = parser.parse_args()
    if options.pictures:
        picture(options.pictures)
        return 0
    report = Report("lab", options.filters)
    with scratch("lab") as home:
        home = Path(home)
        for case in (page, tpcc, references, work, sysbench, postgres, resume, stop, refusals, simulate, command):
            if report.wants(case.__name__):
                with report.case(case.__name__):
                    case(report, home)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
