//! What the functions of paths become: SQL's own where there is one, or a value of the plan's row.

use super::path::{Item, Parsed, Parser, Stop};
use super::plan::Slot;
use super::words::{Function, Kind, Token};
use crate::build;
use crate::node::Expr;
use tidemark_types::SqlType;

impl Parser<'_, '_> {
    pub fn call(&mut self, function: &'static Function) -> Parsed<Item> {
        self.scan();
        self.expect(b'(')?;
        let (least, most) = function.arguments;
        let mut args = Vec::new();
        while args.len() < most && !(args.len() >= least && self.last.token == Token::Sign(b')')) {
            args.push(self.expression()?);
            if !self.sign(b',') {
                break;
            }
        }
        if args.len() < least {
            return Err(Stop::Syntax);
        }
        self.expect(b')')?;
        self.result(function, args)
    }

    fn result(&mut self, function: &'static Function, args: Vec<Item>) -> Parsed<Item> {
        let bind = self.bind;
        let count = args.len();
        let mut args = args.into_iter();
        Ok(match function.kind {
            Kind::True => Item::condition(build::bool_literal(true)),
            Kind::False => Item::condition(build::bool_literal(false)),
            Kind::Last => match self.context() {
                Some(nodes) => Item::number(self.slot(Slot::Count(nodes), SqlType::bigint())),
                None => return Err(Stop::Syntax),
            },
            Kind::Position => match self.context() {
                Some(_) => Item::number(self.slot(Slot::Position, SqlType::bigint())),
                None => return Err(Stop::Syntax),
            },
            Kind::Count | Kind::Sum => match (args.next(), function.kind) {
                (Some(Item::Nodes(nodes)), Kind::Count) => {
                    Item::number(self.slot(Slot::Count(nodes), SqlType::bigint()))
                }
                (Some(Item::Nodes(nodes)), _) => Item::number(self.slot(Slot::Sum(nodes), SqlType::double())),
                _ => return Err(Stop::Syntax),
            },
            Kind::StringLength => {
                let text = match (args.next(), self.context()) {
                    (Some(item), _) => self.value(item),
                    (None, Some(context)) => self.value(Item::Nodes(context)),
                    (None, None) => return Err(Stop::Syntax),
                };
                Item::number(super::super::call("char_length", vec![text], bind)?)
            }
            Kind::Number => match args.next() {
                Some(item) => {
                    let value = self.value(item);
                    Item::number(build::cast(value, SqlType::double(), bind)?)
                }
                None => Item::number(build::int_literal(0)),
            },
            Kind::Boolean => {
                let item = args.next().expect("one argument, at least");
                let condition = self.operand_of_condition(item);
                Item::condition(build::is_truth(condition, true, false))
            }
            Kind::Not => {
                let item = args.next().expect("one argument, at least");
                let condition = self.operand_of_condition(item);
                Item::condition(build::not(condition))
            }
            Kind::Contains => {
                let mut args: Vec<Expr> = args.map(|item| self.value(item)).collect();
                args.reverse();
                let place = super::super::call("locate", args, bind)?;
                Item::condition(build::is_truth(place, true, false))
            }
            Kind::Round => {
                let mut args: Vec<Expr> = args.map(|item| self.value(item)).collect();
                args.push(build::int_literal(0));
                Item::number(super::super::call("round", args, bind)?)
            }
            Kind::Concat | Kind::Sql(_) => {
                let (name, used) = match function.kind {
                    Kind::Sql(name) => (name, count),
                    _ => ("concat", 2),
                };
                let args = args.take(used).map(|item| self.value(item)).collect();
                Item::number(super::super::call(name, args, bind)?)
            }
        })
    }
}
