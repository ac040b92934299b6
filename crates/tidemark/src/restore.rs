//! `tidemark restore`: makes a data directory of a copy and of what an archive has of the log after it.

use crate::arguments::{Arguments, Failure};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::path::PathBuf;
use tidemark_engine::{Engine, Lsn, Until};

pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let from = arguments.take("from")?.map(PathBuf::from);
    let archive = arguments.take("archive")?.map(PathBuf::from);
    let until = match arguments.take("until")? {
        Some(text) => {
            let wrong = || Failure::usage(format!("'{text}' is neither a position in the log nor a time"));
            moment(&text).ok_or_else(wrong)?
        }
        None => Until::End,
    };
    arguments.refuse_rest("restore")?;
    let from = from.ok_or_else(|| Failure::usage("restore needs --from DIR, the copy"))?;
    let to = &arguments.datadir;
    let end = Engine::restore(&from, archive.as_deref(), to, until)
        .map_err(|e| format!("cannot restore {} to {}: {e}", from.display(), to.display()))?;
    println!(
        "{} is of position {end} in the log. `tidemark serve` recovers it and starts.",
        to.display()
    );
    Ok(())
}

/// A position in the log; or a time, which is UTC unless it says otherwise.
fn moment(text: &str) -> Option<Until> {
    if let Ok(position) = text.parse() {
        return Some(Until::Position(Lsn(position)));
    }
    let time = text.parse::<Timestamp>().ok().or_else(|| {
        let local = text.parse::<DateTime>().ok()?;
        Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })?;
    Some(Until::Time(u64::try_from(time.as_microsecond()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_positions_and_times() {
        assert_eq!(moment("4096"), Some(Until::Position(Lsn(4096))));
        let noon = Some(Until::Time(1_767_268_800_000_000));
        assert_eq!(moment("2026-01-01 12:00:00"), noon);
        assert_eq!(moment("2026-01-01T13:00:00+01:00"), noon);
        assert_eq!(moment("yesterday"), None);
    }
}
