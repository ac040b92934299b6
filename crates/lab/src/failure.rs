//! Why something of the lab did not come to its end.

use std::fmt;
use std::io;

/// A reason.
#[derive(Debug)]
pub enum Failure {
    /// Whoever runs the lab has stopped it.
    Interrupted,
    /// Something went wrong; a cell's goes into the results.
    Because(String),
}

impl Failure {
    /// One with a text.
    pub fn because(why: impl Into<String>) -> Failure {
        Failure::Because(why.into())
    }

    /// The system has refused to start a thread.
    pub fn no_thread(error: io::Error) -> Failure {
        Failure::Because(format!("the system gives no more threads: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Interrupted => f.write_str("interrupted"),
            Failure::Because(why) => f.write_str(why),
        }
    }
}

impl From<crate::client::Error> for Failure {
    fn from(e: crate::client::Error) -> Failure {
        Failure::Because(e.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Failure {
        Failure::Because(e.to_string())
    }
}
