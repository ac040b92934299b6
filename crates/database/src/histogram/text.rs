//! A histogram as the JSON document that MySQL shows and takes (`information_schema.COLUMN_STATISTICS`, `USING DATA`), which is
//! also the form in which it is stored.
//!
//! A bucket of a singleton is `[value, share up to it]`, one of an equi-height histogram `[lower, upper, share up to it,
//! different values]`. Texts stand there as bytes, in base64, dates and times as strings, members of ENUM and SET as numbers.

use super::{Bucket, Histogram, key};
use crate::types::json::{Json, shown_bytes};
use crate::types::meta::wire;
use crate::types::temporal::parse;
use crate::types::{Collation, DateTime, Decimal, SqlMode, SqlType, TypeKind, Val, Value};

const BUCKETS: &str = "buckets";
const DATA_TYPE: &str = "data-type";
const AUTO_UPDATE: &str = "auto-update";
const NULLS: &str = "null-values";
const COLLATION: &str = "collation-id";
const UPDATED: &str = "last-updated";
const SAMPLED: &str = "sampling-rate";
const TYPE: &str = "histogram-type";
const SPECIFIED: &str = "number-of-buckets-specified";
const SINGLETON: &str = "singleton";
const EQUI_HEIGHT: &str = "equi-height";
/// So far may the shares miss 1.
const TOLERANCE: f64 = 1e-4;

/// What MySQL calls the type of the values.
fn data_type(ty: &SqlType) -> &'static str {
    match ty.kind {
        TypeKind::Float | TypeKind::Double => "double",
        TypeKind::Decimal => "decimal",
        TypeKind::Date => "date",
        TypeKind::Time => "time",
        TypeKind::DateTime | TypeKind::Timestamp => "datetime",
        TypeKind::Enum => "enum",
        TypeKind::Set => "set",
        _ if ty.is_string() => "string",
        TypeKind::Year | TypeKind::Bit => "int",
        _ if ty.unsigned => "uint",
        _ => "int",
    }
}

/// The collation's number as MySQL shows it; numbers and times have that of latin1.
fn collation_id(ty: &SqlType) -> u64 {
    match ty.kind {
        TypeKind::Bit => u64::from(Collation::BINARY.id()),
        _ if ty.is_string() || ty.is_member() => u64::from(ty.collation.id()),
        _ => 8,
    }
}

fn json_of(value: &Value) -> Json {
    match value {
        Val::Null | Val::Json(_) => Json::Null,
        Val::Int(v) => Json::Int(*v),
        Val::UInt(v) | Val::Member(v, _) => number(*v),
        Val::Float(v) => Json::Double(f64::from(*v)),
        Val::Double(v) => Json::Double(*v),
        Val::Decimal(v) => Json::Decimal(v.to_string()),
        Val::Str(text) => Json::Opaque(wire::STRING, text.to_vec()),
        Val::Date(v) => Json::Date(*v),
        Val::Time(v) => Json::Time(*v),
        Val::DateTime(v) => Json::DateTime(*v),
    }
}

fn number(v: u64) -> Json {
    i64::try_from(v).map_or(Json::UInt(v), Json::Int)
}

/// A value of the column's type; `None` if the document has something else there.
fn value_of(json: &Json, ty: &SqlType) -> Option<Value> {
    let mode = SqlMode::default();
    let text = || match json {
        Json::String(text) => Some(text.as_str()),
        _ => None,
    };
    let whole = || match json {
        Json::Int(v) => Some(i128::from(*v)),
        Json::UInt(v) => Some(i128::from(*v)),
        _ => None,
    };
    Some(match data_type(ty) {
        "double" => Val::Double(json.to_string().parse().ok()?),
        "decimal" => Val::Decimal(Decimal::parse(&json.to_string())?),
        "string" => Val::string(shown_bytes(text()?)?),
        "date" => Val::Date(parse::datetime(text()?.as_bytes(), mode)?.value.date),
        "datetime" => Val::DateTime(DateTime {
            fsp: ty.scale,
            ..parse::datetime(text()?.as_bytes(), mode)?.value
        }),
        "time" => Val::Time(parse::time(text()?.as_bytes())?.0.round(ty.scale)),
        "enum" => {
            let member = u64::try_from(whole()?).ok()?;
            Val::Member(member, ty.enum_label(member).as_bytes().to_vec().into())
        }
        "set" => {
            let members = u64::try_from(whole()?).ok()?;
            Val::Member(members, ty.set_label(members).into_bytes().into())
        }
        "uint" => Val::UInt(u64::try_from(whole()?).ok()?),
        _ => match i64::try_from(whole()?) {
            Ok(v) if ty.unsigned => Val::UInt(v as u64),
            Ok(v) => Val::Int(v),
            Err(_) => return None,
        },
    })
}

/// A share is written as a fraction, even where it is 1.
fn share(json: &Json) -> Option<f64> {
    match json {
        Json::Double(v) => Some(*v),
        _ => None,
    }
}

fn wrong_type(place: &str) -> String {
    format!("Wrong attribute type at '{place}'.")
}

impl Histogram {
    /// The document, for a column of this type.
    pub fn text(&self, ty: &SqlType) -> String {
        let buckets = self.buckets.iter().map(|bucket| {
            let mut parts = vec![json_of(&bucket.lower)];
            if !self.singleton {
                parts.push(json_of(&bucket.upper));
            }
            parts.push(Json::Double(bucket.cumulated));
            if !self.singleton {
                parts.push(number(bucket.distinct as u64));
            }
            Json::Array(parts)
        });
        let kind = if self.singleton { SINGLETON } else { EQUI_HEIGHT };
        let members = [
            (BUCKETS, Json::Array(buckets.collect())),
            (DATA_TYPE, Json::String(data_type(ty).into())),
            (AUTO_UPDATE, Json::Bool(self.auto_update)),
            (NULLS, Json::Double(self.nulls)),
            (COLLATION, number(collation_id(ty))),
            (UPDATED, Json::String(self.updated.to_string())),
            (SAMPLED, Json::Double(self.sampled)),
            (TYPE, Json::String(kind.into())),
            (SPECIFIED, number(self.specified)),
        ];
        Json::object(members.map(|(name, value)| (name.to_owned(), value)).into()).to_string()
    }

    /// The histogram in a document, for a column of this type; what is wrong with it, in MySQL's words, if it is none.
    pub fn parse(text: &[u8], ty: &SqlType) -> Result<Histogram, String> {
        let document = std::str::from_utf8(text)
            .ok()
            .and_then(|text| Json::parse(text).ok());
        let document = document.ok_or("JSON format error.")?;
        if !matches!(document, Json::Object(_)) {
            return Err("JSON data is not an object".into());
        }
        let place = |name: &str| match name {
            BUCKETS => format!("$.{name}"),
            _ => format!("$.\"{name}\""),
        };
        let member = |name: &str| {
            let missing = || format!("Missing attribute at '{}'.", place(name));
            document.member(name).ok_or_else(missing)
        };
        let fraction = |name: &str| {
            let value = share(member(name)?).ok_or_else(|| wrong_type(&place(name)))?;
            let is_one = (0.0..=1.0).contains(&value);
            is_one.then_some(value).ok_or_else(|| out_of_bounds(&place(name)))
        };
        let string = |name: &str| match member(name)? {
            Json::String(text) => Ok(text.as_str()),
            _ => Err(wrong_type(&place(name))),
        };
        let natural = |name: &str| match member(name)? {
            Json::Int(v) if *v >= 0 => Ok(*v as u64),
            Json::UInt(v) => Ok(*v),
            _ => Err(wrong_type(&place(name))),
        };
        let auto_update = match member(AUTO_UPDATE)? {
            Json::Bool(auto_update) => *auto_update,
            _ => return Err(wrong_type(&place(AUTO_UPDATE))),
        };
        if string(DATA_TYPE)? != data_type(ty) {
            let place = place(DATA_TYPE);
            return Err(format!(
                "Histogram data type does not match column data type at '{place}'."
            ));
        }
        natural(COLLATION)?;
        let singleton = match string(TYPE)? {
            SINGLETON => true,
            EQUI_HEIGHT => false,
            _ => return Err(format!("Unsupported histogram type at '{}'.", place(TYPE))),
        };
        let updated = parse::datetime(string(UPDATED)?.as_bytes(), SqlMode::default());
        let nulls = fraction(NULLS)?;
        let Json::Array(list) = member(BUCKETS)? else {
            return Err(wrong_type(&place(BUCKETS)));
        };
        let mut buckets: Vec<Bucket> = Vec::with_capacity(list.len());
        for (at, bucket) in list.iter().enumerate() {
            let place = format!("$.{BUCKETS}[{at}]");
            buckets.push(read_bucket(bucket, ty, singleton, &place, buckets.last())?);
        }
        let all = buckets.last().map_or(1.0, |last| last.cumulated + nulls);
        if (all - 1.0).abs() > TOLERANCE {
            // With the quotation mark that MySQL has there.
            return Err(
                "The sum of the null values fraction and the cumulative frequency of the last bucket should be 1.'"
                    .into(),
            );
        }
        Ok(Histogram {
            buckets,
            singleton,
            nulls,
            updated: updated.map_or(super::NEVER, |parsed| DateTime {
                fsp: 6,
                ..parsed.value
            }),
            sampled: fraction(SAMPLED)?,
            specified: natural(SPECIFIED)?,
            auto_update,
        })
    }
}

fn out_of_bounds(place: &str) -> String {
    format!("The frequency must be greater than or equal to 0 and less than or equal to 1 at '{place}'.")
}

fn read_bucket(
    bucket: &Json,
    ty: &SqlType,
    singleton: bool,
    place: &str,
    before: Option<&Bucket>,
) -> Result<Bucket, String> {
    let Json::Array(parts) = bucket else {
        return Err(wrong_type(place));
    };
    let (wanted, ends) = if singleton { (2, 1) } else { (4, 2) };
    if parts.len() != wanted {
        let wanted = if singleton { "Two" } else { "Four" };
        return Err(format!("{wanted} elements required for bucket at '{place}'."));
    }
    let at = |part: usize| format!("{place}[{part}]");
    let end = |part: usize| {
        let value = value_of(&parts[part], ty).ok_or_else(|| wrong_type(&at(part)))?;
        let key = key(&value, ty).map_err(|error| error.message)?;
        Ok::<_, String>((value, key))
    };
    let (lower, lower_key) = end(0)?;
    if before.is_some_and(|before| before.upper_key >= lower_key) {
        return Err(format!(
            "The value at '{}' must be greater than that of previous bucket.",
            at(0)
        ));
    }
    let (upper, upper_key) = match singleton {
        true => (lower.clone(), lower_key.clone()),
        false => end(1)?,
    };
    if upper_key < lower_key {
        return Err(format!(
            "The lower inclusive value of bucket at '{}' must be less than or equal to upper inclusive value.",
            at(0)
        ));
    }
    let cumulated = share(&parts[ends]).ok_or_else(|| wrong_type(&at(ends)))?;
    if !(0.0..=1.0).contains(&cumulated) {
        return Err(out_of_bounds(&at(ends)));
    }
    if before.is_some_and(|before| before.cumulated > cumulated) {
        return Err(format!(
            "The cumulative frequency at '{}' must not be less than that of previous bucket.",
            at(ends)
        ));
    }
    let distinct = match singleton {
        true => 1.0,
        false => match parts[3] {
            Json::Int(distinct) if distinct > 0 => distinct as f64,
            _ => return Err(wrong_type(&at(3))),
        },
    };
    Ok(Bucket {
        lower,
        upper,
        lower_key,
        upper_key,
        cumulated,
        distinct,
    })
}
