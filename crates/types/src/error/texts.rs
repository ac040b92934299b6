//! A constructor for each error that more than one place makes, with MySQL's text.

use super::{SqlError, er};
use std::fmt;

impl SqlError {
    // --- statements -------------------------------------------------------------------------------------------

    /// A form that Tidemark does not have; `what` names it as the user wrote it.
    pub fn not_supported(what: impl fmt::Display) -> Self {
        let message = format!("This version of Tidemark doesn't yet support '{what}'");
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

    /// Error 1064: `You have an error in your SQL syntax; {message}`.
    pub fn parse(message: impl fmt::Display) -> Self {
        SqlError::new(
            er::PARSE_ERROR,
            format!("You have an error in your SQL syntax; {message}"),
        )
    }

    /// Error 1065: `Query was empty`.
    pub fn empty_query() -> Self {
        SqlError::new(er::EMPTY_QUERY, "Query was empty")
    }

    /// Error 1105: what has no number of its own.
    pub fn unknown(message: impl Into<String>) -> Self {
        SqlError::new(er::UNKNOWN_ERROR, message)
    }

    /// Error 1317: `Query execution was interrupted`.
    pub fn interrupted() -> Self {
        SqlError::new(er::QUERY_INTERRUPTED, "Query execution was interrupted")
    }

    /// Whether it ends the statement, whatever that would make of errors in values: it is killed, or there is no memory.
    pub fn ends_the_statement(&self) -> bool {
        matches!(
            self.code,
            er::QUERY_INTERRUPTED | er::QUERY_TIMEOUT | er::CAPACITY_EXCEEDED
        )
    }

    /// Error 1221: `Incorrect usage of {a} and {b}`.
    pub fn wrong_usage(a: &str, b: &str) -> Self {
        SqlError::new(er::WRONG_USAGE, format!("Incorrect usage of {a} and {b}"))
    }

    /// Error 1210: `Incorrect arguments to {to}`.
    pub fn wrong_arguments(to: &str) -> Self {
        SqlError::new(er::WRONG_ARGUMENTS, format!("Incorrect arguments to {to}"))
    }

    /// Error 1243: a command for a prepared statement that is not there. MySQL names the function that looks for it.
    pub fn unknown_statement(id: u32) -> Self {
        let message = format!("Unknown prepared statement handler ({id}) given to mysql_stmt_precheck");
        SqlError::new(er::UNKNOWN_STMT_HANDLER, message)
    }

    /// Error 1415: `Not allowed to return a result set from a {within}`.
    pub fn no_result_set(within: &str) -> Self {
        SqlError::new(
            er::SP_NO_RETSET,
            format!("Not allowed to return a result set from a {within}"),
        )
    }

    // --- names ------------------------------------------------------------------------------------------------

    /// Error 1046: `No database selected`.
    pub fn no_database() -> Self {
        SqlError::new(er::NO_DB, "No database selected")
    }

    /// Error 1049: `Unknown database '{db}'`.
    pub fn unknown_database(db: &str) -> Self {
        SqlError::new(er::BAD_DB, format!("Unknown database '{db}'"))
    }

    /// Error 1007: `Can't create database '{db}'; database exists`.
    pub fn database_exists(db: &str) -> Self {
        SqlError::new(
            er::DB_CREATE_EXISTS,
            format!("Can't create database '{db}'; database exists"),
        )
    }

    /// Error 1008: `Can't drop database '{db}'; database doesn't exist`.
    pub fn database_missing(db: &str) -> Self {
        SqlError::new(
            er::DB_DROP_EXISTS,
            format!("Can't drop database '{db}'; database doesn't exist"),
        )
    }

    /// Error 1050: `Table '{table}' already exists`.
    pub fn table_exists(table: &str) -> Self {
        SqlError::new(er::TABLE_EXISTS, format!("Table '{table}' already exists"))
    }

    /// A statement names a temporary table twice.
    pub fn cannot_reopen(alias: &str) -> Self {
        SqlError::new(er::CANT_REOPEN_TABLE, format!("Can't reopen table: '{alias}'"))
    }

    /// `DROP TABLE` of something that is not there.
    pub fn bad_table(names: &str) -> Self {
        SqlError::new(er::BAD_TABLE, format!("Unknown table '{names}'"))
    }

    /// Error 1347: a view where a table is wanted, or a table where a view is.
    pub fn wrong_object(db: &str, name: &str, wanted: &str) -> Self {
        SqlError::new(er::WRONG_OBJECT, format!("'{db}.{name}' is not {wanted}"))
    }

    /// Error 1146: `Table '{db}.{table}' doesn't exist`.
    pub fn no_such_table(db: &str, table: &str) -> Self {
        SqlError::new(er::NO_SUCH_TABLE, format!("Table '{db}.{table}' doesn't exist"))
    }

    /// A qualifier that names no table of this statement.
    pub fn unknown_table(table: &str, clause: &str) -> Self {
        SqlError::new(er::UNKNOWN_TABLE, format!("Unknown table '{table}' in {clause}"))
    }

    /// Error 1054: `Unknown column '{column}' in '{clause}'`.
    pub fn unknown_column(column: &str, clause: &str) -> Self {
        SqlError::new(er::BAD_FIELD, format!("Unknown column '{column}' in '{clause}'"))
    }

    /// Error 1052: `Column '{column}' in {clause} is ambiguous`.
    pub fn ambiguous_column(column: &str, clause: &str) -> Self {
        SqlError::new(
            er::NON_UNIQ,
            format!("Column '{column}' in {clause} is ambiguous"),
        )
    }

    /// Error 1066: `Not unique table/alias: '{alias}'`.
    pub fn not_unique_table(alias: &str) -> Self {
        SqlError::new(er::NONUNIQ_TABLE, format!("Not unique table/alias: '{alias}'"))
    }

    /// Error 1060: `Duplicate column name '{column}'`.
    pub fn duplicate_column(column: &str) -> Self {
        SqlError::new(er::DUP_FIELDNAME, format!("Duplicate column name '{column}'"))
    }

    /// Error 1061: `Duplicate key name '{key}'`.
    pub fn duplicate_key_name(key: &str) -> Self {
        SqlError::new(er::DUP_KEYNAME, format!("Duplicate key name '{key}'"))
    }

    /// Error 1072: `Key column '{column}' doesn't exist in table`.
    pub fn key_column_missing(column: &str) -> Self {
        SqlError::new(
            er::KEY_COLUMN_DOES_NOT_EXIST,
            format!("Key column '{column}' doesn't exist in table"),
        )
    }

    /// Error 1091: `Can't DROP '{name}'; check that column/key exists`.
    pub fn cannot_drop(name: &str) -> Self {
        let message = format!("Can't DROP '{name}'; check that column/key exists");
        SqlError::new(er::CANT_DROP_FIELD_OR_KEY, message)
    }

    /// Error 1110: `Column '{column}' specified twice`.
    pub fn column_specified_twice(column: &str) -> Self {
        SqlError::new(
            er::FIELD_SPECIFIED_TWICE,
            format!("Column '{column}' specified twice"),
        )
    }

    /// Error 1305: `FUNCTION {name} does not exist`.
    pub fn unknown_function(name: &str) -> Self {
        SqlError::new(er::SP_DOES_NOT_EXIST, format!("FUNCTION {name} does not exist"))
    }

    /// Error 1305: `{kind} {name} does not exist`, of a stored program.
    pub fn program_missing(kind: &str, name: &str) -> Self {
        SqlError::new(er::SP_DOES_NOT_EXIST, format!("{kind} {name} does not exist"))
    }

    /// Error 1360: `Trigger does not exist`.
    pub fn trigger_missing() -> Self {
        SqlError::new(er::TRG_DOES_NOT_EXIST, "Trigger does not exist")
    }

    /// Error 1539: `Unknown event '{name}'`.
    pub fn event_missing(name: &str) -> Self {
        SqlError::new(er::EVENT_DOES_NOT_EXIST, format!("Unknown event '{name}'"))
    }

    /// Error 1193: `Unknown system variable '{name}'`.
    pub fn unknown_system_variable(name: &str) -> Self {
        SqlError::new(
            er::UNKNOWN_SYSTEM_VARIABLE,
            format!("Unknown system variable '{name}'"),
        )
    }

    /// Error 1231: `Variable '{name}' can't be set to the value of '{value}'`.
    pub fn wrong_value_for_variable(name: &str, value: &str) -> Self {
        let message = format!("Variable '{name}' can't be set to the value of '{value}'");
        SqlError::new(er::WRONG_VALUE_FOR_VAR, message)
    }

    /// Error 1232: `Incorrect argument type to variable '{name}'`.
    pub fn wrong_type_for_variable(name: &str) -> Self {
        SqlError::new(
            er::WRONG_TYPE_FOR_VAR,
            format!("Incorrect argument type to variable '{name}'"),
        )
    }

    /// Error 1273: `Unknown collation: '{name}'`.
    pub fn unknown_collation(name: &str) -> Self {
        SqlError::new(er::UNKNOWN_COLLATION, format!("Unknown collation: '{name}'"))
    }

    /// Error 1115: `Unknown character set: '{name}'`.
    pub fn unknown_charset(name: &str) -> Self {
        SqlError::new(
            er::UNKNOWN_CHARACTER_SET,
            format!("Unknown character set: '{name}'"),
        )
    }

    /// Error 1286: `Unknown storage engine '{name}'`.
    pub fn unknown_storage_engine(name: &str) -> Self {
        SqlError::new(
            er::UNKNOWN_STORAGE_ENGINE,
            format!("Unknown storage engine '{name}'"),
        )
    }

    /// Error 1649: `Unknown locale: '{name}'`, with at most 64 characters of the name.
    pub fn unknown_locale(name: &str) -> Self {
        let name: String = name.chars().take(64).collect();
        SqlError::new(er::UNKNOWN_LOCALE, format!("Unknown locale: '{name}'"))
    }

    /// Error 1253: `COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'`.
    pub fn collation_charset_mismatch(collation: &str, charset: &str) -> Self {
        let message = format!("COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'");
        SqlError::new(er::COLLATION_CHARSET_MISMATCH, message)
    }

    /// Error 1298: `Unknown or incorrect time zone: '{name}'`.
    pub fn unknown_time_zone(name: &str) -> Self {
        SqlError::new(
            er::UNKNOWN_TIME_ZONE,
            format!("Unknown or incorrect time zone: '{name}'"),
        )
    }

    // --- grouping and subqueries ------------------------------------------------------------------------------

    /// Error 1111: `Invalid use of group function`.
    pub fn invalid_group_function() -> Self {
        SqlError::new(er::INVALID_GROUP_FUNC_USE, "Invalid use of group function")
    }

    /// Error 1241: `Operand should contain {n} column(s)`.
    pub fn operand_columns(n: usize) -> Self {
        SqlError::new(
            er::OPERAND_COLUMNS,
            format!("Operand should contain {n} column(s)"),
        )
    }

    /// Error 1242: `Subquery returns more than 1 row`.
    pub fn subquery_rows() -> Self {
        SqlError::new(er::SUBQUERY_NO_1_ROW, "Subquery returns more than 1 row")
    }

    /// Error 1222: `The used SELECT statements have a different number of columns`.
    pub fn select_column_count() -> Self {
        let message = "The used SELECT statements have a different number of columns";
        SqlError::new(er::WRONG_NUMBER_OF_COLUMNS_IN_SELECT, message)
    }

    // --- values -----------------------------------------------------------------------------------------------

    /// Error 1136: `Column count doesn't match value count at row {row}`.
    pub fn column_count(row: usize) -> Self {
        let message = format!("Column count doesn't match value count at row {row}");
        SqlError::new(er::WRONG_VALUE_COUNT_ON_ROW, message)
    }

    /// Error 1048: `Column '{column}' cannot be null`.
    pub fn bad_null(column: &str) -> Self {
        SqlError::new(er::BAD_NULL, format!("Column '{column}' cannot be null"))
    }

    /// Error 1364: `Field '{column}' doesn't have a default value`.
    pub fn no_default(column: &str) -> Self {
        SqlError::new(
            er::NO_DEFAULT_FOR_FIELD,
            format!("Field '{column}' doesn't have a default value"),
        )
    }

    /// Error 1067: `Invalid default value for '{column}'`.
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

    /// Error 1264: `Out of range value for column '{column}' at row {row}`.
    pub fn out_of_range(column: &str, row: u64) -> Self {
        SqlError::new(
            er::WARN_DATA_OUT_OF_RANGE,
            format!("Out of range value for column '{column}' at row {row}"),
        )
    }

    /// Error 1406: `Data too long for column '{column}' at row {row}`.
    pub fn data_too_long(column: &str, row: u64) -> Self {
        SqlError::new(
            er::DATA_TOO_LONG,
            format!("Data too long for column '{column}' at row {row}"),
        )
    }

    /// Error 1172.
    pub fn too_many_rows() -> Self {
        SqlError::new(er::TOO_MANY_ROWS, "Result consisted of more than one row")
    }

    /// Error 3954: INTO of a query that is part of another.
    pub fn misplaced_into() -> Self {
        SqlError::new(
            er::MISPLACED_INTO,
            "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.",
        )
    }

    /// Error 1265: `Data truncated for column '{column}' at row {row}`.
    pub fn data_truncated(column: &str, row: u64) -> Self {
        SqlError::new(
            er::WARN_DATA_TRUNCATED,
            format!("Data truncated for column '{column}' at row {row}"),
        )
    }

    /// Error 3143: a path into a document is wrong at this byte.
    pub fn invalid_json_path(position: usize) -> Self {
        Self::new(
            er::INVALID_JSON_PATH,
            format!("Invalid JSON path expression. The error is around character position {position}."),
        )
    }

    /// Error 3156: a JSON value of `source`, a column or a function, is not of the type that it is wanted as.
    pub fn invalid_json_for_cast(kind: &str, source: &str, row: u64) -> Self {
        SqlError::new(
            er::INVALID_JSON_VALUE_FOR_CAST,
            format!("Invalid JSON value for CAST to {kind} from column {source} at row {row}"),
        )
    }

    /// Error 3155: a number in a JSON value of `source` does not fit the type that it is wanted as.
    pub fn json_out_of_range_for_cast(kind: &str, source: &str, row: u64) -> Self {
        SqlError::new(
            er::NUMERIC_JSON_VALUE_OUT_OF_RANGE,
            format!("Out of range JSON value for CAST to {kind} from column {source} at row {row}"),
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

    /// A warning about a clause that other engines than InnoDB would heed.
    pub fn without_effect(clause: &str) -> Self {
        SqlError::new(
            er::WARN_DEPRECATED_SYNTAX,
            format!("'{clause}' is accepted but does nothing: it is for other storage engines"),
        )
    }

    /// Error 1299: the clocks of the session's time zone jump over the value.
    pub fn invalid_timestamp(column: &str, row: u64) -> Self {
        SqlError::new(
            er::WARN_INVALID_TIMESTAMP,
            format!("Invalid TIMESTAMP value in column '{column}' at row {row}"),
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

    /// Error 1411: `Incorrect {kind} value: '{value}' for function {function}`.
    pub fn wrong_value_for_type(kind: &str, value: &str, function: &str) -> Self {
        let message = format!("Incorrect {kind} value: '{value}' for function {function}");
        SqlError::new(er::WRONG_VALUE_FOR_TYPE, message)
    }

    /// Error 1367: `Illegal double '{literal}' value found during parsing`, for a literal that no double holds.
    pub fn illegal_double(literal: &str) -> Self {
        let shown: String = literal.chars().take(192).collect();
        SqlError::new(
            er::ILLEGAL_VALUE_FOR_TYPE,
            format!("Illegal double '{shown}' value found during parsing"),
        )
    }

    /// Error 1365: `Division by 0`.
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

    /// A function that could not do its work, and why.
    pub fn function_failed(function: &str, why: impl fmt::Display) -> Self {
        SqlError::new(
            er::ERROR_WHEN_EXECUTING_COMMAND,
            format!("Error when executing command {function}: {why}"),
        )
    }

    /// Error 1441: `Datetime function: {kind} field overflow`.
    pub fn temporal_overflow(kind: &str) -> Self {
        let message = format!("Datetime function: {kind} field overflow");
        SqlError::new(er::DATETIME_FUNCTION_OVERFLOW, message)
    }

    /// A date or time that left the range of its type: `kind` is `DATE`, `DATETIME` or `TIME`.
    pub fn moment_out_of_range(kind: &str, expression: &str) -> Self {
        let message = format!("{kind} value is out of range in '{expression}'");
        SqlError::new(er::TEMPORAL_FUNCTION_OVERFLOW, message)
    }

    /// Error 1267: `Illegal mix of collations ({},{}) and ({},{}) for operation '{operation}'`.
    pub fn illegal_mix(a: (&str, &str), b: (&str, &str), operation: &str) -> Self {
        SqlError::new(
            er::CANT_AGGREGATE_2COLLATIONS,
            format!(
                "Illegal mix of collations ({},{}) and ({},{}) for operation '{operation}'",
                a.0, a.1, b.0, b.1
            ),
        )
    }

    /// Error 3854: `Cannot convert string '{bytes}' from {from} to {to}`, of which the first bytes are shown.
    pub fn char_conversion(bytes: &[u8], from: &str, to: &str) -> Self {
        let shown: String = bytes.iter().take(6).map(|b| format!("\\x{b:02X}")).collect();
        let more = if bytes.len() > 6 { "..." } else { "" };
        SqlError::new(
            er::CHAR_CONVERSION,
            format!("Cannot convert string '{shown}{more}' from {from} to {to}"),
        )
    }

    /// Warning 1300: `Cannot convert string '{text}' from {from} to {to}`, of which the first bytes are shown.
    pub fn cannot_convert(text: &[u8], from: &str, to: &str) -> Self {
        let shown = text.iter().take(6).map(|b| match b {
            b' '..=b'~' => char::from(*b).to_string(),
            _ => format!("\\x{b:02X}"),
        });
        let (shown, more) = (shown.collect::<String>(), if text.len() > 6 { "..." } else { "" });
        SqlError::new(
            er::INVALID_CHARACTER_STRING,
            format!("Cannot convert string '{shown}{more}' from {from} to {to}"),
        )
    }

    /// Error 3144: `Cannot create a JSON value from a string with CHARACTER SET 'binary'.`
    pub fn json_of_binary() -> Self {
        SqlError::new(
            er::INVALID_JSON_CHARSET,
            "Cannot create a JSON value from a string with CHARACTER SET 'binary'.",
        )
    }

    /// Error 1300: `Invalid {charset} character string: '{text}'`, of which what is valid, up to a NUL, is shown.
    pub fn invalid_field(charset: &str, text: &[u8]) -> Self {
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        let shown = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        SqlError::new(
            er::INVALID_CHARACTER_STRING,
            format!("Invalid {charset} character string: '{shown}'"),
        )
    }

    /// Error 3995: `Character set '{a}' cannot be used in conjunction with '{b}' in call to {function}.`
    pub fn character_set_mismatch(a: &str, b: &str, function: &str) -> Self {
        SqlError::new(
            er::CHARACTER_SET_MISMATCH,
            format!("Character set '{a}' cannot be used in conjunction with '{b}' in call to {function}."),
        )
    }

    /// Error 1271: `Illegal mix of collations for operation '{operation}'`.
    pub fn illegal_mix_many(operation: &str) -> Self {
        let message = format!("Illegal mix of collations for operation '{operation}'");
        SqlError::new(er::CANT_AGGREGATE_NCOLLATIONS, message)
    }

    /// Error 1582: `Incorrect parameter count in the call to native function '{function}'`.
    pub fn parameter_count(function: &str) -> Self {
        SqlError::new(
            er::WRONG_PARAMCOUNT_TO_NATIVE_FCT,
            format!("Incorrect parameter count in the call to native function '{function}'"),
        )
    }

    /// Error 1583: `Incorrect parameters in the call to native function '{function}'`.
    pub fn wrong_parameters(function: &str) -> Self {
        SqlError::new(
            er::WRONG_PARAMETERS_TO_NATIVE_FCT,
            format!("Incorrect parameters in the call to native function '{function}'"),
        )
    }

    /// Error 1300: `Invalid {charset} character string: '{bytes}'`, of which three at most are shown.
    pub fn invalid_string(charset: &str, bytes: &[u8]) -> Self {
        let bytes: String = bytes.iter().take(3).map(|b| format!("{b:02X}")).collect();
        SqlError::new(
            er::INVALID_CHARACTER_STRING,
            format!("Invalid {charset} character string: '{bytes}'"),
        )
    }

    /// Error 1301: `Result of {function}() was larger than max_allowed_packet ({max}) - truncated`.
    pub fn packet_overflow(function: &str, max: u64) -> Self {
        SqlError::new(
            er::WARN_ALLOWED_PACKET_OVERFLOWED,
            format!("Result of {function}() was larger than max_allowed_packet ({max}) - truncated"),
        )
    }

    /// Error 3684: the result of REGEXP_REPLACE() is larger than `max_allowed_packet`.
    pub fn regexp_buffer_overflow() -> Self {
        let message = "The result string is larger than the result buffer.";
        SqlError::new(er::REGEXP_BUFFER_OVERFLOW, message)
    }

    /// Error 1260: `Row {row} was cut by GROUP_CONCAT()`.
    pub fn group_concat_cut(row: u64) -> Self {
        SqlError::new(
            er::CUT_VALUE_GROUP_CONCAT,
            format!("Row {row} was cut by GROUP_CONCAT()"),
        )
    }

    /// Error 3020: `Invalid argument for logarithm`.
    pub fn invalid_logarithm() -> Self {
        SqlError::new(
            er::INVALID_ARGUMENT_FOR_LOGARITHM,
            "Invalid argument for logarithm",
        )
    }

    /// Error 3688: `{message}`.
    pub fn regexp(message: impl fmt::Display) -> Self {
        SqlError::new(er::REGEXP_RULE_SYNTAX, format!("{message}"))
    }

    // --- column definitions -----------------------------------------------------------------------------------

    /// Error 1426: `Too-big precision {precision} specified for '{column}'. Maximum is {max}.`.
    pub fn too_big_precision(precision: u64, column: &str, max: u32) -> Self {
        SqlError::new(
            er::TOO_BIG_PRECISION,
            format!("Too-big precision {precision} specified for '{column}'. Maximum is {max}."),
        )
    }

    /// Error 1425: `Too big scale {scale} specified for column '{column}'. Maximum is {max}.`.
    pub fn too_big_scale(scale: u64, column: &str, max: u32) -> Self {
        SqlError::new(
            er::TOO_BIG_SCALE,
            format!("Too big scale {scale} specified for column '{column}'. Maximum is {max}."),
        )
    }

    /// Error 1427: `For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{column}').`.
    pub fn scale_exceeds_precision(column: &str) -> Self {
        let message =
            format!("For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{column}').");
        SqlError::new(er::M_BIGGER_THAN_D, message)
    }

    /// Error 1074: `Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead`.
    pub fn too_big_column_length(column: &str, max: u32) -> Self {
        let message =
            format!("Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead");
        SqlError::new(er::TOO_BIG_FIELDLENGTH, message)
    }

    // --- locks and transactions -------------------------------------------------------------------------------

    /// Error 1213: `Deadlock found when trying to get lock; try restarting transaction`.
    pub fn deadlock() -> Self {
        let message = "Deadlock found when trying to get lock; try restarting transaction";
        SqlError::new(er::LOCK_DEADLOCK, message)
    }

    /// Error 3057 of a name that is none.
    pub fn user_lock_wrong_name(name: &str) -> Self {
        let why = "The name is empty, NULL, or can not be expressed in the current character-set.";
        SqlError::new(
            er::USER_LOCK_WRONG_NAME,
            format!("Incorrect user-level lock name '{name}'. {why}"),
        )
    }

    /// Error 4163 of a name with more than 64 characters.
    pub fn user_lock_overlong_name(name: &str) -> Self {
        let message = format!("User-level lock name '{name}' should not exceed 64 characters.");
        SqlError::new(er::USER_LOCK_OVERLONG_NAME, message)
    }

    /// Error 3058: a wait for a named lock would close a cycle of waits.
    pub fn user_lock_deadlock() -> Self {
        let message = "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and \
                       restarting lock acquisition.";
        SqlError::new(er::USER_LOCK_DEADLOCK, message)
    }

    /// Error 1206: `The total number of locks exceeds the lock table size`.
    pub fn lock_table_full() -> Self {
        let message = "The total number of locks exceeds the lock table size";
        SqlError::new(er::LOCK_TABLE_FULL, message)
    }

    /// Error 1205: `Lock wait timeout exceeded; try restarting transaction`.
    pub fn lock_wait_timeout() -> Self {
        let message = "Lock wait timeout exceeded; try restarting transaction";
        SqlError::new(er::LOCK_WAIT_TIMEOUT, message)
    }

    /// Error 3572: `Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.`.
    pub fn lock_nowait() -> Self {
        let message =
            "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
        SqlError::new(er::LOCK_NOWAIT, message)
    }

    /// Error 3024: `Query execution was interrupted, maximum statement execution time exceeded`.
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

    /// Error 1020: `Record has changed since last read in table '{table}'; try restarting transaction`.
    pub fn record_changed(table: &str) -> Self {
        SqlError::new(
            er::RECORD_CHANGED,
            format!("Record has changed since last read in table '{table}'; try restarting transaction"),
        )
    }

    /// Error 3948.
    pub fn local_files_disabled() -> Self {
        SqlError::new(
            er::CLIENT_LOCAL_FILES_DISABLED,
            "Loading local data is disabled; this must be enabled on both the client and server sides",
        )
    }

    /// Error 1290: `The MySQL server is running with the {option} option so it cannot execute this statement`.
    pub fn option_prevents(option: &str) -> Self {
        SqlError::new(
            er::OPTION_PREVENTS_STATEMENT,
            format!(
                "The MySQL server is running with the {option} option so it cannot execute this statement"
            ),
        )
    }

    /// Error 3888: `Failed to set up SSL because of the following SSL library error: {why}`.
    pub fn tls_failed(why: &str) -> Self {
        SqlError::new(
            er::SSL_LIBRARY_ERROR,
            format!("Failed to set up SSL because of the following SSL library error: {why}"),
        )
    }

    /// Error 1792: `Cannot execute statement in a READ ONLY transaction.`.
    pub fn read_only_transaction() -> Self {
        let message = "Cannot execute statement in a READ ONLY transaction.";
        SqlError::new(er::CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, message)
    }

    /// Error 1568: `Transaction characteristics can't be changed while a transaction is in progress`.
    pub fn transaction_in_progress() -> Self {
        let message = "Transaction characteristics can't be changed while a transaction is in progress";
        SqlError::new(er::CANT_CHANGE_TX_CHARACTERISTICS, message)
    }

    /// Error 1305: `SAVEPOINT {name} does not exist`.
    pub fn savepoint_missing(name: &str) -> Self {
        SqlError::new(er::SP_DOES_NOT_EXIST, format!("SAVEPOINT {name} does not exist"))
    }
}
