//! Power that goes at random moments, while clients work and while what they worked on starts again.

use super::scheduler::Random;
use std::fmt::Display;
use tidemark_engine::disk::sim::{Faults, SimDisk};

/// A number of about any size up to `most`.
pub fn of_any_size(random: &mut Random, most: u64) -> u64 {
    let bits = 1 + random.below(u64::from(64 - u64::leading_zeros(most)));
    1 + random.below(1 << bits).min(most)
}

/// The power goes at so many changes of the disk from now on.
pub fn cut_in(changes: u64) -> Faults {
    Faults {
        power_cut_in: Some(changes),
        ..Faults::default()
    }
}

/// The power goes if it has not yet; or only the process ends.
pub fn lose_power(random: &mut Random, disk: &mut SimDisk) {
    if random.below(8) > 0 {
        disk.cut_power();
    }
    *disk = disk.kill();
}

/// Starts what lies on the disk. `None`: the power went meanwhile, and it is to be started again.
pub fn try_start<T, E: Display>(
    random: &mut Random,
    disk: &mut SimDisk,
    open: impl FnOnce(&SimDisk) -> Result<T, E>,
) -> Result<Option<T>, String> {
    if random.one_in(3) {
        disk.set_faults(cut_in(of_any_size(random, 300)));
    }
    let opened = open(disk);
    disk.set_faults(Faults::default());
    match opened {
        Ok(running) if !disk.is_dead() => return Ok(Some(running)),
        Err(error) if !disk.is_dead() => return Err(format!("it does not start: {error}")),
        opened => drop(opened),
    }
    lose_power(random, disk);
    Ok(None)
}
