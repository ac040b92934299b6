//! Files that no setting may have something else written to: those in which the server keeps its data and its keys.
//!
//! What counts is where a path leads: links are followed, and a file with another name that is the same file is found by its
//! number. A name that there is no file of yet counts as well, such as that of a log segment to come.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tidemark_engine::is_own_name;

/// True if something in a data directory (or an archive of its log) has this name because the server needs it.
fn is_kept(name: &str) -> bool {
    let beside = ["server-cert.pem", "server-key.pem", "auto.cnf"];
    is_own_name(name) || beside.iter().any(|file| name.starts_with(file))
}

/// True if a path leads to a file of the server's own in this directory, or would once it is made.
pub fn is_own(directory: &Path, path: &Path) -> bool {
    let path = directory.join(path);
    let (Ok(directory), Some(name)) = (directory.canonicalize(), path.file_name()) else {
        return false;
    };
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    if parent.is_some_and(|parent| parent == directory) && is_kept(&name.to_string_lossy()) {
        return true;
    }
    let Ok(found) = fs::metadata(&path) else {
        return false;
    };
    let same = |entry: fs::DirEntry| {
        is_kept(&entry.file_name().to_string_lossy())
            && entry
                .metadata()
                .is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
    };
    fs::read_dir(directory).is_ok_and(|entries| entries.flatten().any(same))
}

/// True if a log may be written to a file: it is a plain file that is not the server's own, or can be made in a directory that
/// is there.
pub fn may_be_log(directory: &Path, written: &str) -> bool {
    let path = directory.join(written);
    let ends_wrongly = [".cnf", ".ini"].iter().any(|end| written.ends_with(end));
    if written.is_empty() || ends_wrongly || is_own(directory, &path) {
        return false;
    }
    match fs::metadata(&path) {
        Ok(found) => found.is_file() && !found.permissions().readonly(),
        Err(_) => path.parent().is_some_and(Path::is_dir) && path.file_name().is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_keeps_is_found_under_every_name() {
        let directory = std::env::temp_dir().join(format!("tidemark-own-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("sub")).unwrap();
        for name in ["control", "data", "server-key.pem", "mine.log"] {
            fs::write(directory.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("control", directory.join("link.log")).unwrap();
        fs::hard_link(directory.join("data"), directory.join("hard.log")).unwrap();
        let whole = directory.join("data").display().to_string();
        for own in [
            "control",
            "./control",
            "sub/../data",
            "redo-0000000099",
            "redo-spare-0000",
            "scratch",
            "doublewrite",
            "lock",
            "backup",
            "server-key.pem",
            "server-cert.pem.new",
            "link.log",
            "hard.log",
            &whole,
        ] {
            assert!(is_own(&directory, Path::new(own)), "{own}");
            assert!(!may_be_log(&directory, own), "{own}");
        }
        for wrong in ["", "sub", "/no/such/directory/x", "none/x", "x.cnf", "/"] {
            assert!(!may_be_log(&directory, wrong), "{wrong}");
        }
        for fine in ["mine.log", "new.log", "sub/control", "sub/../new.log"] {
            assert!(!is_own(&directory, Path::new(fine)), "{fine}");
            assert!(may_be_log(&directory, fine), "{fine}");
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
