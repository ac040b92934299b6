//! Windows: what stands behind OVER and in the WINDOW clause.

use super::{Expr, OrderItem};

/// What stands behind OVER.
#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    /// `OVER w`: a window of the WINDOW clause.
    Name(String),
    /// `OVER (…)`
    Window(Box<Window>),
}

/// `name AS (…)` in the WINDOW clause.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWindow {
    /// The name as written.
    pub name: String,
    /// What it stands for.
    pub window: Window,
}

/// `([base] [PARTITION BY …] [ORDER BY …] [frame])`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// The named window that this one goes on from; `None`: none.
    pub base: Option<String>,
    /// `PARTITION BY`; empty: all rows are one partition, or the base says.
    pub partition_by: Vec<Expr>,
    /// `ORDER BY`; empty: all rows of a partition are peers, or the base says.
    pub order_by: Vec<OrderItem>,
    /// `ROWS …`, `RANGE …`; `None`: not written.
    pub frame: Option<Frame>,
}

/// `{ROWS | RANGE} BETWEEN start AND end`; the short form `ROWS start` ends at the current row.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// What the bounds count.
    pub unit: FrameUnit,
    /// The frame's first row.
    pub start: FrameBound,
    /// The frame's last row.
    pub end: FrameBound,
}

/// What the bounds of a frame count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    /// `ROWS`
    Rows,
    /// `RANGE`: differences of the key that the window is ordered by.
    Range,
}

/// One end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// `UNBOUNDED PRECEDING`
    UnboundedPreceding,
    /// `n PRECEDING`: a number, a parameter or an [`Expr::Interval`].
    Preceding(Expr),
    /// `CURRENT ROW`
    CurrentRow,
    /// `n FOLLOWING`
    Following(Expr),
    /// `UNBOUNDED FOLLOWING`
    UnboundedFollowing,
}
