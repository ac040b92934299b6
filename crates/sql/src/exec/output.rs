//! Where the rows of a query go: into the client's result, or to the caller.

use super::ScanControl;
use super::rows::JoinedRow;
use crate::context::{ResultSink, SessionState};
use crate::error::Result;
use crate::error::memory::check_memory;
use crate::expr::{Env, EvalCtx, Expr};
use crate::types::json::binary::View;
use crate::types::json::shown_text;
use crate::types::{Charset, SqlType, TypeKind, Val, Value};
use std::borrow::Cow;

pub trait Output {
    /// A row, by its expressions.
    fn row(&mut self, exprs: &[Expr], ctx: &EvalCtx) -> Result<ScanControl>;

    /// A row that was computed before.
    fn values(&mut self, row: &[Value]) -> Result<ScanControl>;

    /// Makes room; not under a latch.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Writes rows into the client's result.
pub struct SinkOutput<'a> {
    sink: &'a mut dyn ResultSink,
    types: Vec<SqlType>,
    /// What the client takes texts in.
    charset: Option<Charset>,
    /// The text of the latest document.
    document: Vec<u8>,
    pub rows: u64,
}

/// Bytes of a buffer that is kept for the next document.
const KEPT_MAX: usize = 64 << 10;

impl<'a> SinkOutput<'a> {
    pub fn new(sink: &'a mut dyn ResultSink, types: Vec<SqlType>, session: &SessionState) -> SinkOutput<'a> {
        SinkOutput {
            sink,
            types,
            charset: session.settings.character_set_results,
            document: Vec::new(),
            rows: 0,
        }
    }

    fn put(&mut self, value: &Val, ty: &SqlType) -> Result<()> {
        match value {
            Val::Json(stored) => self.put_document(stored, ty)?,
            Val::Str(text) | Val::Member(_, text) => self.put_text(text, ty),
            Val::Null => self.sink.null(),
            Val::Int(v) => self.sink.int(*v),
            Val::UInt(v) if ty.kind == TypeKind::Bit => {
                let bytes = v.to_be_bytes();
                self.sink
                    .bytes(&bytes[8 - ty.length.div_ceil(8).clamp(1, 8) as usize..]);
            }
            Val::UInt(v) => self.sink.uint(*v),
            Val::Float(v) => self.sink.float(*v),
            Val::Double(v) => self.sink.double(*v),
            Val::Decimal(v) => self.sink.decimal(&v.to_string()),
            Val::Date(v) => self.sink.date(*v),
            Val::DateTime(v) => self.sink.datetime(*v),
            Val::Time(v) => self.sink.time(*v),
        }
        Ok(())
    }

    fn put_text(&mut self, text: &[u8], ty: &SqlType) {
        match self.charset {
            Some(Charset::Utf8mb4) => self.sink.bytes(text),
            results => self.sink.bytes(&Charset::send(results, ty, text)),
        }
    }

    /// Writes a document's text, by way of a buffer that is kept unless it has grown large.
    fn put_document(&mut self, stored: &[u8], ty: &SqlType) -> Result<()> {
        let Some(document) = View::of_stored(stored) else {
            self.put_text(&shown_text(Cow::Borrowed(stored))?, ty);
            return Ok(());
        };
        let mut text = std::mem::take(&mut self.document);
        text.clear();
        document.write(&mut text)?;
        self.put_text(&text, ty);
        if text.capacity() <= KEPT_MAX {
            self.document = text;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<ScanControl> {
        self.sink.end_row()?;
        self.rows += 1;
        Ok(if self.sink.is_full() {
            ScanControl::Pause
        } else {
            ScanControl::Next
        })
    }
}

impl Output for SinkOutput<'_> {
    fn row(&mut self, exprs: &[Expr], ctx: &EvalCtx) -> Result<ScanControl> {
        self.sink.begin_row();
        for expr in exprs {
            let value = expr.eval(ctx)?;
            self.put(&value, &expr.ty)?;
        }
        self.end()
    }

    fn values(&mut self, row: &[Value]) -> Result<ScanControl> {
        self.sink.begin_row();
        let types = std::mem::take(&mut self.types);
        for (value, ty) in row.iter().zip(&types) {
            self.put(value, ty)?;
        }
        self.types = types;
        self.end()
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.flush()
    }
}

/// Hands on what expressions make of each row.
pub struct Converting<'a> {
    pub exprs: &'a [Expr],
    pub env: &'a Env<'a>,
    pub out: &'a mut dyn Output,
}

impl Output for Converting<'_> {
    fn row(&mut self, exprs: &[Expr], ctx: &EvalCtx) -> Result<ScanControl> {
        let row = exprs
            .iter()
            .map(|expr| expr.eval(ctx).map(Val::into_owned))
            .collect::<Result<Vec<_>>>()?;
        self.values(&row)
    }

    fn values(&mut self, row: &[Value]) -> Result<ScanControl> {
        let row = JoinedRow {
            values: row,
            outer: None,
        };
        self.out.row(self.exprs, &self.env.ctx_with(&row))
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }
}

/// Hands rows to a function, which returns whether it wants more.
pub struct Collect<F> {
    f: F,
    row: Vec<Value>,
}

impl<F: FnMut(&[Value]) -> Result<bool>> Collect<F> {
    pub fn new(f: F) -> Collect<F> {
        Collect { f, row: Vec::new() }
    }
}

impl<F: FnMut(&[Value]) -> Result<bool>> Output for Collect<F> {
    fn row(&mut self, exprs: &[Expr], ctx: &EvalCtx) -> Result<ScanControl> {
        self.row.clear();
        for expr in exprs {
            self.row.push(expr.eval(ctx)?.into_owned());
        }
        check_memory()?;
        let more = (self.f)(&self.row)?;
        Ok(if more {
            ScanControl::Next
        } else {
            ScanControl::Stop
        })
    }

    fn values(&mut self, row: &[Value]) -> Result<ScanControl> {
        let more = (self.f)(row)?;
        Ok(if more {
            ScanControl::Next
        } else {
            ScanControl::Stop
        })
    }
}
