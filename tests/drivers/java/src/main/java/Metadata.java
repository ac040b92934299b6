import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.reflect.TypeToken;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * All of DatabaseMetaData, by information_schema and by SHOW, held against what MySQL 9.7 answers, which is in metadata.json. With
 * RECORD in the environment that file is written.
 */
public class Metadata {
    static final String[] SCHEMA = {
        "CREATE DATABASE metadata CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
        "USE metadata",
        "CREATE TABLE customers (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'number', name VARCHAR(80) NOT NULL DEFAULT 'none',"
            + " mail VARCHAR(120) CHARACTER SET ascii, born DATE, rating DECIMAL(5,2) DEFAULT '1.50', UNIQUE KEY by_mail (mail), KEY by_name (name DESC, born))"
            + " COMMENT 'who buys'",
        "CREATE TABLE orders (customer INT UNSIGNED NOT NULL, number INT NOT NULL, placed TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)"
            + " ON UPDATE CURRENT_TIMESTAMP(3), replaces INT, total DOUBLE, double_total DOUBLE AS (total * 2) VIRTUAL, kept BIGINT AS (number + 1) STORED,"
            + " PRIMARY KEY (customer, number), KEY again (customer, replaces),"
            + " CONSTRAINT of_customer FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE ON UPDATE RESTRICT,"
            + " CONSTRAINT replacing FOREIGN KEY (customer, replaces) REFERENCES orders (customer, number))",
        "CREATE TABLE kinds (a TINYINT, b TINYINT UNSIGNED, c SMALLINT, d MEDIUMINT, e INT, f BIGINT UNSIGNED, g FLOAT, h DOUBLE, i DECIMAL(20,5) UNSIGNED,"
            + " j BIT(1), k BIT(12), l DATE, m TIME(2), n DATETIME(6), o TIMESTAMP NULL, p YEAR, q CHAR(3), r VARCHAR(300), s BINARY(4), t VARBINARY(9),"
            + " u TINYTEXT, v TEXT, w MEDIUMTEXT, x LONGTEXT, y TINYBLOB, z BLOB, aa MEDIUMBLOB, ab LONGBLOB, ac ENUM('x', 'y,z', 'it''s'),"
            + " ad SET('m', 'n'), ae JSON, af TINYINT(1), ag BOOLEAN NOT NULL DEFAULT TRUE)",
        "CREATE VIEW recent AS SELECT c.name, o.placed FROM customers c JOIN orders o ON o.customer = c.id",
    };

    static final String C = "metadata";
    /** Calls with arguments. */
    static final Object[][] CALLS = {
        {"getTables", C, null, "%", null}, {"getTables", C, null, "o%", new String[] {"TABLE"}}, {"getTables", C, null, "%", new String[] {"VIEW"}},
        {"getTables", "no_such", null, "%", null},
        {"getColumns", C, null, "%", "%"}, {"getColumns", C, null, "orders", "%t%"}, {"getColumns", C, null, "no_such", "%"},
        {"getPrimaryKeys", C, null, "orders"}, {"getPrimaryKeys", C, null, "kinds"},
        {"getIndexInfo", C, null, "customers", false, true}, {"getIndexInfo", C, null, "orders", true, false}, {"getIndexInfo", C, null, "kinds", false, true},
        {"getImportedKeys", C, null, "orders"}, {"getImportedKeys", C, null, "customers"},
        {"getExportedKeys", C, null, "customers"}, {"getExportedKeys", C, null, "orders"},
        {"getCrossReference", C, null, "customers", C, null, "orders"}, {"getCrossReference", C, null, "kinds", C, null, "orders"},
        {"getBestRowIdentifier", C, null, "orders", DatabaseMetaData.bestRowSession, true}, {"getBestRowIdentifier", C, null, "kinds", DatabaseMetaData.bestRowSession, true},
        {"getVersionColumns", C, null, "orders"},
        {"getProcedures", C, null, "%"}, {"getProcedureColumns", C, null, "%", "%"}, {"getFunctions", C, null, "%"}, {"getFunctionColumns", C, null, "%", "%"},
        {"getSchemas", C, "%"}, {"getUDTs", C, null, "%", null}, {"getSuperTypes", C, null, "%"}, {"getSuperTables", C, null, "%"},
        {"getAttributes", C, null, "%", "%"}, {"getPseudoColumns", C, null, "%", "%"},
        {"getTablePrivileges", C, null, "%"}, {"getColumnPrivileges", C, null, "customers", "%"},
        {"supportsConvert", 4, 12}, {"supportsResultSetType", 1003}, {"supportsResultSetConcurrency", 1003, 1007}, {"supportsResultSetHoldability", 1},
        {"supportsTransactionIsolationLevel", 4}, {"ownUpdatesAreVisible", 1003}, {"insertsAreDetected", 1003},
    };
    /** What names the server, the connection or the driver's build; the reserved words are those of the server's version. */
    static final Set<String> LEFT_OUT = Set.of("getConnection", "getURL", "getUserName", "getDatabaseProductVersion", "getDatabaseMajorVersion",
        "getDatabaseMinorVersion", "getDriverVersion", "getSQLKeywords", "unwrap", "isWrapperFor");
    /** Foreign keys are joined with each key that has their columns first, in whatever order. */
    static final Set<String> UNORDERED = Set.of("getCrossReference", "getExportedKeys", "getImportedKeys");
    /** Columns that are estimates. */
    static final Set<String> ESTIMATES = Set.of("CARDINALITY", "PAGES");

    static List<String> rows(ResultSet r) throws Exception {
        List<String> rows = new ArrayList<>();
        ResultSetMetaData of = r.getMetaData();
        List<String> head = new ArrayList<>();
        for (int at = 1; at <= of.getColumnCount(); at++) head.add(of.getColumnLabel(at) + ":" + of.getColumnTypeName(at));
        rows.add(String.join(" ", head));
        while (r.next()) {
            List<String> row = new ArrayList<>();
            for (int at = 1; at <= of.getColumnCount(); at++) {
                row.add(ESTIMATES.contains(of.getColumnLabel(at)) ? "~" : String.valueOf(r.getString(at)));
            }
            rows.add(String.join(" | ", row));
        }
        r.close();
        return rows;
    }

    static List<String> answer(Method method, DatabaseMetaData of, Object[] arguments) {
        try {
            Object result = method.invoke(of, arguments);
            if (!(result instanceof ResultSet)) return List.of(String.valueOf(result));
            List<String> rows = rows((ResultSet) result);
            if (method.getName().equals("getCatalogs")) rows.removeIf(row -> !row.matches("TABLE_CAT.*|metadata|mysql|sys|information_schema|performance_schema"));
            if (UNORDERED.contains(method.getName())) Collections.sort(rows.subList(1, rows.size()));
            return rows;
        } catch (InvocationTargetException error) {
            return List.of("error: " + error.getCause());
        } catch (Exception error) {
            return List.of("error: " + error);
        }
    }

    static String shown(Object argument) { return argument instanceof Object[] ? Arrays.toString((Object[]) argument) : String.valueOf(argument); }

    static Map<String, List<String>> all(Connection connection) throws Exception {
        DatabaseMetaData of = connection.getMetaData();
        Map<String, List<String>> seen = new TreeMap<>();
        Method[] methods = DatabaseMetaData.class.getMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName));
        for (Method method : methods) {
            if (method.getParameterCount() == 0 && !LEFT_OUT.contains(method.getName())) seen.put(method.getName(), answer(method, of, new Object[0]));
        }
        for (Object[] call : CALLS) {
            Object[] arguments = Arrays.copyOfRange(call, 1, call.length);
            List<String> words = new ArrayList<>();
            for (Object argument : arguments) words.add(shown(argument));
            for (Method method : methods) {
                if (method.getName().equals(call[0]) && method.getParameterCount() == arguments.length) {
                    seen.put(call[0] + "(" + String.join(", ", words) + ")", answer(method, of, arguments));
                }
            }
        }
        return seen;
    }

    static void run() throws Exception {
        Path file = Path.of(System.getenv("METADATA"));
        Map<String, Map<String, List<String>>> seen = new TreeMap<>();
        try (Connection connection = Drivers.connect(""); Statement statement = connection.createStatement()) {
            statement.execute("DROP DATABASE IF EXISTS metadata");
            for (String sql : SCHEMA) statement.execute(sql);
        }
        for (String way : List.of("information_schema", "show")) {
            try (Connection connection = Drivers.connect("useInformationSchema=" + way.equals("information_schema"))) {
                seen.put(way, all(connection));
            }
        }
        if (System.getenv("RECORD") != null) {
            Files.writeString(file, new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create().toJson(seen) + "\n");
            return;
        }
        Map<String, Map<String, List<String>>> recorded = new Gson().fromJson(Files.readString(file), new TypeToken<Map<String, Map<String, List<String>>>>() { }.getType());
        recorded.forEach((way, calls) -> Drivers.check("metadata_by_" + way, () -> {
            List<String> wrong = new ArrayList<>();
            calls.forEach((call, rows) -> {
                List<String> here = seen.get(way).getOrDefault(call, List.of("not called"));
                for (int at = 0; at < Math.max(rows.size(), here.size()); at++) {
                    String wanted = at < rows.size() ? rows.get(at) : "nothing", got = at < here.size() ? here.get(at) : "nothing";
                    if (!wanted.equals(got)) wrong.add(call + ": expected " + wanted + ", saw " + got);
                }
            });
            if (!wrong.isEmpty()) throw new AssertionError(wrong.size() + " differences: " + String.join("; ", wrong));
        }));
    }
}
