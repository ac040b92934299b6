//! STATEMENT_DIGEST and STATEMENT_DIGEST_TEXT: the kind of a statement that is given as a text.

use super::*;
use crate::node::VarScope;
use data_encoding::HEXLOWER;
use sha2::Digest;
use tidemark_parse::{digest_text, expect_single, parse};
use tidemark_types::error::er;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    stable(
        "statement_digest",
        (1, 1),
        |args, bind| {
            textual(args, bind);
            Ok(server_text(64, true, bind))
        },
        |args, _, ctx| {
            let text = known!(text(&args[0], ctx)?);
            Ok(Val::string(digest_hash(&digest_of(&text, ctx)?)))
        },
    ),
    stable(
        "statement_digest_text",
        (1, 1),
        |args, bind| {
            textual(args, bind);
            Ok(SqlType::text(bind.collation_connection).with_nullable(true))
        },
        |args, _, ctx| {
            let text = known!(text(&args[0], ctx)?);
            Ok(Val::string(digest_of(&text, ctx)?))
        },
    ),
];

/// The digest of a text, as a statement of the session would be read. Error 3676 if it is none.
fn digest_of(sql: &[u8], ctx: &EvalCtx) -> Result<String> {
    let mode = ctx.env.sql_mode;
    let sql = tidemark_parse::trim(sql);
    let refused = |error: SqlError| {
        SqlError::new(
            er::PARSE_ERROR_IN_DIGEST_FN,
            format!(
                "Could not parse argument to digest function: \"{}\".",
                error.message
            ),
        )
    };
    if sql.is_empty() {
        return Err(refused(SqlError::empty_query()));
    }
    let parsed = parse(sql, 0, mode).map_err(refused)?;
    if parsed.param_count > 0 {
        return Err(refused(SqlError::syntax("?", 1)));
    }
    expect_single(sql, parsed.next, mode).map_err(refused)?;
    let length_max = ctx
        .env
        .session
        .system_variable(VarScope::Global, "max_digest_length")?;
    let length_max = length_max.to_text();
    let length_max = std::str::from_utf8(&length_max)
        .ok()
        .and_then(|text| text.parse().ok());
    digest_text(sql, 0, mode, length_max.unwrap_or(0))
}

/// The hash of a digest text. (MySQL's is of its grammar's numbers for the tokens, which change with its versions; this one is of the
/// text.)
pub fn digest_hash(text: &str) -> String {
    HEXLOWER.encode(&sha2::Sha256::digest(text))
}
