//! A data directory whose files are missing, cut short, emptied or another directory's is refused, by the server and by the
//! check, with an error that names the file; and nothing is changed, so that putting the file back mends it.

mod common;

use common::*;
use std::sync::Arc;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::disk::{Access, Disk, File};
use tidemark_engine::*;

fn file(disk: &SimDisk, name: &str) -> Arc<dyn File> {
    disk.open(name, true, Access::Buffered).unwrap()
}

fn content(disk: &SimDisk, name: &str) -> Vec<u8> {
    let file = file(disk, name);
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn put(disk: &SimDisk, name: &str, bytes: &[u8]) {
    let file = file(disk, name);
    file.truncate(0).unwrap();
    file.write_at(bytes, 0).unwrap();
    file.sync().unwrap();
    disk.sync_dir().unwrap();
}

fn all_files(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let names = disk.list().unwrap();
    names
        .into_iter()
        .filter(|name| name != "scratch")
        .map(|name| (name.clone(), content(disk, &name)))
        .collect()
}

/// A directory with rows, stopped in order or not.
fn made(seed: u64, clean: bool) -> (SimDisk, TableId) {
    let disk = SimDisk::new(seed);
    let engine = open(&disk);
    let table = create(&engine, &schema());
    let insert = |from: i64| {
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        for id in from..from + 300 {
            table
                .insert(&mut txn, &Row::new(id, id % 7, &"x".repeat(200)).datums())
                .unwrap();
        }
        txn.commit().unwrap();
    };
    insert(0);
    let id = table.id();
    engine.shutdown().unwrap();
    drop((table, engine));
    if !clean {
        let engine = open(&disk);
        let table = engine.table(id).unwrap();
        let mut txn = begin(&engine, Isolation::ReadCommitted);
        table
            .insert(&mut txn, &Row::new(1000, 1, "late").datums())
            .unwrap();
        txn.commit().unwrap();
    }
    (disk.restart(), id)
}

/// Fails unless the directory is refused with an error that says all of `parts`, and left as it was.
#[track_caller]
fn refused(disk: &SimDisk, parts: &[&str]) {
    let before = all_files(disk);
    for what in ["open", "check"] {
        let error = match what {
            "open" => Engine::open(config(disk)).err(),
            _ => Engine::check_with(config(disk)).err(),
        };
        let Some(error) = error else {
            panic!("{what} takes it for a good one: {parts:?}")
        };
        assert!(
            matches!(error, Error::CannotOpen(_) | Error::Refused(_)),
            "{what}: {error}"
        );
        for part in parts {
            assert!(error.to_string().contains(part), "{what}: {part:?} in {error}");
        }
    }
    assert!(all_files(disk) == before, "a refusal changes nothing");
}

#[track_caller]
fn opens(disk: &SimDisk, id: TableId, rows: usize) {
    let engine = open(disk);
    let table = engine.table(id).unwrap();
    assert_eq!(
        all(&table, &mut begin(&engine, Isolation::ReadCommitted)).len(),
        rows
    );
}

#[test]
fn a_data_file_that_is_missing_empty_or_cut_short_is_refused_by_name() {
    for clean in [true, false] {
        let (disk, id) = made(1, clean);
        let data = content(&disk, "data");
        disk.remove("data").unwrap();
        refused(&disk, &["data is missing", "control says", "Put the file back"]);
        put(&disk, "data", &[]);
        refused(&disk, &["data is cut short", "0 bytes", "Put the file back"]);
        put(&disk, "data", &data[..data.len() / 2]);
        refused(&disk, &["data is cut short"]);
        if clean {
            // Else all of it is still in the doublewrite file.
            put(&disk, "data", &vec![0; data.len()]);
            refused(&disk, &["data is damaged", "page 0"]);
        }
        put(&disk, "data", &data);
        opens(&disk, id, if clean { 300 } else { 301 });
    }
}

#[test]
fn files_of_another_directory_are_refused_by_name() {
    let (disk, id) = made(1, false);
    let (other, _) = made(2, false);
    for name in disk.list().unwrap() {
        if name == "scratch" || name.starts_with("redo-") && name != "redo-0000000000" {
            continue;
        }
        let own = content(&disk, &name);
        put(&disk, &name, &content(&other, &name));
        let named = if name == "control" { "data" } else { &name };
        refused(&disk, &[named]);
        put(&disk, &name, &own);
    }
    opens(&disk, id, 301);
}

#[test]
fn a_control_file_that_is_missing_or_damaged_is_no_new_database() {
    let (disk, id) = made(3, true);
    let control = content(&disk, "control");
    disk.remove("control").unwrap();
    refused(&disk, &["control is missing", "data holds data"]);
    let data = content(&disk, "data");
    disk.remove("data").unwrap();
    refused(&disk, &["control is missing", "redo-"]);
    put(&disk, "data", &data);
    put(&disk, "control", &[]);
    refused(&disk, &["control is damaged"]);
    put(&disk, "control", &control);
    opens(&disk, id, 300);
}

#[test]
fn a_directory_of_innodb_is_left_alone() {
    for name in ["ibdata1", "mysql.ibd", "ib_logfile0", "undo_001", "t.ibd"] {
        let disk = SimDisk::new(1);
        put(&disk, name, b"somebody else's");
        refused(&disk, &[name, "MySQL"]);
    }
    let path = std::env::temp_dir().join(format!("tidemark-innodb-{}", std::process::id()));
    std::fs::create_dir_all(path.join("#innodb_redo")).unwrap();
    let error = Engine::open(Config::new(&path)).err().expect("it is refused");
    assert!(error.to_string().contains("#innodb_redo"), "{error}");
    std::fs::remove_dir_all(path).unwrap();
}

#[test]
fn segments_of_the_log_that_are_missing_or_cut_short_are_refused_by_name() {
    // After a clean stop nothing of the log is needed.
    let (disk, id) = made(4, false);
    let name = "redo-0000000000";
    let segment = content(&disk, name);
    disk.remove(name).unwrap();
    refused(&disk, &[name, "missing"]);
    put(&disk, name, &segment[..4096 + 1000]);
    refused(&disk, &[name, "cut short"]);
    put(&disk, name, &vec![0; segment.len()]);
    refused(&disk, &["the log is damaged in redo-0000000000"]);
    put(&disk, name, &segment);
    opens(&disk, id, 301);
}

/// What was committed last stands where nothing yet shows that the log went so far; but that a segment which the log had come to
/// is shorter than it was made does.
#[test]
fn a_segment_cut_short_behind_the_last_proof_is_refused() {
    let (disk, id) = made(6, false);
    let names = disk.list().unwrap();
    let is_in_use = |name: &&String| content(&disk, name).iter().any(|&byte| byte != 0);
    let mut segments = names.iter().filter(|name| name.starts_with("redo-00"));
    let name = segments.rfind(is_in_use).unwrap();
    let segment = content(&disk, name);
    let end = segment.iter().rposition(|&byte| byte != 0).unwrap();
    for len in [end - 200, end] {
        put(&disk, name, &segment[..len]);
        refused(&disk, &[name, "cut short"]);
    }
    put(&disk, name, &segment);
    opens(&disk, id, 301);
}

/// A power cut while a segment is made leaves half a one, which is no damage: the log has not come to it.
#[test]
fn a_segment_that_was_only_half_made_is_made_again() {
    for len in [0, 4096] {
        let (disk, id) = made(7, false);
        let names = disk.list().unwrap();
        let segments = names.iter().filter(|name| name.starts_with("redo-00"));
        let name = segments.clone().next_back().unwrap();
        let whole = content(&disk, name);
        assert!(segments.count() > 1 && whole.iter().all(|&byte| byte == 0));
        put(&disk, name, &whole[..len]);
        opens(&disk, id, 301);
    }
}

#[test]
fn a_directory_with_nothing_in_it_is_not_there_to_be_checked() {
    let disk = SimDisk::new(1);
    assert!(matches!(
        Engine::check_with(config(&disk)),
        Err(Error::CannotOpen(_))
    ));
    open(&disk);
}
