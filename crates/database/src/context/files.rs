//! Files of the server's machine that statements may make and read.
//!
//! `secure_file_priv` names the directory that they must stand in; NULL, the default, allows none, an empty text all. The
//! server's own data directory is closed in any case. What counts is where a path leads: links are followed first.

use super::state::SessionState;
use crate::error::memory::reserve_memory;
use crate::error::{Result, SqlError, er};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file that a statement makes. It is removed again unless it is kept.
pub struct NewFile {
    file: File,
    path: PathBuf,
    kept: bool,
}

impl NewFile {
    /// Makes a file that only the server's account may write, and its group may read. Errors 1290, 1086 and 1.
    pub fn create(state: &SessionState, written: &str) -> Result<NewFile> {
        let path = allowed(state, written)?;
        let mut options = OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o640).open(&path);
        let file = made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                SqlError::new(er::FILE_EXISTS, format!("File '{written}' already exists"))
            }
            _ => failed(
                er::CANT_CREATE_FILE,
                "Can't create/write to file",
                written,
                &error,
            ),
        })?;
        Ok(NewFile {
            file,
            path,
            kept: false,
        })
    }

    /// Appends. Error 3.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        let path = self.path.to_string_lossy();
        written.map_err(|error| failed(er::ERROR_ON_WRITE, "Error writing file", &path, &error))
    }

    /// The file stays.
    pub fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be removed stays, as the statement's error says nothing of it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Opens a plain file to be read. Errors 1290, 13 and 1085. What is opened is what was looked at: no link is followed that has come
/// since, and opening a pipe does not wait for its writer.
pub fn open(state: &SessionState, written: &str) -> Result<File> {
    let path = allowed(state, written)?;
    let path = path.canonicalize().unwrap_or(path);
    let path = allowed(state, &path.to_string_lossy())?;
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(&path);
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed(er::CANT_OPEN_FILE, "Can't get stat of", written, &error),
        _ => failed(er::CANT_OPEN_FILE, "Can't open file:", written, &error),
    })?;
    match file.metadata() {
        Ok(meta) if meta.is_file() => Ok(file),
        _ => Err(SqlError::new(
            er::TEXTFILE_NOT_READABLE,
            format!("The file '{written}' must be in the database directory or be readable by all"),
        )),
    }
}

/// The bytes of a file; `None` if it may not be read, cannot be, or has more than so many.
pub fn read_whole(state: &SessionState, written: &str, bytes_max: u64) -> Option<Vec<u8>> {
    let mut file = open(state, written).ok()?;
    let length = file.metadata().ok()?.len();
    if length > bytes_max {
        return None;
    }
    let _room = reserve_memory(usize::try_from(length).ok()?).ok()?;
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    (&mut file).take(bytes_max + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= bytes_max).then_some(bytes)
}

/// Reads the next part of a file; false at its end. Error 2.
pub fn read_part(file: &mut File, path: &str, part: &mut Vec<u8>) -> Result<bool> {
    const PART_LEN: usize = 64 << 10;
    part.resize(PART_LEN, 0);
    let read = file
        .read(part)
        .map_err(|error| failed(er::ERROR_ON_READ_EE, "Error reading file", path, &error))?;
    part.truncate(read);
    Ok(read > 0)
}

fn failed(code: u16, what: &str, path: &str, error: &io::Error) -> SqlError {
    let number = error.raw_os_error().unwrap_or(0);
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    SqlError::new(code, format!("{what} '{path}' (OS errno {number} - {text})"))
}

/// Where a path leads, if the file may stand there; it need not be there. Error 1290.
fn allowed(state: &SessionState, written: &str) -> Result<PathBuf> {
    let refused = || SqlError::option_prevents("--secure-file-priv");
    let secure = state.database.variable("secure_file_priv");
    let secure = secure.filter(|secure| secure != "NULL").ok_or_else(refused)?;
    let path = Path::new(written);
    let (Some(directory), Some(name), true) = (path.parent(), path.file_name(), path.is_absolute()) else {
        return Err(refused());
    };
    let directory = match directory.canonicalize() {
        Ok(directory) => directory,
        Err(_) if secure.is_empty() => return Ok(path.to_owned()),
        Err(_) => return Err(refused()),
    };
    let data = state.database.variable("datadir").unwrap_or_default();
    let is_inside = |outer: &str| {
        Path::new(outer)
            .canonicalize()
            .is_ok_and(|outer| directory.starts_with(outer))
    };
    if is_inside(&data) || !secure.is_empty() && !is_inside(&secure) {
        return Err(refused());
    }
    Ok(directory.join(name))
}
