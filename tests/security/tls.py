"""TLS: certificates of clients, what accounts demand of a connection, versions and ciphers, and all of it read anew while the server runs."""
import ssl
import subprocess
import tempfile
from pathlib import Path

import pymysql

from support.address import Address
from support.report import Report
from support.server import Server


def openssl(home: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=home, check=True, capture_output=True, timeout=60)


def authority(home: Path, name: str) -> None:
    """An authority `name`-ca.pem, and a client's certificate signed by it: `name`.pem and `name`.key."""
    openssl(home, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", f"{name}-ca.key", "-out", f"{name}-ca.pem", "-subj", f"/O=Tidemark/CN={name}-ca")
    openssl(home, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/C=SE/O=Tidemark/CN={name}")
    (home / f"{name}.ext").write_text("extendedKeyUsage = clientAuth\nsubjectAltName = DNS:client\n")
    openssl(home, "x509", "-req", "-days", "2", "-in", f"{name}.csr", "-CA", f"{name}-ca.pem", "-CAkey", f"{name}-ca.key", "-CAcreateserial", "-extfile", f"{name}.ext", "-out", f"{name}.pem")


class Tls:
    def __init__(self, server: Server, home: Path, report: Report):
        self.server, self.home, self.report = server, home, report

    def root(self, *statements: str) -> tuple:
        return self.server.address.execute(*statements)

    def context(self, client: str | None = None, **options) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if client:
            context.load_cert_chain(self.home / f"{client}.pem", self.home / f"{client}.key")
        for name, value in options.items():
            setattr(context, name, value)
        return context

    def login(self, user: str, context: ssl.SSLContext | None) -> pymysql.connections.Connection:
        return Address("127.0.0.1", self.server.port, user).connect(**({"ssl": context} if context else {"ssl_disabled": True}))

    def may(self, user: str, context: ssl.SSLContext | None) -> bool:
        try:
            self.login(user, context).close()
            return True
        except (pymysql.err.OperationalError, ssl.SSLError, OSError) as error:
            assert not isinstance(error, pymysql.err.OperationalError) or error.args[0] in (1045, 2003, 2013, 2026), error
            return False

    def status(self, context: ssl.SSLContext | None) -> dict:
        with self.login("plain", context) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW STATUS LIKE 'Ssl%'")
            return dict(cursor.fetchall())

    def run(self) -> None:
        self.root("CREATE USER plain")
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("tls/" + name.removeprefix("case_")):
                getattr(self, name)()

    def case_accounts_demand_what_the_connection_must_be(self):
        subject, issuer = "/C=SE/O=Tidemark/CN=good", "/O=Tidemark/CN=good-ca"
        open_line, encrypted, good = None, self.context(), self.context("good")
        suite = self.status(encrypted)["Ssl_cipher"]
        for demand, expected in (("NONE", (1, 1, 1)), ("SSL", (0, 1, 1)), ("X509", (0, 0, 1)), (f"SUBJECT '{subject}'", (0, 0, 1)), (f"ISSUER '{issuer}'", (0, 0, 1)),
                                 (f"SUBJECT '{subject}' AND ISSUER '{issuer}' AND CIPHER '{suite}'", (0, 0, 1)), ("SUBJECT '/C=SE/O=Tidemark/CN=evil'", (0, 0, 0)),
                                 (f"ISSUER '{subject}'", (0, 0, 0)), (f"CIPHER '{suite}'", (0, 1, 1)), ("CIPHER 'RC4-MD5'", (0, 0, 0))):
            self.root("DROP USER IF EXISTS wants", f"CREATE USER wants REQUIRE {demand}")
            seen = tuple(int(self.may("wants", context)) for context in (open_line, encrypted, good))
            assert seen == expected, (demand, seen)
            text = self.root("SHOW CREATE USER wants")[0][0]
            assert f"REQUIRE {demand.replace(' AND', '')} PASSWORD" in text, text
        self.root("ALTER USER wants REQUIRE NONE")
        assert self.may("wants", open_line)

    def case_a_certificate_of_another_authority_is_refused(self):
        assert not self.may("plain", self.context("evil"))

    def case_status_says_what_was_agreed_on(self):
        assert self.status(None)["Ssl_version"] == self.status(None)["Ssl_cipher"] == ""
        assert self.status(self.context(minimum_version=ssl.TLSVersion.TLSv1_3))["Ssl_version"] == "TLSv1.3"
        older = self.status(self.context(maximum_version=ssl.TLSVersion.TLSv1_2))
        assert older["Ssl_version"] == "TLSv1.2" and older["Ssl_cipher"].startswith("ECDHE-"), older
        assert int(older["Ssl_accepts"]) >= int(older["Ssl_finished_accepts"]) > 0, older

    def case_reloaded_while_connections_go_on(self):
        with self.login("plain", self.context("good")) as before:
            self.root(f"SET GLOBAL ssl_ca = '{self.home}/evil-ca.pem'")
            assert self.may("plain", self.context("good")), "nothing changes before it is reloaded"
            self.root("ALTER INSTANCE RELOAD TLS")
            assert not self.may("plain", self.context("good")) and self.may("plain", self.context("evil"))
            for sql in ("SET GLOBAL ssl_ca = '/no/such/file'", "ALTER INSTANCE RELOAD TLS"):
                try:
                    self.root(sql)
                except pymysql.err.MySQLError as error:
                    assert sql.startswith("ALTER") and error.args[0] == 3888 and "ssl_ca /no/such/file" in error.args[1], error
            assert self.may("plain", self.context("evil")), "what was there stays"
            try:
                self.root("ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR")
            except pymysql.err.MySQLError as error:
                assert error.args[0] == 3888, error
            assert not self.may("plain", self.context()) and self.may("plain", None), "but not if told so"
            self.root(f"SET GLOBAL ssl_ca = '{self.home}/good-ca.pem'", "ALTER INSTANCE RELOAD TLS FOR CHANNEL mysql_main")
            assert self.may("plain", self.context("good"))
            with before.cursor() as cursor:
                cursor.execute("SELECT 1")
                assert cursor.fetchall() == ((1,),)
        self.root("DROP USER IF EXISTS nobody", "CREATE USER nobody")
        try:
            Address("127.0.0.1", self.server.port, "nobody").execute("ALTER INSTANCE RELOAD TLS")
        except pymysql.err.MySQLError as error:
            assert error.args[0] == 1227 and "CONNECTION_ADMIN" in error.args[1], error
        else:
            raise AssertionError("anybody may reload")

    def case_versions_and_ciphers(self):
        old, new = self.context(maximum_version=ssl.TLSVersion.TLSv1_2), self.context(minimum_version=ssl.TLSVersion.TLSv1_3)
        for versions, expected in (("TLSv1.2", (1, 0)), ("TLSv1.3", (0, 1)), ("", (0, 0)), ("TLSv1.2,TLSv1.3", (1, 1))):
            self.root(f"SET GLOBAL tls_version = '{versions}'", "ALTER INSTANCE RELOAD TLS")
            seen = tuple(int(self.may("plain", context)) for context in (old, new))
            assert seen == expected, (versions, seen)
        self.root("SET GLOBAL tls_ciphersuites = 'TLS_CHACHA20_POLY1305_SHA256'", "ALTER INSTANCE RELOAD TLS")
        assert self.status(new)["Ssl_cipher"] == "TLS_CHACHA20_POLY1305_SHA256"
        self.root("SET GLOBAL tls_ciphersuites = DEFAULT", "ALTER INSTANCE RELOAD TLS")


def run(_: Address, report: Report) -> None:
    with tempfile.TemporaryDirectory() as home:
        home = Path(home)
        for name in ("good", "evil"):
            authority(home, name)
        with Server("tls", f"--ssl-ca={home}/good-ca.pem") as server:
            Tls(server, home, report).run()
