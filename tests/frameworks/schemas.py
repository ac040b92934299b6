"""The schemas of applications in Debian's packages, as their packages ship them, and dumps of what they make.

Each is loaded into a database of its own by `mariadb --force`, which goes on behind a refusal. What a server may refuse is what
MySQL 9.7 does: `known/schemas_on_mysql.json` has its refusals, recorded with `--record`. Then the database is dumped, the dump is loaded
into a second one, and a dump of that must read the same. With `--peer`, a MySQL server, that server loads the schema and the
dump as well, and its dumps of both must be the same text.
"""
import difflib
import gzip
import json
import re
import subprocess
from dataclasses import dataclass

import install
from known import LISTS, Known, Result
from support.address import Address

RECORDED = LISTS / "schemas_on_mysql.json"
REFUSAL = re.compile(r"^ERROR (\d+) \(\w+\) at line (\d+)(?: in file: '[^']*')?: (.*)")
# Statements about databases and accounts: a schema goes where it is told to, and nobody gets rights. `source` names files that are not installed.
LEFT_OUT = re.compile(rb"^[ \t]*(?:(?:CREATE|DROP)[ \t]+(?:DATABASE|SCHEMA)\b[^;\n]*;|USE[ \t][^;\n]*;|USE[ \t]+\w+[ \t]*$|GRANT\b[^;]*;|source .*$)", re.IGNORECASE | re.MULTILINE)
DUMP = ["--skip-comments", "--skip-dump-date", "--skip-triggers", "--hex-blob", "--default-character-set=utf8mb4", "--max-allowed-packet=64M"]
SECONDS = 900


@dataclass(frozen=True)
class Schema:
    """Files of a package, loaded one behind the other; `begins` is where the statements do in a file that explains them first."""
    name: str
    package: str
    files: tuple[str, ...]
    begins: bytes = b""

    def text(self) -> bytes:
        texts = [gzip.decompress(data) if path.endswith(".gz") else data for path, data in install.unpacked(self.package, list(self.files))]
        whole = b"\n".join(text[max(text.find(self.begins), 0):] for text in texts)
        return LEFT_OUT.sub(lambda found: b"\n" * found[0].count(b"\n"), whole)


SCHEMAS = [
    Schema("amavis", "amavisd-new", ("*/README.sql-mysql.gz",), begins=b"-- local users\n"),
    Schema("bacula", "bacula-director-mysql", ("*/install/mysql",)),
    Schema("cacti", "cacti", ("*/conf_templates/cacti.sql",)),
    Schema("dbconfig", "dbconfig-common", ("*/db-test-mysql-2.0/mysql.sql",)),
    Schema("ejabberd", "ejabberd", ("usr/share/ejabberd/sql/mysql.sql",)),
    Schema("ejabberd_new", "ejabberd", ("usr/share/ejabberd/sql/mysql.new.sql",)),
    Schema("freeradius", "freeradius-config", ("*/main/mysql/schema.sql", "*/main/mysql/extras/wimax/schema.sql", "*/cui/mysql/schema.sql", "*/dhcp/mysql/schema.sql",
                                              "*/ippool/mysql/schema.sql", "*/ippool-dhcp/mysql/schema.sql", "*/moonshot-targeted-ids/mysql/schema.sql")),
    Schema("freeradius_procedures", "freeradius-config", ("*/ippool/mysql/schema.sql", "*/ippool/mysql/procedure.sql", "*/main/mysql/schema.sql", "*/main/mysql/process-radacct.sql")),
    Schema("freeradius_ndb", "freeradius-config", ("*/main/ndb/schema.sql",)),
    Schema("gammu", "gammu", ("*/sql/mysql.sql",)),
    Schema("gammu_legacy", "gammu", ("*/sql/mysql-legacy.sql",)),
    Schema("gerbera", "gerbera", ("*/mysql.sql",)),
    Schema("glewlwyd", "glewlwyd", ("*/glewlwyd/install/mysql",)),
    Schema("gnokii", "gnokii-smsd-mysql", ("*/sms.tables.mysql.sql",)),
    Schema("icinga_director", "icingaweb2-module-director", ("*/director/schema/mysql.sql",)),
    Schema("icinga_ido", "icinga2-ido-mysql", ("*/schema/mysql.sql",)),
    Schema("icinga_reporting", "icingaweb2-module-reporting", ("*/schema/mysql.sql",)),
    Schema("icinga_x509", "icingaweb2-module-x509", ("*/mysql.schema.sql",)),
    Schema("icingadb", "icingadb", ("*/schema/mysql/schema.sql",)),
    Schema("icingaweb2", "icingaweb2", ("*/schema/mysql.schema.sql",)),
    Schema("jabberd2", "jabberd2", ("*/db-setup.mysql.gz",)),
    Schema("kamailio", "kamailio-mysql-modules", ("usr/share/kamailio/mysql/standard-create.sql", "usr/share/kamailio/mysql/*-create.sql")),
    Schema("kea", "kea-admin", ("*/dhcpdb_create.mysql",)),
    Schema("mediawiki", "mediawiki", ("usr/share/mediawiki/maintenance/tables-generated.sql",)),
    Schema("mediawiki_extensions", "mediawiki", ("*/Math/sql/mysql/mathoid.sql", "*/Math/sql/mysql/mathlatexml.sql", "*/extensions-core/*/sql/mysql/tables-generated.sql", "*/maintenance/storage/blob*.sql")),
    Schema("oar", "oar-server", ("*/mysql_structure.sql", "*/default_data.sql", "*/mysql_default_admission_rules.sql")),
    Schema("ocs_inventory", "ocsinventory-reports", ("*/files/ocsbase_new.sql",)),
    Schema("ocs_inventory_old", "ocsinventory-reports", ("*/files/ocsbase.sql",)),
    Schema("opendmarc", "opendmarc", ("*/install/mysql",)),
    Schema("phpmyadmin", "phpmyadmin", ("usr/share/phpmyadmin/sql/create_tables.sql",)),
    Schema("pmacct", "pmacct", ("usr/share/pmacct/sql/pmacct-create-db_*.mysql",)),
    Schema("pnopaste", "pnopaste", ("*/install/mysql",)),
    Schema("powerdns", "pdns-backend-mysql", ("usr/share/pdns-backend-mysql/schema/schema.mysql.sql", "*/schema/enable-foreign-keys.mysql.sql")),
    Schema("prelude", "libpreludedb7-mysql", ("*/classic/mysql.sql",)),
    Schema("request_tracker4", "request-tracker4", ("usr/share/request-tracker4/etc/schema.mysql",)),
    Schema("request_tracker5", "request-tracker5", ("usr/share/request-tracker5/etc/schema.mysql",)),
    Schema("roundcube", "roundcube-core", ("*/SQL/mysql.initial.sql",)),
    Schema("rsyslog", "rsyslog-mysql", ("*/install/mysql",)),
    Schema("sabre_dav", "php-sabre-dav", ("*/examples/sql/mysql.*.sql",)),
    Schema("spamassassin", "spamassassin", ("*/sql/*_mysql.sql",)),
    Schema("sphinx", "sphinxsearch", ("*/example.sql",)),
    Schema("tango", "tango-db", ("*/create_db_tables.sql", "*/stored_proc.sql", "*/install/mysql")),
    Schema("tt_rss", "tt-rss", ("*/install/mysql",)),
    Schema("ulogd", "ulogd2", ("*/mysql-ulogd2.sql.gz",)),
    Schema("ulogd_flat", "ulogd2", ("*/mysql-ulogd2-flat.sql.gz",)),
    Schema("zabbix", "zabbix-server-mysql", ("*/schema.sql.gz", "*/images.sql.gz", "*/data.sql.gz")),
    Schema("zabbix_proxy", "zabbix-proxy-mysql", ("*/schema.sql.gz",)),
    Schema("zoneminder", "zoneminder", ("usr/share/zoneminder/db/zm_create.sql", "usr/share/zoneminder/db/triggers.sql")),
    Schema("zoph", "zoph", ("*/zoph/install/mysql",)),
]


def fresh(address: Address, database: str) -> str:
    address.execute(f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
    return database


def load(address: Address, database: str, text: bytes) -> list[tuple[int, int, str]]:
    """What the server refuses of the text: line, error number, message."""
    # At the same moment on each server.
    command = ["mariadb", "--no-defaults", *address.client_arguments(), "--init-command=SET timestamp = 1700000000", "--force", "--default-character-set=utf8mb4", "--max-allowed-packet=64M", database]
    done = subprocess.run(command, input=text, capture_output=True, timeout=SECONDS)
    lines = done.stderr.decode(errors="replace").splitlines()
    found = [(int(refusal[2]), int(refusal[1]), refusal[3]) for line in lines if (refusal := REFUSAL.match(line))]
    others = [line for line in lines if line.startswith("ERROR") and not REFUSAL.match(line)]
    return found + [(0, 0, line) for line in others]


def dump(address: Address, database: str) -> str:
    command = ["mariadb-dump", "--no-defaults", *address.client_arguments(), *DUMP, database]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="surrogateescape")


def difference(one: str, other: str) -> str:
    """The first lines in which two dumps differ; empty if they are the same.

    A column that inherits its collation is dumped with COLLATE alone, and once that is loaded shows its character set as well."""
    one, other = (re.sub(r" CHARACTER SET \w+( COLLATE)", r"\1", text) for text in (one, other))
    lines = [] if one == other else difflib.unified_diff(one.splitlines(), other.splitlines(), lineterm="", n=0)
    return "\n".join(line[:300] for _, line in zip(range(12), lines))


def alike(text: str) -> str:
    """A dump without what servers may name differently: engines, and who made a view."""
    return re.sub(r" ENGINE=\w+|DEFINER=`[^`]*`@`[^`]*`", "", text)


def statement(text: bytes, line: int) -> str:
    """How the statement at a line begins: its first words."""
    rest = b"\n".join(text.split(b"\n")[max(line - 1, 0):][:40]).decode(errors="replace")
    words = re.findall(r"\w+", re.sub(r"--.*|#.*|/\*.*?\*/", "", rest))
    return " ".join(words[:2]).upper()


def round_trip(address: Address, name: str, first: str, peer: Address | None) -> list[Result]:
    """The dump of the first database, loaded and dumped again: here, and there and back."""
    results = []
    for where, at in (("reload", address), ("reload on the peer", peer)):
        if at is None:
            continue
        second = fresh(at, f"{name}_again")
        refused = load(at, second, first.encode(errors="surrogateescape"))
        differs = difference(first, dump(at, second))
        at.execute(f"DROP DATABASE {second}")
        results.append(Result(f"{name}/{where}", "failed" if refused or differs else "passed", f"{refused[:3]} {differs}" if refused or differs else ""))
    return results


def play(schema: Schema, address: Address, expected: list, peer: Address | None) -> list[Result]:
    name, text = f"schema_{schema.name}", schema.text()
    refused = load(address, fresh(address, name), text)
    lines = {line: (code, message) for line, code, message in refused}
    on_mysql = {line: code for line, code in expected}
    # One result for each kind of difference, not for each line of hundreds: where it comes first.
    differing: dict[str, str] = {}
    for line in sorted(lines.keys() | on_mysql.keys()):
        (code, message), wanted = lines.get(line, (0, "accepted")), on_mysql.get(line, 0)
        if code != wanted:
            kind = f"{code} {message[:90]}" if code else f"accepted: {statement(text, line)}"
            differing.setdefault(f"{schema.name}/{kind}", f"line {line}: {statement(text, line)}; MySQL: {wanted or 'accepted'}")
    results = [Result(kind, "failed", where) for kind, where in differing.items()]
    results.append(Result(f"{schema.name}/loaded", "passed"))
    mine = dump(address, name)
    results += [Result(result.test.removeprefix("schema_"), result.outcome, result.detail) for result in round_trip(address, name, mine, peer)]
    if peer:
        load(peer, fresh(peer, name), text)
        differs = difference(alike(dump(peer, name)), alike(mine))
        results.append(Result(f"{schema.name}/same as the peer", "failed" if differs else "passed", differs))
        peer.execute(f"DROP DATABASE {name}")
    address.execute(f"DROP DATABASE {name}")
    return results


def record(address: Address, chosen: list[Schema]) -> None:
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for schema in chosen:
        name = f"schema_{schema.name}"
        refused = load(address, fresh(address, name), schema.text())
        address.execute(f"DROP DATABASE {name}")
        recorded[schema.name] = [[line, code] for line, code, _ in refused]
        print(f"  recorded {schema.name}: {refused[:3]}", flush=True)
    lines = (f"{json.dumps(name)}: {json.dumps(refused)}" for name, refused in sorted(recorded.items()))
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def chosen_schemas(filters: list[str]) -> list[Schema]:
    return [schema for schema in SCHEMAS if not filters or any(word in schema.name for word in filters)]


def run(report, address: Address, is_mysql: bool, filters: list[str], peer: Address | None = None) -> None:
    install.tools("mariadb", "mariadb-dump", "apt-get", "dpkg-deb")
    known, recorded = Known("schemas"), json.loads(RECORDED.read_text())
    for schema in chosen_schemas(filters):
        try:
            results = play(schema, address, recorded.get(schema.name, []), peer)
        except install.Missing as missing:
            report.skip(f"schemas/{schema.name}", str(missing))
        except Exception as error:  # a dump that fails, a server that ends: this schema's failure
            known.tell(report, schema.name, [Result(f"{schema.name}/ends", "failed", f"{type(error).__name__}: {str(error)[-500:]}")], is_mysql)
        else:
            known.tell(report, schema.name, results, is_mysql)
