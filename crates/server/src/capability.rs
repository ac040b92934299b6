//! Capability flags: what each side of a connection can do. A connection has those that both sides have.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(pub u32);

impl Capabilities {
    pub const LONG_PASSWORD: Capabilities = Capabilities(1);
    /// UPDATE counts the rows it found, not those it changed.
    pub const FOUND_ROWS: Capabilities = Capabilities(1 << 1);
    pub const LONG_FLAG: Capabilities = Capabilities(1 << 2);
    pub const CONNECT_WITH_DB: Capabilities = Capabilities(1 << 3);
    pub const ODBC: Capabilities = Capabilities(1 << 6);
    /// The client sends its files when it is asked to: LOAD DATA LOCAL.
    pub const LOCAL_FILES: Capabilities = Capabilities(1 << 7);
    pub const IGNORE_SPACE: Capabilities = Capabilities(1 << 8);
    pub const PROTOCOL_41: Capabilities = Capabilities(1 << 9);
    /// `interactive_timeout` applies instead of `wait_timeout`.
    pub const INTERACTIVE: Capabilities = Capabilities(1 << 10);
    pub const SSL: Capabilities = Capabilities(1 << 11);
    pub const TRANSACTIONS: Capabilities = Capabilities(1 << 13);
    pub const RESERVED: Capabilities = Capabilities(1 << 14);
    pub const SECURE_CONNECTION: Capabilities = Capabilities(1 << 15);
    pub const MULTI_STATEMENTS: Capabilities = Capabilities(1 << 16);
    pub const MULTI_RESULTS: Capabilities = Capabilities(1 << 17);
    pub const PS_MULTI_RESULTS: Capabilities = Capabilities(1 << 18);
    pub const PLUGIN_AUTH: Capabilities = Capabilities(1 << 19);
    pub const CONNECT_ATTRS: Capabilities = Capabilities(1 << 20);
    pub const PLUGIN_AUTH_LENENC: Capabilities = Capabilities(1 << 21);
    /// The client can be let in to change its password, and do nothing else.
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: Capabilities = Capabilities(1 << 22);
    /// OK packets say what has changed in the session.
    pub const SESSION_TRACK: Capabilities = Capabilities(1 << 23);
    /// Definitions are not followed by an EOF packet, and rows end with an OK packet.
    pub const DEPRECATE_EOF: Capabilities = Capabilities(1 << 24);
    /// COM_QUERY and COM_STMT_EXECUTE carry values by name.
    pub const QUERY_ATTRIBUTES: Capabilities = Capabilities(1 << 27);

    pub const fn has(self, other: Capabilities) -> bool {
        self.0 & other.0 == other.0
    }

    pub const fn both(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 & other.0)
    }
}

/// What this server can do.
pub fn of_server(with_tls: bool) -> Capabilities {
    use Capabilities as C;
    let tls = if with_tls { C::SSL.0 } else { 0 };
    let always = [
        C::LONG_PASSWORD,
        C::FOUND_ROWS,
        C::LONG_FLAG,
        C::CONNECT_WITH_DB,
        C::ODBC,
        C::LOCAL_FILES,
        C::IGNORE_SPACE,
        C::PROTOCOL_41,
        C::INTERACTIVE,
        C::TRANSACTIONS,
        C::RESERVED,
        C::SECURE_CONNECTION,
        C::MULTI_STATEMENTS,
        C::MULTI_RESULTS,
        C::PS_MULTI_RESULTS,
        C::PLUGIN_AUTH,
        C::CONNECT_ATTRS,
        C::PLUGIN_AUTH_LENENC,
        C::CAN_HANDLE_EXPIRED_PASSWORDS,
        C::SESSION_TRACK,
        C::DEPRECATE_EOF,
        C::QUERY_ATTRIBUTES,
    ];
    Capabilities(always.iter().fold(tls, |bits, one| bits | one.0))
}
