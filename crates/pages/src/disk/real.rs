//! The disk that is one: a directory of a file system, locked against a second engine.
//!
//! Pages go past the page cache (`O_DIRECT`) where the file system allows it, so that a page is in memory once: in the
//! pool. The log goes through the page cache, because it is written in small pieces and hardly ever read.

use super::{Access, Disk, File, Part, Room};
use crate::ids::PAGE_SIZE;
use std::cell::UnsafeCell;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the file whose lock says that an engine works here.
pub(super) const LOCK_NAME: &str = "lock";

/// Whoever can read the files can read every table, whatever was granted: they are the owner's, and the group's to read.
pub(super) const DIRECTORY_MODE: u32 = 0o750;
pub(super) const FILE_MODE: u32 = 0o640;

/// A directory of the operating system's, locked for as long as this lives.
pub struct RealDisk {
    directory: PathBuf,
    /// The directory itself, to be synced; kept open, so that a process that has run out of descriptors can still do that.
    open: Option<fs::File>,
    _lock: Option<fs::File>,
}

/// Creates a directory and those above it, as far as they are not there, and makes their names certain.
pub fn create_directory(directory: &Path) -> io::Result<()> {
    let missing = directory
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists());
    let missing: Vec<&Path> = missing.collect();
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(directory)?;
    for made in missing {
        let parent = made.parent().filter(|parent| !parent.as_os_str().is_empty());
        fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

impl RealDisk {
    /// Takes the directory, creating it if it is not there. Fails with `WouldBlock` if another engine has it.
    pub fn open(directory: &Path) -> io::Result<RealDisk> {
        create_directory(directory)?;
        let lock = OpenOptions::new()
            .create(true)
            .mode(FILE_MODE)
            .truncate(false)
            .write(true)
            .open(directory.join(LOCK_NAME))?;
        lock_exclusively(&lock)?;
        Ok(RealDisk {
            directory: directory.to_owned(),
            open: Some(fs::File::open(directory)?),
            _lock: Some(lock),
        })
    }

    /// A directory that is there and that another process may be working in: only to be read.
    pub fn unlocked(directory: &Path) -> RealDisk {
        RealDisk {
            directory: directory.to_owned(),
            open: None,
            _lock: None,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The names of what is of a kind, sorted.
    fn names(&self, is_wanted: impl Fn(&fs::FileType) -> bool) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if is_wanted(&entry.file_type()?)
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

#[allow(unsafe_code)]
fn lock_exclusively(file: &fs::File) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as `file` is borrowed.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Disk for RealDisk {
    fn open(&self, name: &str, create: bool, access: Access) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .mode(FILE_MODE);
        let path = self.path(name);
        if access == Access::Direct {
            let mut direct = options.clone();
            match direct.custom_flags(libc::O_DIRECT).open(&path) {
                Ok(file) => return Ok(Arc::new(RealFile(file))),
                // Some file systems (tmpfs of old) know no direct access.
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Arc::new(RealFile(options.open(&path)?)))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = self.names(fs::FileType::is_file)?;
        names.retain(|name| name != LOCK_NAME);
        Ok(names)
    }

    fn list_directories(&self) -> io::Result<Vec<String>> {
        self.names(fs::FileType::is_dir)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn sync_dir(&self) -> io::Result<()> {
        match &self.open {
            Some(directory) => directory.sync_all(),
            None => fs::File::open(&self.directory)?.sync_all(),
        }
    }
}

struct RealFile(fs::File);

/// Where unwanted bytes go: written by the kernel, in whatever order, and never read.
#[repr(align(4096))]
struct Nowhere(UnsafeCell<[u8; PAGE_SIZE]>);

// SAFETY: no reference to its bytes is ever made.
#[allow(unsafe_code)]
unsafe impl Sync for Nowhere {}

static NOWHERE: Nowhere = Nowhere(UnsafeCell::new([0; PAGE_SIZE]));

/// What the kernel is to fill, stretch by stretch, and how many bytes that is.
fn io_vectors(parts: &mut [Part<'_>]) -> (Vec<libc::iovec>, usize) {
    let (mut vectors, mut total) = (Vec::with_capacity(parts.len()), 0);
    let mut push = |base: *mut u8, len: usize| {
        vectors.push(libc::iovec {
            iov_base: base.cast(),
            iov_len: len,
        });
        total += len;
    };
    for part in parts {
        match part {
            Part::Into(out) => push(out.as_mut_ptr(), out.len()),
            Part::Skip(len) => {
                for done in (0..*len).step_by(PAGE_SIZE) {
                    push(NOWHERE.0.get().cast(), PAGE_SIZE.min(*len - done));
                }
            }
        }
    }
    (vectors, total)
}

impl RealFile {
    #[allow(unsafe_code)]
    fn fallocate(&self, mode: i32, offset: u64, len: u64) -> io::Result<()> {
        // SAFETY: the descriptor is open; the call takes no memory.
        match unsafe { libc::fallocate(self.0.as_raw_fd(), mode, offset as i64, len as i64) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS))
}

impl File for RealFile {
    fn room(&self) -> io::Result<Option<Room>> {
        let mut found = std::mem::MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: the descriptor is open, and the kernel fills what it is given, all of it if it returns 0.
        #[allow(unsafe_code)]
        let found = unsafe {
            match libc::fstatvfs(self.0.as_raw_fd(), found.as_mut_ptr()) {
                0 => found.assume_init(),
                _ => return Err(io::Error::last_os_error()),
            }
        };
        Ok(Some(Room {
            free: found.f_bavail * found.f_frsize,
            total: found.f_blocks * found.f_frsize,
        }))
    }

    fn read_at(&self, mut out: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !out.is_empty() {
            match self.0.read_at(out, offset) {
                Ok(0) => {
                    out.fill(0);
                    return Ok(());
                }
                Ok(n) => {
                    out = &mut out[n..];
                    offset += n as u64;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    #[allow(unsafe_code)]
    fn read_parts_at(&self, parts: &mut [Part<'_>], mut offset: u64) -> io::Result<()> {
        let (vectors, total) = io_vectors(parts);
        // SAFETY: the vectors lead to the buffers lent to us, and to memory that is never read.
        let read = unsafe {
            libc::preadv(
                self.0.as_raw_fd(),
                vectors.as_ptr(),
                vectors.len() as i32,
                offset as i64,
            )
        };
        if read == total as isize {
            return Ok(());
        }
        // The file's end, or trouble: part by part one learns which.
        for part in parts {
            match part {
                Part::Into(out) => {
                    self.read_at(out, offset)?;
                    offset += out.len() as u64;
                }
                Part::Skip(len) => offset += *len as u64,
            }
        }
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(data, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        match self.fallocate(0, offset, len) {
            Err(e) if is_unsupported(&e) => {
                if self.len()? < offset + len {
                    self.0.set_len(offset + len)?;
                }
                Ok(())
            }
            done => done,
        }
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        match self.fallocate(
            libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
            offset,
            len,
        ) {
            Err(e) if is_unsupported(&e) => Ok(()),
            done => done,
        }
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temp() -> PathBuf {
        let path = std::env::temp_dir().join(format!(
            "tidemark-disk-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn a_directory_has_one_owner_and_files_read_back() {
        let path = temp();
        let disk = RealDisk::open(&path).unwrap();
        assert_eq!(RealDisk::open(&path).err().unwrap().kind(), ErrorKind::WouldBlock);

        let file = disk.open("a", true, Access::Buffered).unwrap();
        file.write_at(b"water", 3).unwrap();
        let mut out = [9; 10];
        file.read_at(&mut out, 3).unwrap();
        assert_eq!(
            &out, b"water\0\0\0\0\0",
            "what lies behind the end reads as zeros"
        );

        let (mut one, mut other) = ([9; 2], [9; 4]);
        let mut parts = [Part::Into(&mut one), Part::Skip(2), Part::Into(&mut other)];
        file.read_parts_at(&mut parts, 3).unwrap();
        assert_eq!((&one, &other), (b"wa", b"r\0\0\0"), "parts of one stretch");

        file.allocate(0, 8192).unwrap();
        assert_eq!(file.len().unwrap(), 8192);
        file.punch(0, 4096).unwrap();
        file.read_at(&mut out, 3).unwrap();
        assert_eq!(out, [0; 10]);

        disk.rename("a", "b").unwrap();
        disk.sync_dir().unwrap();
        assert_eq!(disk.list().unwrap(), ["b"]);
        disk.remove("b").unwrap();
        assert!(disk.open("b", false, Access::Buffered).is_err());
        drop(disk);
        RealDisk::open(&path).unwrap();
        fs::remove_dir_all(&path).unwrap();
    }
}
