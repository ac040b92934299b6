//! `tidemark backup`: copies the data of a running server to a directory, and shows how far it is.
//!
//! The server copies itself (`CLONE LOCAL DATA DIRECTORY`): it knows which pages change meanwhile, verifies what it reads
//! and what it has written, and holds nothing up. So this is a client of a server on the same machine, with two
//! connections: one waits for the statement, the other asks the process list what that is doing, and kills it when
//! the command is interrupted. Then the server leaves nothing of the copy.

use crate::arguments::{Arguments, Failure};
use crate::progress;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use tidemark_client::{Client, Error, Login, Target};

const PORT: u16 = 3306;
/// How often the server is asked how far it is.
const ASKED_EVERY: Duration = Duration::from_millis(200);
const NAME: &str = "tidemark backup";

pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let to = arguments.take("to")?.map(PathBuf::from);
    let target = target(&mut arguments)?;
    let login = login(&mut arguments)?;
    // An option file's [client] is for other clients, too.
    arguments.options.retain(|option| option.at.is_none());
    arguments.refuse_rest("backup")?;
    let to = to.ok_or_else(|| Failure::usage("backup needs --to DIR, where the copy is to be"))?;
    let to = absolute(&to).map_err(|e| format!("cannot find {}: {e}", to.display()))?;
    let connect =
        || Client::connect(&target, &login, NAME).map_err(|e| format!("cannot connect to {target}: {e}"));
    let (copying, mut asking) = (connect()?, connect()?);
    copy(copying, &mut asking, &to)?;
    println!(
        "{} is a copy of the server at {target}. `tidemark serve --datadir` of it starts; `tidemark check --datadir` examines it.",
        to.display()
    );
    Ok(())
}

fn target(arguments: &mut Arguments) -> Result<Target, Failure> {
    let socket = arguments.take("socket")?;
    let host = arguments.take("host")?;
    let port = match arguments.take("port")? {
        Some(port) => port
            .parse()
            .map_err(|_| Failure::usage(format!("'{port}' is not the number of a port")))?,
        None => PORT,
    };
    Ok(match (socket, host) {
        // As MySQL's clients have it: the name, not the address, is this machine by its socket.
        (Some(socket), host) if host.as_deref().is_none_or(|host| host == "localhost") => {
            Target::Socket(PathBuf::from(socket))
        }
        (_, host) => Target::Tcp(host.unwrap_or_else(|| "127.0.0.1".to_owned()), port),
    })
}

/// The account: root unless another is named. A password is given, asked for (`--password` alone), or in `MYSQL_PWD`.
fn login(arguments: &mut Arguments) -> Result<Login, Failure> {
    let user = arguments.take("user")?.unwrap_or_else(|| "root".to_owned());
    let password = match arguments.take_flag("password") {
        Some(Some(password)) => password,
        Some(None) => rpassword::prompt_password("Enter password: ")
            .map_err(|e| format!("cannot ask for the password: {e}"))?,
        None => std::env::var("MYSQL_PWD").unwrap_or_default(),
    };
    Ok(Login { user, password })
}

/// Has the server copy itself; comes back when it has, has failed, or was interrupted.
fn copy(mut copying: Client, asking: &mut Client, to: &Path) -> Result<(), String> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The second one ends this process where the server does not answer.
        flag::register_conditional_default(signal, Arc::clone(&again))
            .and_then(|_| flag::register(signal, Arc::clone(&again)))
            .map_err(|e| format!("cannot wait for signals: {e}"))?;
        flag::register(signal, Arc::clone(&interrupted))
            .map_err(|e| format!("cannot wait for signals: {e}"))?;
    }
    let id = copying.connection_id();
    let statement = format!("CLONE LOCAL DATA DIRECTORY = {}", quoted(to)?);
    let (done, wait) = mpsc::channel();
    // It ends with its statement. If this process ends before, the server sees its client gone, and ends that.
    thread::Builder::new()
        .spawn(move || done.send(copying.query(&statement)))
        .map_err(|error| format!("no thread for the copy's statement: {error}"))?;
    let bar = progress::bar();
    let result = loop {
        match wait.recv_timeout(ASKED_EVERY) {
            Ok(result) => break result,
            Err(RecvTimeoutError::Disconnected) => return Err("the copying thread is gone".to_owned()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupted.swap(false, Ordering::Relaxed) {
            // Whether it still ran shows in its result.
            let _ = asking.query(&format!("KILL QUERY {id}"));
        } else if let Some((stage, percent)) = state(asking, id) {
            bar.set_message(stage);
            bar.set_position(percent);
        }
    };
    bar.finish_and_clear();
    match result {
        Ok(_) => Ok(()),
        Err(Error::Server { code, message }) => Err(format!(
            "the server could not copy itself: error {code}: {message}"
        )),
        Err(e) => Err(format!("the server was lost while it copied itself: {e}")),
    }
}

/// What the process list says: `Copying pages: 42%`, or `Copying pages: 42%, 7 s left`. None if it says nothing, or is not to be had: the copy goes on.
fn state(asking: &mut Client, id: u32) -> Option<(String, u64)> {
    let sql = format!("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID = {id}");
    let rows = asking.query(&sql).ok()?;
    let text = rows.first()?.first()?.as_deref()?;
    read_state(std::str::from_utf8(text).ok()?)
}

fn read_state(text: &str) -> Option<(String, u64)> {
    let (stage, percent) = text.split_once('%')?.0.rsplit_once(": ")?;
    Some((stage.to_owned(), percent.parse().ok()?))
}

/// A path as a literal of SQL.
fn quoted(path: &Path) -> Result<String, String> {
    let text = path
        .to_str()
        .ok_or_else(|| format!("the path {} is not UTF-8", path.display()))?;
    Ok(format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_the_process_list() {
        let read = |text| read_state(text).map(|(stage, percent)| format!("{stage}|{percent}"));
        assert_eq!(read("Copying pages: 42%").as_deref(), Some("Copying pages|42"));
        assert_eq!(
            read("Copying pages: 42%, 7 s left").as_deref(),
            Some("Copying pages|42")
        );
        assert_eq!(read("executing"), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn paths_are_literals() {
        assert_eq!(quoted(Path::new("/a'b\\c")).unwrap(), "'/a''b\\\\c'");
    }

    #[test]
    fn a_socket_is_used_unless_a_host_is_named() {
        let of = |line: &str| {
            let words = line.split_whitespace().map(str::to_owned);
            target(&mut Arguments::parse(words).unwrap()).map(|target| target.to_string())
        };
        assert_eq!(of("backup").unwrap(), "127.0.0.1:3306");
        assert_eq!(of("backup --socket=/s --port=7").unwrap(), "/s");
        assert_eq!(of("backup --socket=/s --host=localhost").unwrap(), "/s");
        assert_eq!(of("backup --socket=/s --host=h --port=7").unwrap(), "h:7");
        assert!(of("backup --port=x").is_err());
    }
}
