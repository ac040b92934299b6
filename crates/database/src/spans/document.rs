//! Spans as OTLP has them in JSON: numbers of 64 bits as texts, identifiers in hexadecimal digits.

use super::Span;
use crate::types::json::Json;
use data_encoding::HEXLOWER;

const SERVER: u64 = 2;
const FAILED: u64 = 2;

fn text(text: impl Into<String>) -> Json {
    Json::String(text.into())
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::object(members.map(|(key, value)| (key.to_owned(), value)).into())
}

fn attribute(key: &str, value: Json) -> Json {
    object([("key", text(key)), ("value", value)])
}

fn named(key: &str, value: &str) -> Json {
    attribute(key, object([("stringValue", text(value))]))
}

fn number(key: &str, value: u64) -> Json {
    attribute(key, object([("intValue", text(value.to_string()))]))
}

/// What is sent to the collector for some spans.
pub fn of(spans: &[Span]) -> String {
    let resource = Json::Array(vec![
        named("service.name", "tidemark"),
        named("service.version", env!("CARGO_PKG_VERSION")),
    ]);
    let scoped = object([
        ("scope", object([("name", text("tidemark"))])),
        ("spans", Json::Array(spans.iter().map(of_one).collect())),
    ]);
    let of_resource = object([
        ("resource", object([("attributes", resource)])),
        ("scopeSpans", Json::Array(vec![scoped])),
    ]);
    object([("resourceSpans", Json::Array(vec![of_resource]))]).to_string()
}

fn of_one(span: &Span) -> Json {
    let operation = span.operation.to_uppercase();
    let mut id = [0; 8];
    // Linux has random bytes once it runs; without them a collector refuses the span.
    let _ = getrandom::fill(&mut id);
    let mut attributes = vec![
        named("db.system.name", "tidemark"),
        named("db.operation.name", &operation),
        number("db.response.returned_rows", span.sent),
        number("tidemark.rows_examined", span.examined),
        number("tidemark.rows_affected", span.affected),
        number("tidemark.lock_wait_ns", span.lock_nanos),
        number("tidemark.connection_id", span.connection),
    ];
    if let Some(schema) = &span.schema {
        attributes.push(named("db.namespace", schema));
    }
    if let Some(text) = &span.text {
        attributes.push(named("db.query.text", text));
    }
    let name = match &span.schema {
        Some(schema) => format!("{operation} {schema}"),
        None => operation,
    };
    let status = match &span.error {
        None => object([]),
        Some((code, message)) => {
            attributes.push(named("db.response.status_code", &code.to_string()));
            attributes.push(named("error.type", &code.to_string()));
            object([("code", Json::UInt(FAILED)), ("message", text(message))])
        }
    };
    object([
        ("traceId", text(HEXLOWER.encode(&span.parent.trace))),
        ("spanId", text(HEXLOWER.encode(&id))),
        ("parentSpanId", text(HEXLOWER.encode(&span.parent.span))),
        ("name", text(name)),
        ("kind", Json::UInt(SERVER)),
        ("startTimeUnixNano", text(span.began_nanos.to_string())),
        ("endTimeUnixNano", text(span.ended_nanos.to_string())),
        ("attributes", Json::Array(attributes)),
        ("status", status),
    ])
}
