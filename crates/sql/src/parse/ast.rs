//! The syntax tree: what a statement says, before anybody asks whether it makes sense.
//!
//! One `Statement` per SQL statement. Queries and data changes are planned (`plan`), everything else is carried out by
//! the session, the DDL module or the SHOW module, which read the variants below directly. The tree keeps names as
//! they were written (case folding is a matter of the dictionary and of column lookup) and string literals as bytes,
//! because a literal may hold binary data in any character set.

use std::fmt;

/// A statement of the supported language, or the name of one that is recognised but not supported.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// Nothing but white space and comments.
    Empty,
    Query(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Do(Vec<Expr>),
    Explain(Box<Explain>),

    Begin(BeginOptions),
    Commit {
        chain: bool,
        release: bool,
    },
    Rollback {
        chain: bool,
        release: bool,
    },
    Savepoint(String),
    RollbackTo(String),
    ReleaseSavepoint(String),
    SetTransaction(SetTransaction),

    Prepare {
        name: String,
        source: PrepareSource,
    },
    /// `EXECUTE name USING @a, @b`
    Execute {
        name: String,
        using: Vec<String>,
    },
    Deallocate(String),

    Set(Vec<SetItem>),
    Use(String),
    Show(Show),
    /// `DESCRIBE t [column or pattern]`; plain `EXPLAIN t` too.
    Describe {
        table: ObjectName,
        column: Option<String>,
    },
    Kill {
        id: Expr,
        query_only: bool,
    },
    /// `FLUSH …`; the options as written, upper-cased words.
    Flush(Vec<String>),
    LockTables(Vec<LockTable>),
    UnlockTables,

    CreateDatabase {
        name: String,
        if_not_exists: bool,
        charset: Option<String>,
        collation: Option<String>,
    },
    AlterDatabase {
        name: Option<String>,
        charset: Option<String>,
        collation: Option<String>,
    },
    DropDatabase {
        name: String,
        if_exists: bool,
    },
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    DropTable {
        tables: Vec<ObjectName>,
        if_exists: bool,
        temporary: bool,
    },
    /// `DROP VIEW`; there are no views, but IF EXISTS must answer.
    DropView {
        views: Vec<ObjectName>,
        if_exists: bool,
    },
    TruncateTable(ObjectName),
    /// `RENAME TABLE a TO b, …`
    RenameTable(Vec<(ObjectName, ObjectName)>),
    CreateIndex {
        table: ObjectName,
        index: IndexDef,
        if_not_exists: bool,
    },
    DropIndex {
        table: ObjectName,
        index: String,
    },
    /// ANALYZE, OPTIMIZE, CHECK, REPAIR, CHECKSUM TABLE.
    TableMaintenance {
        kind: MaintenanceKind,
        tables: Vec<ObjectName>,
    },

    CreateUser {
        users: Vec<UserSpec>,
        if_not_exists: bool,
    },
    AlterUser {
        users: Vec<UserSpec>,
        if_exists: bool,
    },
    DropUser {
        users: Vec<UserName>,
        if_exists: bool,
    },
    RenameUser(Vec<(UserName, UserName)>),
    SetPassword {
        user: Option<UserName>,
        password: Vec<u8>,
    },
    Grant(Grant),
    Revoke(Revoke),

    /// Recognised, answered with error 1235; the text names the thing.
    Unsupported(String),
}

/// `[schema.]name`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectName {
    pub schema: Option<String>,
    pub name: String,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// `[[schema.]table.]column`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnName {
    pub schema: Option<String>,
    pub table: Option<String>,
    pub column: String,
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        if let Some(table) = &self.table {
            write!(f, "{table}.")?;
        }
        f.write_str(&self.column)
    }
}

// ---------------------------------------------------------------------------------------------- expressions

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    /// An unsigned integer literal that fits 64 bits; larger ones are decimals.
    Int(u64),
    /// Digits with a point, or an integer too large for 64 bits; the text as written.
    Decimal(String),
    Double(f64),
    /// A character string; `charset` is an introducer (`_binary 'x'`, `N'x'` is utf8mb3).
    Str {
        bytes: Vec<u8>,
        charset: Option<String>,
    },
    /// `X'4D'`, `0x4D`
    Hex(Vec<u8>),
    /// `b'101'`, `0b101`
    Bit(Vec<u8>),
    Date(String),
    Time(String),
    Timestamp(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    Minus,
    Plus,
    BitNot,
    /// `BINARY expr`
    Binary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    IntDivide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Xor,
    Equal,
    NullSafeEqual,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl BinaryOp {
    pub fn is_comparison(self) -> bool {
        use BinaryOp::*;
        matches!(
            self,
            Equal | NullSafeEqual | NotEqual | Less | LessEqual | Greater | GreaterEqual
        )
    }

    pub fn text(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Add => "+",
            Subtract => "-",
            Multiply => "*",
            Divide => "/",
            IntDivide => "DIV",
            Modulo => "%",
            BitAnd => "&",
            BitOr => "|",
            BitXor => "^",
            ShiftLeft => "<<",
            ShiftRight => ">>",
            Xor => "xor",
            Equal => "=",
            NullSafeEqual => "<=>",
            NotEqual => "<>",
            Less => "<",
            LessEqual => "<=",
            Greater => ">",
            GreaterEqual => ">=",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Session,
    Global,
    /// `SET PERSIST`, `SET PERSIST_ONLY`
    Persist,
}

/// The unit of an INTERVAL or EXTRACT, upper-cased: `DAY`, `DAY_HOUR`, …
pub type IntervalUnit = String;

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Literal(Literal),
    /// The n-th `?`, or the n-th literal that the shape lexer took out.
    Param(usize),
    Column(ColumnName),
    UserVar(String),
    SysVar {
        scope: Option<Scope>,
        name: String,
    },
    /// `@name := value`
    AssignVar {
        name: String,
        value: Box<Expr>,
    },
    Unary {
        op: UnaryOp,
        expr: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// AND and OR are n-ary so that long chains stay shallow.
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    /// `IS [NOT] TRUE/FALSE/UNKNOWN`
    IsTruth {
        expr: Box<Expr>,
        truth: Option<bool>,
        negated: bool,
    },
    Between {
        expr: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        expr: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InQuery {
        expr: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    Exists(Box<Query>),
    Subquery(Box<Query>),
    /// `left op ANY/ALL (query)`
    Quantified {
        op: BinaryOp,
        all: bool,
        left: Box<Expr>,
        query: Box<Query>,
    },
    Like {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    Regexp {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        negated: bool,
    },
    Case {
        operand: Option<Box<Expr>>,
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(expr AS type)`, `CONVERT(expr, type)`
    Cast {
        expr: Box<Expr>,
        ty: TypeName,
    },
    /// `CONVERT(expr USING charset)`
    ConvertUsing {
        expr: Box<Expr>,
        charset: String,
    },
    Collate {
        expr: Box<Expr>,
        collation: String,
    },
    Function(Box<FunctionCall>),
    /// `INTERVAL value unit`, only as an argument of DATE_ADD, DATE_SUB and date arithmetic with `+` and `-`, which
    /// the parser turns into these functions.
    Interval {
        value: Box<Expr>,
        unit: IntervalUnit,
    },
    Row(Vec<Expr>),
    /// `VALUES(column)` in ON DUPLICATE KEY UPDATE
    Values(ColumnName),
    /// `DEFAULT` or `DEFAULT(column)`
    Default(Option<ColumnName>),
    /// Recognised, answered with 1235.
    Unsupported(String),
}

impl Expr {
    pub fn int(value: u64) -> Expr {
        Expr::Literal(Literal::Int(value))
    }

    pub fn str(text: &str) -> Expr {
        Expr::Literal(Literal::Str {
            bytes: text.as_bytes().to_vec(),
            charset: None,
        })
    }
}

/// A call of a function or an aggregate. The name is upper-cased.
///
/// Special syntaxes are normalised: `EXTRACT(u FROM x)` is EXTRACT('u', x); `TRIM(BOTH a FROM b)` is
/// TRIM('BOTH', a, b) against plain TRIM(b); `POSITION(a IN b)` is LOCATE; `SUBSTRING(a FROM b FOR c)` is SUBSTRING;
/// `x + INTERVAL n u` is DATE_ADD(x, Interval); `TIMESTAMPADD(u, n, x)` and `TIMESTAMPDIFF(u, a, b)` carry the unit
/// as a string first; `x -> path` is JSON_EXTRACT.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    pub schema: Option<String>,
    pub name: String,
    pub args: Vec<Expr>,
    pub distinct: bool,
    /// `COUNT(*)`
    pub star: bool,
    /// GROUP_CONCAT's own ordering and separator.
    pub order_by: Vec<OrderItem>,
    pub separator: Option<Vec<u8>>,
}

/// A type as written in a column definition or CAST. The name is upper-cased and canonical (INTEGER → INT,
/// NUMERIC → DECIMAL, CHARACTER VARYING → VARCHAR, BOOL → TINYINT(1), …).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TypeName {
    pub name: String,
    pub length: Option<u64>,
    pub decimals: Option<u64>,
    pub unsigned: bool,
    pub zerofill: bool,
    /// `CHAR(10) BINARY`
    pub binary: bool,
    pub charset: Option<String>,
    pub collation: Option<String>,
    /// ENUM and SET members.
    pub members: Vec<Vec<u8>>,
}

// -------------------------------------------------------------------------------------------------- queries

#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub with: Option<With>,
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub locks: Vec<LockClause>,
    pub into: Option<Into>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct With {
    pub recursive: bool,
    pub tables: Vec<CommonTable>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    pub name: String,
    pub columns: Vec<String>,
    pub query: Query,
}

#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    SetOperation {
        op: SetOp,
        all: bool,
        left: Box<QueryBody>,
        right: Box<QueryBody>,
    },
    /// `VALUES ROW(1, 2), ROW(3, 4)`
    Values(Vec<Vec<Expr>>),
    /// A parenthesised query with its own ORDER BY or LIMIT.
    Query(Box<Query>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOp {
    Union,
    Intersect,
    Except,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Select {
    pub distinct: bool,
    pub straight_join: bool,
    /// SQL_CALC_FOUND_ROWS
    pub calc_found_rows: bool,
    pub items: Vec<SelectItem>,
    /// Comma-separated in FROM; empty without FROM or with FROM DUAL.
    pub from: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub group_by: Vec<OrderItem>,
    pub with_rollup: bool,
    pub having: Option<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`
    All,
    /// `t.*`, `s.t.*`
    AllOf(ObjectName),
    /// `text` is the expression as written: the column's name where there is no alias.
    Expr {
        expr: Expr,
        alias: Option<String>,
        text: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub offset: Option<Expr>,
    pub count: Expr,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LockClause {
    pub exclusive: bool,
    /// `OF t1, t2`; empty: all tables.
    pub of: Vec<ObjectName>,
    pub wait: LockWaitOption,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWaitOption {
    Wait,
    NoWait,
    SkipLocked,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Into {
    Variables(Vec<String>),
    /// `INTO OUTFILE`, `INTO DUMPFILE`: 1235
    File,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TableRef {
    Table(TableName),
    Derived {
        query: Box<Query>,
        alias: String,
        columns: Vec<String>,
        lateral: bool,
    },
    Join(Box<Join>),
    /// `(a, b)`: an inner join without condition.
    Nested(Vec<TableRef>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableName {
    pub name: ObjectName,
    pub alias: Option<String>,
    pub hints: Vec<IndexHint>,
    pub as_of: Option<AsOf>,
}

/// `AS OF TIMESTAMP …`, `AS OF LSN …`: the table as it was. The time is in seconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub enum AsOf {
    UnixTime(Box<Expr>),
    Lsn(Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    pub indexes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    /// STRAIGHT_JOIN: an inner join that keeps the written order.
    Straight,
    Left,
    Right,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub left: TableRef,
    pub right: TableRef,
    pub condition: JoinCondition,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    None,
    On(Expr),
    Using(Vec<String>),
    Natural,
}

// --------------------------------------------------------------------------------------------- data changes

#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub replace: bool,
    pub ignore: bool,
    pub table: ObjectName,
    /// Empty: all columns in order.
    pub columns: Vec<String>,
    pub source: InsertSource,
    /// `VALUES (…) AS new (a, b)`
    pub row_alias: Option<(String, Vec<String>)>,
    pub on_duplicate: Vec<Assignment>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `INSERT … SET a = 1` arrives here too. An empty row means all defaults.
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub column: ColumnName,
    pub value: Expr,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub ignore: bool,
    pub tables: Vec<TableRef>,
    pub assignments: Vec<Assignment>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    pub ignore: bool,
    /// Multi-table form: the tables whose rows go; empty in the single-table form.
    pub targets: Vec<ObjectName>,
    pub from: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    Traditional,
    Tree,
    Json,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    pub format: ExplainFormat,
    pub analyze: bool,
    pub statement: Statement,
}

// -------------------------------------------------------------------------------------- transactions and SET

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BeginOptions {
    pub consistent_snapshot: bool,
    /// READ ONLY = Some(true), READ WRITE = Some(false)
    pub read_only: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SetTransaction {
    /// None: the next transaction only.
    pub scope: Option<Scope>,
    pub isolation: Option<IsolationLevel>,
    pub read_only: Option<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PrepareSource {
    Text(Vec<u8>),
    UserVar(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// `@name = value`
    UserVar { name: String, value: Expr },
    /// `[GLOBAL|SESSION|@@…] name = value`; a bare word value (`ON`, `utf8mb4`) is a string literal; `DEFAULT` is
    /// `Expr::Default(None)`.
    Variable {
        scope: Option<Scope>,
        name: String,
        value: Expr,
    },
    /// `@@transaction_isolation = …` and `@@transaction_read_only = …` without a scope, by either name: for the next
    /// transaction alone.
    NextTransaction { name: String, value: Expr },
    /// `NAMES charset [COLLATE c]`; charset None is DEFAULT.
    Names {
        charset: Option<String>,
        collation: Option<String>,
    },
    /// `CHARACTER SET charset`
    CharacterSet(Option<String>),
}

// ------------------------------------------------------------------------------------------------------ DDL

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    pub name: ObjectName,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub columns: Vec<ColumnDef>,
    /// In order of appearance; those written on a column come from `ColumnDef::key` instead.
    pub indexes: Vec<IndexDef>,
    pub foreign_keys: Vec<ForeignKey>,
    pub checks: Vec<CheckDef>,
    pub options: TableOptions,
    pub like: Option<ObjectName>,
    pub query: Option<Box<Query>>,
    /// `PARTITION BY` was written.
    pub partitioned: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKey {
    Primary,
    Unique,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    pub name: String,
    pub ty: TypeName,
    /// `NOT NULL` = Some(false), `NULL` = Some(true)
    pub nullable: Option<bool>,
    pub default: Option<Expr>,
    /// `ON UPDATE CURRENT_TIMESTAMP[(n)]`
    pub on_update: Option<Expr>,
    pub auto_increment: bool,
    pub key: Option<ColumnKey>,
    pub comment: Option<String>,
    /// `INVISIBLE`
    pub invisible: bool,
    /// `GENERATED ALWAYS AS (…)`; the flag says STORED.
    pub generated: Option<(Expr, bool)>,
    pub check: Option<CheckDef>,
    pub references: Option<ForeignKey>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CheckDef {
    pub name: Option<String>,
    pub expr: Expr,
    pub text: String,
    pub enforced: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKey {
    pub name: Option<String>,
    pub columns: Vec<String>,
    pub table: ObjectName,
    pub referenced: Vec<String>,
    pub on_delete: Option<String>,
    pub on_update: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
    FullText,
    Spatial,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IndexDef {
    pub kind: IndexKind,
    pub name: Option<String>,
    pub parts: Vec<IndexPart>,
    pub comment: Option<String>,
    pub invisible: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IndexPart {
    pub column: String,
    pub length: Option<u64>,
    pub descending: bool,
    /// `((expr))`: a functional key part, 1235.
    pub expression: Option<Expr>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableOptions {
    pub engine: Option<String>,
    pub charset: Option<String>,
    pub collation: Option<String>,
    pub auto_increment: Option<u64>,
    pub comment: Option<String>,
    pub row_format: Option<String>,
    /// Accepted and ignored: MAX_ROWS, STATS_PERSISTENT, KEY_BLOCK_SIZE, … as (NAME, value).
    pub others: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    pub name: ObjectName,
    pub actions: Vec<AlterAction>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ColumnPosition {
    Last,
    First,
    After(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    AddColumn {
        column: ColumnDef,
        position: ColumnPosition,
    },
    ModifyColumn {
        column: ColumnDef,
        position: Option<ColumnPosition>,
    },
    ChangeColumn {
        old: String,
        column: ColumnDef,
        position: Option<ColumnPosition>,
    },
    DropColumn(String),
    RenameColumn {
        old: String,
        new: String,
    },
    SetDefault {
        column: String,
        default: Option<Expr>,
    },
    AddIndex(IndexDef),
    DropIndex(String),
    DropPrimaryKey,
    RenameIndex {
        old: String,
        new: String,
    },
    RenameTo(ObjectName),
    Options(TableOptions),
    ConvertTo {
        charset: String,
        collation: Option<String>,
    },
    AddForeignKey(ForeignKey),
    DropForeignKey(String),
    AddCheck(CheckDef),
    DropConstraint(String),
    DropCheck(String),
    /// `ALTER CHECK name [NOT] ENFORCED`
    EnforceCheck {
        name: String,
        enforced: bool,
    },
    /// `ALTER INDEX name VISIBLE`
    ShowIndex {
        name: String,
        visible: bool,
    },
    /// `ENABLE/DISABLE KEYS`, `ALGORITHM=…`, `LOCK=…`, `FORCE`, `ORDER BY`: nothing to do.
    Ignored(String),
    Unsupported(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintenanceKind {
    Analyze,
    Optimize,
    Check,
    Repair,
    Checksum,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LockTable {
    pub table: ObjectName,
    pub alias: Option<String>,
    pub write: bool,
}

// ----------------------------------------------------------------------------------------------------- SHOW

#[derive(Debug, Clone, PartialEq)]
pub struct Show {
    pub what: ShowKind,
    pub filter: ShowFilter,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    None,
    Like(Vec<u8>),
    /// `WHERE expr` over the columns of the result.
    Where(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub enum ShowKind {
    Databases,
    Tables {
        schema: Option<String>,
        full: bool,
    },
    TableStatus {
        schema: Option<String>,
    },
    Columns {
        table: ObjectName,
        full: bool,
    },
    Index {
        table: ObjectName,
    },
    CreateTable(ObjectName),
    CreateDatabase {
        name: String,
        if_not_exists: bool,
    },
    CreateUser(UserName),
    Variables {
        global: bool,
    },
    Status {
        global: bool,
    },
    ProcessList {
        full: bool,
    },
    Warnings {
        limit: Option<(u64, u64)>,
    },
    Errors {
        limit: Option<(u64, u64)>,
    },
    CountWarnings,
    CountErrors,
    Engines,
    /// `SHOW ENGINE INNODB STATUS` and its like; upper-cased.
    EngineStatus {
        engine: String,
        what: String,
    },
    Charset,
    Collation,
    Grants(Option<UserName>),
    Privileges,
    Plugins,
    OpenTables {
        schema: Option<String>,
    },
    Triggers {
        schema: Option<String>,
    },
    Events {
        schema: Option<String>,
    },
    ProcedureStatus,
    FunctionStatus,
    MasterStatus,
    BinaryLogs,
    ReplicaStatus,
    Profiles,
}

// ------------------------------------------------------------------------------------------------- accounts

/// `'user'@'host'`; host `%` if not written. An empty user with `current` set is CURRENT_USER().
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserName {
    pub user: String,
    pub host: String,
    pub current: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct UserSpec {
    pub name: UserName,
    pub auth: Option<UserAuth>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct UserAuth {
    pub plugin: Option<String>,
    pub secret: AuthSecret,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AuthSecret {
    /// `IDENTIFIED WITH plugin`
    None,
    /// `IDENTIFIED … BY 'password'`
    Password(Vec<u8>),
    /// `IDENTIFIED WITH plugin AS 'hash'`
    Hash(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivilegeLevel {
    /// `*.*`
    Global,
    /// `db.*`; `*` is the current database (None).
    Database(Option<String>),
    Table(ObjectName),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Privilege {
    /// Upper-cased words: `ALL`, `SELECT`, `CREATE TEMPORARY TABLES`, …
    pub name: String,
    pub columns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    pub privileges: Vec<Privilege>,
    pub level: PrivilegeLevel,
    pub users: Vec<UserSpec>,
    pub grant_option: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Revoke {
    pub privileges: Vec<Privilege>,
    /// None: `REVOKE ALL PRIVILEGES, GRANT OPTION FROM …`
    pub level: Option<PrivilegeLevel>,
    pub users: Vec<UserName>,
    pub if_exists: bool,
}
