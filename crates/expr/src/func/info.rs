//! What a session says of itself, and functions that are run for their effect.

use super::*;
use std::time::{Duration, Instant};
use tidemark_types::error::er;
use tidemark_types::{Collation, Derivation};

/// How long the text of CURRENT_ROLE() is said to be.
const CURRENT_ROLE_CHARS: u64 = 288;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    stable(
        "database",
        (0, 0),
        |_, bind| Ok(system_text(64, true, bind)),
        |_, _, ctx| Ok(ctx.env.session.database().map_or(Val::Null, Val::string)),
    ),
    stable(
        "user",
        (0, 0),
        |_, bind| Ok(system_text(288, true, bind)),
        |_, _, ctx| Ok(Val::string(ctx.env.session.user())),
    ),
    stable(
        "current_user",
        (0, 0),
        |_, bind| Ok(system_text(288, false, bind)),
        |_, _, ctx| Ok(Val::string(ctx.env.session.current_user())),
    ),
    stable(
        "current_role",
        (0, 0),
        |_, bind| Ok(system_text(CURRENT_ROLE_CHARS, false, bind)),
        |_, _, ctx| Ok(Val::string(ctx.env.session.current_role())),
    ),
    stable(
        "validate_password_strength",
        (1, 1),
        |_, _| Ok(SqlType::bigint()),
        |args, _, ctx| {
            let value = args[0].eval(ctx)?;
            if value.is_null() {
                return Ok(Val::Null);
            }
            let password = String::from_utf8_lossy(&value.to_text()).into_owned();
            Ok(Val::Int(ctx.env.session.password_strength(&password) as i64))
        },
    ),
    stable(
        "mysql_query_attribute_string",
        (0, MANY),
        attribute_text,
        |args, _, ctx| {
            let name = known!(text(&args[0], ctx)?);
            let value = ctx.env.session.query_attribute(&String::from_utf8_lossy(&name));
            Ok(value.map_or(Val::Null, Val::string))
        },
    ),
    volatile(
        "load_file",
        (1, 1),
        |args, bind| {
            textual(args, bind);
            Ok(SqlType::varbinary(u32::MAX).with_nullable(true).literal())
        },
        |args, _, ctx| {
            let path = known!(text(&args[0], ctx)?);
            let path = String::from_utf8_lossy(&path).into_owned();
            let file = ctx.env.session.file(&path, ctx.env.max_allowed_packet);
            Ok(file.map_or(Val::Null, Val::string))
        },
    ),
    // A thread has the number of its connection.
    stable(
        "ps_current_thread_id",
        (0, 0),
        |_, _| Ok(SqlType::bigint_unsigned().with_nullable(true)),
        |_, _, ctx| Ok(Val::UInt(ctx.env.session.connection_id())),
    ),
    stable(
        "ps_thread_id",
        (1, 1),
        |args, _| {
            numbers(args);
            Ok(SqlType::bigint_unsigned().with_nullable(true))
        },
        |args, _, ctx| {
            let id = known!(int(&args[0], ctx)?) as u64;
            Ok(match ctx.env.session.is_connected(id) {
                true => Val::UInt(id),
                false => Val::Null,
            })
        },
    ),
    stable(
        "version",
        (0, 0),
        |_, bind| Ok(system_text(60, false, bind)),
        |_, _, ctx| Ok(Val::string(ctx.env.session.version())),
    ),
    stable(
        "connection_id",
        (0, 0),
        |_, _| Ok(SqlType::bigint_unsigned().with_nullable(false)),
        |_, _, ctx| Ok(Val::UInt(ctx.env.session.connection_id())),
    ),
    volatile(
        "last_insert_id",
        (0, 1),
        |args, _| {
            numbers(args);
            Ok(SqlType::bigint_unsigned().with_nullable(any_nullable(args)))
        },
        |args, _, ctx| {
            let Some(arg) = args.first() else {
                return Ok(Val::UInt(ctx.env.session.last_insert_id()));
            };
            let value = arg.eval(ctx)?;
            let id = value.to_int(ctx.env)? as u64;
            ctx.env.session.set_last_insert_id(id);
            Ok(if value.is_null() { Val::Null } else { Val::UInt(id) })
        },
    )
    .takes(&[ParamKind::Int(false)]),
    stable(
        "row_count",
        (0, 0),
        |_, _| Ok(SqlType::bigint().with_nullable(false)),
        |_, _, ctx| Ok(Val::Int(ctx.env.session.row_count())),
    ),
    stable(
        "found_rows",
        (0, 0),
        |_, _| Ok(SqlType::bigint().with_nullable(false)),
        |_, _, ctx| Ok(Val::Int(ctx.env.session.found_rows() as i64)),
    ),
    def(
        "charset",
        (1, 1),
        |_, bind| Ok(system_text(64, false, bind)),
        |args, _, ctx| Ok(Val::str(collation_of(&args[0], ctx).charset().name())),
    ),
    def(
        "collation",
        (1, 1),
        |_, bind| Ok(system_text(64, false, bind)),
        |args, _, ctx| Ok(Val::str(collation_of(&args[0], ctx).name())),
    ),
    def(
        "coercibility",
        (1, 1),
        |_, _| Ok(SqlType::bigint().with_nullable(false)),
        |args, _, _| Ok(Val::Int(args[0].ty.derivation as i64)),
    ),
    volatile(
        "sleep",
        (1, 1),
        |args, _| {
            numbers(args);
            Ok(SqlType::bigint().with_nullable(false))
        },
        sleep,
    ),
    volatile(
        "benchmark",
        (2, 2),
        |args, _| {
            numbers(args);
            Ok(SqlType::bigint())
        },
        |args, _, ctx| {
            let count = known!(int(&args[0], ctx)?);
            for _ in 0..count {
                if ctx.env.session.interrupted() {
                    return Err(SqlError::interrupted());
                }
                args[1].eval(ctx)?;
            }
            Ok(Val::Int(0))
        },
    )
    .takes(&[ParamKind::Int(false)]),
];

/// What the session says of itself is weaker than a column, stronger than a literal.
fn system_text(length: u64, nullable: bool, bind: &BindCtx) -> SqlType {
    let collation = bind.collation_connection.charset().default_collation();
    let mut ty = server_text(length, nullable, bind).with_collation(collation, Derivation::SystemConstant);
    if collation.is_binary() {
        ty.collation = Collation::DEFAULT;
    }
    ty
}

/// The type of mysql_query_attribute_string(), if its component is there. Errors 1305, and 1123 in the component's words.
fn attribute_text(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    const NAME: &str = "mysql_query_attribute_string";
    if !bind.query_attributes {
        return Err(SqlError::unknown_function(NAME));
    }
    let wanted = match &args[..] {
        [name] if name.ty.is_numeric() => "a string argument",
        [_] => {
            let ty = SqlType::new(TypeKind::Text).with_collation(Collation::DEFAULT, Derivation::Literal);
            return Ok(ty.with_nullable(true));
        }
        _ => "1 argument",
    };
    Err(SqlError::new(
        er::CANT_INITIALIZE_UDF,
        format!("Can't initialize function '{NAME}'; {NAME}() expects {wanted}"),
    ))
}

/// Numbers and dates are texts of the connection when they become texts; by themselves they are binary.
fn collation_of(e: &Expr, _ctx: &EvalCtx) -> Collation {
    if e.ty.is_string() {
        e.ty.collation
    } else {
        Collation::BINARY
    }
}

/// Sleeps in short pieces, so that KILL is heard; 1 if it was.
fn sleep<'a>(args: &'a [Expr], _ty: &'a SqlType, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let seconds = double(&args[0], ctx)?;
    let Some(seconds) = seconds.filter(|s| *s >= 0.0) else {
        ctx.env.complain(SqlError::wrong_arguments("sleep."))?;
        return Ok(Val::Int(0));
    };
    let Some(end) = Instant::now().checked_add(Duration::from_secs_f64(seconds.min(1e9))) else {
        return Ok(Val::Int(0));
    };
    loop {
        if ctx.env.session.interrupted() {
            return Ok(Val::Int(1));
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Val::Int(0));
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}
