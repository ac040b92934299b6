//! Statements that run, the last ones of each session and of all: `performance_schema.events_statements_current`, `…_history` and
//! `…_history_long`.

use super::statements::{optional, picos, rare_columns};
use crate::context::command::event_name;
use crate::context::process::statement_id;
use crate::context::{Process, SessionState};
use crate::error::Result;
use crate::statements::history::{Event, TEXT_LENGTH_MAX};
use crate::statements::setup::Consumer;
use crate::statements::{Digest, Figures};
use crate::types::Value;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use tidemark_engine::Tick;

type Made = Result<Vec<Vec<Value>>>;

/// What the rows of one query are made with.
struct Rows<'a> {
    state: &'a SessionState,
    digests: HashMap<u64, Arc<Digest>>,
    rows: Vec<Vec<Value>>,
}

/// A statement, over or not.
struct Shown<'a> {
    thread: u64,
    id: u64,
    /// The transaction that it is in.
    transaction: Option<NonZeroU64>,
    over: bool,
    name: &'a str,
    began: Tick,
    figures: &'a Figures,
    text: &'a [u8],
    digest: Option<&'a Digest>,
    schema: Option<&'a str>,
    error: Option<&'a crate::error::SqlError>,
    /// The state of what was answered.
    sqlstate: Option<String>,
}

impl Rows<'_> {
    fn new(state: &SessionState) -> Rows<'_> {
        Rows {
            state,
            digests: state.database.digests.by_id(),
            rows: Vec::new(),
        }
    }

    fn event(&mut self, thread: u64, event: &Event, current: Option<&str>) {
        let ended = &event.ended;
        let digest = self.digests.get(&ended.digest).cloned();
        self.show(&Shown {
            thread,
            id: event.id,
            transaction: event.transaction(),
            over: true,
            name: &event_name(ended.kind),
            began: ended.began,
            figures: &ended.figures,
            text: &event.text(),
            schema: match &digest {
                Some(digest) => digest.schema.as_deref(),
                None => current,
            },
            digest: digest.as_deref(),
            error: ended.error.as_deref(),
            sqlstate: match &ended.error {
                Some(error) => Some(String::from_utf8_lossy(&error.sqlstate).into_owned()),
                None => (!ended.has_rows).then(|| "00000".to_owned()),
            },
        });
    }

    fn running(&mut self, process: &Process) {
        let begun = process.with_current(|current| {
            let text = current.text();
            let text = text[..text.len().min(TEXT_LENGTH_MAX)].to_vec();
            let id = current.history.next_id();
            let ids = (id, current.transaction);
            current
                .running
                .then(|| (ids, current.since, text, current.schema.clone()))
        });
        match begun {
            Some(((id, transaction), since, text, schema)) => self.show(&Shown {
                thread: process.id,
                id,
                transaction,
                over: false,
                name: "statement/abstract/Query",
                began: since,
                figures: &Figures {
                    nanos: since.elapsed().as_nanos() as u64,
                    ..Figures::default()
                },
                text: &text,
                digest: None,
                schema: schema.as_deref(),
                error: None,
                sqlstate: None,
            }),
            None => {
                let (last, schema) = process.with_statements(|current| {
                    (current.history.recent.last().cloned(), current.schema.clone())
                });
                if let Some(event) = last {
                    self.event(process.id, &event, schema.as_deref());
                }
            }
        }
    }

    fn show(&mut self, shown: &Shown) {
        let started = self.state.database.started;
        let begin = shown.began.since(started);
        let end = begin + Duration::from_nanos(shown.figures.nanos);
        let time = |since: Duration| picos(since.as_nanos() as u64);
        let figures = shown.figures;
        let text = String::from_utf8_lossy(shown.text);
        let mut row = vec![
            Value::UInt(shown.thread),
            Value::UInt(shown.id),
            if shown.over {
                Value::UInt(shown.id)
            } else {
                Value::Null
            },
            Value::string(shown.name),
            Value::Null,
            time(begin),
            time(end),
            picos(figures.nanos),
            picos(figures.lock_nanos),
            Value::string(text.into_owned()),
            optional(shown.digest.and_then(|digest| digest.hash.as_deref())),
            optional(shown.digest.and_then(|digest| digest.text.as_deref())),
            optional(shown.schema),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Int(shown.error.map_or(0, |error| i64::from(error.code))),
            optional(shown.sqlstate.as_deref()),
            shown.error.map_or(Value::Null, |error| {
                Value::string(error.message.chars().take(128).collect::<String>())
            }),
            Value::UInt(figures.errors),
            Value::UInt(figures.warnings),
            Value::UInt(figures.affected),
            Value::UInt(figures.sent),
            Value::UInt(figures.examined),
        ];
        row.extend(rare_columns(|rare| figures.rare(rare)));
        row.extend([
            shown.transaction.map_or(Value::Null, |id| Value::UInt(id.get())),
            optional(shown.transaction.map(|_| "TRANSACTION")),
            Value::Int(0),
            Value::UInt(statement_id(shown.thread, shown.id)),
            Value::UInt(0),
            Value::UInt(0),
            Value::UInt(0),
            Value::string("PRIMARY"),
        ]);
        self.rows.push(row);
    }
}

fn sessions(state: &SessionState) -> Vec<Arc<Process>> {
    state.database.sessions.lock().values().cloned().collect()
}

pub fn current(state: &SessionState) -> Made {
    let mut rows = Rows::new(state);
    if !state.told().collected.has(Consumer::StatementsCurrent) {
        return Ok(rows.rows);
    }
    sessions(state).iter().for_each(|process| rows.running(process));
    Ok(rows.rows)
}

pub fn history(state: &SessionState) -> Made {
    let mut rows = Rows::new(state);
    for process in sessions(state) {
        let (events, schema) = process.with_statements(|current| {
            let events: Vec<Event> = current.history.recent.history().cloned().collect();
            (events, current.schema.clone())
        });
        let schema = schema.as_deref();
        events
            .iter()
            .for_each(|event| rows.event(process.id, event, schema));
    }
    Ok(rows.rows)
}

pub fn history_long(state: &SessionState) -> Made {
    let mut rows = Rows::new(state);
    for (session, statement) in state.database.long_history.statements.all() {
        rows.event(session, &statement.event, statement.schema.as_deref());
    }
    Ok(rows.rows)
}
