//! Finds stop strings in a text that arrives in pieces.

/// Passes text through up to the first stop string. Text that may be the start of a stop string is held back.
pub struct StopStrings {
    stop: Vec<String>,
    waiting: String,
    stopped: bool,
}

impl StopStrings {
    /// Makes a filter that ends the text before the first of these strings. Empty strings are ignored.
    pub fn new(stop: &[String]) -> StopStrings {
        let stop = stop.iter().filter(|s| !s.is_empty()).cloned().collect();
        StopStrings { stop, waiting: String::new(), stopped: false }
    }

    /// Adds a piece. Returns the text that cannot be part of a stop string, and whether a stop string has
    /// been found.
    pub fn push(&mut self, piece: &str) -> (String, bool) {
        if self.stopped {
            return (String::new(), true);
        }
        self.waiting.push_str(piece);
        if let Some(at) = self.stop.iter().filter_map(|s| self.waiting.find(s.as_str())).min() {
            self.stopped = true;
            self.waiting.truncate(at);
            return (std::mem::take(&mut self.waiting), true);
        }
        let begins = |at: &usize| self.stop.iter().any(|s| s.starts_with(&self.waiting[*at..]));
        let kept = self.waiting.char_indices().map(|(at, _)| at).find(begins).unwrap_or(self.waiting.len());
        let rest = self.waiting.split_off(kept);
        (std::mem::replace(&mut self.waiting, rest), false)
    }

    /// Returns true if a stop string has been found.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// Returns the text that was held back, at the end of the text.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(stop: &[&str], pieces: &[&str]) -> (Vec<String>, bool, String) {
        let mut s = StopStrings::new(&stop.iter().map(|s| s.to_string()).collect::<Vec<_>>());
        let given = pieces.iter().map(|p| s.push(p).0).collect();
        (given, s.stopped(), s.finish())
    }

    #[test]
    fn text_ends_before_the_first_stop_string_however_it_is_cut() {
        assert_eq!(
            pieces(&["END"], &["a E", "N", "Db"]),
            (vec!["a ".into(), "".into(), "".into()], true, "".into())
        );
        assert_eq!(
            pieces(&["END"], &["a E", "N", "x"]),
            (vec!["a ".into(), "".into(), "ENx".into()], false, "".into())
        );
        assert_eq!(pieces(&["é!", "é?"], &["né", "?"]), (vec!["n".into(), "".into()], true, "".into()));
        assert_eq!(pieces(&["aab"], &["aa", "ab"]), (vec!["".into(), "a".into()], true, "".into()));
        assert_eq!(pieces(&["", "x"], &["ab"]), (vec!["ab".into()], false, "".into()));
        assert_eq!(pieces(&["cd"], &["abc"]), (vec!["ab".into()], false, "c".into()));
    }
}
