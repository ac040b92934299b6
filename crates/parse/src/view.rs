//! CREATE VIEW, ALTER VIEW.

use super::ast::*;
use super::lexer::Op;
use super::parser::Parser;
use tidemark_types::error::{Result, SqlError};

/// What stands between CREATE or ALTER and VIEW.
#[derive(Default)]
struct Head {
    algorithm: Option<ViewAlgorithm>,
    definer: Option<UserName>,
    invoker: Option<bool>,
}

impl Parser<'_> {
    /// A view's definition, if one stands here, behind CREATE, CREATE OR REPLACE or ALTER. What DEFINER stands before, a
    /// trigger or a routine, is left as it is.
    pub(super) fn view(&mut self, form: ViewForm) -> Result<Option<Statement>> {
        let start = self.cursor();
        let mut head = Head::default();
        if self.accept("ALGORITHM") {
            self.expect_op(Op::Eq)?;
            head.algorithm = Some(match self.accept_any(&["UNDEFINED", "MERGE", "TEMPTABLE"]) {
                Some("MERGE") => ViewAlgorithm::Merge,
                Some("TEMPTABLE") => ViewAlgorithm::Temptable,
                Some(_) => ViewAlgorithm::Undefined,
                None => return self.error(),
            });
        }
        if self.accept("DEFINER") {
            self.expect_op(Op::Eq)?;
            head.definer = Some(self.user_name()?);
        }
        if self.accept_all(&["SQL", "SECURITY"]) {
            head.invoker = Some(match self.accept_any(&["DEFINER", "INVOKER"]) {
                Some(word) => word == "INVOKER",
                None => return self.error(),
            });
        }
        if !self.accept("VIEW") {
            if head.algorithm.is_some() || head.invoker.is_some() {
                return self.error();
            }
            self.go_back(start);
            return Ok(None);
        }
        self.view_body(form, head).map(Some)
    }

    fn view_body(&mut self, form: ViewForm, head: Head) -> Result<Statement> {
        let form = match form {
            ViewForm::Create if self.if_not_exists() => ViewForm::CreateIfNotExists,
            form => form,
        };
        let name = self.object_name()?;
        let columns = match self.is_op(Op::LParen) {
            true => self.in_parens(Parser::name_list)?,
            false => Vec::new(),
        };
        self.expect("AS")?;
        let reads = self.reads();
        let query = self.query()?;
        if self.reads() > reads {
            return Err(SqlError::view_of_variable());
        }
        let mut check = CheckOption::None;
        if self.accept("WITH") {
            check = match self.accept_any(&["LOCAL", "CASCADED"]) {
                Some("LOCAL") => CheckOption::Local,
                _ => CheckOption::Cascaded,
            };
            self.expect("CHECK")?;
            self.expect("OPTION")?;
        }
        Ok(Statement::CreateView(Box::new(CreateView {
            form,
            algorithm: head.algorithm,
            definer: head.definer,
            invoker: head.invoker,
            name,
            columns,
            query,
            check,
        })))
    }
}
