//! Which directories an engine may make its own: its own ones, and empty ones.
//!
//! A mistyped `--datadir`, or a volume that is not mounted, must not become an empty database, nor a mixture of somebody's files
//! and the engine's. So only the last directory of a path is made; and one in which there is something is taken only if it has
//! an engine's mark: the lock file, which comes before everything else, or the control file, which a copy has. A refused
//! directory is left as it was.

use super::real::{DIRECTORY_MODE, FILE_MODE, LOCK_NAME};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

const CONTROL_NAME: &str = "control";

/// True of a name that only data directories of MySQL and MariaDB have.
pub(crate) fn is_of_mysql(name: &str) -> bool {
    matches!(
        name,
        "ibdata1" | "mysql.ibd" | "aria_log_control" | "mysql" | "undo_001" | "undo_002"
    ) || name.starts_with("ib_logfile")
        || name.starts_with("#ib")
        || name.starts_with("#innodb_")
        || name.ends_with(".ibd")
}

/// Describes a directory of MySQL's, in which this name was found.
pub(crate) fn of_mysql(name: &str) -> String {
    format!(
        "{name} is there: this is a data directory of MySQL or MariaDB. Give Tidemark a directory of its own and load a dump into it"
    )
}

/// True of what a new file system, or a file manager, puts into a directory that is otherwise empty.
fn is_nothing(name: &str) -> bool {
    name == "lost+found" || name.starts_with('.')
}

/// Makes the directory if it is not there, and marks it with a lock file, so that the caller may write to it. The error is
/// `DirectoryNotEmpty` for one in which there are other files, `NotFound` if its parent is not there, `NotADirectory` for a file.
pub fn claim(directory: &Path) -> io::Result<()> {
    match fs::read_dir(directory) {
        Ok(entries) => {
            let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            let mut names = names.collect::<io::Result<Vec<String>>>()?;
            names.sort();
            check_contents(&names)?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => make(directory)?,
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(io::Error::new(error.kind(), "it is a file, not a directory"));
        }
        Err(error) => return Err(error),
    }
    OpenOptions::new()
        .create(true)
        .mode(FILE_MODE)
        .truncate(false)
        .write(true)
        .open(directory.join(LOCK_NAME))
        .map(drop)
}

fn check_contents(names: &[String]) -> io::Result<()> {
    if names.iter().any(|name| name == LOCK_NAME || name == CONTROL_NAME) {
        return Ok(());
    }
    let why = match names.iter().find(|name| is_of_mysql(name)) {
        Some(name) => of_mysql(name),
        None => match names.iter().find(|name| !is_nothing(name)) {
            None => return Ok(()),
            Some(name) => format!(
                "it is not empty, and no data directory of Tidemark: {name} is there. Give Tidemark an empty directory, or the name of \
                 one that is to be made"
            ),
        },
    };
    Err(io::Error::new(ErrorKind::DirectoryNotEmpty, why))
}

/// Makes the directory, not its parents, for certain.
fn make(directory: &Path) -> io::Result<()> {
    let parent = match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let made = DirBuilder::new().mode(DIRECTORY_MODE).create(directory);
    made.map_err(|error| match error.kind() {
        ErrorKind::NotFound => io::Error::new(
            error.kind(),
            format!(
                "{} is not there, and only the last directory of a path is made: is the volume mounted, the path right?",
                parent.display()
            ),
        ),
        _ => error,
    })?;
    fs::File::open(parent)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_directories_and_those_of_an_engine_are_taken() {
        let home = std::env::temp_dir().join(format!("tidemark-claim-{}", std::process::id()));
        let _ = fs::remove_dir_all(&home);
        fs::create_dir(&home).unwrap();
        let refused = |path: &Path, kind: ErrorKind, part: &str| {
            let error = claim(path).unwrap_err();
            assert_eq!(error.kind(), kind);
            assert!(error.to_string().contains(part), "{error}");
        };
        for (at, files, part) in [
            ("mine", &["file.txt"][..], "file.txt is there"),
            ("mysqls", &["auto.cnf", "ibdata1"], "MySQL or MariaDB"),
            ("mounted", &["lost+found", ".keep"], ""),
            ("a_copy", &["control", "data", "note"], ""),
        ] {
            let path = home.join(at);
            fs::create_dir(&path).unwrap();
            for name in files {
                fs::write(path.join(name), "").unwrap();
            }
            if part.is_empty() {
                claim(&path).unwrap();
                claim(&path).unwrap();
            } else {
                refused(&path, ErrorKind::DirectoryNotEmpty, part);
            }
            assert_eq!(path.join(LOCK_NAME).exists(), part.is_empty(), "{at}");
        }
        refused(&home.join("x/y"), ErrorKind::NotFound, "x is not there");
        assert!(!home.join("x").exists());
        refused(
            &home.join("mine/file.txt"),
            ErrorKind::NotADirectory,
            "a file, not a directory",
        );
        claim(&home.join("new")).unwrap();
        fs::remove_dir_all(&home).unwrap();
    }
}
