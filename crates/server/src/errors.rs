//! The protocol's own errors, with MySQL's numbers and texts. Those of statements are made by the SQL floor.

use crate::wire::Malformed;
use tidemark_sql::SqlError;

/// Protocol errors have SQLSTATEs that statements' errors do not.
fn error(code: u16, sqlstate: &[u8; 5], message: impl Into<String>) -> SqlError {
    SqlError {
        code,
        sqlstate: *sqlstate,
        message: message.into(),
    }
}

pub fn too_many_connections() -> SqlError {
    error(1040, b"08004", "Too many connections")
}

pub fn file_cut_short() -> SqlError {
    error(1158, b"08S01", "Got an error reading communication packets")
}

pub fn bad_handshake() -> SqlError {
    error(1043, b"08S01", "Bad handshake")
}

pub fn access_denied(user: &str, host: &str, with_password: bool) -> SqlError {
    let using = if with_password { "YES" } else { "NO" };
    let message = format!("Access denied for user '{user}'@'{host}' (using password: {using})");
    error(1045, b"28000", message)
}

pub fn password_expired() -> SqlError {
    let message = "Your password has expired. To log in you must change it using a client that supports expired passwords.";
    error(1862, b"HY000", message.to_owned())
}

pub fn host_blocked(host: &str) -> SqlError {
    let message = format!(
        "Host '{host}' is blocked because of many connection errors; unblock with 'mysqladmin flush-hosts'"
    );
    error(1129, b"HY000", message)
}

pub fn unknown_command() -> SqlError {
    error(1047, b"08S01", "Unknown command")
}

pub fn internal() -> SqlError {
    error(
        1105,
        b"HY000",
        "Internal error: the statement was stopped and its connection closed; the server's log says more",
    )
}

pub fn long_data_too_large() -> SqlError {
    error(
        1105,
        b"HY000",
        "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
         'max_allowed_packet' bytes",
    )
}

pub fn no_thread(e: &std::io::Error) -> SqlError {
    let errno = e.raw_os_error().unwrap_or(0);
    let message = format!("Can't create a new thread (errno {errno}): {e}");
    error(1135, b"HY000", message)
}

pub fn packet_too_large() -> SqlError {
    error(
        1153,
        b"08S01",
        "Got a packet bigger than 'max_allowed_packet' bytes",
    )
}

pub fn out_of_memory() -> SqlError {
    error(
        1041,
        b"HY000",
        "Out of memory; check if mysqld or some other process uses all available memory; if not, you may have to use 'ulimit' to \
         allow mysqld to use more memory or you can add more swap space",
    )
}

pub fn packets_out_of_order() -> SqlError {
    error(1156, b"08S01", "Got packets out of order")
}

pub fn read_interrupted() -> SqlError {
    error(1159, b"08S01", "Got timeout reading communication packets")
}

pub fn write_failed(e: &std::io::Error) -> SqlError {
    let message = format!("Got an error writing communication packets: {e}");
    error(1160, b"08S01", message)
}

pub fn wrong_arguments(to: &str) -> SqlError {
    error(1210, b"HY000", format!("Incorrect arguments to {to}"))
}

pub fn no_open_cursor(id: u32) -> SqlError {
    error(
        1421,
        b"HY000",
        format!("The statement ({id}) has no open cursor."),
    )
}

pub fn malformed_packet() -> SqlError {
    error(1835, b"HY000", "Malformed communication packet.")
}

pub fn insecure_transport() -> SqlError {
    error(
        3159,
        b"HY000",
        "Connections using insecure transport are prohibited while --require_secure_transport=ON.",
    )
}

pub fn idle_too_long() -> SqlError {
    error(
        4031,
        b"HY000",
        "The client was disconnected by the server because of inactivity. See wait_timeout and \
         interactive_timeout for configuring this behavior.",
    )
}

impl From<Malformed> for SqlError {
    fn from(_: Malformed) -> SqlError {
        malformed_packet()
    }
}
