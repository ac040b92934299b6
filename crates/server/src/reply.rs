//! The packets that answer: OK, error, end of rows, column definitions.

use crate::capability::Capabilities;
use crate::packet::Output;
use crate::wire::{put_bytes, put_lenenc};
use tidemark_sql::types::{Charset, ColumnMeta};
use tidemark_sql::{OkInfo, SessionChange, SqlError, status};

const OK: u8 = 0x00;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;
const NULL: u8 = 0xfb;
/// An expression without an alias is named after its text, which may be long.
const NAME_LEN_MAX: usize = 255;

pub fn put_ok(out: &mut Output, info: &OkInfo) {
    put_ok_with(out, OK, info);
}

/// The end of rows, of column definitions, or of parameter definitions.
pub fn put_end(out: &mut Output, capabilities: Capabilities, warnings: u16, status: u16) {
    if capabilities.has(Capabilities::DEPRECATE_EOF) {
        let packet = out.begin();
        let ([w, w_high], [s, s_high]) = (warnings.to_le_bytes(), status.to_le_bytes());
        packet.extend_from_slice(&[EOF, 0, 0, s, s_high, w, w_high]);
        out.end();
    } else {
        put_eof(out, warnings, status);
    }
}

/// The end of rows, with what has changed in the session. There is room for that in the form of an OK packet alone.
pub fn put_end_with(
    out: &mut Output,
    capabilities: Capabilities,
    warnings: u16,
    status: u16,
    changes: &[SessionChange],
) {
    if changes.is_empty() || !capabilities.has(Capabilities::DEPRECATE_EOF) {
        return put_end(out, capabilities, warnings, status);
    }
    let info = OkInfo {
        status,
        warnings,
        changes: changes.to_vec(),
        ..OkInfo::default()
    };
    put_ok_with(out, EOF, &info);
}

/// What separates definitions from what follows them, where the client still expects a packet for that.
pub fn put_separator(out: &mut Output, capabilities: Capabilities, warnings: u16, status: u16) {
    if !capabilities.has(Capabilities::DEPRECATE_EOF) {
        put_eof(out, warnings, status);
    }
}

fn put_eof(out: &mut Output, warnings: u16, status: u16) {
    let packet = out.begin();
    let ([w, w_high], [s, s_high]) = (warnings.to_le_bytes(), status.to_le_bytes());
    packet.extend_from_slice(&[EOF, w, w_high, s, s_high]);
    out.end();
}

fn put_ok_with(out: &mut Output, header: u8, info: &OkInfo) {
    let packet = out.begin();
    packet.push(header);
    put_lenenc(packet, info.affected_rows);
    put_lenenc(packet, info.last_insert_id);
    let has_changes = !info.changes.is_empty();
    let changed = match has_changes {
        true => status::SESSION_STATE_CHANGED,
        false => 0,
    };
    packet.extend_from_slice(&(info.status | changed).to_le_bytes());
    packet.extend_from_slice(&info.warnings.to_le_bytes());
    if has_changes || !info.info.is_empty() {
        put_bytes(packet, info.info.as_bytes());
    }
    if has_changes {
        put_changes(packet, &info.changes);
    }
    out.end();
}

/// What has changed in the session: a text of entries, each a kind and a text of its own.
#[cold]
fn put_changes(packet: &mut Vec<u8>, changes: &[SessionChange]) {
    let (mut all, mut one) = (Vec::new(), Vec::new());
    for change in changes {
        one.clear();
        let kind = match change {
            SessionChange::Variable { name, value } => {
                put_bytes(&mut one, name.as_bytes());
                put_bytes(&mut one, value.as_bytes());
                0
            }
            SessionChange::Schema(name) => {
                put_bytes(&mut one, name.as_bytes());
                1
            }
            SessionChange::State => {
                one.push(b'1');
                2
            }
            SessionChange::Characteristics(statements) => {
                put_bytes(&mut one, statements.as_bytes());
                4
            }
            SessionChange::TransactionState(letters) => {
                put_bytes(&mut one, letters.as_bytes());
                5
            }
        };
        all.push(kind);
        put_bytes(&mut all, &one);
    }
    put_bytes(packet, &all);
}

/// An error, whose text is in the client's character set. Before the handshake a client does not expect the SQLSTATE.
pub fn put_error(out: &mut Output, error: &SqlError, texts: Option<Charset>, with_state: bool) {
    out.abandon();
    let packet = out.begin();
    packet.push(ERR);
    packet.extend_from_slice(&error.code.to_le_bytes());
    if with_state {
        packet.push(b'#');
        packet.extend_from_slice(&error.sqlstate);
    }
    packet.extend_from_slice(&Charset::send_error(texts, &error.message));
    out.end();
}

/// The definition of a column, its names in the client's character set.
pub fn put_column(out: &mut Output, column: &ColumnMeta, texts: Option<Charset>) {
    put_definition(out.begin(), column, texts);
    out.end();
}

/// As COM_FIELD_LIST lists a column: with its default value, which is not given.
pub fn put_listed_column(out: &mut Output, column: &ColumnMeta, texts: Option<Charset>) {
    let packet = out.begin();
    put_definition(packet, column, texts);
    packet.push(NULL);
    out.end();
}

fn put_definition(packet: &mut Vec<u8>, column: &ColumnMeta, texts: Option<Charset>) {
    let names = [
        &column.db,
        &column.table,
        &column.org_table,
        &column.name,
        &column.org_name,
    ];
    packet.extend_from_slice(b"\x03def");
    for name in names {
        let name = &name[..name.floor_char_boundary(NAME_LEN_MAX)];
        match texts {
            // Names are kept in this one, so nearly always there is nothing to convert.
            Some(Charset::Utf8mb4) => put_bytes(packet, name.as_bytes()),
            _ => put_bytes(packet, &Charset::send_name(texts, name)),
        }
    }
    // One piece, since every result has a definition for each of its columns.
    let mut fixed = [0; 13];
    fixed[0] = 12; // the length of what follows
    fixed[1..3].copy_from_slice(&column.charset.to_le_bytes());
    fixed[3..7].copy_from_slice(&column.length.to_le_bytes());
    fixed[7] = column.type_byte;
    fixed[8..10].copy_from_slice(&column.flags.to_le_bytes());
    fixed[10] = column.decimals;
    packet.extend_from_slice(&fixed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column() -> ColumnMeta {
        ColumnMeta {
            db: "sbtest".into(),
            table: "t".into(),
            org_table: "sbtest1".into(),
            name: "c".into(),
            org_name: "c".into(),
            charset: 45,
            length: 480,
            type_byte: 0xfe,
            flags: 1,
            decimals: 0,
        }
    }

    #[test]
    fn ok_and_its_information() {
        let mut out = Output::new();
        put_ok(
            &mut out,
            &OkInfo {
                affected_rows: 1000,
                last_insert_id: 7,
                status: 2,
                warnings: 1,
                info: "Rows matched: 1".into(),
                changes: Vec::new(),
            },
        );
        assert_eq!(
            out.finished(),
            b"\x19\0\0\0\0\xfc\xe8\x03\x07\x02\0\x01\0\x0fRows matched: 1"
        );
    }

    #[test]
    fn errors_carry_their_state_once_there_is_one() {
        let error = crate::errors::too_many_connections();
        let mut out = Output::new();
        put_error(&mut out, &error, None, false);
        assert_eq!(out.finished(), b"\x17\0\0\0\xff\x10\x04Too many connections");
        let mut out = Output::new();
        out.begin().extend_from_slice(b"half a row");
        put_error(&mut out, &error, None, true);
        assert_eq!(
            out.finished(),
            b"\x1d\0\0\0\xff\x10\x04#08004Too many connections"
        );
    }

    #[test]
    fn the_end_of_rows_has_two_forms() {
        let mut out = Output::new();
        put_end(&mut out, Capabilities::default(), 1, 2);
        assert_eq!(out.finished(), b"\x05\0\0\0\xfe\x01\0\x02\0");
        let mut out = Output::new();
        put_end(&mut out, Capabilities::DEPRECATE_EOF, 1, 2);
        assert_eq!(out.finished(), b"\x07\0\0\0\xfe\0\0\x02\0\x01\0");
        let mut out = Output::new();
        put_separator(&mut out, Capabilities::DEPRECATE_EOF, 1, 2);
        assert!(out.is_empty());
    }

    #[test]
    fn a_column_definition_field_by_field() {
        let mut out = Output::new();
        put_column(&mut out, &column(), None);
        let expected =
            b"\x26\0\0\0\x03def\x06sbtest\x01t\x07sbtest1\x01c\x01c\x0c\x2d\0\xe0\x01\0\0\xfe\x01\0\0\0\0";
        assert_eq!(out.finished(), expected);
        let mut out = Output::new();
        put_listed_column(&mut out, &column(), None);
        assert_eq!(out.finished()[4..], [&expected[4..], &[0xfb]].concat());
    }
}
