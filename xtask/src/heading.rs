//! Headings between the steps of a task, with the time since its first step, so that a log shows which steps
//! are slow.

use std::fmt::Arguments;
use std::sync::LazyLock;
use std::time::Instant;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Prints a heading with the minutes and seconds since the first one.
pub(crate) fn heading(text: Arguments<'_>) {
    println!("{}", line(START.elapsed().as_secs(), text));
}

fn line(seconds: u64, text: Arguments<'_>) -> String {
    format!("== {:02}:{:02} {text}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_heading_shows_minutes_and_seconds() {
        assert_eq!(super::line(9, format_args!("tidy")), "== 00:09 tidy");
        assert_eq!(super::line(3725, format_args!("a {}", 1)), "== 62:05 a 1");
    }
}
