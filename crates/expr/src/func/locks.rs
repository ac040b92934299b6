//! Locks by name: GET_LOCK and its kin. The session has them; here are arguments and results.

use super::*;

const NAME_CHARS_MAX: usize = 64;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    volatile("get_lock", (2, 2), flag, |args, _, ctx| {
        let name = name(&args[0], ctx)?;
        let seconds = int(&args[1], ctx)?.unwrap_or(0);
        Ok(Val::Int(ctx.env.session.get_named_lock(&name, seconds)?.into()))
    }),
    volatile("release_lock", (1, 1), flag, |args, _, ctx| {
        let name = name(&args[0], ctx)?;
        let session = ctx.env.session;
        Ok(match session.release_named_lock(&name) {
            true => Val::Int(1),
            false => session
                .named_lock_holder(&name)
                .map_or(Val::Null, |_| Val::Int(0)),
        })
    }),
    volatile(
        "release_all_locks",
        (0, 0),
        |_, _| Ok(SqlType::bigint_unsigned().with_nullable(false)),
        |_, _, ctx| Ok(Val::UInt(ctx.env.session.release_named_locks())),
    ),
    volatile("is_free_lock", (1, 1), flag, |args, _, ctx| {
        let holder = ctx.env.session.named_lock_holder(&name(&args[0], ctx)?);
        Ok(Val::Int(holder.is_none().into()))
    }),
    volatile(
        "is_used_lock",
        (1, 1),
        |args, bind| {
            textual(args, bind);
            Ok(SqlType::bigint_unsigned())
        },
        |args, _, ctx| {
            let holder = ctx.env.session.named_lock_holder(&name(&args[0], ctx)?);
            Ok(holder.map_or(Val::Null, Val::UInt))
        },
    ),
];

fn flag(args: &mut Vec<Expr>, bind: &BindCtx) -> Result<SqlType> {
    textual(args, bind);
    Ok(SqlType::boolean())
}

/// The name of a lock; error 3057 if it is NULL, empty, or no text, 4163 if it is too long.
fn name<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<String> {
    let Some(bytes) = text(e, ctx)? else {
        return Err(SqlError::user_lock_wrong_name("NULL"));
    };
    let Ok(name) = String::from_utf8(bytes.into_owned()) else {
        return Err(SqlError::user_lock_wrong_name("?"));
    };
    if name.is_empty() {
        return Err(SqlError::user_lock_wrong_name(&name));
    }
    if name.chars().count() > NAME_CHARS_MAX {
        return Err(SqlError::user_lock_overlong_name(&name));
    }
    Ok(name)
}
