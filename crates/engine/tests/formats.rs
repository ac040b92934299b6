//! Data directories of every version of the format, as the engines of their time left them: each opens, or is refused
//! with an error that names its version. They lie in `tests/formats`, and each is an unclean stop: part of it is in pages,
//! part in the log only, and a transaction that had not ended is to be undone.
//!
//! When the format changes: raise the version, say in `docs/architecture.md` what changed, and store a directory with
//! `cargo test -p tidemark-engine --test formats -- --ignored`.

mod common;

use common::*;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::disk::{Access, Disk};
use tidemark_engine::*;

fn stored(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/formats")).join(format!("{name}.tar.gz"))
}

/// Rows of every kind: short and long, of which the long stand in pages of their own.
fn row(id: i64) -> Row {
    let long = if id % 50 == 7 { 40_000 } else { 20 };
    Row {
        id,
        k: (id % 3 != 0).then_some(id % 10),
        u: (id % 4 == 0).then_some(1000 + id),
        c: Some(vec![b'a' + (id % 26) as u8; long]),
    }
}

/// The table's definition, whose long column has no key.
fn definition() -> TableSchema {
    let mut schema = schema();
    schema.secondary.pop();
    schema
}

/// What [`write`] leaves in the end.
fn expected() -> Vec<Row> {
    let kept = (0..300).filter(|id| id % 7 != 3);
    kept.map(|id| Row {
        k: if id % 5 == 1 { Some(77) } else { row(id).k },
        ..row(id)
    })
    .collect()
}

/// A table whose columns have come and gone beside its rows, from version 4 on: a long column has gone, one in front has come.
fn write_changed(engine: &Engine) {
    let mut ddl = engine.ddl().unwrap();
    let id = ddl.create_table(&definition()).unwrap();
    ddl.put_meta("names", b"changed", &id.0.to_be_bytes()).unwrap();
    ddl.commit().unwrap();
    let insert = |rows: [Vec<Datum>; 20]| {
        let table = engine.table(id).unwrap();
        let mut txn = begin(engine, Isolation::RepeatableRead);
        rows.iter().for_each(|row| table.insert(&mut txn, row).unwrap());
        txn.commit().unwrap();
    };
    let rows: Vec<Row> = (0..20).map(row).collect();
    insert(std::array::from_fn(|id| rows[id].datums().to_vec()));
    let mut ddl = engine.ddl().unwrap();
    let column = Column {
        ty: ColumnType::Bytes,
        nullable: false,
    };
    let value = Datum::Bytes(b"came");
    let mut columns = vec![NewColumn::Added { column, value }];
    columns.extend([0, 1, 2].map(NewColumn::Kept));
    ddl.change_columns(id, &columns).unwrap();
    ddl.commit().unwrap();
    insert(std::array::from_fn(|n| {
        vec![
            Datum::Bytes(b"given"),
            Datum::Int(20 + n as i64),
            Datum::Null,
            Datum::Null,
        ]
    }));
}

/// Fails unless rows of both of its versions are there.
fn changed_is_there(engine: &Engine) {
    let Some(name) = engine.meta_get("names", b"changed").unwrap() else {
        return;
    };
    let table = engine
        .table(TableId(u64::from_be_bytes(name.try_into().unwrap())))
        .unwrap();
    let mut txn = begin(engine, Isolation::RepeatableRead);
    let mut found = Vec::new();
    let mut see = |view: &RowView| {
        let text = view.get(0).as_bytes().unwrap().to_vec();
        found.push((view.get(1).as_int().unwrap(), text, view.get(2).as_int()));
        Ok((Keep::Locked, Flow::Continue))
    };
    let all = KeyRange::all();
    table
        .scan(&mut txn, &RangeScan::new(0, &all), Read::Consistent, &mut see)
        .unwrap();
    txn.commit().unwrap();
    let of = |id: i64| match id {
        0..20 => (id, b"came".to_vec(), row(id).k),
        _ => (id, b"given".to_vec(), None),
    };
    assert_eq!(found, (0..40).map(of).collect::<Vec<_>>());
}

/// Fills a directory and stops as a power cut does.
fn write() -> SimDisk {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    write_changed(&engine);
    let mut ddl = engine.ddl().unwrap();
    let id = ddl.create_table(&definition()).unwrap();
    ddl.put_meta("names", b"table", &id.0.to_be_bytes()).unwrap();
    ddl.put_meta("names", b"long", &[7; 10_000]).unwrap();
    ddl.commit().unwrap();
    let table = engine.table(id).unwrap();
    let mut txn = begin(&engine, Isolation::RepeatableRead);
    (0..200).for_each(|id| table.insert(&mut txn, &row(id).datums()).unwrap());
    txn.commit().unwrap();
    engine.shutdown().unwrap();
    drop((txn, table, engine));

    let engine = open(&disk);
    let table = engine.table(id).unwrap();
    // From version 7 on the inserts to come carry this.
    table
        .auto_increment_reserve(300, Sequence::up_to(u64::MAX))
        .unwrap();
    // An old view keeps what is deleted from being purged.
    let mut view = begin(&engine, Isolation::RepeatableRead);
    view.consistent_snapshot().unwrap();
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    for id in 200..300 {
        table.insert(&mut txn, &row(id).datums()).unwrap();
    }
    for id in (0..300).filter(|id| id % 5 == 1) {
        update(&table, &mut txn, id, &mut |_, buf| buf.set(1, Datum::Int(77))).unwrap();
    }
    for id in (0..300).filter(|id| id % 7 == 3) {
        assert!(delete(&table, &mut txn, id).unwrap());
    }
    txn.commit().unwrap();
    // A transaction that does not end, but whose changes are in the log, for they lie before the commit of another.
    let mut loser = begin(&engine, Isolation::ReadCommitted);
    for id in [4, 6, 11, 205, 206] {
        update(&table, &mut loser, id, &mut |_, buf| buf.set(1, Datum::Int(99))).unwrap();
    }
    assert!(delete(&table, &mut loser, 12).unwrap() && delete(&table, &mut loser, 208).unwrap());
    table.insert(&mut loser, &row(1000).datums()).unwrap();
    let mut ddl = engine.ddl().unwrap();
    ddl.put_meta("names", b"last", b"commit").unwrap();
    ddl.commit().unwrap();
    disk.restart()
}

/// Fails unless the directory opens with everything in it, now and the next time.
fn opens(disk: &SimDisk) {
    check(disk);
    for _ in 0..2 {
        let engine = open(disk);
        let name = engine.meta_get("names", b"table").unwrap().unwrap();
        let table = engine
            .table(TableId(u64::from_be_bytes(name.try_into().unwrap())))
            .unwrap();
        assert_eq!(engine.meta_get("names", b"long").unwrap().unwrap(), [7; 10_000]);
        assert_eq!(engine.meta_get("names", b"last").unwrap().unwrap(), b"commit");
        // Before version 7 the directories of this test had no counter.
        assert!([1, 301].contains(&table.auto_increment_peek()));
        let mut txn = begin(&engine, Isolation::RepeatableRead);
        assert_same(&all(&table, &mut txn), &expected());
        for index in 1..=2 {
            let mut by_index =
                rows(&table, &mut txn, index, &KeyRange::all(), false, Read::Consistent).unwrap();
            by_index.sort();
            assert_same(&by_index, &expected());
        }
        txn.commit().unwrap();
        changed_is_there(&engine);
        engine.purge().unwrap();
        engine.shutdown().unwrap();
    }
    check(disk);
}

const BLOCK: usize = 512;

/// The files of the disk as a `tar` archive, which whoever is curious can look into.
fn pack(disk: &SimDisk) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    for name in disk.list().unwrap() {
        let file = disk.open(&name, false, Access::Buffered).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        let mut header = [0; BLOCK];
        let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
        put(0, &name);
        put(100, "0000644\0");
        put(124, &format!("{:011o}\0", bytes.len()));
        put(136, "00000000000\0");
        put(148, "        ");
        put(156, "0");
        put(257, "ustar\x0000");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.write_all(&header).unwrap();
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        out.write_all(&bytes).unwrap();
    }
    out.write_all(&[0; 2 * BLOCK]).unwrap();
    out.finish().unwrap()
}

fn unpack(archive: &[u8]) -> SimDisk {
    let mut bytes = Vec::new();
    GzDecoder::new(archive).read_to_end(&mut bytes).unwrap();
    let disk = SimDisk::new(1);
    let mut rest = bytes.as_slice();
    while let Some((header, behind)) = rest.split_at_checked(BLOCK)
        && header[0] != 0
    {
        let name = header[..100].split(|&byte| byte == 0).next().unwrap();
        let size = std::str::from_utf8(&header[124..135]).unwrap();
        let size = usize::from_str_radix(size, 8).unwrap();
        let file = disk
            .open(std::str::from_utf8(name).unwrap(), true, Access::Buffered)
            .unwrap();
        file.write_at(&behind[..size], 0).unwrap();
        file.sync().unwrap();
        rest = &behind[size.next_multiple_of(BLOCK)..];
    }
    disk.sync_dir().unwrap();
    disk
}

#[test]
fn directories_of_every_version_open() {
    let mut names: Vec<_> = std::fs::read_dir(stored("").parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    assert!(names.len() >= 4, "{names:?}");
    for name in names {
        println!("{}", name.display());
        opens(&unpack(&std::fs::read(name).unwrap()));
    }
}

/// One is stored of the version that this engine writes.
#[test]
fn the_version_of_this_engine_is_among_them() {
    let versions = |disk: &SimDisk| {
        let control = disk.open("control", false, Access::Buffered).unwrap();
        let mut version = [0; 4];
        control.read_at(&mut version, VERSION_AT).unwrap();
        u32::from_le_bytes(version)
    };
    let current = versions(&write());
    let archive =
        std::fs::read(stored(&format!("v{current}"))).expect("raise the version, store a directory");
    assert_eq!(versions(&unpack(&archive)), current);
}

/// Where the first copy in the control file says its version.
const VERSION_AT: u64 = 8;

#[test]
fn another_version_is_refused_by_its_name() {
    for version in [0_u32, 9, 900] {
        let disk = write();
        let control = disk.open("control", false, Access::Buffered).unwrap();
        for copy in 0..2 {
            control
                .write_at(&version.to_le_bytes(), copy * 4096 + VERSION_AT)
                .unwrap();
        }
        control.sync().unwrap();
        let Err(error) = Engine::open(config(&disk)) else {
            panic!("version {version} was opened");
        };
        assert!(matches!(error, Error::Refused(_)), "{error}");
        assert_eq!(
            error.to_string(),
            format!(
                "cannot open the data directory: its format is version {version}; this engine opens versions 1 to 8"
            )
        );
        // Neither has the attempt changed anything.
        assert!(Engine::check_with(config(&disk)).is_err());
    }
}

#[test]
#[ignore = "for when the format changes"]
fn store_a_directory_of_this_version() {
    let archive = pack(&write());
    let version = 8;
    std::fs::write(stored(&format!("v{version}")), &archive).unwrap();
    println!("{} bytes", archive.len());
}
