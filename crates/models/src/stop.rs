//! Stop strings in a text that comes in pieces.

/// Holds back text that may be the beginning of a stop string.
pub struct StopStrings {
    stop: Vec<String>,
    waiting: String,
    stopped: bool,
}

impl StopStrings {
    /// Ends a text before the first of these. Empty ones are ignored.
    pub fn new(stop: &[String]) -> StopStrings {
        let stop = stop.iter().filter(|s| !s.is_empty()).cloned().collect();
        StopStrings { stop, waiting: String::new(), stopped: false }
    }

    /// Takes a piece. Gives the text that cannot be part of a stop string, and whether one has come.
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

    /// Whether a stop string has come.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// The text that was held back.
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
