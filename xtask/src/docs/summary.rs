//! The table of contents: `docs/SUMMARY.md` and the title in `docs/book.toml`, both in mdBook's format.

/// One line of the table of contents.
#[derive(Debug, PartialEq)]
pub(crate) enum Entry {
    /// The heading of a part.
    Part(String),
    Chapter(Chapter),
}

/// A chapter and how deep it is nested.
#[derive(Debug, PartialEq)]
pub(crate) struct Chapter {
    pub(crate) title: String,
    /// Path of its source below `docs/`.
    pub(crate) file: String,
    pub(crate) depth: usize,
}

impl Entry {
    pub(crate) fn chapter(&self) -> Option<&Chapter> {
        match self {
            Entry::Chapter(chapter) => Some(chapter),
            Entry::Part(_) => None,
        }
    }
}

/// Reads `- [Title](file.md)` lines, nested by two spaces, and `# Part` headings; the first heading is the
/// file's own.
pub(crate) fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(part) = line.strip_prefix("# ") {
            if part != "Summary" {
                entries.push(Entry::Part(part.to_owned()));
            }
            continue;
        }
        let depth = (line.len() - line.trim_start().len()) / 2;
        let item = line.trim_start().trim_start_matches("- ");
        let link = item.strip_prefix('[').and_then(|rest| rest.strip_suffix(')'));
        let (title, file) = link
            .and_then(|l| l.split_once("]("))
            .ok_or(format!("docs/SUMMARY.md: `{line}` is not a link"))?;
        entries.push(Entry::Chapter(Chapter { title: title.to_owned(), file: file.to_owned(), depth }));
    }
    Ok(entries)
}

/// Returns the title of the book.
pub(crate) fn title(toml: &str) -> Result<String, String> {
    let line = toml.lines().find_map(|line| line.strip_prefix("title = \""));
    let title = line.and_then(|rest| rest.strip_suffix('"'));
    title.map(str::to_owned).ok_or("docs/book.toml: no line `title = \"…\"`".to_owned())
}

/// Returns the path of a chapter's page in the book.
pub(crate) fn address(file: &str) -> String {
    format!("{}.html", file.strip_suffix(".md").unwrap_or(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_parts_and_chapters() {
        let chapter = |title: &str, file: &str, depth| {
            Entry::Chapter(Chapter { title: title.into(), file: file.into(), depth })
        };
        assert_eq!(
            parse("# Summary\n\n- [A](a.md)\n  - [B c](d/b.md)\n\n# Part\n\n- [E](e.md)\n").unwrap(),
            [
                chapter("A", "a.md", 0),
                chapter("B c", "d/b.md", 1),
                Entry::Part("Part".into()),
                chapter("E", "e.md", 0)
            ]
        );
        assert_eq!(parse("- a.md\n").unwrap_err(), "docs/SUMMARY.md: `- a.md` is not a link");
    }

    #[test]
    fn reads_the_title() {
        assert_eq!(title("[book]\ntitle = \"A book\"\n").unwrap(), "A book");
        assert!(title("[book]\n").is_err());
    }
}
