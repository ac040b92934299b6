//! The `tidemark` binary: a database server, and the check of a stopped one's data.
//!
//! - [`arguments`]: the command line and option files, as MySQL reads them.
//! - [`serve`]: start, run, stop; [`initialize`]: make a data directory and stop; [`identity`]: which server it is.
//! - [`check`]: verify a data directory.
//! - [`backup`]: a copy of a running server's data.
//! - [`restore`]: a data directory of a copy and the log after it.
//! - [`salvage`]: what can be read of a damaged one, as SQL.
//! - [`logger`]: what the server has to say while it runs.
//!
//! `tidemark lab` is `tidemark_lab`'s, with a command line of its own.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

mod arguments;
mod backup;
mod check;
mod files;
mod identity;
mod initialize;
mod logger;
mod progress;
mod restore;
mod salvage;
mod serve;

use arguments::{Arguments, Command, Failure};
use std::process::ExitCode;
use tidemark_memory::Counting;

/// What statements take is counted, so that they can be kept within bounds.
#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

const HELP: &str = "\
Tidemark, a database server that speaks MySQL's protocol.

  tidemark [serve] [options]     run a server until Ctrl-C or SIGTERM
  tidemark check --datadir DIR   verify the data of a server that is stopped
  tidemark backup --to COPY [--socket PATH | --host ADDR --port N] [--user NAME] [--password[=TEXT]]
                                 copy the data of a server that runs on this machine, while it works
  tidemark restore --from COPY --datadir DIR [--archive DIR [--until POSITION|TIME]]
                                 make a data directory of a copy and of the log after it
  tidemark salvage --datadir DIR --to DIR2
                                 write what can be read of a damaged directory to files, as SQL
  tidemark lab                   experiments on transaction isolation, on this server or another: says what it can do

  --datadir DIR                  where the data is (./tidemark-data)
  --port N                       TCP port (3306)
  --bind-address ADDR            address to listen on (127.0.0.1)
  --socket PATH                  Unix socket to listen on as well (none)
  --status-port N                port of the status page and of metrics (none; started without any option: 8306)
  --status-address ADDR          its address (127.0.0.1); on others it asks for an account with PROCESS
  --log-format text|json         what the lines of the log (log_error) look like (text)
  --defaults-file FILE           read the [mysqld] sections of an option file first
  --initialize[-insecure]        make the data directory and end; the log has root's first password, if it gets one
  --validate-config              only check the options; --print-defaults: only show them
  --NAME=VALUE                   any system variable, as --innodb-buffer-pool-size=2G;
                                 a name that begins with loose- may be unknown
  --help, --version; --verbose --help lists the system variables
";

fn main() -> ExitCode {
    tidemark_memory::give_back_what_is_freed();
    let mut words = std::env::args().skip(1).peekable();
    let done = if words.next_if(|word| word == "lab").is_some() {
        tidemark_lab::command(words).map_err(Failure::Failed)
    } else {
        Arguments::parse(words).map_err(Failure::Usage).and_then(run)
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            logger::tell_failure(failure.message());
            match failure {
                Failure::Usage(_) => ExitCode::from(USAGE),
                Failure::Failed(_) => ExitCode::FAILURE,
            }
        }
    }
}

/// The exit status of a command that was called wrongly.
const USAGE: u8 = 2;

fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Help => {
            print!("{HELP}");
            if arguments.is_verbose {
                println!("\nSystem variables and their defaults:\n");
                for (name, default) in tidemark_sql::variable_defaults() {
                    println!("{name:60} {default}");
                }
            }
            Ok(())
        }
        Command::PrintDefaults => {
            println!("tidemark would be started with:\n{}", arguments.command_line());
            Ok(())
        }
        Command::Version => {
            println!("tidemark {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        Command::Check => check::run(&arguments),
        Command::Backup => backup::run(arguments),
        Command::Restore => restore::run(arguments),
        Command::Salvage => salvage::run(arguments),
        Command::Serve => serve::run(arguments),
    }
}
