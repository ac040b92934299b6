//! Function calls, among them those whose arguments are not a plain list: EXTRACT, TRIM, SUBSTRING, POSITION, CAST,
//! COUNT(*), GROUP_CONCAT, TIMESTAMPADD and their like.

use super::ast::*;
use super::lexer::{Op, TokenKind};
use super::parser::Parser;
use tidemark_types::error::Result;

fn plain(name: &str, args: Vec<Expr>) -> FunctionCall {
    FunctionCall::plain(name, args)
}

/// Whether a name in upper case is that of an aggregate whose arguments may begin with DISTINCT, and which may have a window.
fn is_aggregate(name: &str) -> bool {
    matches!(
        name,
        "COUNT"
            | "SUM"
            | "AVG"
            | "MIN"
            | "MAX"
            | "GROUP_CONCAT"
            | "BIT_AND"
            | "BIT_OR"
            | "BIT_XOR"
            | "STD"
            | "STDDEV"
            | "STDDEV_POP"
            | "STDDEV_SAMP"
            | "VAR_POP"
            | "VAR_SAMP"
            | "VARIANCE"
            | "JSON_ARRAYAGG"
            | "JSON_OBJECTAGG"
    )
}

/// Whether the type of what a function answers follows from the values of its constants: how many digits of a second, how
/// many decimal places, what the format has in it.
fn type_follows_from_values(name: &str) -> bool {
    matches!(
        name,
        "NOW"
            | "SYSDATE"
            | "CURTIME"
            | "ROUND"
            | "TRUNCATE"
            | "STR_TO_DATE"
            | "UNIX_TIMESTAMP"
            | "TIME"
            | "TIMESTAMP"
            | "TIMEDIFF"
            | "ADDTIME"
            | "SUBTIME"
            | "MAKETIME"
            | "SEC_TO_TIME"
            | "FROM_UNIXTIME"
    )
}

impl Parser<'_> {
    /// The cursor is at the opening parenthesis; the name is as it is written.
    pub(super) fn function(&mut self, schema: Option<String>, written: &str) -> Result<Expr> {
        let name = written.to_ascii_uppercase();
        self.expect_op(Op::LParen)?;
        let mut call = match name.as_str() {
            "CAST" => return self.cast(),
            "JSON_VALUE" => return self.json_value(),
            "CHAR" => return self.char_function(schema),
            "EXTRACT" | "TRIM" | "SUBSTRING" | "SUBSTR" | "MID" | "POSITION" | "TIMESTAMPADD"
            | "TIMESTAMPDIFF" | "GET_FORMAT" | "DATE_ADD" | "DATE_SUB" | "ADDDATE" | "SUBDATE" => {
                self.special_call(&name)?
            }
            _ if is_aggregate(&name) => self.special_call(&name)?,
            _ => {
                let mut args = Vec::new();
                if !self.is_op(Op::RParen) || name == "GROUPING" {
                    args.push(self.expr()?);
                    while self.accept_op(Op::Comma) {
                        args.push(self.expr()?);
                    }
                }
                Box::new(plain(&name, args))
            }
        };
        self.expect_op(Op::RParen)?;
        if schema.is_none() && is_aggregate(&name) {
            call.over = self.over()?;
        }
        if schema.is_none() && call.args.len() == 1 {
            match name.as_str() {
                "WEEK" => call.args.push(Expr::int(self.week_format.into())),
                "YEARWEEK" => call.args.push(Expr::int(0)),
                _ => {}
            }
        }
        call.schema = schema;
        call.spelling = Spelling::of(written);
        self.needs_literal |=
            type_follows_from_values(&name) && call.args.iter().any(|arg| matches!(arg, Expr::Param(_)));
        self.link()?;
        Ok(Expr::Function(call))
    }

    /// What stands between the parentheses of a function whose arguments are no plain list.
    #[inline(never)]
    fn special_call(&mut self, name: &str) -> Result<Box<FunctionCall>> {
        let call = match name {
            "EXTRACT" => self.extract()?,
            "TRIM" => self.trim()?,
            "SUBSTRING" | "SUBSTR" | "MID" => self.substring()?,
            "POSITION" => self.position()?,
            "TIMESTAMPADD" | "TIMESTAMPDIFF" => {
                let unit = Expr::str(&self.word_upper()?);
                self.expect_op(Op::Comma)?;
                let mut args = self.list(Parser::expr)?;
                args.insert(0, unit);
                plain(name, args)
            }
            "GET_FORMAT" => {
                let kind = Expr::str(&self.word_upper()?);
                self.expect_op(Op::Comma)?;
                plain(name, vec![kind, self.expr()?])
            }
            "DATE_ADD" | "DATE_SUB" | "ADDDATE" | "SUBDATE" => self.date_arithmetic(name)?,
            _ => self.aggregate(name)?,
        };
        Ok(Box::new(call))
    }

    fn cast(&mut self) -> Result<Expr> {
        let expr = Box::new(self.expr()?);
        self.expect("AS")?;
        let mut ty = self.cast_type()?;
        ty.array = self.accept("ARRAY");
        self.expect_op(Op::RParen)?;
        self.link()?;
        Ok(Expr::Cast { expr, ty })
    }

    /// `JSON_VALUE(document, path [RETURNING type] [… ON EMPTY] [… ON ERROR])`: a cast of a call that is told the type and what
    /// to do. Each of the two is a word, `NULL`, `ERROR` or `DEFAULT`, and the default.
    #[inline(never)]
    fn json_value(&mut self) -> Result<Expr> {
        let mut args = vec![self.expr()?];
        self.expect_op(Op::Comma)?;
        args.push(self.expr()?);
        let mut ty = if self.accept("RETURNING") {
            self.cast_type()?
        } else {
            TypeName {
                name: "CHAR".to_string(),
                length: Some(512),
                ..TypeName::default()
            }
        };
        // A text is compared by its bytes.
        ty.binary |= ty.charset.is_none();
        let name = match ty.name.as_str() {
            "BIGINT" if ty.unsigned => "UNSIGNED",
            "BIGINT" => "SIGNED",
            name => name,
        };
        args.push(Expr::str(name));
        let mut handling = ["NULL", "NULL"].map(|word| (Expr::str(word), Expr::Literal(Literal::Null)));
        let mut at = 0;
        while let Some(word) = self.accept_any(&["NULL", "ERROR", "DEFAULT"]) {
            let default = match word {
                "DEFAULT" => self.simple()?,
                _ => Expr::Literal(Literal::Null),
            };
            self.expect("ON")?;
            match self.accept_any(&["EMPTY", "ERROR"]) {
                Some("EMPTY") if at == 0 => at = 1,
                Some("ERROR") if at < 2 => at = 2,
                _ => return self.error(),
            }
            handling[at - 1] = (Expr::str(word), default);
        }
        args.extend(handling.into_iter().flat_map(|(word, default)| [word, default]));
        self.expect_op(Op::RParen)?;
        self.link()?;
        let expr = Box::new(Expr::Function(Box::new(plain("JSON_VALUE", args))));
        self.link()?;
        Ok(Expr::Cast { expr, ty })
    }

    fn extract(&mut self) -> Result<FunctionCall> {
        let unit = Expr::str(&self.word_upper()?);
        self.expect("FROM")?;
        Ok(plain("EXTRACT", vec![unit, self.expr()?]))
    }

    fn trim(&mut self) -> Result<FunctionCall> {
        let side = self.accept_any(&["BOTH", "LEADING", "TRAILING"]);
        if side.is_some() && self.accept("FROM") {
            return Ok(plain(
                "TRIM",
                vec![Expr::str(side.unwrap_or("BOTH")), Expr::str(" "), self.expr()?],
            ));
        }
        let first = self.expr()?;
        if self.accept("FROM") {
            let text = self.expr()?;
            return Ok(plain(
                "TRIM",
                vec![Expr::str(side.unwrap_or("BOTH")), first, text],
            ));
        }
        if side.is_some() {
            self.error()
        } else {
            Ok(plain("TRIM", vec![first]))
        }
    }

    fn substring(&mut self) -> Result<FunctionCall> {
        let mut args = vec![self.expr()?];
        if self.accept("FROM") {
            args.push(self.expr()?);
            if self.accept("FOR") {
                args.push(self.expr()?);
            }
        } else {
            while self.accept_op(Op::Comma) {
                args.push(self.expr()?);
            }
        }
        Ok(plain("SUBSTRING", args))
    }

    fn position(&mut self) -> Result<FunctionCall> {
        // The first operand ends before IN, so it is one without predicates.
        let needle = self.simple()?;
        self.expect("IN")?;
        Ok(plain("LOCATE", vec![needle, self.expr()?]))
    }

    /// `CHAR(n, … [USING charset])`: bytes, which USING makes a text.
    #[inline(never)]
    fn char_function(&mut self, schema: Option<String>) -> Result<Expr> {
        let mut call = plain("CHAR", self.list(Parser::expr)?);
        call.schema = schema;
        let charset = match self.accept("USING") {
            true => Some(self.name_or_string()?.to_ascii_lowercase()),
            false => None,
        };
        self.expect_op(Op::RParen)?;
        self.link()?;
        let bytes = Expr::Function(Box::new(call));
        Ok(match charset {
            None => bytes,
            Some(charset) => {
                self.link()?;
                Expr::ConvertUsing {
                    expr: Box::new(bytes),
                    charset,
                }
            }
        })
    }

    fn date_arithmetic(&mut self, name: &str) -> Result<FunctionCall> {
        let date = self.expr()?;
        self.expect_op(Op::Comma)?;
        let amount = if self.is("INTERVAL") {
            self.interval()?
        } else if matches!(name, "ADDDATE" | "SUBDATE") {
            Expr::Interval {
                value: Box::new(self.expr()?),
                unit: "DAY".to_string(),
            }
        } else {
            return self.error();
        };
        let name = if name.ends_with("SUB") || name.starts_with("SUB") {
            "DATE_SUB"
        } else {
            "DATE_ADD"
        };
        Ok(plain(name, vec![date, amount]))
    }

    fn aggregate(&mut self, name: &str) -> Result<FunctionCall> {
        let mut call = plain(name, Vec::new());
        if name == "COUNT" && self.accept_op(Op::Star) {
            call.star = true;
            return Ok(call);
        }
        call.distinct = self.accept("DISTINCT");
        if !call.distinct {
            self.accept("ALL");
        }
        call.args = self.list(Parser::expr)?;
        if name == "GROUP_CONCAT" {
            if self.accept_all(&["ORDER", "BY"]) {
                call.order_by = self.order_items()?;
            }
            if self.accept("SEPARATOR") {
                call.separator = Some(self.string()?);
            }
        }
        Ok(call)
    }

    /// The target of CAST and CONVERT.
    pub(super) fn cast_type(&mut self) -> Result<TypeName> {
        if let Some(word) = self.accept_any(&["SIGNED", "UNSIGNED"]) {
            let _ = self.accept("INTEGER") || self.accept("INT");
            return Ok(TypeName {
                name: "BIGINT".to_string(),
                unsigned: word == "UNSIGNED",
                ..TypeName::default()
            });
        }
        self.data_type()
    }

    /// A type with its attributes, as in a column definition; also of CAST.
    pub(super) fn data_type(&mut self) -> Result<TypeName> {
        if self.token().kind != TokenKind::Word {
            return self.error();
        }
        let written = self.word_upper()?;
        let mut ty = TypeName {
            name: canonical(&written).to_string(),
            ..TypeName::default()
        };
        match written.as_str() {
            "BOOL" | "BOOLEAN" => ty.length = Some(1),
            "DOUBLE" => {
                self.accept("PRECISION");
            }
            "CHAR" | "CHARACTER" if self.accept("VARYING") => ty.name = "VARCHAR".to_string(),
            "NATIONAL" => {
                ty.charset = Some("utf8mb3".to_string());
                match self.word_upper()?.as_str() {
                    "VARCHAR" => ty.name = "VARCHAR".to_string(),
                    "CHAR" | "CHARACTER" if self.accept("VARYING") => ty.name = "VARCHAR".to_string(),
                    "CHAR" | "CHARACTER" => ty.name = "CHAR".to_string(),
                    _ => return self.error(),
                }
            }
            "NCHAR" | "NVARCHAR" => ty.charset = Some("utf8mb3".to_string()),
            "LONG" => {
                ty.name = if self.accept("VARBINARY") {
                    "MEDIUMBLOB"
                } else {
                    "MEDIUMTEXT"
                }
                .to_string();
                self.accept("VARCHAR");
            }
            "SERIAL" => ty.unsigned = true,
            _ if canonical(&written) == "?" => {
                self.step_back();
                return self.error();
            }
            _ => {}
        }
        if matches!(ty.name.as_str(), "ENUM" | "SET") {
            ty.members = self.in_parens(|p| p.list(Parser::string))?;
        } else if self.accept_op(Op::LParen) {
            ty.length = Some(self.number()?);
            if self.accept_op(Op::Comma) {
                ty.decimals = Some(self.number()?);
            }
            self.expect_op(Op::RParen)?;
        }
        self.type_attributes(&mut ty)?;
        Ok(ty)
    }

    fn type_attributes(&mut self, ty: &mut TypeName) -> Result<()> {
        loop {
            if self.accept("UNSIGNED") {
                ty.unsigned = true;
            } else if self.accept("SIGNED") {
            } else if self.accept("ZEROFILL") {
                ty.zerofill = true;
                ty.unsigned = true;
            } else if self.accept("BINARY") {
                ty.binary = true;
            } else if has_charset(&ty.name)
                && (self.accept_all(&["CHARACTER", "SET"])
                    || self.accept_all(&["CHAR", "SET"])
                    || self.accept("CHARSET"))
            {
                ty.charset = Some(self.name_or_string()?.to_ascii_lowercase());
            } else if self.accept("ASCII") {
                ty.charset = Some("latin1".to_string());
            } else if has_charset(&ty.name) && self.accept("UNICODE") {
                ty.charset = Some("ucs2".to_string());
            } else if has_charset(&ty.name) && self.accept("BYTE") {
                ty.name = bytes_of(&ty.name);
            } else if self.is("COLLATE") {
                self.advance();
                ty.collation = Some(self.name_or_string()?.to_ascii_lowercase());
            } else {
                return Ok(());
            }
        }
    }
}

/// One name for each type; `?` for none.
fn canonical(name: &str) -> &str {
    match name {
        "BOOL" | "BOOLEAN" | "INT1" => "TINYINT",
        "INT2" => "SMALLINT",
        "INT3" | "MIDDLEINT" => "MEDIUMINT",
        "INTEGER" | "INT4" => "INT",
        "INT8" | "SERIAL" => "BIGINT",
        "DEC" | "NUMERIC" | "FIXED" => "DECIMAL",
        "REAL" | "FLOAT8" => "DOUBLE",
        "FLOAT4" => "FLOAT",
        "CHARACTER" | "NCHAR" | "NATIONAL" => "CHAR",
        "VARCHARACTER" | "NVARCHAR" => "VARCHAR",
        "LONG" => "MEDIUMTEXT",
        "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" | "DECIMAL" | "FLOAT" | "DOUBLE" | "BIT"
        | "YEAR" | "DATE" | "TIME" | "DATETIME" | "TIMESTAMP" | "CHAR" | "VARCHAR" | "BINARY"
        | "VARBINARY" | "TINYTEXT" | "TEXT" | "MEDIUMTEXT" | "LONGTEXT" | "TINYBLOB" | "BLOB"
        | "MEDIUMBLOB" | "LONGBLOB" | "ENUM" | "SET" | "JSON" | "GEOMETRY" | "POINT" | "LINESTRING"
        | "POLYGON" | "MULTIPOINT" | "MULTILINESTRING" | "MULTIPOLYGON" | "GEOMETRYCOLLECTION" | "VECTOR" => {
            name
        }
        _ => "?",
    }
}

/// The type of bytes that BYTE makes of a type of characters.
fn bytes_of(ty: &str) -> String {
    match ty {
        "CHAR" => "BINARY".to_owned(),
        "VARCHAR" => "VARBINARY".to_owned(),
        _ => ty.replace("TEXT", "BLOB"),
    }
}

/// True for the types behind which CHARACTER SET may stand.
fn has_charset(ty: &str) -> bool {
    ty.ends_with("CHAR") || ty.ends_with("TEXT") || matches!(ty, "ENUM" | "SET")
}
