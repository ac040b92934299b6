//! The parameters of COM_STMT_EXECUTE.
//!
//! ```text
//!  statement id: 4 | flags: 1 | iterations: 4 | number of values, if they may have names
//!  null bitmap: (n + 7) / 8 | types are new: 1 | (type: 2 | name, if there may be one) × n, if new | values, one after the other
//! ```
//!
//! What is there beyond the statement's parameters are [attributes](crate::attributes), and so is a parameter that has a name.
//!
//! Types are sent the first time, and again when they change, so they are kept with the statement, as are the long
//! values that came ahead in pieces.

use crate::attributes;
use crate::cursor::Cursor;
use crate::errors;
use crate::wire::{Fields, Malformed};
use std::borrow::Cow;
use tidemark_sql::types::meta::wire;
use tidemark_sql::types::temporal::{Date, DateTime, Time};
use tidemark_sql::types::{Charset, Decimal, Val, Value};
use tidemark_sql::{QueryAttributes, SqlError};

const UNSIGNED: u8 = 0x80;
const TYPE_BOOL: u8 = 244;
const TYPE_DECIMAL_OLD: u8 = 0;

/// The values that came with a command.
#[derive(Default)]
pub struct Received {
    /// One for each parameter of the statement; kept for its memory.
    pub values: Vec<Value>,
    /// Those with names.
    pub attributes: QueryAttributes,
}

/// Where among the values one with a name is, or one beyond the parameters.
struct Named<'a> {
    at: usize,
    ty: [u8; 2],
    name: &'a [u8],
}

/// What the server keeps of a prepared statement.
#[derive(Default)]
pub struct Statement {
    param_count: usize,
    types: Vec<[u8; 2]>,
    /// By parameter; empty while none has come.
    long_data: Vec<Option<Vec<u8>>>,
    /// Why what came ahead cannot be had.
    long_data_error: Option<SqlError>,
    /// The rows that wait to be fetched.
    pub cursor: Option<Cursor>,
}

impl Statement {
    pub fn new(param_count: usize) -> Statement {
        Statement {
            param_count,
            ..Statement::default()
        }
    }

    /// COM_STMT_SEND_LONG_DATA has no answer, so that what is wrong with it is said when the statement is executed.
    pub fn add_long_data(&mut self, param: usize, piece: &[u8], len_max: usize) {
        if param >= self.param_count {
            return;
        }
        if self.long_data_error.is_some() {
            return;
        }
        if let Err(error) = self.keep_long_data(param, piece, len_max) {
            self.long_data = Vec::new();
            self.long_data_error = Some(error);
        }
    }

    fn keep_long_data(&mut self, param: usize, piece: &[u8], len_max: usize) -> Result<(), SqlError> {
        if self.long_data.is_empty() {
            let slots = self.param_count * size_of::<Option<Vec<u8>>>();
            tidemark_memory::hold(slots as u64)?;
            self.long_data.resize(self.param_count, None);
        }
        // Of all parameters together, or a statement of many could keep any amount.
        let kept: usize = self.long_data.iter().flatten().map(Vec::len).sum();
        if kept + piece.len() > len_max {
            return Err(errors::long_data_too_large());
        }
        let value = self.long_data[param].get_or_insert_default();
        tidemark_memory::hold(piece.len() as u64)?;
        value
            .try_reserve(piece.len())
            .map_err(|_| errors::out_of_memory())?;
        value.extend_from_slice(piece);
        Ok(())
    }

    /// True if a value came ahead.
    pub fn has_long_data(&self) -> bool {
        !self.long_data.is_empty()
    }

    /// COM_STMT_RESET, and the end of every execution.
    pub fn forget_long_data(&mut self) {
        self.long_data = Vec::new();
        self.long_data_error = None;
    }

    /// Whether there is a parameter.
    pub fn has_params(&self) -> bool {
        self.param_count > 0
    }

    /// Reads the values of one execution; texts come in the client's character set. `count` is how many values there are
    /// if they may have names, else there is one for each parameter. Errors 1835, 1210, and 1105 for long data.
    pub fn read(
        &mut self,
        fields: &mut Fields,
        count: Option<usize>,
        client: Charset,
        received: &mut Received,
    ) -> Result<(), SqlError> {
        let values = &mut received.values;
        values.clear();
        if let Some(error) = self.long_data_error.take() {
            return Err(error);
        }
        let sent = count.unwrap_or(self.param_count);
        if sent < self.param_count {
            return Err(errors::wrong_arguments("COM_STMT_EXECUTE"));
        }
        if sent == 0 {
            return Ok(());
        }
        let nulls = fields.bytes(sent.div_ceil(8))?;
        let is_null = |i: usize| nulls[i / 8] & 1 << (i % 8) != 0;
        let mut named = Vec::new();
        if fields.u8()? == 0 {
            // Nothing is known of what stands beyond the parameters.
            if self.types.len() != sent {
                return Err(errors::malformed_packet());
            }
        } else {
            self.types.clear();
            match count {
                None => {
                    let types = fields.bytes(2 * sent)?;
                    self.types.extend(types.chunks_exact(2).map(|t| [t[0], t[1]]));
                }
                Some(count) => self.read_types(fields, count, &mut named)?,
            }
        }
        for (i, ty) in self.types.iter().enumerate() {
            let long = self.long_data.get_mut(i).and_then(Option::take);
            let value = match long {
                Some(bytes) => Val::Str(Cow::Owned(bytes)),
                None if is_null(i) => Val::Null,
                None => read_value(fields, *ty)?,
            };
            values.push(value);
        }
        for Named { at, ty, name } in named {
            let value = match values.get(at) {
                Some(value) => &value.borrowed(),
                None if is_null(at) => &Val::Null,
                None => &read_value(fields, ty)?,
            };
            attributes::add(&mut received.attributes, client, (name, value));
        }
        if client.is_encoded() {
            self.receive(client, values);
        }
        Ok(())
    }

    /// Reads types that have names behind them. Those of parameters are kept; what has a name, or is none, is added to `named`.
    fn read_types<'a>(
        &mut self,
        fields: &mut Fields<'a>,
        count: usize,
        named: &mut Vec<Named<'a>>,
    ) -> Result<(), SqlError> {
        for at in 0..count {
            let (ty, name) = (fields.array()?, fields.lenenc_bytes()?);
            if at < self.param_count {
                self.types.push(ty);
            }
            if at >= self.param_count || !name.is_empty() {
                named.push(Named { at, ty, name });
            }
        }
        Ok(())
    }

    #[cold]
    fn receive(&self, client: Charset, values: &mut [Value]) {
        for (value, [type_byte, _]) in values.iter_mut().zip(&self.types) {
            if let Val::Str(text) = value
                && !is_blob(*type_byte)
            {
                *text = Cow::Owned(client.receive(text).into_owned());
            }
        }
    }
}

fn read_value(fields: &mut Fields, [type_byte, flags]: [u8; 2]) -> Result<Value, SqlError> {
    let unsigned = flags & UNSIGNED != 0;
    let whole = |signed: i64, bits: u64| {
        if unsigned {
            Val::UInt(bits)
        } else {
            Val::Int(signed)
        }
    };
    Ok(match type_byte {
        wire::NULL => Val::Null,
        wire::TINY | TYPE_BOOL => {
            let v = fields.u8()?;
            whole(v as i8 as i64, v as u64)
        }
        wire::SHORT | wire::YEAR => {
            let v = fields.u16()?;
            whole(v as i16 as i64, v as u64)
        }
        wire::LONG | wire::INT24 => {
            let v = fields.u32()?;
            whole(v as i32 as i64, v as u64)
        }
        wire::LONGLONG => {
            let v = fields.u64()?;
            whole(v as i64, v)
        }
        wire::FLOAT => Val::Float(f32::from_le_bytes(fields.array()?)),
        wire::DOUBLE => Val::Double(f64::from_le_bytes(fields.array()?)),
        wire::NEWDECIMAL | TYPE_DECIMAL_OLD => {
            let text = fields.lenenc_bytes()?;
            match std::str::from_utf8(text).ok().and_then(Decimal::parse) {
                Some(value) => Val::Decimal(value),
                None => Val::string(text),
            }
        }
        wire::DATE => read_datetime(fields)?.map_or(Val::Date(Date::ZERO), |v| Val::Date(v.date)),
        wire::DATETIME | wire::TIMESTAMP => Val::DateTime(read_datetime(fields)?.unwrap_or_default()),
        wire::TIME => Val::Time(read_time(fields)?),
        _ if is_text_or_blob(type_byte) => Val::string(fields.lenenc_bytes()?),
        _ => return Err(errors::wrong_arguments("mysqld_stmt_execute")),
    })
}

/// Bytes, which are in no character set.
fn is_blob(type_byte: u8) -> bool {
    matches!(type_byte, 249..=252)
}

/// VARCHAR, BIT, JSON, ENUM, SET, the blobs, VAR_STRING, STRING, GEOMETRY.
fn is_text_or_blob(type_byte: u8) -> bool {
    matches!(type_byte, 15 | 16 | 245 | 247..=255)
}

fn read_datetime(fields: &mut Fields) -> Result<Option<DateTime>, SqlError> {
    let mut value = Fields::new(fields.lenenc_bytes()?);
    if value.is_empty() {
        return Ok(None);
    }
    let mut read = DateTime {
        date: Date::new(value.u16()?, value.u8()?, value.u8()?),
        ..DateTime::default()
    };
    if !value.is_empty() {
        (read.hour, read.minute, read.second) = (value.u8()?, value.u8()?, value.u8()?);
    }
    if !value.is_empty() {
        (read.micro, read.fsp) = (value.u32()?, 6);
    }
    let possible = read.date.year <= 9999
        && read.date.month <= 12
        && read.date.day <= 31
        && read.hour <= 23
        && read.minute <= 59
        && read.second <= 59
        && read.micro <= 999_999;
    if possible {
        Ok(Some(read))
    } else {
        Err(Malformed.into())
    }
}

fn read_time(fields: &mut Fields) -> Result<Time, SqlError> {
    let mut value = Fields::new(fields.lenenc_bytes()?);
    if value.is_empty() {
        return Ok(Time::default());
    }
    let negative = value.u8()? != 0;
    let days = value.u32()? as u64;
    let (hours, minutes, seconds) = (value.u8()?, value.u8()?, value.u8()?);
    let (micros, fsp) = if value.is_empty() {
        (0, 0)
    } else {
        (value.u32()?, 6)
    };
    if days > 34 || hours > 23 || minutes > 59 || seconds > 59 || micros > 999_999 {
        return Err(Malformed.into());
    }
    Ok(Time::from_hms(
        negative,
        days * 24 + hours as u64,
        minutes as u64,
        seconds as u64,
        micros as u64,
        fsp,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execute(statement: &mut Statement, packet: &[u8]) -> Result<Vec<Value>, SqlError> {
        let mut received = Received::default();
        statement.read(&mut Fields::new(packet), None, Charset::Utf8mb4, &mut received)?;
        Ok(received.values)
    }

    #[test]
    fn values_of_every_type() {
        let mut packet = vec![0b0000_0000, 0b0000_0010, 1];
        for (type_byte, flags) in [
            (wire::TINY, 0),
            (wire::TINY, UNSIGNED),
            (wire::LONG, 0),
            (wire::LONGLONG, UNSIGNED),
            (wire::DOUBLE, 0),
            (wire::VAR_STRING, 0),
            (wire::NEWDECIMAL, 0),
            (wire::DATETIME, 0),
            (wire::TIME, 0),
            (wire::LONG, 0),
        ] {
            packet.extend_from_slice(&[type_byte, flags]);
        }
        packet.extend_from_slice(&[0xff, 0xff]);
        packet.extend_from_slice(&(-2i32).to_le_bytes());
        packet.extend_from_slice(&u64::MAX.to_le_bytes());
        packet.extend_from_slice(&0.5f64.to_le_bytes());
        packet.extend_from_slice(b"\x05hello\x0512.30");
        packet.extend_from_slice(&[7, 0xe8, 0x07, 2, 29, 23, 59, 58]);
        packet.extend_from_slice(&[8, 1, 1, 0, 0, 0, 2, 3, 4]);
        let values = execute(&mut Statement::new(10), &packet).unwrap();
        let datetime = DateTime {
            date: Date::new(2024, 2, 29),
            hour: 23,
            minute: 59,
            second: 58,
            ..DateTime::default()
        };
        assert_eq!(
            values,
            [
                Val::Int(-1),
                Val::UInt(255),
                Val::Int(-2),
                Val::UInt(u64::MAX),
                Val::Double(0.5),
                Val::str("hello"),
                Val::Decimal(Decimal::parse("12.30").unwrap()),
                Val::DateTime(datetime),
                Val::Time(Time::from_hms(true, 26, 3, 4, 0, 0)),
                Val::Null,
            ]
        );
    }

    #[test]
    fn types_are_kept_until_new_ones_come() {
        let mut statement = Statement::new(1);
        assert!(execute(&mut statement, &[0, 0, 7]).is_err());
        let first = execute(&mut statement, &[0, 1, wire::TINY, 0, 7]).unwrap();
        assert_eq!(first, [Val::Int(7)]);
        assert_eq!(execute(&mut statement, &[0, 0, 8]).unwrap(), [Val::Int(8)]);
        assert_eq!(execute(&mut statement, &[1, 0]).unwrap(), [Val::Null]);
    }

    #[test]
    fn values_with_names_are_attributes() {
        let mut statement = Statement::new(1);
        let mut received = Received::default();
        let mut read = |packet: &[u8], count| {
            let mut fields = Fields::new(packet);
            statement.read(&mut fields, Some(count), Charset::Utf8mb4, &mut received)?;
            let named = [b"p", b"q"].map(|name| {
                let name = std::str::from_utf8(name).unwrap_or_default();
                received.attributes.find(name).flatten().map(<[u8]>::to_vec)
            });
            Ok::<_, SqlError>((received.values.clone(), named))
        };
        let (values, named) = read(&[0, 1, wire::TINY, 0, 0, 7], 1).unwrap();
        assert_eq!((values, named), (vec![Val::Int(7)], [None, None]));
        // Without types, those of the parameters hold; of others there are none.
        assert_eq!(read(&[0, 0, 8], 1).unwrap().0, [Val::Int(8)]);
        assert_eq!(read(&[0, 0, 8, 9], 2).unwrap_err().code, 1835);
        assert_eq!(read(&[0, 0], 0).unwrap_err().code, 1210);
        let both = b"\0\x01\x01\x00\x01p\xfe\x00\x01q\x07\x02xy";
        let (values, named) = read(both, 2).unwrap();
        assert_eq!(values, [Val::Int(7)]);
        assert_eq!(named, [Some(b"7".to_vec()), Some(b"xy".to_vec())]);
    }

    #[test]
    fn long_data_stands_in_for_a_value() {
        let mut statement = Statement::new(2);
        statement.add_long_data(1, b"long ", 100);
        statement.add_long_data(1, b"data", 100);
        statement.add_long_data(2, b"no such parameter", 100);
        let packet = [0, 1, wire::TINY, 0, wire::BLOB, 0, 7];
        let values = execute(&mut statement, &packet).unwrap();
        assert_eq!(values, [Val::Int(7), Val::str("long data")]);

        statement.add_long_data(0, &[0; 60], 100);
        statement.add_long_data(1, &[0; 60], 100);
        assert_eq!(execute(&mut statement, &packet).unwrap_err().code, 1105);
        statement.forget_long_data();
        assert!(execute(&mut statement, &[0, 0, 1, 1, b'x']).is_ok());
    }

    #[test]
    fn every_truncation_is_malformed() {
        let packet = [
            0,
            1,
            wire::LONG,
            0,
            wire::BLOB,
            0,
            wire::TIME,
            0,
            1,
            0,
            0,
            0,
            3,
            b'a',
            b'b',
            b'c',
            8,
            0,
            0,
            0,
            0,
            0,
            1,
            1,
            1,
        ];
        assert!(execute(&mut Statement::new(3), &packet).is_ok());
        for len in 0..packet.len() {
            let error = execute(&mut Statement::new(3), &packet[..len]).unwrap_err();
            assert_eq!(error.code, 1835, "{len} bytes");
        }
    }
}
