//! A server from start to stop.
//!
//! The order matters at both ends: the data is open before a client can connect, and none is connected any more when
//! it is closed.

use crate::arguments::Arguments;
use crate::files;
use crate::logger::{self, Format};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidemark_server::{Server, ServerOptions};
use tidemark_sql::own_files::is_own;
use tidemark_sql::{Database, Options};
use tidemark_status::StatusServer;

/// Opens the exhibit that `--museum` names.
#[cfg(feature = "museum")]
fn open_museum(arguments: &mut Arguments) -> Result<(), String> {
    use tidemark_engine::museum;
    match arguments.take("museum")? {
        Some(name) if !museum::open(&name) => {
            let names: Vec<&str> = museum::names().collect();
            Err(format!("--museum is one of {}, not '{name}'", names.join(", ")))
        }
        _ => Ok(()),
    }
}

/// Where the status page is if the server is started without any option.
const STATUS_PORT: u16 = 8306;

pub fn run(mut arguments: Arguments) -> Result<(), String> {
    let is_bare = arguments.is_bare;
    let format = match arguments.take("log_format")? {
        None => Format::default(),
        Some(name) => {
            Format::by_name(&name).ok_or_else(|| format!("--log-format is text or json, not '{name}'"))?
        }
    };
    #[cfg(feature = "museum")]
    open_museum(&mut arguments)?;
    let given = settings(&arguments);
    let mut options = Options::new(arguments.datadir);
    for option in arguments.options {
        let added = options.add(&option.name, option.value.clone());
        added.map_err(|why| option.complain(&why))?;
    }
    start_log(&options, format)?;
    for warning in options.warnings() {
        log::warn!("{warning}");
    }
    let files_max = files::raise_limit();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1]).map_err(|e| e.to_string())?;
    log_start(&options, &given);

    let listening = listening(&options)?;
    let status = match is_bare {
        // Nobody has asked for it, so it is no reason to fail.
        true => StatusServer::start("127.0.0.1", STATUS_PORT)
            .inspect_err(|e| log::warn!("{e}"))
            .ok(),
        false => status_page(&options)?,
    };
    let datadir = options.datadir.clone();
    let named = |name: &str| {
        options
            .get(name)
            .filter(|file| !file.is_empty() && file != "NULL")
    };
    let (pid_file, init_file) = (named("pid_file"), named("init_file"));
    let database = tidemark_sql::open(options).map_err(|e| e.message)?;
    // It is beside the data, unless its name says where, and there as long as this is.
    let _pid_file = match pid_file {
        Some(name) => {
            let path = datadir.join(name);
            refuse_own("pid_file", &datadir, &path)?;
            Some(PidFile::write(path)?)
        }
        None => None,
    };
    database.on_shutdown(|| {
        if let Err(e) = signal_hook::low_level::raise(SIGTERM) {
            log::error!("SHUTDOWN: {e}");
        }
    });
    if let Some(file) = init_file {
        run_init_file(&database, Path::new(&file))?;
    }
    files::fit_connections(&database, files_max)?;
    let server = Server::start(database.clone(), &listening);
    let server = match server {
        Ok(server) => server,
        Err(e) => {
            if let Err(e) = database.shutdown() {
                log::error!("closing the data: {e}");
            }
            return Err(e.to_string());
        }
    };
    if let Some(status) = &status {
        let attached = status.attach(database.clone());
        attached.map_err(|e| format!("the status page: {e}"))?;
    }
    say_hello(
        &server,
        &listening,
        status.as_ref(),
        &datadir.display().to_string(),
    );

    for signal in signals.forever() {
        if !matches!(signal, SIGHUP | SIGUSR1) {
            break;
        }
        if let Err(e) = database.flush_logs() {
            log::error!("{}", e.message);
        }
    }
    println!("Stopping.");
    if let Some(status) = &status {
        status.not_ready();
    }
    server.stop();
    if let Some(status) = status {
        status.stop();
    }
    database
        .shutdown()
        .map_err(|e| format!("closing the data: {e}"))?;
    println!("Stopped.");
    Ok(())
}

/// `status_port`, `status_address`: the status page, if there is to be one. It listens before the data is open.
fn status_page(options: &Options) -> Result<Option<StatusServer>, String> {
    let text = |name: &str| options.get_or_default(name).unwrap_or_default();
    let port = text("status_port");
    let port: u16 = port.parse().map_err(|_| format!("'{port}' is no port"))?;
    if port == 0 {
        return Ok(None);
    }
    let page = StatusServer::start(&text("status_address"), port).map_err(|e| e.to_string())?;
    if text("skip_grant_tables") == "ON" && !page.is_local() {
        return Err("skip_grant_tables knows no accounts, so the status page can be on this machine only: --status-address=127.0.0.1".to_owned());
    }
    Ok(Some(page))
}

/// `log_error`: a file's name; `stderr` for none.
fn start_log(options: &Options, format: Format) -> Result<(), String> {
    let name = options.get("log_error").unwrap_or_default();
    let path = (!matches!(name.as_str(), "" | "stderr")).then(|| options.datadir.join(&name));
    if let Some(path) = &path {
        refuse_own("log_error", &options.datadir, path)?;
    }
    logger::start(path, format).map_err(|e| format!("cannot write the log (log_error) to {name}: {e}"))
}

/// An error if an option would have something written over the data.
fn refuse_own(option: &str, datadir: &Path, path: &Path) -> Result<(), String> {
    match is_own(datadir, path) {
        true => Err(format!(
            "{option} {}: it is a file of the server's own",
            path.display()
        )),
        false => Ok(()),
    }
}

/// What is set otherwise than it is by default, as it was given.
fn settings(arguments: &Arguments) -> String {
    let settings = arguments.options.iter().map(|option| match &option.value {
        Some(value) => format!("{}={value}", option.name),
        None => option.name.clone(),
    });
    settings.collect::<Vec<_>>().join(", ")
}

/// The first lines of the log: what starts, with which settings and how much memory.
fn log_start(options: &Options, given: &str) {
    const MIB: u64 = 1 << 20;
    log::info!(
        "Tidemark {} starts as process {}, with its data in {}",
        env!("CARGO_PKG_VERSION"),
        std::process::id(),
        options.datadir.display()
    );
    log::info!(
        "Settings: {}",
        if given.is_empty() { "all by default" } else { given }
    );
    let pool = options.get_or_default("innodb_buffer_pool_size");
    let pool: u64 = pool.and_then(|pool| pool.parse().ok()).unwrap_or_default();
    log::info!(
        "Memory: a buffer pool of {} MiB, of {} MiB that the machine has",
        pool / MIB,
        tidemark_memory::machine_bytes() / MIB
    );
}

/// `init_file`: statements that are run before a client can connect. One that fails ends the start.
fn run_init_file(database: &Arc<Database>, file: &Path) -> Result<(), String> {
    let named = |why: String| format!("init_file {}: {why}", file.display());
    let text = std::fs::read(file).map_err(|e| named(e.to_string()))?;
    let done = tidemark_sql::run_trusted(database, &text);
    if done.is_err() {
        let _ = database.shutdown();
    }
    done.map_err(|e| named(e.to_string()))
}

/// A file with the number of this process, gone when it ends.
struct PidFile(PathBuf);

impl PidFile {
    fn write(path: PathBuf) -> Result<PidFile, String> {
        let written = std::fs::write(&path, format!("{}\n", std::process::id()));
        written.map_err(|e| format!("cannot write pid_file {}: {e}", path.display()))?;
        Ok(PidFile(path))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if let Err(e) = std::fs::remove_file(&self.0) {
            log::warn!("cannot remove pid_file {}: {e}", self.0.display());
        }
    }
}

fn listening(options: &Options) -> Result<ServerOptions, String> {
    let text = |name: &str| options.get_or_default(name).unwrap_or_default();
    let port = text("port");
    let socket = text("socket");
    let admin_port = text("admin_port");
    let is_on = |name: &str| text(name) == "ON";
    let is_private = is_on("skip_networking") || is_on("skip_grant_tables");
    if is_on("skip_grant_tables") && socket.is_empty() {
        return Err("skip_grant_tables listens on no address, so it needs a --socket".to_owned());
    }
    Ok(ServerOptions {
        admin_address: if is_private {
            String::new()
        } else {
            text("admin_address")
        },
        admin_port: admin_port
            .parse()
            .map_err(|_| format!("'{admin_port}' is no port"))?,
        bind_address: if is_private {
            String::new()
        } else {
            text("bind_address")
        },
        port: port.parse().map_err(|_| format!("'{port}' is no port"))?,
        socket: (!socket.is_empty()).then(|| PathBuf::from(socket)),
        with_tls: is_on("ssl"),
    })
}

/// Where it listens and how to connect. Whoever started it may have stopped reading, which is no reason to fail.
fn say_hello(server: &Server, listening: &ServerOptions, status: Option<&StatusServer>, datadir: &str) {
    let mut text = format!(
        "Tidemark {} is ready, with its data in {datadir}.\n",
        env!("CARGO_PKG_VERSION")
    );
    for address in server.addresses() {
        let host = match address.ip() {
            ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
            ip => ip.to_string(),
        };
        text += &format!(
            "Connect with:  mariadb -h{host} -P{port} -uroot    (or mysql; root has no password until you give it one)\n",
            port = address.port()
        );
    }
    if let Some(path) = &listening.socket {
        text += &format!("          or:  mariadb -S{} -uroot\n", path.display());
    }
    if let Some(address) = status.and_then(|status| status.address().ok()) {
        text += &format!("Status page:   http://{address}/\n");
    }
    text += "Stop with Ctrl-C or SIGTERM.\n";
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
