//! Errors as a MySQL client sees them: a number, an SQLSTATE and a text.
//!
//! Applications match on the numbers and sometimes on the texts, so both are MySQL's. Every error that a client
//! can see is made here, by a constructor named after what happened; the rest of the crate never spells a number.
//! The table at the top is the one place that knows which SQLSTATE belongs to which number.

use std::fmt;

/// An error for the client: MySQL's number, its SQLSTATE and the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    pub code: u16,
    pub sqlstate: [u8; 5],
    pub message: String,
}

pub type Result<T, E = SqlError> = std::result::Result<T, E>;

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = std::str::from_utf8(&self.sqlstate).unwrap_or("HY000");
        write!(f, "ERROR {} ({state}): {}", self.code, self.message)
    }
}

impl std::error::Error for SqlError {}

macro_rules! numbers {
    ($($name:ident = $code:literal $state:literal;)*) => {
        /// MySQL's error numbers under MySQL's names.
        pub mod er {
            $(pub const $name: u16 = $code;)*
        }
        /// The SQLSTATE of an error number; `HY000` where MySQL has no special one.
        pub fn sqlstate_of(code: u16) -> [u8; 5] {
            match code {
                $($code => *$state,)*
                _ => *b"HY000",
            }
        }
    };
}

numbers! {
    CON_COUNT_ERROR = 1040 b"08004";
    HANDSHAKE_ERROR = 1043 b"08S01";
    DBACCESS_DENIED = 1044 b"42000";
    ACCESS_DENIED = 1045 b"28000";
    NO_DB = 1046 b"3D000";
    UNKNOWN_COM = 1047 b"08S01";
    BAD_NULL = 1048 b"23000";
    BAD_DB = 1049 b"42000";
    TABLE_EXISTS = 1050 b"42S01";
    BAD_TABLE = 1051 b"42S02";
    NON_UNIQ = 1052 b"23000";
    SERVER_SHUTDOWN = 1053 b"08S01";
    BAD_FIELD = 1054 b"42S22";
    WRONG_FIELD_WITH_GROUP = 1055 b"42000";
    WRONG_GROUP_FIELD = 1056 b"42000";
    WRONG_VALUE_COUNT = 1058 b"21S01";
    TOO_LONG_IDENT = 1059 b"42000";
    DUP_FIELDNAME = 1060 b"42S21";
    DUP_KEYNAME = 1061 b"42000";
    DUP_ENTRY = 1062 b"23000";
    WRONG_FIELD_SPEC = 1063 b"42000";
    PARSE_ERROR = 1064 b"42000";
    EMPTY_QUERY = 1065 b"42000";
    NONUNIQ_TABLE = 1066 b"42000";
    INVALID_DEFAULT = 1067 b"42000";
    MULTIPLE_PRI_KEY = 1068 b"42000";
    TOO_MANY_KEYS = 1069 b"42000";
    TOO_MANY_KEY_PARTS = 1070 b"42000";
    TOO_LONG_KEY = 1071 b"42000";
    KEY_COLUMN_DOES_NOT_EXIST = 1072 b"42000";
    BLOB_USED_AS_KEY = 1073 b"42000";
    TOO_BIG_FIELDLENGTH = 1074 b"42000";
    WRONG_AUTO_KEY = 1075 b"42000";
    WRONG_SUB_KEY = 1089 b"HY000";
    CANT_REMOVE_ALL_FIELDS = 1090 b"42000";
    CANT_DROP_FIELD_OR_KEY = 1091 b"42000";
    NO_SUCH_THREAD = 1094 b"HY000";
    KILL_DENIED = 1095 b"HY000";
    NO_TABLES_USED = 1096 b"HY000";
    BLOB_CANT_HAVE_DEFAULT = 1101 b"42000";
    WRONG_DB_NAME = 1102 b"42000";
    WRONG_TABLE_NAME = 1103 b"42000";
    UNKNOWN_ERROR = 1105 b"HY000";
    UNKNOWN_TABLE = 1109 b"42S02";
    FIELD_SPECIFIED_TWICE = 1110 b"42000";
    INVALID_GROUP_FUNC_USE = 1111 b"HY000";
    TABLE_MUST_HAVE_COLUMNS = 1113 b"42000";
    UNKNOWN_CHARACTER_SET = 1115 b"42000";
    TOO_MANY_FIELDS = 1117 b"HY000";
    TOO_BIG_ROWSIZE = 1118 b"42000";
    WRONG_VALUE_COUNT_ON_ROW = 1136 b"21S01";
    REGEXP_ERROR = 1139 b"42000";
    MIX_OF_GROUP_FUNC_AND_FIELDS = 1140 b"42000";
    NONEXISTING_GRANT = 1141 b"42000";
    TABLEACCESS_DENIED = 1142 b"42000";
    COLUMNACCESS_DENIED = 1143 b"42000";
    NO_SUCH_TABLE = 1146 b"42S02";
    SYNTAX_ERROR = 1149 b"42000";
    NET_PACKET_TOO_LARGE = 1153 b"08S01";
    TOO_LONG_STRING = 1162 b"42000";
    WRONG_COLUMN_NAME = 1166 b"42000";
    WRONG_KEY_COLUMN = 1167 b"42000";
    DUP_UNIQUE = 1169 b"23000";
    BLOB_KEY_WITHOUT_LENGTH = 1170 b"42000";
    PRIMARY_CANT_HAVE_NULL = 1171 b"42000";
    TOO_MANY_ROWS = 1172 b"42000";
    REQUIRES_PRIMARY_KEY = 1173 b"42000";
    KEY_DOES_NOT_EXIST = 1176 b"42000";
    CANT_DO_THIS_DURING_TRANSACTION = 1179 b"25000";
    NEW_ABORTING_CONNECTION = 1184 b"08S01";
    UNKNOWN_SYSTEM_VARIABLE = 1193 b"HY000";
    LOCK_WAIT_TIMEOUT = 1205 b"HY000";
    LOCK_TABLE_FULL = 1206 b"HY000";
    WRONG_ARGUMENTS = 1210 b"HY000";
    LOCK_DEADLOCK = 1213 b"40001";
    TABLE_CANT_HANDLE_FT = 1214 b"HY000";
    CANNOT_ADD_FOREIGN = 1215 b"HY000";
    NO_REFERENCED_ROW = 1216 b"23000";
    ROW_IS_REFERENCED = 1217 b"23000";
    WRONG_USAGE = 1221 b"HY000";
    WRONG_NUMBER_OF_COLUMNS_IN_SELECT = 1222 b"21000";
    SPECIFIC_ACCESS_DENIED = 1227 b"42000";
    LOCAL_VARIABLE = 1228 b"HY000";
    GLOBAL_VARIABLE = 1229 b"HY000";
    NO_DEFAULT = 1230 b"42000";
    WRONG_VALUE_FOR_VAR = 1231 b"42000";
    WRONG_TYPE_FOR_VAR = 1232 b"42000";
    VAR_CANT_BE_READ = 1233 b"HY000";
    CANT_USE_OPTION_HERE = 1234 b"42000";
    NOT_SUPPORTED_YET = 1235 b"42000";
    INCORRECT_GLOBAL_LOCAL_VAR = 1238 b"HY000";
    OPERAND_COLUMNS = 1241 b"21000";
    SUBQUERY_NO_1_ROW = 1242 b"21000";
    UNKNOWN_STMT_HANDLER = 1243 b"HY000";
    ILLEGAL_REFERENCE = 1247 b"42S22";
    DERIVED_MUST_HAVE_ALIAS = 1248 b"42000";
    TABLENAME_NOT_ALLOWED_HERE = 1250 b"42000";
    COLLATION_CHARSET_MISMATCH = 1253 b"42000";
    CUT_VALUE_GROUP_CONCAT = 1260 b"HY000";
    TOO_FEW_RECORDS = 1261 b"01000";
    TOO_MANY_RECORDS = 1262 b"01000";
    WARN_NULL_TO_NOTNULL = 1263 b"22004";
    WARN_DATA_OUT_OF_RANGE = 1264 b"22003";
    WARN_DATA_TRUNCATED = 1265 b"01000";
    CANT_AGGREGATE_2COLLATIONS = 1267 b"HY000";
    CANT_AGGREGATE_3COLLATIONS = 1270 b"HY000";
    CANT_AGGREGATE_NCOLLATIONS = 1271 b"HY000";
    UNKNOWN_COLLATION = 1273 b"HY000";
    WARN_DEPRECATED_SYNTAX = 1287 b"HY000";
    NON_UPDATABLE_TABLE = 1288 b"HY000";
    OPTION_PREVENTS_STATEMENT = 1290 b"HY000";
    DUPLICATED_VALUE_IN_TYPE = 1291 b"HY000";
    TRUNCATED_WRONG_VALUE = 1292 b"22007";
    INVALID_ON_UPDATE = 1294 b"HY000";
    UNSUPPORTED_PS = 1295 b"HY000";
    UNKNOWN_TIME_ZONE = 1298 b"HY000";
    INVALID_CHARACTER_STRING = 1300 b"HY000";
    WARN_ALLOWED_PACKET_OVERFLOWED = 1301 b"HY000";
    SP_DOES_NOT_EXIST = 1305 b"42000";
    QUERY_INTERRUPTED = 1317 b"70100";
    VIEW_WRONG_LIST = 1353 b"HY000";
    NO_DEFAULT_FOR_FIELD = 1364 b"HY000";
    DIVISION_BY_ZERO = 1365 b"22012";
    TRUNCATED_WRONG_VALUE_FOR_FIELD = 1366 b"HY000";
    ILLEGAL_VALUE_FOR_TYPE = 1367 b"22007";
    WRONG_VALUE_FOR_TYPE = 1411 b"HY000";
    DATA_TOO_LONG = 1406 b"22001";
    FRM_UNKNOWN_TYPE = 1387 b"HY000";
    CREATE_USER_FAILED = 1396 b"HY000";
    XAER_NOTA = 1397 b"XAE04";
    XAER_INVAL = 1398 b"XAE05";
    XAER_RMFAIL = 1399 b"XAE07";
    TOO_BIG_SCALE = 1425 b"42000";
    TOO_BIG_PRECISION = 1426 b"42000";
    M_BIGGER_THAN_D = 1427 b"42000";
    TOO_BIG_DISPLAYWIDTH = 1439 b"42000";
    DATETIME_FUNCTION_OVERFLOW = 1441 b"22008";
    CANT_UPDATE_USED_TABLE = 1093 b"HY000";
    ROW_IS_REFERENCED_2 = 1451 b"23000";
    NO_REFERENCED_ROW_2 = 1452 b"23000";
    SP_BAD_VAR_SHADOW = 1453 b"42000";
    MAX_PREPARED_STMT_COUNT_REACHED = 1461 b"42000";
    CANT_CHANGE_TX_CHARACTERISTICS = 1568 b"25001";
    DUP_ENTRY_AUTOINCREMENT_CASE = 1569 b"23000";
    WRONG_PARAMCOUNT_TO_NATIVE_FCT = 1582 b"42000";
    WRONG_PARAMETERS_TO_NATIVE_FCT = 1583 b"42000";
    WRONG_PARAMETERS_TO_STORED_FCT = 1584 b"42000";
    WRONG_STRING_LENGTH = 1470 b"HY000";
    DUP_ENTRY_WITH_KEY_NAME = 1586 b"23000";
    UNKNOWN_STORAGE_ENGINE = 1286 b"42000";
    UNKNOWN_LOCALE = 1649 b"HY000";
    DATA_OUT_OF_RANGE = 1690 b"22003";
    TRUNCATED_WRONG_VALUE_IN_FUNCTION = 1525 b"HY000";
    CANT_EXECUTE_IN_READ_ONLY_TRANSACTION = 1792 b"25006";
    VARIABLE_NOT_SETTABLE_IN_TRANSACTION = 1766 b"HY000";
    MULTI_UPDATE_KEY_CONFLICT = 1706 b"HY000";
    INDEX_COLUMN_TOO_LONG = 1709 b"HY000";
    TABLE_SCHEMA_MISMATCH = 1808 b"HY000";
    UNKNOWN_ALTER_ALGORITHM = 1800 b"HY000";
    ALTER_OPERATION_NOT_SUPPORTED = 1845 b"0A000";
    ALTER_OPERATION_NOT_SUPPORTED_REASON = 1846 b"0A000";
    DUP_UNKNOWN_IN_INDEX = 1859 b"23000";
    ACCESS_DENIED_NO_PASSWORD = 1698 b"28000";
    MUST_CHANGE_PASSWORD = 1820 b"HY000";
    INVALID_ARGUMENT_FOR_LOGARITHM = 3020 b"2201E";
    QUERY_TIMEOUT = 3024 b"HY000";
    INVALID_JSON_TEXT = 3140 b"22032";
    INVALID_JSON_TEXT_IN_PARAM = 3141 b"22032";
    INVALID_JSON_PATH = 3143 b"42000";
    INVALID_TYPE_FOR_JSON = 3146 b"22032";
    INVALID_JSON_PATH_WILDCARD = 3149 b"42000";
    JSON_NULL_KEY = 3158 b"22032";
    INVALID_JSON_CHARSET = 3144 b"22032";
    LOCK_NOWAIT = 3572 b"HY000";
    UNRESOLVED_TABLE_LOCK = 3568 b"HY000";
    DUPLICATE_TABLE_LOCK = 3569 b"HY000";
    RECORD_CHANGED = 1020 b"HY000";
    DISK_FULL = 1021 b"HY000";
    DB_CREATE_EXISTS = 1007 b"HY000";
    DB_DROP_EXISTS = 1008 b"HY000";
    ERROR_ON_READ = 1024 b"HY000";
    OUT_OF_RESOURCES = 1041 b"HY000";
    GET_ERRNO = 1030 b"HY000";
    OUT_OF_SORTMEMORY = 1038 b"HY001";
    UPDATE_WITHOUT_KEY_IN_SAFE_MODE = 1175 b"HY000";
    REGEXP_ILLEGAL_ARGUMENT = 3685 b"HY000";
    REGEXP_INDEX_OUT_OF_BOUNDS = 3686 b"HY000";
    REGEXP_RULE_SYNTAX = 3688 b"HY000";
    REGEXP_MISMATCHED_PAREN = 3691 b"HY000";
    REGEXP_BAD_INTERVAL = 3692 b"HY000";
    REGEXP_MISSING_CLOSE_BRACKET = 3696 b"HY000";
    REGEXP_STACK_OVERFLOW = 3698 b"HY000";
    CHARACTER_SET_MISMATCH = 3995 b"HY000";
    CHECK_CONSTRAINT_VIOLATED = 3819 b"HY000";
    CTE_MAX_RECURSION_DEPTH = 3636 b"HY000";
    CHAR_CONVERSION = 3854 b"HY000";
    TABLE_DEF_CHANGED = 1412 b"HY000";
    AUTOINC_READ_FAILED = 1467 b"HY000";
    WRONG_NAME_FOR_INDEX = 1280 b"42000";
    PK_INDEX_CANT_BE_INVISIBLE = 3522 b"HY000";
    JSON_USED_AS_KEY = 3152 b"42000";
    KEY_PART_0 = 1391 b"HY000";
    TOO_BIG_SET = 1097 b"HY000";
    TOO_LONG_FIELD_COMMENT = 1629 b"HY000";
    TOO_LONG_TABLE_COMMENT = 1628 b"HY000";
    WARN_USING_OTHER_HANDLER = 1266 b"HY000";
    LOCK_OR_ACTIVE_TRANSACTION = 1192 b"HY000";
    CANT_UPDATE_WITH_READLOCK = 1223 b"HY000";
    TABLE_NOT_LOCKED = 1100 b"HY000";
    TABLE_NOT_LOCKED_FOR_WRITE = 1099 b"HY000";
    DB_DROP_RMDIR = 1010 b"HY000";
    CONSTRAINT_NOT_FOUND = 3940 b"HY000";
    TABLE_CANT_HANDLE_AUTO = 1164 b"42000";
    ILLEGAL_GRANT_FOR_TABLE = 1144 b"42000";
    PLUGIN_IS_NOT_LOADED = 1524 b"HY000";
    PASSWORD_FORMAT = 1827 b"HY000";
    NO_SUCH_USER = 1449 b"HY000";
    INVALID_USE_OF_NULL = 1138 b"22004";
    WARN_SNAPSHOT_ISOLATION = 138 b"HY000";
    VARIABLE_IS_READONLY = 1621 b"HY000";
    PS_MANY_PARAM = 1390 b"HY000";
    USER_ALREADY_EXISTS = 3163 b"HY000";
    USER_DOES_NOT_EXIST = 3162 b"HY000";
    PASSWORD_NO_MATCH = 1133 b"42000";
    CANT_CREATE_USER_WITH_GRANT = 1410 b"42000";
    NO_BINARY_LOGGING = 1381 b"HY000";
    CHECK_CONSTRAINT_DUP_NAME = 3822 b"HY000";
    CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN = 3820 b"HY000";
    NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT = 3812 b"HY000";
    COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN = 3813 b"HY000";
    CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED = 3814 b"HY000";
    CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED = 3815 b"HY000";
    CHECK_CONSTRAINT_VARIABLES = 3816 b"HY000";
    CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN = 3818 b"HY000";
    CHECK_CONSTRAINT_NOT_FOUND = 3821 b"HY000";
    DEPENDENT_BY_CHECK_CONSTRAINT = 3959 b"HY000";
    DEFAULT_VAL_GENERATED_FUNCTION_IS_NOT_ALLOWED = 3769 b"HY000";
    DEFAULT_VAL_GENERATED_VARIABLES = 3772 b"HY000";
    UNKNOWN_TABLESPACE = 1528 b"HY000";
}

impl SqlError {
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        SqlError {
            code,
            sqlstate: sqlstate_of(code),
            message: message.into(),
        }
    }

    // --- statements -------------------------------------------------------------------------------------------

    /// A form that Tidemark does not have; `what` names it as the user wrote it.
    pub fn not_supported(what: impl fmt::Display) -> Self {
        let message = format!("This version of MySQL doesn't yet support '{what}'");
        SqlError::new(er::NOT_SUPPORTED_YET, message)
    }

    /// `near` is the rest of the statement where the parser stopped.
    pub fn syntax(near: &str, line: usize) -> Self {
        let near: String = near.chars().take(80).collect();
        SqlError::new(
            er::PARSE_ERROR,
            format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server \
                 version for the right syntax to use near '{near}' at line {line}"
            ),
        )
    }

    pub fn parse(message: impl fmt::Display) -> Self {
        SqlError::new(
            er::PARSE_ERROR,
            format!("You have an error in your SQL syntax; {message}"),
        )
    }

    pub fn empty_query() -> Self {
        SqlError::new(er::EMPTY_QUERY, "Query was empty")
    }

    pub fn unknown(message: impl Into<String>) -> Self {
        SqlError::new(er::UNKNOWN_ERROR, message)
    }

    pub fn interrupted() -> Self {
        SqlError::new(er::QUERY_INTERRUPTED, "Query execution was interrupted")
    }

    pub fn wrong_usage(a: &str, b: &str) -> Self {
        SqlError::new(er::WRONG_USAGE, format!("Incorrect usage of {a} and {b}"))
    }

    pub fn wrong_arguments(to: &str) -> Self {
        SqlError::new(er::WRONG_ARGUMENTS, format!("Incorrect arguments to {to}"))
    }

    pub fn unknown_statement(id: u32, caller: &str) -> Self {
        let message = format!("Unknown prepared statement handler ({id}) given to {caller}");
        SqlError::new(er::UNKNOWN_STMT_HANDLER, message)
    }

    // --- names ------------------------------------------------------------------------------------------------

    pub fn no_database() -> Self {
        SqlError::new(er::NO_DB, "No database selected")
    }

    pub fn unknown_database(db: &str) -> Self {
        SqlError::new(er::BAD_DB, format!("Unknown database '{db}'"))
    }

    pub fn database_exists(db: &str) -> Self {
        SqlError::new(
            er::DB_CREATE_EXISTS,
            format!("Can't create database '{db}'; database exists"),
        )
    }

    pub fn database_missing(db: &str) -> Self {
        SqlError::new(
            er::DB_DROP_EXISTS,
            format!("Can't drop database '{db}'; database doesn't exist"),
        )
    }

    pub fn table_exists(table: &str) -> Self {
        SqlError::new(er::TABLE_EXISTS, format!("Table '{table}' already exists"))
    }

    /// `DROP TABLE` of something that is not there.
    pub fn bad_table(names: &str) -> Self {
        SqlError::new(er::BAD_TABLE, format!("Unknown table '{names}'"))
    }

    pub fn no_such_table(db: &str, table: &str) -> Self {
        SqlError::new(er::NO_SUCH_TABLE, format!("Table '{db}.{table}' doesn't exist"))
    }

    /// A qualifier that names no table of this statement.
    pub fn unknown_table(table: &str, clause: &str) -> Self {
        SqlError::new(er::UNKNOWN_TABLE, format!("Unknown table '{table}' in {clause}"))
    }

    pub fn unknown_column(column: &str, clause: &str) -> Self {
        SqlError::new(er::BAD_FIELD, format!("Unknown column '{column}' in '{clause}'"))
    }

    pub fn ambiguous_column(column: &str, clause: &str) -> Self {
        SqlError::new(
            er::NON_UNIQ,
            format!("Column '{column}' in {clause} is ambiguous"),
        )
    }

    pub fn not_unique_table(alias: &str) -> Self {
        SqlError::new(er::NONUNIQ_TABLE, format!("Not unique table/alias: '{alias}'"))
    }

    pub fn duplicate_column(column: &str) -> Self {
        SqlError::new(er::DUP_FIELDNAME, format!("Duplicate column name '{column}'"))
    }

    pub fn duplicate_key_name(key: &str) -> Self {
        SqlError::new(er::DUP_KEYNAME, format!("Duplicate key name '{key}'"))
    }

    pub fn key_column_missing(column: &str) -> Self {
        SqlError::new(
            er::KEY_COLUMN_DOES_NOT_EXIST,
            format!("Key column '{column}' doesn't exist in table"),
        )
    }

    pub fn cannot_drop(name: &str) -> Self {
        let message = format!("Can't DROP '{name}'; check that column/key exists");
        SqlError::new(er::CANT_DROP_FIELD_OR_KEY, message)
    }

    pub fn column_specified_twice(column: &str) -> Self {
        SqlError::new(
            er::FIELD_SPECIFIED_TWICE,
            format!("Column '{column}' specified twice"),
        )
    }

    pub fn unknown_function(name: &str) -> Self {
        SqlError::new(er::SP_DOES_NOT_EXIST, format!("FUNCTION {name} does not exist"))
    }

    pub fn unknown_system_variable(name: &str) -> Self {
        SqlError::new(
            er::UNKNOWN_SYSTEM_VARIABLE,
            format!("Unknown system variable '{name}'"),
        )
    }

    pub fn wrong_value_for_variable(name: &str, value: &str) -> Self {
        let message = format!("Variable '{name}' can't be set to the value of '{value}'");
        SqlError::new(er::WRONG_VALUE_FOR_VAR, message)
    }

    pub fn wrong_type_for_variable(name: &str) -> Self {
        SqlError::new(
            er::WRONG_TYPE_FOR_VAR,
            format!("Incorrect argument type to variable '{name}'"),
        )
    }

    pub fn unknown_collation(name: &str) -> Self {
        SqlError::new(er::UNKNOWN_COLLATION, format!("Unknown collation: '{name}'"))
    }

    pub fn unknown_charset(name: &str) -> Self {
        SqlError::new(
            er::UNKNOWN_CHARACTER_SET,
            format!("Unknown character set: '{name}'"),
        )
    }

    pub fn collation_charset_mismatch(collation: &str, charset: &str) -> Self {
        let message = format!("COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'");
        SqlError::new(er::COLLATION_CHARSET_MISMATCH, message)
    }

    pub fn unknown_time_zone(name: &str) -> Self {
        SqlError::new(
            er::UNKNOWN_TIME_ZONE,
            format!("Unknown or incorrect time zone: '{name}'"),
        )
    }

    // --- grouping and subqueries ------------------------------------------------------------------------------

    pub fn invalid_group_function() -> Self {
        SqlError::new(er::INVALID_GROUP_FUNC_USE, "Invalid use of group function")
    }

    pub fn operand_columns(n: usize) -> Self {
        SqlError::new(
            er::OPERAND_COLUMNS,
            format!("Operand should contain {n} column(s)"),
        )
    }

    pub fn subquery_rows() -> Self {
        SqlError::new(er::SUBQUERY_NO_1_ROW, "Subquery returns more than 1 row")
    }

    pub fn select_column_count() -> Self {
        let message = "The used SELECT statements have a different number of columns";
        SqlError::new(er::WRONG_NUMBER_OF_COLUMNS_IN_SELECT, message)
    }

    // --- values -----------------------------------------------------------------------------------------------

    pub fn column_count(row: usize) -> Self {
        let message = format!("Column count doesn't match value count at row {row}");
        SqlError::new(er::WRONG_VALUE_COUNT_ON_ROW, message)
    }

    pub fn bad_null(column: &str) -> Self {
        SqlError::new(er::BAD_NULL, format!("Column '{column}' cannot be null"))
    }

    pub fn no_default(column: &str) -> Self {
        SqlError::new(
            er::NO_DEFAULT_FOR_FIELD,
            format!("Field '{column}' doesn't have a default value"),
        )
    }

    pub fn invalid_default(column: &str) -> Self {
        SqlError::new(
            er::INVALID_DEFAULT,
            format!("Invalid default value for '{column}'"),
        )
    }

    /// Long entries are cut, as MySQL does.
    pub fn duplicate_entry(entry: &str, key: &str) -> Self {
        let entry: String = entry.chars().take(64).collect();
        SqlError::new(
            er::DUP_ENTRY,
            format!("Duplicate entry '{entry}' for key '{key}'"),
        )
    }

    pub fn out_of_range(column: &str, row: u64) -> Self {
        SqlError::new(
            er::WARN_DATA_OUT_OF_RANGE,
            format!("Out of range value for column '{column}' at row {row}"),
        )
    }

    pub fn data_too_long(column: &str, row: u64) -> Self {
        SqlError::new(
            er::DATA_TOO_LONG,
            format!("Data too long for column '{column}' at row {row}"),
        )
    }

    pub fn data_truncated(column: &str, row: u64) -> Self {
        SqlError::new(
            er::WARN_DATA_TRUNCATED,
            format!("Data truncated for column '{column}' at row {row}"),
        )
    }

    /// `kind` is `integer`, `decimal`, `double`, `string`…
    pub fn incorrect_value_for_column(kind: &str, value: &str, column: &str, row: u64) -> Self {
        SqlError::new(
            er::TRUNCATED_WRONG_VALUE_FOR_FIELD,
            format!("Incorrect {kind} value: '{value}' for column '{column}' at row {row}"),
        )
    }

    /// The temporal types report their own number.
    pub fn incorrect_temporal_for_column(kind: &str, value: &str, column: &str, row: u64) -> Self {
        SqlError::new(
            er::TRUNCATED_WRONG_VALUE,
            format!("Incorrect {kind} value: '{value}' for column '{column}' at row {row}"),
        )
    }

    /// `kind` is `INTEGER`, `DOUBLE`, `DECIMAL`, `CHAR(3)`…
    pub fn truncated_wrong_value(kind: &str, value: &str) -> Self {
        SqlError::new(
            er::TRUNCATED_WRONG_VALUE,
            format!("Truncated incorrect {kind} value: '{value}'"),
        )
    }

    /// `kind` is `datetime`, `time`, `DATE`…
    pub fn incorrect_value(kind: &str, value: &str) -> Self {
        SqlError::new(
            er::TRUNCATED_WRONG_VALUE,
            format!("Incorrect {kind} value: '{value}'"),
        )
    }

    pub fn wrong_value_for_type(kind: &str, value: &str, function: &str) -> Self {
        let message = format!("Incorrect {kind} value: '{value}' for function {function}");
        SqlError::new(er::WRONG_VALUE_FOR_TYPE, message)
    }

    pub fn division_by_zero() -> Self {
        SqlError::new(er::DIVISION_BY_ZERO, "Division by 0")
    }

    /// Arithmetic that left the range of its type: `kind` is `BIGINT`, `BIGINT UNSIGNED`, `DOUBLE`, `DECIMAL`.
    pub fn value_out_of_range(kind: &str, expression: &str) -> Self {
        SqlError::new(
            er::DATA_OUT_OF_RANGE,
            format!("{kind} value is out of range in '{expression}'"),
        )
    }

    pub fn temporal_overflow(kind: &str) -> Self {
        let message = format!("Datetime function: {kind} field overflow");
        SqlError::new(er::DATETIME_FUNCTION_OVERFLOW, message)
    }

    pub fn illegal_mix(a: (&str, &str), b: (&str, &str), operation: &str) -> Self {
        SqlError::new(
            er::CANT_AGGREGATE_2COLLATIONS,
            format!(
                "Illegal mix of collations ({},{}) and ({},{}) for operation '{operation}'",
                a.0, a.1, b.0, b.1
            ),
        )
    }

    pub fn illegal_mix_many(operation: &str) -> Self {
        let message = format!("Illegal mix of collations for operation '{operation}'");
        SqlError::new(er::CANT_AGGREGATE_NCOLLATIONS, message)
    }

    pub fn parameter_count(function: &str) -> Self {
        SqlError::new(
            er::WRONG_PARAMCOUNT_TO_NATIVE_FCT,
            format!("Incorrect parameter count in the call to native function '{function}'"),
        )
    }

    pub fn wrong_parameters(function: &str) -> Self {
        SqlError::new(
            er::WRONG_PARAMETERS_TO_NATIVE_FCT,
            format!("Incorrect parameters in the call to native function '{function}'"),
        )
    }

    pub fn invalid_string(charset: &str, bytes: &str) -> Self {
        SqlError::new(
            er::INVALID_CHARACTER_STRING,
            format!("Invalid {charset} character string: '{bytes}'"),
        )
    }

    pub fn packet_overflow(function: &str, max: u64) -> Self {
        SqlError::new(
            er::WARN_ALLOWED_PACKET_OVERFLOWED,
            format!("Result of {function}() was larger than max_allowed_packet ({max}) - truncated"),
        )
    }

    pub fn group_concat_cut(row: u64) -> Self {
        SqlError::new(
            er::CUT_VALUE_GROUP_CONCAT,
            format!("Row {row} was cut by GROUP_CONCAT()"),
        )
    }

    pub fn invalid_logarithm() -> Self {
        SqlError::new(
            er::INVALID_ARGUMENT_FOR_LOGARITHM,
            "Invalid argument for logarithm",
        )
    }

    pub fn regexp(message: impl fmt::Display) -> Self {
        SqlError::new(er::REGEXP_RULE_SYNTAX, format!("{message}"))
    }

    // --- column definitions -----------------------------------------------------------------------------------

    pub fn too_big_precision(precision: u64, column: &str, max: u32) -> Self {
        SqlError::new(
            er::TOO_BIG_PRECISION,
            format!("Too-big precision {precision} specified for '{column}'. Maximum is {max}."),
        )
    }

    pub fn too_big_scale(scale: u64, column: &str, max: u32) -> Self {
        SqlError::new(
            er::TOO_BIG_SCALE,
            format!("Too big scale {scale} specified for column '{column}'. Maximum is {max}."),
        )
    }

    pub fn scale_exceeds_precision(column: &str) -> Self {
        let message =
            format!("For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{column}').");
        SqlError::new(er::M_BIGGER_THAN_D, message)
    }

    pub fn too_big_column_length(column: &str, max: u32) -> Self {
        let message =
            format!("Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead");
        SqlError::new(er::TOO_BIG_FIELDLENGTH, message)
    }

    // --- locks and transactions -------------------------------------------------------------------------------

    pub fn deadlock() -> Self {
        let message = "Deadlock found when trying to get lock; try restarting transaction";
        SqlError::new(er::LOCK_DEADLOCK, message)
    }

    pub fn lock_wait_timeout() -> Self {
        let message = "Lock wait timeout exceeded; try restarting transaction";
        SqlError::new(er::LOCK_WAIT_TIMEOUT, message)
    }

    pub fn lock_nowait() -> Self {
        let message =
            "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
        SqlError::new(er::LOCK_NOWAIT, message)
    }

    pub fn query_timeout() -> Self {
        SqlError::new(
            er::QUERY_TIMEOUT,
            "Query execution was interrupted, maximum statement execution time exceeded",
        )
    }

    /// An error of the engine, met in a table.
    pub fn in_table(error: tidemark_engine::Error, table: &str) -> Self {
        match error {
            tidemark_engine::Error::RecordChanged => SqlError::record_changed(table),
            other => other.into(),
        }
    }

    pub fn record_changed(table: &str) -> Self {
        SqlError::new(
            er::RECORD_CHANGED,
            format!("Record has changed since last read in table '{table}'; try restarting transaction"),
        )
    }

    pub fn read_only_transaction() -> Self {
        let message = "Cannot execute statement in a READ ONLY transaction.";
        SqlError::new(er::CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, message)
    }

    pub fn transaction_in_progress() -> Self {
        let message = "Transaction characteristics can't be changed while a transaction is in progress";
        SqlError::new(er::CANT_CHANGE_TX_CHARACTERISTICS, message)
    }

    pub fn savepoint_missing(name: &str) -> Self {
        SqlError::new(er::SP_DOES_NOT_EXIST, format!("SAVEPOINT {name} does not exist"))
    }
}

/// What the engine says, in MySQL's words. A duplicate key is named by the caller, who knows the index; an error that
/// came out of a callback comes back as it was.
impl From<tidemark_engine::Error> for SqlError {
    fn from(error: tidemark_engine::Error) -> SqlError {
        use tidemark_engine::Error;
        match error {
            Error::Callback(inner) => match inner.downcast::<SqlError>() {
                Ok(error) => *error,
                Err(other) => SqlError::unknown(other.to_string()),
            },
            Error::DuplicateKey { .. } => SqlError::new(er::DUP_ENTRY, "Duplicate entry"),
            Error::Deadlock => SqlError::deadlock(),
            Error::LockWaitTimeout => SqlError::lock_wait_timeout(),
            Error::LockNoWait => SqlError::lock_nowait(),
            Error::Interrupted => SqlError::interrupted(),
            Error::RecordChanged => SqlError::record_changed(""),
            Error::HistoryGone => SqlError::unknown(
                "AS OF names a moment that is not within the history that is kept (innodb_undo_retention)",
            ),
            Error::ReadOnly => SqlError::read_only_transaction(),
            Error::DiskFull => SqlError::new(er::DISK_FULL, "The disk is full"),
            Error::RowTooLarge { max_bytes, .. } => SqlError::new(
                er::TOO_BIG_ROWSIZE,
                format!(
                    "Row size too large (> {max_bytes}). Changing some columns to TEXT or BLOB may help. In current row \
                     format, BLOB prefix of 0 bytes is stored inline."
                ),
            ),
            Error::DefinitionChanged | Error::TableGone | Error::NoSuchTable => SqlError::new(
                er::TABLE_DEF_CHANGED,
                "Table definition has changed, please retry transaction",
            ),
            Error::AutoIncrementExhausted => SqlError::new(
                er::AUTOINC_READ_FAILED,
                "Failed to read auto-increment value from storage engine",
            ),
            Error::Unsupported(what) => SqlError::not_supported(what),
            Error::Stopped(_) => SqlError::new(er::SERVER_SHUTDOWN, "Server shutdown in progress"),
            other => SqlError::new(er::GET_ERRNO, format!("Got error from storage engine: {other}")),
        }
    }
}

/// So that an engine callback can end a scan with an SQL error by `?`.
impl From<SqlError> for tidemark_engine::Error {
    fn from(error: SqlError) -> Self {
        tidemark_engine::Error::callback(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_their_state_and_text() {
        let e = SqlError::duplicate_entry("1-a", "t.PRIMARY");
        assert_eq!((e.code, &e.sqlstate), (1062, b"23000"));
        assert_eq!(
            e.to_string(),
            "ERROR 1062 (23000): Duplicate entry '1-a' for key 't.PRIMARY'"
        );
        assert_eq!(SqlError::deadlock().sqlstate, *b"40001");
        assert_eq!(sqlstate_of(9999), *b"HY000");
    }
}
