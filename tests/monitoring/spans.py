"""Statements as spans: what a collector gets of those that a client's trace has, by a comment or a query attribute, and that none waits for it."""
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import mysql.connector

from support.report import Report
from support.server import Server

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ASKS = f"/*app='shop',traceparent='00-{TRACE}-{CALLER}-01'*/"
ARRIVES_WITHIN_S = 10
STATEMENTS = 200


class Collector(BaseHTTPRequestHandler):
    spans: list[dict] = []
    paths: set[str] = set()

    def do_POST(self) -> None:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.paths.add(self.path)
        for resource in document["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                self.spans.extend(scope["spans"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


def attributes(span: dict) -> dict:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def counted(server: Server) -> tuple[int, int]:
    seen = dict(server.address.execute("SHOW GLOBAL STATUS LIKE 'Tidemark_spans_%'"))
    return int(seen["Tidemark_spans_exported"]), int(seen["Tidemark_spans_dropped"])


def by_attribute(server: Server) -> None:
    """Two statements whose trace is named beside them, in the text protocol and in the binary one."""
    address = server.address
    connection = mysql.connector.connect(host=address.host, port=address.port, user=address.user, database="shop", use_pure=True)
    cursor = connection.cursor()
    cursor.add_attribute("traceparent", f"00-{TRACE}-{CALLER}-01")
    cursor.execute("SELECT id FROM t WHERE id = 1")
    cursor.fetchall()
    cursor.clear_attributes()
    cursor.add_attribute("traceparent", f"00-{TRACE}-{CALLER}-00")
    cursor.execute(f"SELECT 2 {ASKS}")  # the attribute says that it is not recorded
    cursor.fetchall()
    cursor.clear_attributes()
    prepared = connection.cursor(prepared=True)
    prepared.add_attribute("traceparent", f"00-{TRACE}-{CALLER}-01")
    prepared.execute("SELECT id FROM t WHERE id = %s", (2,))
    prepared.fetchall()
    connection.close()


def arrive(report: Report) -> None:
    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        with Server("spans", f"--tidemark-otlp-endpoint=http://127.0.0.1:{collector.server_port}") as server:
            server.address.execute("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)", "INSERT INTO shop.t VALUES (1), (2), (3)")
            with server.address.connect(database="shop", autocommit=True) as connection, connection.cursor() as cursor:
                before = time.time_ns()
                cursor.execute(f"SELECT id FROM t WHERE id > 1 {ASKS}")
                cursor.execute("SELECT id FROM t")
                cursor.execute(f"SELECT '{ASKS.replace(chr(39), '')}'")
                cursor.execute(f"SELECT 1 {ASKS.replace('-01', '-00')}")
                try:
                    cursor.execute(f"SELECT nothing FROM t {ASKS}")
                except Exception as error:
                    report.equal(error.args[0], 1054, "an error is an error")
                cursor.execute(f"DELETE FROM t WHERE id = 3 {ASKS}")
            by_attribute(server)
            after = time.time_ns()
            deadline = time.monotonic() + ARRIVES_WITHIN_S
            while counted(server)[0] < 5 and time.monotonic() < deadline:
                time.sleep(0.05)
            report.equal(counted(server), (5, 0), "five statements asked for spans")
        collector.shutdown()
    spans = Collector.spans
    report.equal([span["name"] for span in spans], ["SELECT shop", "SELECT shop", "DELETE shop", "SELECT shop", "EXECUTE shop"], "and these have arrived")
    report.equal(Collector.paths, {"/v1/traces"}, "where OTLP has them")
    report.equal({(span["traceId"], span["parentSpanId"], span["kind"]) for span in spans}, {(TRACE, CALLER, 2)}, "they belong to the client's span")
    report.equal(len({span["spanId"] for span in spans}), 5, "each with a number of its own")
    times = [int(span[f"{end}TimeUnixNano"]) for span in spans for end in ("start", "end")]
    report.check(times == sorted(times) and before - 10**6 <= times[0] and times[-1] <= after + 10**6, "at the time that they ran", f"{before} {times} {after}")
    if len(spans) == 5:
        read = attributes(spans[0])
        report.equal([read[key] for key in ("db.namespace", "db.query.text", "db.response.returned_rows", "tidemark.rows_examined")],
                     ["shop", "SELECT `id` FROM `t` WHERE `id` > ?", "2", "2"], "with what was done, and no literal")
        report.equal((spans[1]["status"]["code"], attributes(spans[1])["error.type"]), (2, "1054"), "a failure is told")
        report.equal(attributes(spans[2])["tidemark.rows_affected"], "1", "and rows that were changed")


def hang(report: Report) -> None:
    """A collector that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with Server("spans-hang", f"--tidemark-otlp-endpoint=http://127.0.0.1:{silent.getsockname()[1]}") as server:
            with server.address.connect(autocommit=True) as connection, connection.cursor() as cursor:
                for _ in range(STATEMENTS):
                    cursor.execute(f"SELECT 1 {ASKS}")
            deadline = time.monotonic() + ARRIVES_WITHIN_S
            while counted(server)[1] == 0 and time.monotonic() < deadline:
                time.sleep(0.1)
            exported, dropped = counted(server)
            report.check(exported == 0 and dropped > 0, "what a silent collector does not take is dropped and counted", f"{exported}, {dropped}")


def spans(report: Report, _: Server) -> None:
    arrive(report)
    hang(report)
