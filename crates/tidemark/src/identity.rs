//! `server_uuid`: a number for this server that no other has, made at the first start and kept in `auto.cnf` in the data directory,
//! as MySQL does.
//!
//! It is no part of the data: a copy of the directory by CLONE or `tidemark backup` does not have it, and so becomes another server.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file that says it.
pub const NAME: &str = "auto.cnf";
const NEW_NAME: &str = "auto.cnf.new";

/// Returns the number of the server whose data is here. One that cannot be kept is another at the next start, which is
/// no reason not to start.
pub fn server_uuid(datadir: &Path) -> io::Result<String> {
    let path = datadir.join(NAME);
    match fs::read_to_string(&path) {
        Ok(text) => match text.lines().find_map(read) {
            Some(uuid) => return Ok(uuid),
            None => log::warn!("{} has no server-uuid; it gets a new one", path.display()),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => log::warn!("cannot read {}: {e}", path.display()),
    }
    let uuid = made(&random::<16>()?);
    if let Err(e) = keep(datadir, &uuid) {
        log::warn!(
            "cannot write {}, so the server_uuid is another at the next start: {e}",
            path.display()
        );
    }
    Ok(uuid)
}

/// Returns random bytes of the operating system's.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read(line: &str) -> Option<String> {
    let (name, value) = line.split_once('=')?;
    let value = value.trim().to_ascii_lowercase();
    let is_uuid = value.len() == 36
        && value.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    (name.trim().replace('_', "-") == "server-uuid" && is_uuid).then_some(value)
}

/// A random UUID (version 4) of these bytes.
fn made(bytes: &[u8; 16]) -> String {
    let mut bytes = *bytes;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Whole or not at all, also after a power cut.
fn keep(datadir: &Path, uuid: &str) -> io::Result<()> {
    let new = datadir.join(NEW_NAME);
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o640)
        .open(&new)?;
    write!(file, "[auto]\nserver-uuid={uuid}\n")?;
    file.sync_all()?;
    fs::rename(&new, datadir.join(NAME))?;
    File::open(datadir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_read_again() {
        let dir = std::env::temp_dir().join(format!("tidemark-uuid-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let first = server_uuid(&dir).unwrap();
        assert_eq!((first.len(), &first[14..15]), (36, "4"));
        assert_eq!(server_uuid(&dir).unwrap(), first);
        fs::write(
            dir.join(NAME),
            "[auto]\nserver_uuid = 3E11FA47-71CA-11E1-9E33-C80AA9429562\n",
        )
        .unwrap();
        assert_eq!(server_uuid(&dir).unwrap(), "3e11fa47-71ca-11e1-9e33-c80aa9429562");
        fs::write(dir.join(NAME), "[auto]\nserver-uuid=\n").unwrap();
        let third = server_uuid(&dir).unwrap();
        assert!(third != first && server_uuid(&dir).unwrap() == third);
        fs::remove_dir_all(&dir).unwrap();
    }
}
