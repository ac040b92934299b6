#!/usr/bin/env python3
"""The status page, metrics and health, over HTTP and in a real browser.

    tests/status/run.py [--pictures DIRECTORY] [FILTER...]

By HTTP: every endpoint; who is let in, here and on other addresses; what a client cannot do that is slow, talks too much, comes too
often or with somebody else's name for this machine; metrics as a parser of Prometheus reads them; what ten viewers cost. In a
headless Chromium, where there is one: each panel is filled under load, a lock wait and a deadlock are drawn (and after how long is said),
nothing is asked of elsewhere, the console stays empty, at 360 pixels nothing is wider than the page, dark mode, keyboard. With --pictures
its screenshots are written there. What two studies could not see is seen here: `studies`.
"""
import json
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import http_client as http  # noqa: E402
import load  # noqa: E402
import studies  # noqa: E402
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics  # noqa: E402
from prometheus_client.parser import text_string_to_metric_families as prometheus  # noqa: E402
from support import browser as chromium  # noqa: E402
from support.patience import is_within, patience, processor_s  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server, binary, free_port, scratch  # noqa: E402

PANELS = ["throughput", "latency", "waits", "blocking", "sessions", "statements", "views", "history", "hot", "storage", "deadlock"]
FILES = ["/", "/status.css", "/status.js", "/charts.js", "/icon.svg"]
HEAD_TIME_S = 5
CONNECTIONS_MAX = 64
VIEWERS_MAX = 32
EVENT_BYTES_MAX = 50_000


def refused(address: tuple[str, int]) -> bool:
    """True if a new connection is closed without an answer."""
    try:
        http.get(address, "/health")
    except OSError:
        return True
    return False


def endpoints(report: Report, page: tuple[str, int]) -> None:
    for path in FILES:
        answer = http.get(page, path)
        report.check(answer.status == 200 and len(answer.body) > 100, f"{path} is there", repr(answer)[:200])
        policy = answer.headers["content-security-policy"]
        report.check("default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy, f"{path} allows nothing from elsewhere", policy)
    html = http.get(page, "/").text
    report.check("<script>" not in html and not re.search(r"\son\w+=", html) and "style=" not in html, "the page has nothing inline")
    texts = "".join(http.get(page, path).text for path in FILES).replace("http://www.w3.org/2000/svg", "")
    report.check("http://" not in texts and "https://" not in texts and "innerHTML" not in texts, "and names no other server")
    report.equal([html.count(f'id="{panel}"') for panel in PANELS], [1] * len(PANELS), "each panel is on it")
    report.equal((http.get(page, "/health").text, http.get(page, "/ready").text), ("up\n", "ready\n"), "health and readiness")
    head = http.get(page, "/", method="HEAD")
    report.check(head.status == 200 and not head.body and int(head.headers["content-length"]) > 100, "HEAD has no body")
    report.equal([http.get(page, path).status for path in ("/nothing", "/../etc/passwd", "/status", "//")], [404] * 4, "what is not there is 404")
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"):
        answer = http.get(page, "/", method=method)
        report.equal((answer.status, answer.headers.get("allow")), (405, "GET, HEAD"), f"{method} is not allowed")


def names_of_this_machine(report: Report, page: tuple[str, int]) -> None:
    for host in ("localhost", "127.0.0.1", f"127.0.0.1:{page[1]}", "[::1]:80", "LOCALHOST"):
        report.equal(http.get(page, "/", host=host).status, 200, f"it answers to {host}")
    for host in ("evil.example", "localhost.evil.example", f"evil.example:{page[1]}", "0.0.0.0", "10.0.0.1", ""):
        report.equal([http.get(page, path, host=host).status for path in ("/", "/metrics", "/events", "/health")], [421] * 4, f"it does not answer to '{host}'")
    report.equal(http.get(page, "/", host=None).status, 400, "a request without Host is refused")
    report.equal(http.send(page, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").status, 400, "so is one with two")


def limits(report: Report, page: tuple[str, int], server: Server) -> None:
    report.equal(http.send(page, b"\x16\x03\x01\x02\x00\x01\r\n\r\n").status, 400, "what is no HTTP is refused")
    report.equal(http.get(page, "/", X="y" * 20_000).status, 431, "a long header is refused")
    report.equal(http.send(page, b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n").status, 431, "so is a long path")
    report.equal(http.send(page, request_of_many_headers()).status, 431, "and many headers")
    report.equal(http.send(page, b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 100_000).status, 200, "a body is not read")

    with http.connect(page, 30) as slow:
        started = time.monotonic()
        try:
            for letter in b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200:
                slow.sendall(bytes([letter]))
                time.sleep(0.2)
        except OSError:
            pass
        took = time.monotonic() - started
        report.check(is_within(took, HEAD_TIME_S + 3), "a client that sends a letter now and then is let go", f"after {took:.1f} s")

    before = server.memory_bytes()
    for many in (CONNECTIONS_MAX + 2, 1000):
        silent = []
        try:
            for n in range(many):
                silent.append(http.connect(page))
                if n % 50 == 0:
                    # Half of a head is none.
                    silent[-1].sendall(b"GET /health HTTP/1.1\r\nHost: local")
            seen = [http.get(page, path).status for path in ("/health", "/ready", "/metrics", "/")]
            report.equal(seen, [200] * 4, f"beside {many} silent connections everything is answered")
            report.equal(server.address.execute("SELECT 1"), ((1,),), "the database does not notice")
            grown = server.memory_bytes() - before
            report.check(grown < 32 << 20, "they take little memory", f"{grown} bytes")
        finally:
            for connection in silent:
                connection.close()

    viewers = [http.Events(page) for _ in range(VIEWERS_MAX)]
    report.equal(http.get(page, "/events").status, 503, f"more than {VIEWERS_MAX} viewers are refused")
    report.equal(http.get(page, "/health").status, 200, "but everything else is there")
    for viewer in viewers:
        viewer.close()
    time.sleep(2)


def request_of_many_headers() -> bytes:
    return b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 200 + b"\r\n"


def values_of(families) -> dict[tuple, float]:
    return {(sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples}


def metrics(report: Report, page: tuple[str, int], server: Server) -> None:
    def scrape() -> dict[tuple, float]:
        answer = http.get(page, "/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
        assert answer.headers["content-type"].startswith("application/openmetrics-text"), answer.headers
        assert answer.text.endswith("# EOF\n")
        return values_of(open_metrics(answer.text))

    with report.case("a parser of OpenMetrics reads them"):
        before = scrape()
    with report.case("a parser of Prometheus's own form reads them"):
        answer = http.get(page, "/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4"), answer.headers
        assert len(values_of(prometheus(answer.text))) > 150
    with server.address.connect(database=load.DATABASE) as connection, connection.cursor() as cursor:
        for _ in range(10):
            cursor.execute("UPDATE account SET balance = balance + 1 WHERE id = 3")
    after = scrape()

    def grown(name: str, **labels: str) -> float:
        key = (name, *sorted(labels.items()))
        return after[key] - before[key]

    report.check(grown("mysql_global_status_commands_total", command="update") == 10, "statements are counted by kind")
    report.check(grown("tidemark_commits_total") >= 10, "commits are counted")
    report.check(grown("tidemark_commit_duration_seconds_count") >= 10 and grown("tidemark_commit_duration_seconds_sum") > 0, "and how long they took")
    report.check(grown("tidemark_statement_duration_seconds_count") >= 10, "statements, too")
    report.check(grown("tidemark_wait_seconds_total", wait="log_sync") > 0, "and what was waited for")
    report.equal(after[("mysql_up",)], 1.0, "the server is up")
    names = ["threads_connected", "threads_running", "uptime", "questions", "slow_queries", "bytes_sent", "innodb_row_lock_waits", "innodb_buffer_pool_reads",
             "created_tmp_tables", "aborted_connects", "max_used_connections"]
    missing = [name for name in names if (f"mysql_global_status_{name}",) not in after]
    report.check(not missing and ("mysql_global_variables_max_connections",) in after, "what dashboards for MySQL look for is there", repr(missing))
    dashboard = (HERE.parents[1] / "docs/grafana.json").read_text()
    used = set(re.findall(r"\b((?:mysql|tidemark)_[a-z0-9_]+)", dashboard))
    known = {key[0] for key in after}
    report.check(len(used) > 15 and used <= known, "the dashboard asks for nothing that is not there", repr(sorted(used - known)))


def events(report: Report, page: tuple[str, int], server: Server) -> None:
    viewer = http.Events(page)
    report.check("text/event-stream" in viewer.head, "the events are a stream of events", viewer.head)
    report.equal(viewer.next()[0], "past", "the first is what was before")
    with load.Load(server.address):
        time.sleep(2.5)

        def is_busy(sample: dict) -> bool:
            # On a busy machine the first samples may lie before all clients, or between two commits.
            return sample["rates"]["transactions"] > 10 and sample["sessions"]["count"] >= 4 and sample["rates"]["waits"]["log_sync"] > 0

        sample, _ = viewer.until(is_busy, 10)
        report.ok("sessions and waits are there")
        report.check(sample["rates"]["latency"]["p50"] <= sample["rates"]["latency"]["p99"], "quantiles rise", repr(sample["rates"]))
        sample, _ = viewer.until(lambda sample: any(row["key"] == "7" for row in sample["hot"]["rows"]), 30)
        report.ok("the hottest row is there")
        reader = load.Client(server.address)
        reader.ask("BEGIN", "SELECT balance FROM account WHERE id = 7 /* opens it */", "SELECT balance FROM account WHERE id = 8")

        def is_ours(sample: dict) -> bool:
            return any(view["id"] == reader.id and view["versions"] for view in sample["views"]["list"])

        sample, _ = viewer.until(is_ours, 20)
        view = next(view for view in sample["views"]["list"] if view["id"] == reader.id)
        report.equal(view["opened_by"], "SELECT balance FROM account WHERE id = 7 /* opens it */", "an old snapshot has the statement that opened it")
        shown = reader.ask(f"SELECT opened_by, versions > 0 FROM sys.tidemark_views WHERE pid = {reader.id}")
        report.equal(shown, ((view["opened_by"], 1),), "so it is in SQL")
        shown = reader.ask("SELECT reason, ended_by FROM sys.tidemark_history WHERE pid = CONNECTION_ID()")
        report.equal(shown, (("read view", f"the end of its statement or transaction, or KILL {reader.id}"),), "with what ends it")
        reader.end()
        viewer.received, started = 0, time.monotonic()
        for _ in range(6):
            viewer.next()
        rate = viewer.received / (time.monotonic() - started)
        report.check(rate < EVENT_BYTES_MAX, "a viewer takes less than 50 KB a second", f"{rate:.0f}")
        report.note(f"a viewer takes {rate:.0f} bytes a second")
    holder, waiter = load.Client(server.address), load.Client(server.address)
    holder.ask("BEGIN", "UPDATE account SET note = 'held' WHERE id = 5")
    waiter.start("UPDATE account SET note = 'wanted' WHERE id = 5")

    def waits(sample: dict) -> bool:
        return any((wait["waiter"], wait["blocker"]) == (waiter.id, holder.id) for wait in sample["waits"]["list"])

    _, took = viewer.until(waits, 10)
    report.ok("a lock wait is shown", f"after {took:.1f} s")
    holder.ask("ROLLBACK")
    waiter.end()
    holder.ask("BEGIN", "SELECT COUNT(*) FROM account")
    changer = load.Client(server.address)
    changer.start("ALTER TABLE account ADD COLUMN extra INT")
    _, took = viewer.until(lambda sample: any(wait["waiter"] == changer.id and "definition" in wait["lock"] for wait in sample["waits"]["list"]), 10)
    report.ok("so is one for a definition", f"after {took:.1f} s")
    holder.end()
    changer.end()
    one, two = load.deadlock(server.address)
    sample, took = viewer.until(lambda sample: sample["deadlock"] is not None, 10)
    members = sample["deadlock"]["members"]
    report.ok("a deadlock is shown", f"after {took:.1f} s")
    report.equal(({member["id"] for member in members}, sum(member["victim"] for member in members)), ({one.id, two.id}, 1), "with who was in it, and who lost")
    report.check(all("account PRIMARY" in member["waits_for"] and member["holds"] for member in members), "what each held and wanted", repr(members))
    one.end()
    two.end()
    viewer.close()


def crowd(report: Report, page: tuple[str, int], server: Server) -> None:
    """A hundred sessions that wait for one row, each for all before it: the page shows what it can, and stays small."""
    holder = load.Client(server.address)
    holder.ask("BEGIN", "UPDATE account SET note = 'held' WHERE id = 6")
    waiters = [load.Client(server.address) for _ in range(100)]
    for waiter in waiters:
        waiter.start("UPDATE account SET note = CONCAT('wanted by many, said at length', REPEAT('x', 20)) WHERE id = 6 /* " + "y" * 5000 + " */")
    viewer = http.Events(page)
    sample, _ = viewer.until(lambda sample: sample["waits"]["count"] >= 100, 20)
    report.check(len(sample["waits"]["list"]) == 40 and len(sample["sessions"]["list"]) == 30, "of a crowd so much is shown as a page holds")
    report.check(any(session["id"] == holder.id for session in sample["sessions"]["list"]), "among it the session that is in everybody's way")
    viewer.received = 0
    viewer.next()
    report.check(viewer.received < EVENT_BYTES_MAX, "an event stays small", f"{viewer.received} bytes")
    viewer.close()
    holder.ask("ROLLBACK")
    for client in (*waiters, holder):
        client.end()


def cost(report: Report, page: tuple[str, int], server: Server) -> None:
    """The difference that ten viewers make to a server that is left alone."""
    def share(seconds: float) -> float:
        began, spent = time.monotonic(), processor_s(server.process.pid)
        time.sleep(seconds)
        return (processor_s(server.process.pid) - spent) / (time.monotonic() - began)

    time.sleep(3)
    without = share(8)
    viewers = [http.Events(page) for _ in range(10)]
    time.sleep(2)
    viewed = share(8)
    for viewer in viewers:
        viewer.close()
    report.note(f"ten viewers cost {100 * (viewed - without):.2f} % of a core")


def accounts(report: Report) -> None:
    port = free_port()
    with Server("status-accounts", f"--status-port={port}", "--status-address=0.0.0.0") as server:
        page = ("127.0.0.1", port)
        server.address.execute("CREATE USER watcher@'%' IDENTIFIED BY 'see'", "GRANT PROCESS ON *.* TO watcher@'%'",
                               "CREATE USER nobody@'%' IDENTIFIED BY 'see'", "CREATE USER old@'%' IDENTIFIED WITH mysql_native_password BY 'see'",
                               "GRANT PROCESS ON *.* TO old@'%'", "CREATE USER locked@'%' IDENTIFIED BY 'see' ACCOUNT LOCK",
                               "CREATE USER late@'%' IDENTIFIED BY 'see' PASSWORD EXPIRE", "CREATE USER private@'%' IDENTIFIED BY 'see' REQUIRE SSL",
                               "GRANT PROCESS ON *.* TO private@'%'", "CREATE ROLE viewers", "GRANT PROCESS ON *.* TO viewers",
                               "CREATE USER member@'%' IDENTIFIED BY 'see'",
                               "GRANT viewers TO member@'%'", "SET DEFAULT ROLE viewers TO member@'%'",
                               "CREATE USER guessed@'%' IDENTIFIED BY 'see' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 1", "GRANT PROCESS ON *.* TO guessed@'%'")
        bare = http.get(page, "/")
        report.equal((bare.status, bare.headers.get("www-authenticate", "")[:5]), (401, "Basic"), "elsewhere than on loopback one has to say who one is")
        report.equal([http.get(page, path).status for path in ("/metrics", "/events", "/status.js", "/nothing")], [401] * 4, "for everything")
        report.equal([http.get(page, path).status for path in ("/health", "/ready")], [200, 200], "but health and readiness")
        report.equal(http.get(page, "/", host="tidemark.example").status, 401, "under any name")

        def status(user: str, password: str, path: str = "/") -> int:
            return http.get(page, path, Authorization=http.basic(user, password)).status

        report.equal([status("watcher", "see", path) for path in ("/", "/metrics")], [200, 200], "an account with PROCESS may look")
        report.equal(status("member", "see"), 200, "or one whose role has it")
        report.equal(status("old", "see"), 200, "with mysql_native_password, too")
        report.equal(status("root", ""), 200, "and root, as at a login from this machine")
        report.equal([status("watcher", "guess"), status("watcher", ""), status("old", "guess"), status("gone", "see"), status("", "")], [401] * 5, "not with a wrong password or name")
        report.equal([status(user, "see") for user in ("nobody", "late", "private")], [403] * 3, "nor without PROCESS, expired or where TLS is required")
        report.equal(status("locked", "see"), 401, "and a locked account is answered as a wrong password is")
        report.equal([status("guessed", "x"), status("guessed", "x"), status("guessed", "see")], [401] * 3, "wrong passwords lock an account as at a login")
        for header in ("Basic", "Basic ???", "Basic " + "A" * 4000, "Bearer see", "Basic OnNlZQ"):
            report.equal(http.get(page, "/", Authorization=header).status, 401, f"'{header[:20]}' is nobody")


def start_and_stop(report: Report) -> None:
    with scratch("status-start") as home:
        port, page_port = free_port(), free_port()
        page = ("127.0.0.1", page_port)
        slow = Path(home) / "slow.sql"
        slow.write_text("DO SLEEP(3);\n")
        command = [binary(), "serve", f"--datadir={home}/data", f"--port={port}", f"--status-port={page_port}", f"--init-file={slow}", "--log-format=json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            deadline = time.monotonic() + patience(20)
            while refused(page) and time.monotonic() < deadline:
                time.sleep(0.05)
            seen = [http.get(page, path).status for path in ("/health", "/ready", "/", "/metrics")]
            report.equal(seen, [200, 503, 503, 503], "while it starts it is up, but not ready")
            while http.get(page, "/ready").status != 200 and time.monotonic() < deadline:
                time.sleep(0.05)
            report.equal(http.get(page, "/").status, 200, "then it is")
            viewer = http.Events(page)
            viewer.next()
            started = time.monotonic()
            process.terminate()
            said = process.communicate(timeout=60)[0]
            report.check(is_within(time.monotonic() - started, 10) and process.returncode == 0, "a viewer does not keep it from stopping", said)
            report.check(f"the status page is at http://127.0.0.1:{page_port}/" in said, "it says where the page is", said)
            report.check(refused(page), "when it has stopped nothing answers")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        objects = [json.loads(line) for line in said.splitlines()]     # there is nothing else
        notes = [entry["msg"] for entry in objects if entry["label"] == "Note"]
        report.check(len(notes) >= 3 and any(f"--status-port={page_port}"[2:] in note for note in notes), "the log says with which settings it starts, as JSON if asked", said)
        taken = subprocess.run([binary(), "serve", f"--datadir={home}/data", f"--port={port}", f"--status-port={port}"], capture_output=True, text=True, timeout=60)
        report.check(taken.returncode == 1, "a port that cannot be had ends the start", taken.stderr)


def in_a_browser(report: Report, page: tuple[str, int], server: Server, pictures: Path | None) -> None:
    if not chromium.program():
        report.skip("a browser shows it", "there is no Chromium")
        return
    with chromium.Browser() as started, load.Load(server.address):
        origin = f"http://127.0.0.1:{page[1]}"
        browser = started.open(origin + "/")
        browser.wait_for("document.querySelectorAll('.body[data-filled=yes]').length === 11", 15)
        report.ok("every panel is drawn")
        time.sleep(3)
        for panel in PANELS:
            drawn = browser.evaluate(f"document.querySelector('#{panel} .body').textContent.length + document.querySelectorAll('#{panel} .body svg *').length")
            report.check(drawn > 10, f"the panel {panel} is filled under load", repr(drawn))
        curves = browser.evaluate("[...document.querySelectorAll('#throughput path.curve')].map(path => path.getAttribute('d').length)")
        report.check(max(curves) > 30, "the curve of throughput is drawn", repr(curves))
        report.check(browser.evaluate("document.getElementById('connection').dataset.state") == "live", "it says that it is live")

        reader = load.Client(server.address)
        reader.ask("BEGIN", "SELECT SUM(balance) FROM account")
        holder, waiter = load.Client(server.address), load.Client(server.address)
        holder.ask("BEGIN", "UPDATE account SET note = 'held' WHERE id = 5")
        waiter.start("UPDATE account SET note = '<b>wanted</b>' WHERE id = 5")
        began = time.monotonic()
        browser.wait_for(f"document.querySelectorAll('#blocking g.session').length === 2 && document.querySelector('#blocking').textContent.includes('{waiter.id} root')")
        report.ok("a lock wait is drawn", f"after {time.monotonic() - began:.1f} s")
        report.check(browser.evaluate("!document.querySelector('#blocking b')"), "a statement's text is text")
        one, two = load.deadlock(server.address)
        began = time.monotonic()
        browser.wait_for("document.querySelectorAll('#deadlock g.session').length === 2")
        report.ok("a deadlock is drawn", f"after {time.monotonic() - began:.1f} s")
        report.check(browser.evaluate("document.querySelectorAll('#deadlock path.arrow').length") == 2, "with its two arrows")
        browser.wait_for("document.querySelector('#views').textContent.includes('SELECT SUM(balance)')", 5)
        report.ok("an old snapshot is named by its statement")

        for name, width, height, dark in (("status", 1000, 1000, False), ("status-dark", 1000, 1000, True), ("status-narrow", 360, 740, False)):
            browser.size(width, height)
            browser.media(dark=dark)
            time.sleep(1.3)
            if pictures:
                (pictures / f"{name}.png").write_bytes(browser.picture(whole=False))
            if dark:
                light = browser.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).reduce((a, b) => a + b)")
                report.check(light < 150, "dark mode is dark", repr(light))
            scrolled = browser.evaluate("document.documentElement.scrollWidth")
            report.check(scrolled <= width, f"at {width} pixels nothing is wider than the page", repr(scrolled))
        browser.size(1200, 900)
        report.check(browser.evaluate("document.activeElement === document.body"), "nothing has the focus at first")
        browser.key("Tab", 9)
        report.equal(browser.evaluate("document.activeElement.tagName"), "SUMMARY", "the keyboard reaches the first panel")
        browser.key("Enter", 13, "\r")
        report.check(browser.evaluate("document.querySelector('#throughput details').open"), "and opens its SQL")
        browser.evaluate("document.querySelector('#views .body').click()")
        report.check(browser.evaluate("document.querySelector('#views details').open"), "so does a click on a panel")
        shown = browser.evaluate("[...document.querySelectorAll('.panel pre')].map(pre => pre.textContent)")
        statements = [text.strip() for pre in shown for text in re.sub(r"--[^\n]*", "", pre).split(";") if text.strip()]
        with report.case("the SQL of every panel runs"):
            assert len(statements) >= 15, statements
            server.address.execute(*statements, "SET GLOBAL innodb_print_all_deadlocks = OFF")
        report.equal([url for url in browser.requests if not url.startswith((origin, "about:", "data:"))], [], "nothing is asked of elsewhere")
        holder.ask("ROLLBACK")
        for client in (reader, holder, waiter, one, two):
            client.end()
        report.equal(browser.complaints, [], "the console is empty")


def main() -> None:
    options = suite_parser(__doc__)
    options.add_argument("--pictures", type=Path, help="where screenshots are written")
    arguments = options.parse_args()
    report = Report("status", arguments.filters)
    port = free_port()
    page = ("127.0.0.1", port)
    cases = {
        "endpoints": lambda server: endpoints(report, page),
        "names": lambda server: names_of_this_machine(report, page),
        "limits": lambda server: limits(report, page, server),
        "metrics": lambda server: metrics(report, page, server),
        "events": lambda server: events(report, page, server),
        "crowd": lambda server: crowd(report, page, server),
        "cost": lambda server: cost(report, page, server),
        "held_snapshot": lambda server: studies.held_snapshot(report, page, server),
        "history_warning": lambda server: studies.history_warning(report, server),
        "browser": lambda server: in_a_browser(report, page, server, arguments.pictures),
    }
    wanted = [case for name, case in cases.items() if report.wants(name)]
    if wanted:
        with Server("status", f"--status-port={port}") as server:
            load.prepare(server.address)
            for case in wanted:
                case(server)
    if report.wants("global_lock"):
        studies.global_lock(report)
    if report.wants("accounts"):
        accounts(report)
    if report.wants("start_and_stop"):
        start_and_stop(report)
    report.close()


if __name__ == "__main__":
    main()
