//! Control and doublewrite files that say anything, with checksums that fit: a store on them opens or is refused, and does not
//! panic.

use super::tests::{new_page, ops, write};
use super::*;
use crate::disk::Access;
use crate::disk::sim::SimDisk;
use tidemark_testing::fuzz::Corpus;

const BLOCK: u64 = 4096;

/// A store that crashed with pages in its last batch.
fn crashed() -> SimDisk {
    let disk = SimDisk::new(1);
    let (store, _) = Store::on_sim(&disk, 64, ops()).expect("a new store");
    let pages: Vec<PageId> = (0..8).map(|_| new_page(&store, 0)).collect();
    for n in 0..40 {
        let lsn = write(&store, pages[n as usize % pages.len()], n);
        store.log().wait_durable(lsn.end).expect("the disk works");
    }
    store.clean(Aim::Log(Lsn::MAX), 4).expect("the disk works");
    store.stop_cleaner();
    disk.restart()
}

/// An input is a list of changes: two bytes say where in the part of a block that is used, and what stands there.
fn change(block: &mut [u8], from: usize, to: usize, input: &[u8]) {
    for piece in input.chunks_exact(2) {
        block[from + usize::from(piece[0]) % (to - from)] = piece[1];
    }
}

#[test]
fn control_files_of_any_content() {
    let disk = crashed();
    let corpus = Corpus::new("control")
        .input([8, 1])
        .input([16, 255, 17, 255, 24, 255])
        .input([48, 0, 49, 0, 50, 0, 51, 1])
        .input([64, 1, 72, 1]);
    corpus.play(400, |input| {
        let disk = disk.restart();
        let file = disk
            .open("control", false, Access::Buffered)
            .expect("it is there");
        for copy in 0..2 {
            let mut block = vec![0; BLOCK as usize];
            file.read_at(&mut block, copy * BLOCK).expect("the disk works");
            change(&mut block, 16, 96, input);
            let crc = crc32c::crc32c(&block[16..96]);
            block[12..16].copy_from_slice(&crc.to_le_bytes());
            file.write_at(&block, copy * BLOCK).expect("the disk works");
        }
        drop(Store::on_sim(&disk, 64, ops()));
    });
}

#[test]
fn doublewrite_files_of_any_content() {
    let disk = crashed();
    let corpus = Corpus::new("doublewrite")
        .input([0, 255])
        .input([4, 9, 20, 1, 21, 7])
        .input([20, 0, 24, 3]);
    corpus.play(300, |input| {
        let disk = disk.restart();
        let file = disk
            .open("doublewrite", false, Access::Direct)
            .expect("it is there");
        for area in 0..2 {
            let at = area * 257 * PAGE_SIZE as u64;
            let mut header = vec![0; PAGE_SIZE];
            file.read_at(&mut header, at).expect("the disk works");
            // The count, the number of the batch, the id, and the pages.
            change(&mut header, 12, 80, input);
            let crc = crc32c::crc32c(&header[12..]);
            header[8..12].copy_from_slice(&crc.to_le_bytes());
            file.write_at(&header, at).expect("the disk works");
        }
        drop(Store::on_sim(&disk, 64, ops()));
    });
}
