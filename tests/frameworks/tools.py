"""Tools for migrations, dumps, imports and load, each at its main job: Flyway, Liquibase, golang-migrate, Drizzle, mydumper and
myloader, mysqlimport, mysqlslap. Each works in a database of its own, and what it made is looked at."""
import csv
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import install
from known import Known, Result
from schemas import difference, dump, fresh, load
from support.address import Address

HERE = Path(__file__).resolve().parent / "tools"
GOLANG_MIGRATE = "github.com/golang-migrate/migrate/v4/cmd/migrate@v4.19.0"
DRIZZLE_READS = ('[[{"name":"Ada","kind":"old","extra":{"colours":["red"]},"purchases":[{"total":"12.5","paid":false,"note":null},'
                 '{"total":"3","paid":true,"note":"thanks"}]}],[{"total":"15.50"}]]')
SECONDS = 300


class Wrong(Exception):
    pass


def call(*command: str, cwd: Path | None = None, **environment: str) -> str:
    """What the command prints; `Wrong` if it fails."""
    try:
        done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Wrong(f"{command[0]}: still running after {SECONDS} s") from None
    if done.returncode:
        raise Wrong(f"{' '.join(command[:4])} ends with {done.returncode}: {(done.stdout + done.stderr)[-1200:]}")
    return done.stdout.strip()


def expect(address: Address, database: str, query: str, rows: list[tuple]) -> None:
    seen = [tuple(str(value) for value in row) for row in address.execute(f"USE {database}", query)]
    if seen != rows:
        raise Wrong(f"{query}: expected {rows}, saw {seen}")


def maven(address: Address, database: str, *goals: str) -> None:
    install.tools("mvn", "java")
    url = f"jdbc:mysql://{address.host}:{address.port}/{database}?allowPublicKeyRetrieval=true&sslMode=DISABLED"
    named = [f"-D{tool}.{name}={value}" for tool, names in (("flyway", ("url", "user", "password")), ("liquibase", ("url", "username", "password")))
             for name, value in zip(names, (url, address.user, address.password))]
    call("mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), *goals, *named, f"-Dflyway.locations=filesystem:{HERE / 'flyway'}", "-Dflyway.cleanDisabled=false",
         "-Dliquibase.changeLogFile=changelog.xml", f"-Dliquibase.searchPath={HERE / 'liquibase'}", "-Dliquibase.promptOnNonLocalDatabase=false")


def flyway(address: Address, database: str) -> None:
    maven(address, database, "flyway:migrate")
    expect(address, database, "SELECT version, success FROM flyway_schema_history ORDER BY installed_rank", [("1", "1"), ("2", "1"), ("None", "1")])
    expect(address, database, "SELECT paid, purchases FROM report", [("1", "2")])
    maven(address, database, "flyway:validate", "flyway:info", "flyway:clean")
    expect(address, database, "SHOW TABLES", [])


def liquibase(address: Address, database: str) -> None:
    maven(address, database, "liquibase:update")
    expect(address, database, "SELECT id FROM DATABASECHANGELOG ORDER BY orderexecuted", [("1",), ("2",), ("3",)])
    expect(address, database, "SELECT customer_id, total, paid FROM bought", [("1", "12.500", "0")])
    maven(address, database, "liquibase:rollback", "-Dliquibase.rollbackCount=1")
    expect(address, database, "SELECT full_name, total FROM spent", [("Ada", "12.500")])
    maven(address, database, "liquibase:status", "liquibase:update", f"-Dliquibase.outputChangeLogFile={install.BUILD / 'liquibase.xml'}", "liquibase:generateChangeLog", "-Dliquibase.overwriteOutputFile=true")
    maven(address, database, "liquibase:dropAll")
    expect(address, database, "SHOW TABLES LIKE 'customer'", [])


def golang_migrate(address: Address, database: str) -> None:
    install.tools("go")
    program = install.BUILD / "bin/migrate"
    if not program.exists():
        install.run("go", "install", "-tags", "mysql", GOLANG_MIGRATE, cwd=install.BUILD, environment={**os.environ, "GOBIN": str(program.parent)})
    command = [str(program), "-path", str(HERE / "golang_migrate"), "-database", f"mysql://{address.user}@tcp({address.host}:{address.port})/{database}?multiStatements=true"]
    call(*command, "up")
    expect(address, database, "SELECT version, dirty FROM schema_migrations", [("2", "0")])
    expect(address, database, "SELECT name, total FROM spent ORDER BY name", [("Ada; and co", "12.50"), ("Bob's", "12.50")])
    call(*command, "down", "1")
    expect(address, database, "SHOW COLUMNS FROM purchase LIKE 'paid'", [])
    call(*command, "goto", "2")
    call(*command, "down", "-all")
    expect(address, database, "SHOW TABLES", [("schema_migrations",)])


def drizzle(address: Address, database: str) -> None:
    install.tools("node", "npm", "npx")
    folder, url = install.BUILD / "drizzle", f"mysql://{address.user}@{address.host}:{address.port}/{database}"
    shutil.copytree(HERE / "drizzle", folder, dirs_exist_ok=True)
    if not (folder / "node_modules/drizzle-kit").exists():
        install.run("npm", "install", "--silent", "--no-audit", "--no-fund", cwd=folder)
    shutil.rmtree(folder / "migrations", ignore_errors=True)
    call("npx", "drizzle-kit", "push", "--force", cwd=folder, DB_URL=url)
    say = call("npx", "tsx", "use.ts", cwd=folder, DB_URL=url)
    if say != DRIZZLE_READS:
        raise Wrong(f"after push: expected {DRIZZLE_READS}, saw {say}")
    call("npx", "drizzle-kit", "push", "--force", cwd=folder, DB_URL=url)
    fresh(address, database)
    call("npx", "drizzle-kit", "generate", cwd=folder, DB_URL=url)
    call("npx", "drizzle-kit", "migrate", cwd=folder, DB_URL=url)
    say = call("npx", "tsx", "use.ts", "migrate", cwd=folder, DB_URL=url)
    if say != DRIZZLE_READS:
        raise Wrong(f"after migrate: expected {DRIZZLE_READS}, saw {say}")
    call("npx", "drizzle-kit", "pull", cwd=folder, DB_URL=url)


def filled(address: Address, database: str) -> str:
    """The tables of the migrations with some rows more; their dump."""
    if refused := load(address, database, (HERE / "flyway/V1__shop.sql").read_bytes() + (HERE / "flyway/V2__paid.sql").read_bytes()):
        raise Wrong(str(refused))
    rows = ", ".join(f"(1 + {n} % 2, {n}.25, {n} % 2, {'NULL' if n % 7 == 0 else repr('line' + chr(92) + 'n' + str(n))})" for n in range(5000))
    address.execute(f"USE {database}", f"INSERT INTO purchase (customer_id, total, paid, note) VALUES {rows}")
    return dump(address, database)


def mydumper(address: Address, database: str) -> None:
    install.tools("mydumper", "myloader")
    filled(address, database)
    # It takes a column that is DEFAULT_GENERATED for a generated one, and leaves it out.
    address.execute(f"ALTER TABLE {database}.customer MODIFY joined TIMESTAMP NULL")
    before, folder = dump(address, database), install.BUILD / f"mydumper-{address.port}"
    shutil.rmtree(folder, ignore_errors=True)
    who = ["-h", address.host, "-P", str(address.port), "-u", address.user]
    call("mydumper", *who, "-B", database, "-o", str(folder), "-t", "2", "--triggers", "--routines", "--events", "--rows", "1000")
    fresh(address, database)
    call("myloader", *who, "-B", database, "-d", str(folder), "-t", "2", "-o")
    if differs := difference(before, dump(address, database)):
        raise Wrong(differs)


def mysqlimport(address: Address, database: str) -> None:
    install.tools("mariadb-import")
    before, file = filled(address, database), install.BUILD / "purchase.csv"
    rows = address.execute(f"SELECT * FROM {database}.purchase")
    with open(file, "w", newline="") as output:
        written = [["\\N" if value is None else str(value).replace("\\", "\\\\") for value in row] for row in rows]
        csv.writer(output, quoting=csv.QUOTE_MINIMAL, lineterminator="\n").writerows(written)
    allowed = address.execute("SELECT @@GLOBAL.local_infile")[0][0]
    address.execute("SET GLOBAL local_infile = ON")
    try:
        said = call("mariadb-import", "--no-defaults", *address.client_arguments(), "--local", "--delete", "--fields-terminated-by=,", "--fields-optionally-enclosed-by=\"",
                    "--use-threads=2", "--lock-tables", database, str(file))
    finally:
        address.execute(f"SET GLOBAL local_infile = {allowed}")
    if f"Records: {len(rows)}  Deleted: 0  Skipped: 0  Warnings: 0" not in said:
        raise Wrong(said)
    if differs := difference(before, dump(address, database)):
        raise Wrong(differs)


def mysqlslap(address: Address, database: str) -> None:
    install.tools("mariadb-slap")
    for more in (["--auto-generate-sql-load-type=mixed"], ["--auto-generate-sql-add-autoincrement", "--auto-generate-sql-secondary-indexes=2", "--auto-generate-sql-load-type=update"],
                 ["--auto-generate-sql-guid-primary", "--auto-generate-sql-load-type=key", "--number-char-cols=3", "--number-int-cols=4"]):
        said = call("mariadb-slap", "--no-defaults", *address.client_arguments(), f"--create-schema={database}", "-a", "--concurrency=4", "--iterations=2", "--number-of-queries=200", *more)
        if "Average number of seconds" not in said:
            raise Wrong(said)


def dump_and_load(address: Address, database: str) -> None:
    before = filled(address, database)
    if refused := load(address, fresh(address, database), before.encode()):
        raise Wrong(str(refused))
    if differs := difference(before, dump(address, database)):
        raise Wrong(differs)


TOOLS: dict[str, Callable[[Address, str], None]] = {"drizzle": drizzle, "dump_and_load": dump_and_load, "flyway": flyway, "golang_migrate": golang_migrate, "liquibase": liquibase,
                                                   "mydumper": mydumper, "mysqlimport": mysqlimport, "mysqlslap": mysqlslap}


def run(report, address: Address, is_mysql: bool, filters: list[str]) -> None:
    known = Known("tools")
    for name, play in TOOLS.items():
        if filters and not any(word in name for word in filters):
            continue
        database = fresh(address, f"tool_{name}")
        try:
            play(address, database)
        except install.Missing as missing:
            report.skip(f"tools/{name}", str(missing))
            continue
        except Wrong as wrong:
            result = Result(name, "failed", str(wrong))
        else:
            result = Result(name, "passed")
        address.execute(f"DROP DATABASE IF EXISTS {database}")
        known.tell(report, name, [result], is_mysql)
