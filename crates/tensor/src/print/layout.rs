//! Arranges words in nested brackets: breaks long rows into lines, and separates subarrays by empty lines.

/// Maximal width of a line, in columns.
const WIDTH: usize = 75;

const CUT: &str = "...";

/// An array of formatted elements.
pub(super) struct Layout<'a> {
    pub(super) shape: &'a [usize],
    /// The indices shown of each axis; fewer than its extent if it is shortened.
    pub(super) shown: &'a [Vec<usize>],
    /// One word for each element shown, in row-major order.
    pub(super) words: &'a [String],
    /// Separator between the words of a row; trailing spaces are removed between subarrays.
    pub(super) separator: &'a str,
}

impl Layout<'_> {
    /// Returns the text; all lines but the first are indented by `indent` columns.
    pub(super) fn text(&self, indent: usize) -> String {
        self.nested(0, self.words, indent)
    }

    fn nested(&self, axis: usize, words: &[String], indent: usize) -> String {
        let Some(shown) = self.shown.get(axis) else {
            return words.first().map_or_else(String::new, |w| w.trim().to_string());
        };
        let cut = (shown.len() < self.shape[axis]).then_some(shown.len() / 2);
        if axis + 1 == self.shape.len() {
            return format!("[{}]", self.row(words, cut, indent + 1));
        }
        let each = words.len() / shown.len().max(1);
        let mut parts: Vec<String> =
            words.chunks(each.max(1)).map(|part| self.nested(axis + 1, part, indent + 1)).collect();
        if let Some(at) = cut {
            parts.insert(at, CUT.to_string());
        }
        let lines = "\n".repeat(self.shape.len() - axis - 1);
        let between = format!("{}{lines}{}", self.separator.trim_end(), " ".repeat(indent + 1));
        format!("[{}]", parts.join(&between))
    }

    /// Formats a row, broken into lines indented by `indent` columns; leaves space for the closing brackets.
    fn row(&self, words: &[String], cut: Option<usize>, indent: usize) -> String {
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Some(at) = cut {
            words.insert(at, CUT);
        }
        let room = WIDTH.saturating_sub(self.shape.len().max(self.separator.trim_end().len()));
        let (mut text, mut column) = (String::new(), indent);
        for (i, word) in words.iter().enumerate() {
            let width = word.chars().count();
            if i > 0 && column + self.separator.len() + width > room {
                text.push_str(self.separator.trim_end());
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                column = indent;
            } else if i > 0 {
                text.push_str(self.separator);
                column += self.separator.len();
            }
            text.push_str(word);
            column += width;
        }
        text
    }
}
