"""Where the matrix of privileges is to differ from MySQL, and why.

A statement that is not there gives every account its error, before or in place of a denial; nobody can do anything with it. Of the
other differences, those where Tidemark allows less are said to be `STRICTER`; in the rest nobody gets more than in MySQL, only
another error.
"""
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """An answer of Tidemark's in place of one of MySQL's, as patterns of how they begin."""
    why: str
    tidemark: str
    mysql: str
    sets: str = ""

    def covers(self, name: str, expected: str, answer: str) -> bool:
        return bool(re.match(self.tidemark, answer) and re.match(self.mysql, expected) and re.search(self.sets, name))


NOT_THERE = {
    # The server that was asked has no secure_file_priv.
    "1290|1045": "select into outfile, load data",
    "1235|.*are refused": "explain analyze, create temporary table, create view, create trigger, "
            "create event, grant proxy, "
            "flush table for export, disable redo log, install plugin, xa recover, reset binary logs, purge binary logs, create server, "
            "create resource group, create tablespace",
    "1109|1146|.*are refused": "innodb_tables, innodb_tablespaces, innodb_buffer_pool_stats, variables_info, host_cache, statements digest, "
                          "truncate host_cache",
    "1193": "set session default_table_encryption, set session original_commit_timestamp, set session rbr_exec_mode",
}
# Statements that are not there: how the error begins that those get who are not denied before.
UNSUPPORTED: dict[str, str] = {name: f"{answer}|1142|1227|1044" for answer, names in NOT_THERE.items() for name in names.split(", ")}

STRICTER = "in MySQL, who may change the tables of `mysql` may do what these tables say; here nobody changes them but by CREATE USER and its kin"
BY_TABLES = Difference(STRICTER, "1227 .*(CREATE USER|GRANT OPTION)", "ok|1396|1227", "UPDATE|INSERT|DELETE|static on global|all on global|all but")
OTHER_ERROR = "the statement is denied in both, for another table or column of those that it may not use"
TELLS_NOTHING = "MySQL tells whether there is such a table to who holds nothing in its database"
OPTION_ALONE = "who may only grant what it has not got is told nothing"
ROLE_OPTION = Difference("GRANT OPTION is nothing to look at a database by, a role's neither", "1044", "ok", "GRANT OPTION")

DIFFERENT: dict[str, list[Difference]] = {
    "handler": [Difference("MySQL was asked again in a session that had the table open", "ok", "1066")],
    "update joined": [Difference(OTHER_ERROR, "1142", "114[23]")],
    "update joined both": [Difference(OTHER_ERROR, "114[23]", "114[23]"), Difference("columns that USING merges are read", "114[23] SELECT", "ok")],
    "delete subquery": [Difference(OTHER_ERROR, "1143", "1142")],
    "show columns missing": [Difference(TELLS_NOTHING, "1142", "1146")],
    "use": [ROLE_OPTION],
    "show create database": [ROLE_OPTION],
    "show table status": [ROLE_OPTION],
    "show triggers": [ROLE_OPTION],
    "show tables": [ROLE_OPTION],
    "tables": [Difference(OPTION_ALONE, "ok", "ok", "GRANT OPTION")],
    "table constraints": [Difference(OPTION_ALONE, "ok", "ok", "GRANT OPTION")],
    "statistics": [Difference(OPTION_ALONE, "ok", "ok", "GRANT OPTION"), Difference("only indexes of columns that the account may see", "ok", "ok", "on columns")],
    "alter database missing": [Difference("the number for a database that is not there is that of other statements", "1049", "3503")],
    "lock waits": [Difference("it is a table here, and reads no others", "ok", "1356")],
    "flush hosts": [Difference("FLUSH HOSTS is kept from older versions", "ok|1227", "1064")],
    "set password": [Difference("needs what ALTER USER needs, CREATE USER", "ok|1227 .*CREATE USER", "1044"), BY_TABLES],
    "set password system user": [Difference("needs what ALTER USER needs, CREATE USER", "ok|1227 .*(CREATE USER|SYSTEM_USER)", "1044"), BY_TABLES],
    **{name: [BY_TABLES] for name in (
        "revoke everything", "revoke everything system user", "grant dynamic", "grant role admin", "grant static and dynamic", "grant system user", "create user", "create user there",
        "create user with password", "create user with role", "alter user", "alter user lock", "alter user expire", "alter user comment", "alter user missing",
        "alter user itself limits", "alter user itself unlock", "alter user itself comment", "alter user itself discard", "alter user discard", "alter user system user",
        "alter user root", "drop user", "drop user missing", "drop user if exists", "drop user system user", "drop user role", "rename user", "rename user system user",
        "grant all global", "set default role", "set default role all", "set default role system user", "alter user default role")},
}
