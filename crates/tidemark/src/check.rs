//! `tidemark check`: verifies the data of a stopped server, changing nothing.

use crate::arguments::{Arguments, Failure};
use crate::identity;
use crate::progress;
use tidemark_engine::Engine;
use tidemark_sql::{collator, faults_of_definitions};

/// A file that every copy has; a server that is started on it adds its own.
const COPY_MARK: &str = "backup";

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.refuse_rest("check")?;
    let datadir = &arguments.datadir;
    let bar = progress::bar();
    bar.set_message("Checking pages");
    let report = Engine::check(datadir, collator(), &faults_of_definitions, &mut |done, of| {
        bar.set_position((done * 100).checked_div(of).unwrap_or(0));
    });
    bar.finish_and_clear();
    let report = report.map_err(|e| format!("cannot check {}: {e}", datadir.display()))?;
    if !report.was_clean {
        println!(
            "{}; this is the state that recovery makes of its data.",
            match datadir.join(COPY_MARK).exists() && !datadir.join(identity::NAME).exists() {
                true => "This is a copy of a running server",
                false => "The server was not stopped in an orderly way",
            }
        );
    }
    println!(
        "{} pages in use: the checksum of each, and that it stands in one place; {} more are free",
        report.pages, report.free_pages
    );
    println!(
        "{} tables with {} rows and {} indexes: the order of their trees",
        report.tables, report.rows, report.indexes
    );
    println!(
        "{} index entries, each agreeing with its row; {} more deleted and not yet purged",
        report.entries, report.deleted_entries
    );
    println!(
        "{} pages of long columns: chains whole and owned by one row",
        report.outside_pages
    );
    match report.faults.first() {
        None => {
            println!("No faults.");
            Ok(())
        }
        Some(first) => {
            for fault in &report.faults {
                println!("fault: {fault}");
            }
            let more = report.faults_found - report.faults.len() as u64;
            if more > 0 {
                println!("and {more} more");
            }
            Err(Failure::Failed(format!(
                "{} is damaged: {} faults, the first: {first}",
                datadir.display(),
                report.faults_found
            )))
        }
    }
}
