import com.google.gson.Gson;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The checks of expected.json through Connector/J. */
public class Drivers {
    static class Column { String name, type, kind; List<String> values; }
    static class Failure { String name, sql, state; int code; }
    static class Expected { List<Column> columns; List<Failure> errors; }

    interface Body { void run() throws Exception; }

    static final String USER = System.getenv("DB_USER"), PASSWORD = System.getenv("DB_PASSWORD");
    static Expected expected;

    static void check(String name, Body body) {
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Throwable error) {
            System.out.println("FAILED " + name + ": " + error.toString().replace('\n', ' '));
        }
    }

    static void equal(Object seen, Object wanted, String what) {
        if (!Objects.equals(seen, wanted)) throw new AssertionError(what + " expected " + wanted + ", saw " + seen);
    }

    static void fails(int code, String state, Body body) throws Exception {
        try {
            body.run();
        } catch (SQLException error) {
            equal(error.getErrorCode() + " " + error.getSQLState(), code + " " + state, error.getMessage());
            return;
        }
        throw new AssertionError("no error " + code);
    }

    static Connection connect(String user, String password, String options) throws SQLException {
        return DriverManager.getConnection("jdbc:mysql://" + System.getenv("DB_HOST") + ":" + System.getenv("DB_PORT")
            + "/drivers?sslMode=DISABLED&allowPublicKeyRetrieval=true&connectionTimeZone=UTC&forceConnectionTimeZoneToSession=true"
            + "&yearIsDateType=false&" + options, user, password);
    }

    static Connection connect(String options) throws SQLException { return connect(USER, "", options); }

    static void accounts() {
        for (String plugin : System.getenv("DB_PLUGINS").trim().split("\\s+")) {
            if (plugin.isEmpty()) continue;
            String user = "drv_" + plugin.split("_")[0];
            check("connect_" + plugin, () -> {
                for (int time = 0; time < 2; time++) {
                    try (Connection c = connect(user, PASSWORD, ""); ResultSet r = c.createStatement().executeQuery("SELECT CURRENT_USER()")) {
                        r.next();
                        equal(r.getString(1), user + "@%", "user:");
                    }
                }
            });
            check("wrong_password_" + plugin, () -> fails(1045, "28000", () -> connect(user, "wrong", "")));
        }
    }

    static DateTimeFormatter format(Column column) {
        if (column.kind.equals("date")) return DateTimeFormatter.ofPattern("yyyy-MM-dd");
        int digits = column.type.contains("(") ? column.type.charAt(column.type.indexOf('(') + 1) - '0' : 0;
        return DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss" + (digits > 0 ? "." + "S".repeat(digits) : ""));
    }

    static Object parameter(Column column, String text) {
        if (text == null) return null;
        switch (column.kind) {
            case "int": case "year": return Long.valueOf(text);
            case "uint": return new BigDecimal(text); // a BigInteger it binds as a signed number
            case "decimal": return new BigDecimal(text);
            case "double": return Double.valueOf(text);
            case "date": return LocalDate.parse(text, format(column));
            case "datetime": return LocalDateTime.parse(text, format(column));
            case "binary": return HexFormat.of().parseHex(text);
            default: return text;
        }
    }

    static String show(Column column, ResultSet row, int at) throws SQLException {
        if (row.getObject(at) == null && !column.kind.equals("time")) return null;
        switch (column.kind) {
            case "int": case "year": return String.valueOf(row.getLong(at));
            case "uint": return row.getObject(at, BigInteger.class).toString();
            case "decimal": return row.getBigDecimal(at).toPlainString();
            case "double": return row.getDouble(at) == 1e300 ? "1e+300" : String.valueOf(row.getDouble(at));
            case "date": return row.getObject(at, LocalDate.class).format(format(column));
            case "datetime": return row.getObject(at, LocalDateTime.class).format(format(column));
            case "binary": return HexFormat.of().formatHex(row.getBytes(at));
            default: return row.getString(at);
        }
    }

    static void types(Connection connection, String table, boolean prepared) throws Exception {
        StringBuilder create = new StringBuilder("CREATE TABLE " + table + " (id INT PRIMARY KEY");
        for (Column c : expected.columns) create.append(", ").append(c.name).append(' ').append(c.type);
        try (Statement s = connection.createStatement()) { s.execute(create + ")"); }
        String marks = "?" + ", ?".repeat(expected.columns.size());
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " VALUES (" + marks + ")")) {
            for (int number = 0; number < 3; number++) {
                insert.setInt(1, number);
                for (int at = 0; at < expected.columns.size(); at++) {
                    Column c = expected.columns.get(at);
                    insert.setObject(at + 2, parameter(c, c.values.get(number)));
                }
                equal(insert.executeUpdate(), 1, "rows:");
            }
        }
        String query = "SELECT * FROM " + table + (prepared ? " WHERE id >= ?" : "") + " ORDER BY id";
        try (PreparedStatement select = connection.prepareStatement(query)) {
            if (prepared) select.setInt(1, 0);
            try (ResultSet rows = select.executeQuery()) {
                int number = 0;
                for (; rows.next(); number++) {
                    for (int at = 0; at < expected.columns.size(); at++) {
                        Column c = expected.columns.get(at);
                        // The driver's binary TIME cannot hold more than a day: those are left to the other drivers.
                        if (c.kind.equals("time")) continue;
                        equal(show(c, rows, at + 2), c.values.get(number), c.name + " of row " + number + ":");
                    }
                }
                equal(number, 3, "rows:");
            }
        }
    }

    static void large(Connection connection) throws Exception {
        byte[] value = new byte[20 << 20];
        new Random(1).nextBytes(value);
        try (Statement s = connection.createStatement()) { s.execute("CREATE TABLE large_java (id INT PRIMARY KEY, b LONGBLOB)"); }
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO large_java VALUES (?, ?)")) {
            insert.setInt(1, 1);
            insert.setBytes(2, value);
            insert.executeUpdate();
            insert.setInt(1, 2);
            insert.setBlob(2, new java.io.ByteArrayInputStream(value)); // sent as long data, in pieces
            insert.executeUpdate();
        }
        try (PreparedStatement select = connection.prepareStatement("SELECT b FROM large_java WHERE id >= ?")) {
            select.setInt(1, 1);
            ResultSet rows = select.executeQuery();
            for (int n = 0; n < 2; n++) {
                rows.next();
                if (!Arrays.equals(rows.getBytes(1), value)) throw new AssertionError("value " + n + " came back changed");
            }
        }
    }

    static int balance(Connection connection) throws SQLException {
        try (ResultSet r = connection.createStatement().executeQuery("SELECT balance FROM accounts WHERE id = 1")) {
            r.next();
            return r.getInt(1);
        }
    }

    static int update(Connection connection, String sql) throws SQLException {
        try (Statement s = connection.createStatement()) { return s.executeUpdate(sql); }
    }

    static void transactions() throws Exception {
        try (Connection mine = connect(""); Connection other = connect("")) {
            mine.setAutoCommit(false);
            mine.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            update(mine, "UPDATE accounts SET balance = 150 WHERE id = 1");
            equal(balance(other), 100, "uncommitted:");
            mine.rollback();
            equal(balance(mine), 100, "rolled back:");
            update(mine, "UPDATE accounts SET balance = 150 WHERE id = 1");
            var savepoint = mine.setSavepoint("here");
            update(mine, "UPDATE accounts SET balance = 999 WHERE id = 1");
            mine.rollback(savepoint);
            mine.commit();
            equal(balance(other), 150, "committed:");
            update(mine, "UPDATE accounts SET balance = 100 WHERE id = 1");
            mine.commit();
            equal(mine.getTransactionIsolation(), Connection.TRANSACTION_READ_COMMITTED, "isolation:");
        }
    }

    static void lockTimeout() throws Exception {
        try (Connection holder = connect(""); Connection waiter = connect("")) {
            holder.setAutoCommit(false);
            update(holder, "UPDATE accounts SET balance = 1 WHERE id = 1");
            update(waiter, "SET innodb_lock_wait_timeout = 1");
            // The driver gives 1205 the SQLSTATE of a transaction to be tried again, whatever the server says.
            fails(1205, "40001", () -> update(waiter, "UPDATE accounts SET balance = 2 WHERE id = 1"));
            holder.rollback();
        }
    }

    static void deadlock() throws Exception {
        try (Connection heavy = connect(""); Connection light = connect("")) {
            heavy.setAutoCommit(false);
            light.setAutoCommit(false);
            update(heavy, "INSERT INTO accounts VALUES (50, 0), (51, 0), (52, 0)");
            update(heavy, "UPDATE accounts SET balance = balance + 1 WHERE id = 1");
            update(light, "UPDATE accounts SET balance = balance + 1 WHERE id = 2");
            CompletableFuture<Integer> waiting = CompletableFuture.supplyAsync(() -> {
                try {
                    return update(heavy, "UPDATE accounts SET balance = balance + 1 WHERE id = 2");
                } catch (SQLException error) {
                    throw new RuntimeException(error);
                }
            });
            Thread.sleep(500);
            fails(1213, "40001", () -> update(light, "UPDATE accounts SET balance = balance + 1 WHERE id = 1"));
            equal(waiting.get(10, TimeUnit.SECONDS), 1, "the survivor's rows:");
            heavy.rollback();
        }
    }

    static void multi() throws Exception {
        try (Connection c = connect("allowMultiQueries=true"); Statement s = c.createStatement()) {
            equal(s.execute("SELECT 1; UPDATE accounts SET balance = balance; SELECT 'last'"), true, "a result:");
            equal(s.getMoreResults(), false, "a count:");
            equal(s.getUpdateCount(), 2, "found rows:");
            equal(s.getMoreResults(), true, "a result:");
            s.getResultSet().next();
            equal(s.getResultSet().getString(1), "last", "value:");
        }
    }

    /** Rows fetched a few at a time, and a result without any. */
    static void cursor() throws Exception {
        try (Connection c = connect("useCursorFetch=true&defaultFetchSize=2&socketTimeout=20000"); Statement s = c.createStatement()) {
            for (String empty : List.of("SELECT id FROM accounts WHERE id < 0", "SHOW TABLES LIKE 'nope%'")) {
                try (ResultSet r = s.executeQuery(empty)) {
                    equal(r.next(), false, empty + ", a row:");
                }
            }
            try (PreparedStatement p = c.prepareStatement("SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT ?")) {
                p.setInt(1, 5);
                int sum = 0;
                try (ResultSet r = p.executeQuery()) {
                    while (r.next()) sum += r.getInt(1);
                }
                equal(sum, 15, "sum:");
            }
        }
    }

    static void ids(Connection connection) throws Exception {
        try (Statement s = connection.createStatement()) {
            s.execute("CREATE TABLE ids_java (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
            equal(s.executeUpdate("INSERT INTO ids_java (v) VALUES (1), (2), (3)", Statement.RETURN_GENERATED_KEYS), 3, "rows:");
            ResultSet keys = s.getGeneratedKeys();
            for (int n = 1; n <= 3; n++) {
                keys.next();
                equal(keys.getInt(1), n, "key:");
            }
            equal(s.executeUpdate("DELETE FROM ids_java WHERE id < 3"), 2, "rows:");
        }
    }

    static void batch(String options) throws Exception {
        try (Connection c = connect(options)) {
            c.setAutoCommit(false);
            String table = "batch_java_" + (options.contains("rewrite") ? "rewritten" : "plain");
            update(c, "CREATE TABLE " + table + " (id INT PRIMARY KEY, v VARCHAR(20))");
            try (PreparedStatement insert = c.prepareStatement("INSERT INTO " + table + " VALUES (?, ?)")) {
                for (int n = 0; n < 1000; n++) {
                    insert.setInt(1, n);
                    insert.setString(2, "value " + n);
                    insert.addBatch();
                }
                equal(insert.executeBatch().length, 1000, "batch:");
            }
            c.commit();
            try (ResultSet r = c.createStatement().executeQuery("SELECT COUNT(*), SUM(id) FROM " + table)) {
                r.next();
                equal(r.getInt(1) + " " + r.getInt(2), "1000 499500", "rows:");
            }
        }
    }

    static void metadata(Connection connection) throws Exception {
        try (ResultSet r = connection.getMetaData().getTables("drivers", null, "accounts", null)) {
            equal(r.next(), true, "a table:");
            equal(r.getString("TABLE_NAME"), "accounts", "name:");
        }
        try (ResultSet r = connection.getMetaData().getColumns("drivers", null, "accounts", "%")) {
            r.next();
            equal(r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME"), "id INT", "column:");
        }
        try (ResultSet r = connection.getMetaData().getPrimaryKeys("drivers", null, "accounts")) {
            r.next();
            equal(r.getString("COLUMN_NAME"), "id", "key:");
        }
    }

    public static void main(String[] arguments) throws Exception {
        if (System.getenv("RECORD") != null) {
            Metadata.run();
            System.exit(0);
        }
        expected = new Gson().fromJson(Files.readString(Path.of(System.getenv("EXPECTED"))), Expected.class);
        accounts();
        try (Connection text = connect("useServerPrepStmts=false"); Connection binary = connect("useServerPrepStmts=true&cachePrepStmts=true")) {
            check("types_text", () -> types(text, "types_java_text", false));
            check("types_binary", () -> types(binary, "types_java_binary", true));
            check("large_value", () -> large(binary));
            check("transactions", Drivers::transactions);
            for (Failure e : expected.errors) {
                // The driver has a class of its own for truncated data, with a fixed SQLSTATE.
                check("error_" + e.name, () -> fails(e.code, e.code == 1264 ? "22001" : e.state, () -> text.createStatement().execute(e.sql)));
            }
            check("error_lock_timeout", Drivers::lockTimeout);
            check("error_deadlock", Drivers::deadlock);
            check("multi_statements", Drivers::multi);
            check("cursor_fetch", Drivers::cursor);
            check("affected_rows_and_ids", () -> ids(text));
            check("batch", () -> batch("useServerPrepStmts=true"));
            check("batch_rewritten", () -> batch("rewriteBatchedStatements=true"));
            check("metadata", () -> metadata(text));
        }
        Metadata.run();
        System.exit(0);
    }
}
