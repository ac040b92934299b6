//! A server from start to stop.
//!
//! The order matters at both ends: the data is open before a client can connect, and none is connected any more when
//! it is closed.

use crate::arguments::{Arguments, Failure, Start};
use crate::files;
use crate::identity;
use crate::initialize;
use crate::logger::{self, Format};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::io::{self, IsTerminal, Write};
use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidemark_engine::disk::claim::claim;
use tidemark_server::{Server, ServerOptions};
use tidemark_sql::own_files::is_own;
use tidemark_sql::{Database, Options};
use tidemark_status::StatusServer;

/// Opens the exhibit that `--museum` names.
#[cfg(feature = "museum")]
fn open_museum(arguments: &mut Arguments) -> Result<(), Failure> {
    use tidemark_engine::museum;
    match arguments.take("museum")? {
        Some(name) if !museum::open(&name) => {
            let names: Vec<&str> = museum::names().collect();
            Err(Failure::Usage(format!(
                "--museum is one of {}, not '{name}'",
                names.join(", ")
            )))
        }
        _ => Ok(()),
    }
}

/// Where the status page is if the server is started without any option.
const STATUS_PORT: u16 = 8306;

pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let is_bare = arguments.is_bare;
    let format = match arguments.take("log_format")? {
        None => Format::default(),
        Some(name) => {
            let unknown = || Failure::Usage(format!("--log-format is text or json, not '{name}'"));
            Format::by_name(&name).ok_or_else(unknown)?
        }
    };
    #[cfg(feature = "museum")]
    open_museum(&mut arguments)?;
    let given = settings(&arguments);
    let start = arguments.start;
    let mut options = Options::new(arguments.datadir);
    for option in arguments.options {
        let added = options.add(&option.name, option.value.clone());
        added.map_err(|why| Failure::Usage(option.complain(&why)))?;
    }
    if start == Start::ValidateConfig {
        listening(&options)?;
        for warning in options.warnings() {
            eprintln!("tidemark: {warning}");
        }
        return Ok(());
    }
    if matches!(start, Start::Initialize { .. }) {
        initialize::refuse_existing(&options.datadir)?;
    }
    start_log(&options, format)?;
    for warning in options.warnings() {
        log::warn!("{warning}");
    }
    let files_max = files::raise_limit();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1]).map_err(|e| e.to_string())?;
    log_start(&options, &given);
    if let Start::Initialize { is_insecure } = start {
        return Ok(make_directory(options, is_insecure)?);
    }

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
    set_uuid(&database, &datadir)?;
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
            return Err(e.to_string().into());
        }
    };
    if let Some(status) = &status {
        let attached = status.attach(database.clone());
        attached.map_err(|e| format!("the status page: {e}"))?;
    }
    log::info!(
        "ready for connections. Version: '{}'  socket: '{}'  port: {}",
        database.variable("version").unwrap_or_default(),
        listening.socket.as_deref().unwrap_or(Path::new("")).display(),
        server.addresses().first().map_or(0, |address| address.port())
    );
    if let Some(address) = status.as_ref().and_then(|status| status.address().ok()) {
        log::info!("the status page is at http://{address}/");
    }
    if format == Format::Text || io::stdout().is_terminal() {
        say_hello(
            &server,
            &listening,
            status.as_ref(),
            &datadir.display().to_string(),
        );
    }

    for signal in signals.forever() {
        if !matches!(signal, SIGHUP | SIGUSR1) {
            break;
        }
        if let Err(e) = database.flush_logs() {
            log::error!("{}", e.message);
        }
    }
    logger::tell("Stopping.");
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
    logger::tell("Stopped.");
    Ok(())
}

/// `--initialize`: the data directory is made, and nobody is listened to.
fn make_directory(options: Options, is_insecure: bool) -> Result<(), String> {
    let init_file = options
        .get("init_file")
        .filter(|file| !file.is_empty() && file != "NULL");
    let datadir = options.datadir.clone();
    let database = tidemark_sql::open(options).map_err(|e| e.message)?;
    let done = set_uuid(&database, &datadir)
        .and_then(|()| initialize::set_root_password(&database, is_insecure))
        .and_then(|()| init_file.map_or(Ok(()), |file| run_init_file(&database, Path::new(&file))));
    let closed = database.shutdown().map_err(|e| format!("closing the data: {e}"));
    done.and(closed)?;
    logger::tell("Stopped: the data directory is there.");
    Ok(())
}

fn set_uuid(database: &Database, datadir: &Path) -> Result<(), String> {
    let uuid =
        identity::server_uuid(datadir).map_err(|e| format!("no random numbers for server_uuid: {e}"))?;
    let set = database.set_variable_at_start("server_uuid", &uuid);
    set.map_err(|e| e.message)
}

/// `status_port`, `status_address`: the status page, if there is to be one. It listens before the data is open.
fn status_page(options: &Options) -> Result<Option<StatusServer>, String> {
    let text = |name: &str| options.get_or_default(name).unwrap_or_default();
    let port = text("status_port");
    let port: u16 = port.parse().map_err(|_| format!("'{port}' is no port"))?;
    if port == 0 {
        return Ok(None);
    }
    let address = text("status_address");
    let listens = text("skip_networking") != "ON";
    if listens && text("port") == port.to_string() && is_shared(&text("bind_address"), &address) {
        return Err(format!("port and status_port are both {port}"));
    }
    let page = StatusServer::start(&address, port).map_err(|e| e.to_string())?;
    if text("skip_grant_tables") == "ON" && !page.is_local() {
        return Err("skip_grant_tables knows no accounts, so the status page can be on this machine only: --status-address=127.0.0.1".to_owned());
    }
    Ok(Some(page))
}

/// Returns true if one of several addresses to listen on, separated by commas, and another cannot have the same port.
fn is_shared(bind_address: &str, other: &str) -> bool {
    let address = |name: &str| match name.trim() {
        "" => None,
        "*" => Some(IpAddr::from(Ipv6Addr::UNSPECIFIED)),
        name => Some((name, 0).to_socket_addrs().ok()?.next()?.ip().to_canonical()),
    };
    // Every address of IPv6 is every one of IPv4 too.
    let takes = |a: IpAddr, b: IpAddr| a.is_unspecified() && (a.is_ipv6() || b.is_ipv4());
    let Some(other) = address(other) else {
        return false;
    };
    let mut listened = bind_address.split(',').filter_map(address);
    listened.any(|own| own == other || takes(own, other) || takes(other, own))
}

/// `log_error`: a file's name; `stderr` for none. A file in the data directory is there only once that is known to be ours.
fn start_log(options: &Options, format: Format) -> Result<(), String> {
    let name = options.get("log_error").unwrap_or_default();
    let path = (!matches!(name.as_str(), "" | "stderr")).then(|| options.datadir.join(&name));
    if let Some(path) = &path {
        if Path::new(&name).is_relative() {
            let datadir = options.datadir.display();
            claim(&options.datadir).map_err(|e| format!("cannot open {datadir}: {e}"))?;
        }
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
    let machine = tidemark_memory::machine_bytes();
    let level = match pool > machine / 10 * 9 {
        true => log::Level::Warn,
        false => log::Level::Info,
    };
    log::log!(
        level,
        "Memory: a buffer pool of {} MiB, of {} MiB that the machine has{}",
        pool / MIB,
        machine / MIB,
        match level {
            log::Level::Warn =>
                ". When it is full the operating system will end the server: make innodb_buffer_pool_size smaller",
            _ => "",
        }
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
    text += &match status.and_then(|status| status.address().ok()) {
        Some(address) => format!("Status page:   http://{address}/\n"),
        None => format!("Status page:   none (--status-port {STATUS_PORT} has one)\n"),
    };
    text += "Stop with Ctrl-C or SIGTERM.\n";
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_shared_by_addresses_of_which_one_takes_the_other() {
        for (bind_address, other, shared) in [
            ("*", "127.0.0.1", true),
            ("*", "::1", true),
            ("::", "10.0.0.1", true),
            ("0.0.0.0", "127.0.0.1", true),
            ("0.0.0.0", "::1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "0.0.0.0", true),
            ("127.0.0.1, 127.0.0.2", "127.0.0.2", true),
            ("127.0.0.1,::1", "127.0.0.2", false),
            ("", "127.0.0.1", false),
        ] {
            assert_eq!(is_shared(bind_address, other), shared, "{bind_address} {other}");
        }
    }
}
