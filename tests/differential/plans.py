"""What the other server says when it has to plan a query otherwise.

Some answers of MySQL are up to its plan: a value that cannot be computed is an error only where it is computed at all, and a
constant beside an indexed column is at times looked for as something else than it is compared as. A query on which MySQL does not
agree with itself has several right answers, and ours is to be one of them.
"""
import re

SWITCHES = ("derived_merge=off", "semijoin=off,materialization=off", "semijoin=off,materialization=on,subquery_materialization_cost_based=off",
            "index_condition_pushdown=off,derived_condition_pushdown=off", "subquery_to_derived=on,derived_merge=off")
DATABASE = "differential_bare"
KEYS = re.compile(r", KEY k\d \((?:[^()]|\(\d\))*\)")


class OtherPlans:
    """Asks a query under other switches in the session itself, and in another of the same tables without their secondary indexes."""

    def __init__(self, perform, connection, address):
        self.perform, self.connection, self.address = perform, connection, address

    def answers(self, played: list[str], sql: str):
        try:
            for switches in SWITCHES:
                self.perform(self.connection, f"SET SESSION optimizer_switch = '{switches}'")
                yield self.perform(self.connection, sql)
                self.perform(self.connection, "SET SESSION optimizer_switch = DEFAULT")
        finally:
            self.perform(self.connection, "SET SESSION optimizer_switch = DEFAULT")
        bare = self.address.connect(conv={}, charset="utf8mb4")
        try:
            for statement in [f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", *played]:
                self.perform(bare, KEYS.sub("", statement) if statement.startswith("CREATE TABLE") else statement)
            yield self.perform(bare, sql)
        finally:
            bare.close()
