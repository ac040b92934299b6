//! What a client may change about its session with protocol commands rather than statements.

use super::Session;

/// The capability flag for several statements in one query.
const CLIENT_MULTI_STATEMENTS: u64 = 1 << 16;

impl Session {
    /// COM_SET_OPTION.
    pub fn set_multi_statements(&mut self, allow: bool) {
        let capabilities = &mut self.state.info.capabilities;
        *capabilities &= !CLIENT_MULTI_STATEMENTS;
        if allow {
            *capabilities |= CLIENT_MULTI_STATEMENTS;
        }
    }
}
