//! The functions of the database `sys`: what people read of a running server, made short. They are called by their whole names,
//! `sys.format_time(t)`, and are native functions like all others.

use super::*;
use tidemark_types::SqlType;
use tidemark_types::error::interrupt::Steps;

/// Texts longer than this are shortened, unless somebody says otherwise.
const STATEMENT_CHARS: usize = 64;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def(
        "sys.extract_schema_from_file_name",
        (1, 1),
        name_text,
        |args, _, ctx| {
            let path = known!(text(&args[0], ctx)?);
            let path = String::from_utf8_lossy(&path).replace('\\', "/");
            let directory = path.rsplit('/').nth(1).unwrap_or(&path);
            Ok(Val::string(directory))
        },
    ),
    def(
        "sys.extract_table_from_file_name",
        (1, 1),
        name_text,
        |args, _, ctx| {
            let path = known!(text(&args[0], ctx)?);
            let path = String::from_utf8_lossy(&path).replace('\\', "/");
            let file = path.rsplit('/').next().unwrap_or_default();
            let name = file.rsplit_once('.').map_or(file, |(name, _)| name);
            Ok(Val::string(name.split("#p#").next().unwrap_or_default()))
        },
    ),
    stable("sys.format_path", (1, 1), path_text, |args, _, ctx| {
        let path = known!(text(&args[0], ctx)?);
        let path = String::from_utf8_lossy(&path).into_owned();
        let directory = ctx.env.session.datadir();
        Ok(Val::string(match path.strip_prefix(&directory) {
            Some(rest) if !directory.is_empty() => format!("@@datadir/{rest}"),
            _ => path,
        }))
    }),
    def("sys.format_statement", (1, 1), any_text, |args, _, ctx| {
        let statement = known!(text(&args[0], ctx)?);
        let statement = String::from_utf8_lossy(&statement);
        Ok(Val::string(shortened(&statement)))
    }),
    def("sys.list_add", (2, 2), any_text, |args, _, ctx| {
        let added = known!(text(&args[1], ctx)?);
        Ok(match text(&args[0], ctx)? {
            Some(list) if !list.is_empty() => Val::string([&list[..], b",", &added[..]].concat()),
            _ => Val::string(added.into_owned()),
        })
    }),
    def("sys.list_drop", (2, 2), any_text, |args, _, ctx| {
        let list = known!(text(&args[0], ctx)?);
        let dropped = known!(text(&args[1], ctx)?);
        let dropped = dropped.trim_ascii();
        let (mut kept, mut steps) = (Vec::with_capacity(list.len()), Steps::default());
        let parts = list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        for (i, part) in parts.filter(|part| *part != dropped).enumerate() {
            steps.step()?;
            if i > 0 {
                kept.push(b',');
            }
            kept.extend_from_slice(part);
        }
        Ok(Val::string(kept))
    }),
    def("sys.quote_identifier", (1, 1), any_text, |args, _, ctx| {
        let name = known!(text(&args[0], ctx)?);
        let name = String::from_utf8_lossy(&name);
        Ok(Val::string(format!("`{}`", name.replace('`', "``"))))
    }),
    stable(
        "sys.ps_thread_id",
        (1, 1),
        |args, _| {
            numbers(args);
            Ok(SqlType::bigint_unsigned().with_nullable(true))
        },
        |args, _, ctx| {
            let session = ctx.env.session;
            let id = match int(&args[0], ctx)? {
                Some(id) => id as u64,
                None => session.connection_id(),
            };
            Ok(match session.is_connected(id) {
                true => Val::UInt(id),
                false => Val::Null,
            })
        },
    ),
    stable("sys.version_major", (0, 0), number, |_, _, ctx| {
        Ok(version_part(ctx, 0))
    }),
    stable("sys.version_minor", (0, 0), number, |_, _, ctx| {
        Ok(version_part(ctx, 1))
    }),
    stable("sys.version_patch", (0, 0), number, |_, _, ctx| {
        Ok(version_part(ctx, 2))
    }),
];

/// One of the numbers of the server's version.
fn version_part<'a>(ctx: &EvalCtx<'a>, at: usize) -> Val<'a> {
    let version = ctx.env.session.version();
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    let part = parts.nth(at).and_then(|part| part.parse().ok());
    part.map_or(Val::Null, Val::UInt)
}

/// Beginning and end of a text that is too long to be shown.
fn shortened(statement: &str) -> String {
    let text = statement.replace('\n', " ");
    let characters = text.chars().count();
    if characters <= STATEMENT_CHARS {
        return text;
    }
    let kept = STATEMENT_CHARS / 2 - 2;
    let head: String = text.chars().take(kept).collect();
    let tail: String = text.chars().skip(characters - kept).collect();
    format!("{head} ... {tail}")
}

fn number(_: &mut Vec<Expr>, _: &BindCtx) -> Result<SqlType> {
    Ok(SqlType::bigint_unsigned().with_nullable(true))
}

fn name_text(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    Ok(server_text(64, true, bind))
}

fn path_text(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    Ok(server_text(512, true, bind))
}

fn any_text(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    Ok(server_text(65_535, true, bind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statements_keep_their_beginning_and_end() {
        assert_eq!(shortened("SELECT\n1"), "SELECT 1");
        let long = format!("{}{}", "a".repeat(40), "b".repeat(40));
        let short = format!("{} ... {}", "a".repeat(30), "b".repeat(30));
        assert_eq!(shortened(&long), short);
    }
}
