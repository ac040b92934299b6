"""A PostgreSQL that is up, measured beside us. What a snapshot keeps alive are dead rows there, in the table itself.

Its driver is wanted only here: `pip install pg8000`.
"""
from sides import DATABASE, Side


class Postgres(Side):
    versions_are = "tables with their dead rows"

    def fresh_database(self) -> None:
        self._maintain(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)", f"CREATE DATABASE {DATABASE}")

    def drop_database(self) -> None:
        self.close_all()
        self._maintain(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")

    def _maintain(self, *statements: str) -> None:
        connection = self._connect("postgres")
        try:
            for statement in statements:
                connection.cursor().execute(statement)
        finally:
            connection.close()

    def _connect(self, database: str):
        import pg8000.dbapi
        connection = pg8000.dbapi.connect(self.address.user, host=self.address.host, port=self.address.port, database=database)
        connection.autocommit = True
        return connection

    def connect(self, **_):
        connection = self._connect(DATABASE)
        self.open_connections.append(connection)
        return connection

    def begin_snapshot(self):
        connection = self.connect()
        # The first statement is what takes the snapshot.
        for statement in ("BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1"):
            connection.cursor().execute(statement)
        return connection

    def version_bytes(self) -> int:
        """All that the tables take: dead rows and live ones are not told apart."""
        return int(self.execute("SELECT COALESCE(SUM(pg_total_relation_size(relid)), 0) FROM pg_stat_user_tables")[0][0])

    def sysbench_arguments(self) -> list[str]:
        return ["--db-driver=pgsql", f"--pgsql-host={self.address.host}", f"--pgsql-port={self.address.port}",
                f"--pgsql-user={self.address.user}", f"--pgsql-db={DATABASE}"]
