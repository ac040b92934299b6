//! `innodb_buffer_pool_size` and `innodb_redo_log_capacity`, which take effect while the server runs.

use super::Database;
use crate::error::{Result, SqlError, er};
use parking_lot::Mutex;
use tidemark_engine::PAGE_SIZE;

/// What the status variables say of the latest change of the pool's size.
#[derive(Default)]
pub struct PoolResize(Mutex<Shown>);

#[derive(Clone, Default)]
struct Shown {
    text: String,
    percent: u64,
    failed: bool,
}

impl PoolResize {
    fn say(&self, text: String, percent: u64, failed: bool) {
        *self.0.lock() = Shown {
            text,
            percent,
            failed,
        };
    }

    /// The values of `Innodb_buffer_pool_resize_status`, `…_status_code` and `…_status_progress`.
    pub fn shown(&self) -> [String; 3] {
        let shown = self.0.lock().clone();
        let code = u64::from(shown.failed);
        [shown.text, code.to_string(), shown.percent.to_string()]
    }
}

impl Database {
    /// Makes the buffer pool so large, in whole pages, and returns how large it is. Error 1231 for what there are no addresses for, and 1317 if
    /// `is_interrupted` says so while a pool that shrinks waits for pages to be written; then it is as large as it was.
    pub fn resize_pool(&self, bytes: u64, is_interrupted: &dyn Fn() -> bool) -> Result<u64> {
        let most = self.engine().buffer_pool_bytes_max();
        if bytes > most {
            return Err(SqlError::new(
                er::WRONG_VALUE_FOR_VAR,
                format!(
                    "Variable 'innodb_buffer_pool_size' can't be set to the value of '{bytes}': at most {most}, the memory of the machine, \
                     without a restart"
                ),
            ));
        }
        let before = self.engine().status().pool_pages_total * PAGE_SIZE as u64;
        if bytes / PAGE_SIZE as u64 * PAGE_SIZE as u64 == before {
            return Ok(before);
        }
        self.pool_resize.say(
            format!("Resizing buffer pool from {before} to {bytes}."),
            0,
            false,
        );
        let done = self.engine().set_buffer_pool_bytes(bytes, is_interrupted);
        let now = jiff::Timestamp::now().strftime("%y%m%d %H:%M:%S");
        match done {
            Ok(bytes) => {
                let text = format!("Completed resizing buffer pool at {now}.");
                self.pool_resize.say(text, 100, false);
                log::info!("the buffer pool, of {before} bytes, has {bytes}");
                Ok(bytes)
            }
            Err(error) => {
                let text = format!("Resizing buffer pool failed at {now}: {error}");
                self.pool_resize.say(text, 0, true);
                Err(error.into())
            }
        }
    }

    /// Gives pool and log the sizes that SET PERSIST has kept, which were not known when the engine was opened; `innodb_redo_log_capacity`
    /// was `log_capacity_before`. A pool larger than there are addresses for is as large as can be.
    pub(super) fn adopt_sizes(&self, log_capacity_before: u64) -> Result<()> {
        let wanted = self.globals.u64("innodb_buffer_pool_size");
        let most = self.engine().buffer_pool_bytes_max();
        if wanted > most {
            log::warn!(
                "innodb_buffer_pool_size is {wanted}, but the machine has {most} bytes: the pool gets those"
            );
        }
        let bytes = self.resize_pool(wanted.min(most), &|| false)?;
        if bytes != wanted {
            self.globals
                .put_by_name("innodb_buffer_pool_size", &bytes.to_string())?;
        }
        // The older pair of options may have said how large the log is.
        let capacity = self.globals.u64("innodb_redo_log_capacity");
        if capacity != log_capacity_before {
            self.engine().set_log_capacity_bytes(capacity)?;
        }
        Ok(())
    }
}
