//! From a body's syntax to [`Code`].
//!
//! One walk over the tree. Jumps forward are written when their target is known ([`Compiler::land`]); what LEAVE and ITERATE have to leave
//! on their way is known from the blocks that are open where they stand.

use super::code::{Argument, At, BlockCode, CallCode, Code, CursorCode, HandlerCode, Op, Scope, Step};
use super::formula::Formula;
use crate::error::Result;
use crate::error::depth::check_stack;
use crate::expr::column_type;
use crate::parse::ast::{
    self, BinaryOp, Block, BodyStatement, Expr, Handler, Into, Label, Program, QueryBody, SelectItem,
    SetItem, Slot, SqlStatement, Statement, Target,
};
use crate::plan::program::Unit;
use crate::types::{Collation, SqlType};

/// Compiles a body. Types without a character set take `collation`. Errors are those of the types.
pub fn compile(program: &Program, collation: Collation) -> Result<Code> {
    let mut types = Vec::with_capacity(program.locals.len());
    for local in &program.locals {
        types.push(column_type(&local.name, &local.ty, collation)?.0);
    }
    let mut compiler = Compiler {
        program,
        code: Code {
            steps: Vec::new(),
            names: program.locals.iter().map(|local| local.name.clone()).collect(),
            types,
            aside: Default::default(),
            cursors: program.cursors.iter().map(cursor).collect(),
            handlers: Vec::new(),
            blocks: Vec::new(),
            scopes: vec![Scope {
                around: None,
                of_handler: false,
                handlers: 0..0,
            }],
        },
        scope: 0,
        open: Vec::new(),
        labels: (0..program.labels).map(|_| Labelled::default()).collect(),
    };
    compiler.statements(&program.body)?;
    Ok(compiler.code)
}

fn cursor(cursor: &ast::Cursor) -> CursorCode {
    CursorCode {
        unit: Unit::statement(Statement::Query(Box::new(cursor.query.clone()))),
        columns: columns_of(&cursor.query.body),
    }
}

/// How many columns a query has; `None` if its tables decide.
fn columns_of(body: &QueryBody) -> Option<usize> {
    match body {
        QueryBody::Select(select) => {
            let is_one = |item: &SelectItem| matches!(item, SelectItem::Expr { .. });
            select.items.iter().all(is_one).then_some(select.items.len())
        }
        QueryBody::SetOperation { first, .. } => columns_of(first),
        QueryBody::Values(rows) => rows.first().map(Vec::len),
        QueryBody::Query(query) => columns_of(&query.body),
    }
}

/// What is known of a label while its statement is compiled.
#[derive(Default)]
struct Labelled {
    /// How many blocks are open around its statement.
    depth: usize,
    start: At,
    /// The jumps of LEAVE.
    leaves: Vec<At>,
}

struct Compiler<'a> {
    program: &'a Program,
    code: Code,
    scope: usize,
    /// The blocks around the cursor, outermost first.
    open: Vec<usize>,
    labels: Vec<Labelled>,
}

impl Compiler<'_> {
    fn here(&self) -> At {
        self.code.steps.len()
    }

    fn push(&mut self, op: Op) -> At {
        let scope = self.scope;
        self.code.steps.push(Step { op, scope });
        self.here() - 1
    }

    /// Adds a jump whose target is not known yet.
    fn push_jump(&mut self) -> At {
        self.push(Op::Jump(At::MAX))
    }

    fn push_unless(&mut self, condition: &Expr) -> At {
        self.push(Op::Unless {
            condition: Formula::new(condition.clone()),
            to: At::MAX,
            after: At::MAX,
        })
    }

    /// The jump at `from` leads to the next step.
    fn land(&mut self, from: At) {
        let here = self.here();
        match &mut self.code.steps[from].op {
            Op::Jump(to) | Op::Unless { to, .. } => *to = here,
            _ => {}
        }
    }

    /// After an error, the steps at `from` go on at the next step.
    fn land_after(&mut self, from: &[At]) {
        let here = self.here();
        for at in from {
            match &mut self.code.steps[*at].op {
                Op::Unless { after, .. } | Op::PutAside { after, .. } => *after = here,
                _ => {}
            }
        }
    }

    fn statements(&mut self, list: &[BodyStatement]) -> Result<()> {
        check_stack()?;
        list.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &BodyStatement) -> Result<()> {
        match statement {
            BodyStatement::Block(block) => return self.block(block),
            BodyStatement::If { branches, otherwise } => {
                return self.branches(branches, Some(otherwise), Vec::new());
            }
            BodyStatement::Case {
                operand,
                branches,
                otherwise,
            } => return self.case(operand.as_ref(), branches, otherwise.as_deref()),
            BodyStatement::Loop { label, body } => {
                let start = self.begin_label(*label);
                self.statements(body)?;
                self.push(Op::Jump(start));
                self.end_label(*label);
            }
            BodyStatement::While {
                label,
                condition,
                body,
            } => {
                let start = self.begin_label(*label);
                let test = self.push_unless(condition);
                self.statements(body)?;
                self.push(Op::Jump(start));
                self.land(test);
                self.land_after(&[test]);
                self.end_label(*label);
            }
            BodyStatement::Repeat { label, body, until } => {
                let start = self.begin_label(*label);
                self.statements(body)?;
                let test = self.push_unless(until);
                if let Op::Unless { to, .. } = &mut self.code.steps[test].op {
                    *to = start;
                }
                self.land_after(&[test]);
                self.end_label(*label);
            }
            BodyStatement::Leave(label) => {
                self.leave_to(self.labels[*label].depth);
                let jump = self.push_jump();
                self.labels[*label].leaves.push(jump);
            }
            BodyStatement::Iterate(label) => {
                self.leave_to(self.labels[*label].depth);
                self.push(Op::Jump(self.labels[*label].start));
            }
            BodyStatement::Return(value) => {
                self.push(Op::Return(Formula::new(value.clone())));
            }
            BodyStatement::Set { slot, value } => {
                let (slot, value) = (*slot, Formula::new(value.clone()));
                self.push(Op::Set { slot, value });
            }
            BodyStatement::SetNew { column, .. } => {
                return Err(crate::error::SqlError::not_supported(format!("SET NEW.{column}")));
            }
            BodyStatement::Open(cursor) => {
                self.push(Op::Open(*cursor));
            }
            BodyStatement::Fetch { cursor, into } => {
                let (cursor, into) = (*cursor, into.clone());
                self.push(Op::Fetch { cursor, into });
            }
            BodyStatement::Close(cursor) => {
                self.push(Op::Close(*cursor));
            }
            BodyStatement::Sql(sql) => match &sql.statement {
                Statement::Set(items) => items.iter().for_each(|item| self.set(item)),
                _ => {
                    self.push(statement_op(sql));
                }
            },
        }
        Ok(())
    }

    /// Each item of SET is a step of its own.
    fn set(&mut self, item: &SetItem) {
        let op = match item {
            SetItem::UserVar { name, value } => Op::SetUser {
                name: name.clone(),
                value: Formula::new(value.clone()),
            },
            SetItem::Variable { value, .. } | SetItem::NextTransaction { value, .. }
                if names_local(value) =>
            {
                Op::SetServer {
                    item: Box::new(item.clone()),
                    value: Formula::new(value.clone()),
                }
            }
            _ => Op::Run(Unit::statement(Statement::Set(vec![item.clone()]))),
        };
        self.push(op);
    }

    fn begin_label(&mut self, label: Option<Label>) -> At {
        let (depth, start) = (self.open.len(), self.here());
        if let Some(label) = label {
            self.labels[label] = Labelled {
                depth,
                start,
                leaves: Vec::new(),
            };
        }
        start
    }

    fn end_label(&mut self, label: Option<Label>) {
        if let Some(label) = label {
            let leaves = std::mem::take(&mut self.labels[label].leaves);
            leaves.into_iter().for_each(|jump| self.land(jump));
        }
    }

    /// Leaves the blocks that are open beyond so many.
    fn leave_to(&mut self, depth: usize) {
        let left: Vec<usize> = self.open[depth..].iter().rev().copied().collect();
        for block in left {
            self.push(Op::LeaveBlock(block));
        }
    }

    /// Conditions one after the other, each with what is done if it is the first that holds. `tests` have an error lead behind it too.
    fn branches(
        &mut self,
        branches: &[(Expr, Vec<BodyStatement>)],
        otherwise: Option<&[BodyStatement]>,
        mut tests: Vec<At>,
    ) -> Result<()> {
        let mut ends = Vec::new();
        for (condition, body) in branches {
            let test = self.push_unless(condition);
            tests.push(test);
            self.statements(body)?;
            ends.push(self.push_jump());
            self.land(test);
        }
        match otherwise {
            Some(body) => self.statements(body)?,
            None => {
                self.push(Op::NoCase);
            }
        }
        ends.into_iter().for_each(|jump| self.land(jump));
        self.land_after(&tests);
        Ok(())
    }

    /// CASE with an operand compares a hidden variable, so that the operand is evaluated once.
    fn case(
        &mut self,
        operand: Option<&Expr>,
        branches: &[(Expr, Vec<BodyStatement>)],
        otherwise: Option<&[BodyStatement]>,
    ) -> Result<()> {
        let Some(operand) = operand else {
            return self.branches(branches, otherwise, Vec::new());
        };
        let slot = self.code.types.len();
        self.code.names.push(String::new());
        self.code.types.push(SqlType::new(crate::types::TypeKind::Null));
        let aside = self.push(Op::PutAside {
            slot,
            value: Formula::new(operand.clone()),
            after: At::MAX,
        });
        let compared = branches.iter().map(|(when, then)| {
            let condition = Expr::Binary {
                op: BinaryOp::Equal,
                left: Box::new(Expr::Local(slot)),
                right: Box::new(when.clone()),
            };
            (condition, then.clone())
        });
        let compared: Vec<_> = compared.collect();
        self.branches(&compared, otherwise, vec![aside])
    }

    fn block(&mut self, block: &Block) -> Result<()> {
        self.begin_label(block.label);
        let handlers_at = self.code.handlers.len();
        let handlers = handlers_at..handlers_at + block.handlers.len();
        let number = self.code.blocks.len();
        self.code.blocks.push(BlockCode {
            blocks: number..number + 1,
            cursors: block.cursors.start..cursors_end(block),
        });
        let around = self.enter(false, handlers.clone());
        self.open.push(number);
        for slot in block.locals.clone() {
            self.first_value(slot);
        }
        for handler in &block.handlers {
            self.code.handlers.push(HandlerCode {
                exits: handler.exits,
                conditions: handler.conditions.clone(),
                first: At::MAX,
                block: number,
                end: At::MAX,
            });
        }
        for (at, handler) in handlers.clone().zip(&block.handlers) {
            self.handler(at, handler)?;
        }
        self.statements(&block.body)?;
        let end = self.push(Op::LeaveBlock(number));
        for at in handlers {
            self.code.handlers[at].end = end;
        }
        self.code.blocks[number].blocks.end = self.code.blocks.len();
        self.open.pop();
        self.scope = around;
        self.end_label(block.label);
        Ok(())
    }

    /// Begins a scope inside the present one, which is returned.
    fn enter(&mut self, of_handler: bool, handlers: std::ops::Range<usize>) -> usize {
        let around = self.scope;
        self.scope = self.code.scopes.len();
        self.code.scopes.push(Scope {
            around: Some(around),
            of_handler,
            handlers,
        });
        around
    }

    fn first_value(&mut self, slot: Slot) {
        let op = match &self.program.locals[slot].default {
            None => Op::Clear(slot),
            Some(value) => Op::Set {
                slot,
                value: Formula::new(value.clone()),
            },
        };
        self.push(op);
    }

    fn handler(&mut self, at: usize, handler: &Handler) -> Result<()> {
        self.push(Op::PushHandler(at));
        let over = self.push_jump();
        self.code.handlers[at].first = self.here();
        let around = self.enter(true, 0..0);
        self.statements(&handler.body)?;
        self.push(Op::EndHandler(at));
        self.scope = around;
        self.land(over);
        Ok(())
    }
}

/// The number behind the last cursor of a block and of the blocks in it, which are numbered in the order of the text.
fn cursors_end(block: &Block) -> usize {
    let inner = block.handlers.iter().flat_map(|handler| &handler.body);
    let ends = inner.chain(&block.body).map(last_cursor);
    ends.fold(block.cursors.end, usize::max)
}

fn last_cursor(statement: &BodyStatement) -> usize {
    let of_all = |list: &[BodyStatement]| list.iter().map(last_cursor).max().unwrap_or(0);
    match statement {
        BodyStatement::Block(block) => cursors_end(block),
        BodyStatement::If { branches, otherwise } => {
            let ends = branches.iter().map(|(_, body)| of_all(body));
            ends.fold(of_all(otherwise), usize::max)
        }
        BodyStatement::Case {
            branches, otherwise, ..
        } => {
            let ends = branches.iter().map(|(_, body)| of_all(body));
            ends.fold(of_all(otherwise.as_deref().unwrap_or_default()), usize::max)
        }
        BodyStatement::Loop { body, .. }
        | BodyStatement::While { body, .. }
        | BodyStatement::Repeat { body, .. } => of_all(body),
        _ => 0,
    }
}

fn statement_op(sql: &SqlStatement) -> Op {
    match &sql.statement {
        Statement::Query(query) if names_local_target(query) => Op::Select {
            into: match &query.into {
                Some(Into::Variables(into)) => into.clone(),
                _ => Vec::new(),
            },
            unit: Unit::statement(sql.statement.clone()),
        },
        Statement::Call(call) => Op::Call(CallCode::new(call)),
        Statement::Signal(signal) => Op::Signal(signal.clone()),
        Statement::Resignal(signal) => Op::Resignal(signal.clone()),
        Statement::GetDiagnostics(get) => Op::GetDiagnostics(get.clone()),
        other => Op::Run(Unit::statement(other.clone())),
    }
}

impl CallCode {
    /// Returns a CALL with its arguments.
    pub fn new(call: &ast::Call) -> CallCode {
        let argument = |value: &Expr| Argument {
            target: match value {
                Expr::UserVar(name) => Some(Target::UserVar(name.to_lowercase())),
                Expr::Local(slot) => Some(Target::Local(*slot)),
                _ => None,
            },
            value: Formula::new(value.clone()),
        };
        CallCode {
            name: call.name.clone(),
            args: call.args.iter().map(argument).collect(),
        }
    }
}

fn names_local_target(query: &ast::Query) -> bool {
    let Some(Into::Variables(into)) = &query.into else {
        return false;
    };
    into.iter().any(|target| matches!(target, Target::Local(_)))
}

fn names_local(e: &Expr) -> bool {
    matches!(e, Expr::Local(_)) || e.children().into_iter().any(names_local)
}
