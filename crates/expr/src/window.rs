//! Window functions: what each reads of a row, what type it has, and what its number must be.
//!
//! A window function looks at rows beside the one that it stands in, so it is no [`Expr`](crate::Expr): the executor, which
//! has the rows, works it out and puts the value into a slot of the row, as it does with a finished [`Aggregate`].

use super::build;
use super::function::{FuncDef, def};
use super::infer::{cmp_kind, text_length};
use super::{AggFunc, Aggregate, ArithOp, BindCtx, EvalCtx, Expr, IntervalUnit, Node};
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::{CmpKind, Collation, Date, DateTime, Derivation, SqlType, Time, TypeKind, Val};

/// An integer of fewer digits than this is an INT where a window hands it on, a longer one a BIGINT.
const INT_DIGITS: u32 = 10;

/// The window functions.
#[derive(Clone, Debug)]
pub enum WindowFunc {
    /// `ROW_NUMBER()`: the row's place in its partition, from 1.
    RowNumber,
    /// `RANK()`: the place of the first of the row's peers.
    Rank,
    /// `DENSE_RANK()`: the number of the row's group of peers, from 1.
    DenseRank,
    /// `PERCENT_RANK()`: `(rank - 1) / (rows - 1)`
    PercentRank,
    /// `CUME_DIST()`: the part of the rows that come before the row or are its peers.
    CumeDist,
    /// `NTILE(n)`: which of n buckets of nearly the same size.
    Ntile,
    /// `LAG(e, n, default)`: of the row n before.
    Lag,
    /// `LEAD(e, n, default)`: of the row n behind.
    Lead,
    /// `FIRST_VALUE(e)`: of the frame's first row.
    FirstValue,
    /// `LAST_VALUE(e)`: of the frame's last row.
    LastValue,
    /// `NTH_VALUE(e, n)`: of the frame's n-th row.
    NthValue,
    /// An aggregate over the frame's rows.
    Aggregate(Aggregate),
}

/// A call of a window function.
#[derive(Clone, Debug)]
pub struct WindowFunction {
    /// Which one.
    pub func: WindowFunc,
    /// What is read of each row: of LAG and LEAD the value and the default, of an aggregate what the aggregate reads.
    pub args: Vec<Expr>,
    /// The n of NTILE, LAG, LEAD and NTH_VALUE, which is one number for all rows; `None`: not written, or there is none.
    pub number: Option<Expr>,
    /// The type of the result.
    pub ty: SqlType,
}

impl WindowFunction {
    /// By name, in upper case, with its arguments as they are written. `distinct`: `DISTINCT` stands before them.
    pub fn resolve(
        name: &str,
        mut args: Vec<Expr>,
        distinct: bool,
        bind: &BindCtx,
    ) -> Result<WindowFunction> {
        let number = match name {
            "NTILE" => args.first_mut(),
            "LAG" | "LEAD" | "NTH_VALUE" => args.get_mut(1),
            _ => None,
        };
        number.into_iter().for_each(|e| bind.settle_count(e));
        let count = || SqlType::bigint_unsigned().with_length(21).with_nullable(false);
        let share = || SqlType::double().with_nullable(false);
        Ok(match name {
            "ROW_NUMBER" => WindowFunction::of_place(WindowFunc::RowNumber, count()),
            "RANK" => WindowFunction::of_place(WindowFunc::Rank, count()),
            "DENSE_RANK" => WindowFunction::of_place(WindowFunc::DenseRank, count()),
            "PERCENT_RANK" => WindowFunction::of_place(WindowFunc::PercentRank, share()),
            "CUME_DIST" => WindowFunction::of_place(WindowFunc::CumeDist, share()),
            "NTILE" => WindowFunction {
                number: args.into_iter().next(),
                ..WindowFunction::of_place(WindowFunc::Ntile, count())
            },
            "LAG" => WindowFunction::of_neighbour(WindowFunc::Lag, args, bind)?,
            "LEAD" => WindowFunction::of_neighbour(WindowFunc::Lead, args, bind)?,
            "FIRST_VALUE" => WindowFunction::of_value(WindowFunc::FirstValue, args),
            "LAST_VALUE" => WindowFunction::of_value(WindowFunc::LastValue, args),
            "NTH_VALUE" => WindowFunction::of_value(WindowFunc::NthValue, args),
            _ => return WindowFunction::of_aggregate(name, args, distinct, bind),
        })
    }

    /// `COUNT(*)`
    pub fn count_rows() -> WindowFunction {
        WindowFunction::over_frame(Aggregate::count_rows())
    }

    fn of_place(func: WindowFunc, ty: SqlType) -> WindowFunction {
        WindowFunction {
            func,
            args: Vec::new(),
            number: None,
            ty,
        }
    }

    fn of_value(func: WindowFunc, mut args: Vec<Expr>) -> WindowFunction {
        let number = args.drain(1.min(args.len())..).next();
        let ty = args
            .first()
            .map_or_else(|| SqlType::new(TypeKind::Null), |e| handed_on(&e.ty));
        WindowFunction {
            func,
            args,
            number,
            ty: ty.with_nullable(true),
        }
    }

    /// Value, number, default.
    fn of_neighbour(func: WindowFunc, args: Vec<Expr>, bind: &BindCtx) -> Result<WindowFunction> {
        let name = if matches!(func, WindowFunc::Lag) {
            "lag"
        } else {
            "lead"
        };
        let mut args = args.into_iter();
        let (value, number, mut default) = (args.next(), args.next(), args.next());
        let mut value = value.ok_or_else(|| SqlError::parameter_count(name))?;
        bind.settle_common(std::iter::once(&mut value).chain(&mut default));
        let Some(default) = default else {
            let ty = handed_on(&value.ty).with_nullable(true);
            let args = vec![value];
            return Ok(WindowFunction {
                func,
                args,
                number,
                ty,
            });
        };
        let ty = build::common_type(&[&value.ty, &default.ty], name, bind)?;
        let args = [value, default].into_iter().map(|e| {
            let alike = e.ty.kind == ty.kind && e.ty.scale == ty.scale && e.ty.unsigned == ty.unsigned;
            let alike = alike && e.ty.is_binary_string() == ty.is_binary_string();
            if alike || e.ty.kind == TypeKind::Null {
                Ok(e)
            } else {
                // Bytes are not filled up to their length.
                let to = match ty.is_binary_string() {
                    true => ty.clone().with_length(u32::MAX),
                    false => ty.clone(),
                };
                build::as_column(e, &to, bind)
            }
        });
        Ok(WindowFunction {
            func,
            args: args.collect::<Result<_>>()?,
            number,
            ty: handed_on(&ty),
        })
    }

    fn of_aggregate(name: &str, args: Vec<Expr>, distinct: bool, bind: &BindCtx) -> Result<WindowFunction> {
        let found = Aggregate::resolve(name, args, distinct, bind);
        let mut aggregate = found.unwrap_or_else(|| Err(SqlError::unknown_function(name)))?;
        match aggregate.func {
            AggFunc::GroupConcat => Err(SqlError::not_supported("group_concat as window function")),
            _ if aggregate.distinct => Err(SqlError::not_supported("<window function>(DISTINCT ..)")),
            AggFunc::Min | AggFunc::Max => {
                aggregate.ty = handed_on(&aggregate.ty).with_nullable(true);
                Ok(WindowFunction::over_frame(aggregate))
            }
            _ => Ok(WindowFunction::over_frame(aggregate)),
        }
    }

    fn over_frame(aggregate: Aggregate) -> WindowFunction {
        let mut ty = aggregate.ty.clone();
        if ty.kind == TypeKind::BigInt {
            ty.length = 21;
        }
        WindowFunction {
            args: aggregate.args.clone(),
            func: WindowFunc::Aggregate(aggregate),
            number: None,
            ty,
        }
    }

    /// All that it reads of a row.
    pub fn inputs(&self) -> impl Iterator<Item = &Expr> {
        self.args.iter()
    }

    /// All expressions that it has, to be changed: those of an aggregate are there twice.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let of_aggregate = match &mut self.func {
            WindowFunc::Aggregate(aggregate) => Some(aggregate.inputs_mut()),
            _ => None,
        };
        let own = self.args.iter_mut().chain(&mut self.number);
        own.chain(of_aggregate.into_iter().flatten())
    }

    /// As error texts and plans name it.
    pub fn name(&self) -> &'static str {
        match &self.func {
            WindowFunc::RowNumber => "row_number",
            WindowFunc::Rank => "rank",
            WindowFunc::DenseRank => "dense_rank",
            WindowFunc::PercentRank => "percent_rank",
            WindowFunc::CumeDist => "cume_dist",
            WindowFunc::Ntile => "ntile",
            WindowFunc::Lag => "lag",
            WindowFunc::Lead => "lead",
            WindowFunc::FirstValue => "first_value",
            WindowFunc::LastValue => "last_value",
            WindowFunc::NthValue => "nth_value",
            WindowFunc::Aggregate(aggregate) => aggregate.func.name(),
        }
    }

    /// The n of this execution: 1 where there is none. Error 1210 if it is none that the function can use.
    pub fn number(&self, ctx: &EvalCtx) -> Result<u64> {
        let Some(number) = &self.number else {
            return Ok(1);
        };
        let least = match self.func {
            WindowFunc::Lag | WindowFunc::Lead => 0,
            _ => 1,
        };
        match number.eval(ctx)? {
            Val::Int(n) if n >= least => Ok(n as u64),
            Val::UInt(n) if n >= least as u64 && i64::try_from(n).is_ok() => Ok(n),
            _ => Err(SqlError::wrong_arguments(self.name())),
        }
    }
}

/// The value at an end of a RANGE frame, which is the row's own key more or less a distance, and how it is compared with the
/// keys of other rows. `unit`: the distance is an INTERVAL.
pub fn range_end(
    key: &Expr,
    (distance, unit): (Expr, Option<IntervalUnit>),
    less: bool,
    bind: &BindCtx,
) -> Result<(Expr, CmpKind)> {
    let op = if less { ArithOp::Sub } else { ArithOp::Add };
    let end = match unit {
        Some(unit) => {
            let end = build::date_add(key.clone(), distance, unit, less, bind)?;
            or_beyond(key, end, less)
        }
        None => build::arith(op, key.clone(), distance, bind)?,
    };
    let kind = cmp_kind(key, &end, "<", bind)?;
    Ok((end, kind))
}

/// The end of a frame by dates or times: where the sum is more than its type holds, one beyond all that there are.
fn or_beyond(key: &Expr, end: Expr, less: bool) -> Expr {
    static LEAST: FuncDef = def(
        "or_before_all",
        (2, 2),
        |_, _| Ok(SqlType::date()),
        |args, ty, ctx| {
            let least = Time::new(-i64::MAX, ty.scale);
            end_or(args, (least, DateTime::default()), ty, ctx)
        },
    );
    static GREATEST: FuncDef = def(
        "or_behind_all",
        (2, 2),
        |_, _| Ok(SqlType::date()),
        |args, ty, ctx| {
            let date = Date {
                year: u16::MAX,
                ..Date::ZERO
            };
            end_or(args, (Time::new(i64::MAX, ty.scale), date.midnight()), ty, ctx)
        },
    );
    let function = if less { &LEAST } else { &GREATEST };
    build::expr(end.ty.clone(), Node::Call(function, vec![key.clone(), end]))
}

/// The second argument, or where only that is NULL one of two values, by the type.
fn end_or<'a>(
    args: &'a [Expr],
    (time, moment): (Time, DateTime),
    ty: &SqlType,
    ctx: &EvalCtx<'a>,
) -> Result<Val<'a>> {
    let end = args[1].eval(ctx)?;
    if !end.is_null() || args[0].eval(ctx)?.is_null() {
        return Ok(end);
    }
    Ok(match ty.kind {
        TypeKind::Time => Val::Time(time),
        TypeKind::Date => Val::Date(moment.date),
        _ => Val::DateTime(moment),
    })
}

/// The type of a value that a window hands from one row to another, which MySQL keeps in a column of a temporary table.
fn handed_on(ty: &SqlType) -> SqlType {
    let mut out = ty.clone();
    match ty.kind {
        TypeKind::Null => {
            out = SqlType::varbinary(0).with_collation(Collation::BINARY, Derivation::Ignorable);
        }
        _ if ty.is_member() => {
            out = SqlType::varchar(text_length(ty), ty.collation).with_collation(ty.collation, ty.derivation);
        }
        TypeKind::Char => out.kind = TypeKind::VarChar,
        TypeKind::Bit => {}
        _ if ty.is_integer() => {
            out.length = ty.display_length();
            out.kind = match out.length < INT_DIGITS {
                true => TypeKind::Int,
                false => TypeKind::BigInt,
            };
            out.zerofill = false;
        }
        _ => {}
    }
    out.nullable = ty.nullable;
    out
}

/// Error 3593: a window function where none may stand.
pub fn misplaced_window_function(name: &str) -> SqlError {
    SqlError::new(
        er::WINDOW_INVALID_WINDOW_FUNC_USE,
        format!(
            "You cannot use the window function '{}' in this context.'",
            name.to_lowercase()
        ),
    )
}
