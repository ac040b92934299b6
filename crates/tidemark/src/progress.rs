//! The bar that shows on a terminal how far a command is, and how long it will take yet.

use indicatif::{ProgressBar, ProgressStyle};

/// From 0 to 100. It shows where a terminal is, and nowhere else.
pub fn bar() -> ProgressBar {
    let bar = ProgressBar::new(100);
    if let Ok(style) =
        ProgressStyle::with_template("{msg:18} [{bar:40}] {percent:>3}%  {elapsed}, {eta} left")
    {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}
