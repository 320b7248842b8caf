//! Diagnostics: what is wrong with a program, where, and how to fix it; rendered with the source lines.

use crate::syntax::ast::Name;
use crate::syntax::source::{Source, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// The result of a check: all errors, not only the first.
pub type Result<T> = std::result::Result<T, Vec<Diagnostic>>;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program is refused.
    Error,
    /// The program runs, but probably does not do what was intended.
    Warning,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The message, in one line.
    pub message: String,
    /// Locations, each with a short text; the first is the primary one.
    pub labels: Vec<(Span, String)>,
    /// A suggestion.
    pub help: Option<String>,
    /// The names of the program or the command line that the diagnostic is about.
    pub names: Vec<Name>,
    /// If true, the parser found another token than it expected.
    pub(crate) unexpected: bool,
}

impl Diagnostic {
    /// Makes an error at a location.
    pub fn error(span: Span, message: impl Into<String>) -> Diagnostic {
        let labels = vec![(span, String::new())];
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            labels,
            help: None,
            names: Vec::new(),
            unexpected: false,
        }
    }

    /// Makes a warning at a location.
    pub fn warning(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(span, message) }
    }

    /// Sets the text at the primary location.
    pub fn here(mut self, text: impl Into<String>) -> Diagnostic {
        if let Some(first) = self.labels.first_mut() {
            first.1 = text.into();
        }
        self
    }

    /// Adds a second location.
    pub fn and(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push((span, text.into()));
        self
    }

    /// Sets the suggestion.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }

    /// Adds a name that the diagnostic is about.
    pub fn about(mut self, name: &str) -> Diagnostic {
        self.names.push(name.into());
        self
    }

    /// Adds a name that is wrong, and suggests the most similar of some names if one is similar enough.
    pub fn nearest<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        let fault = self.about(wrong);
        match nearest(wrong, names) {
            Some(name) => fault.help(format!("did you mean `{name}`?")),
            None => fault,
        }
    }

    /// Returns the primary location.
    pub fn span(&self) -> Span {
        self.labels.first().map(|l| l.0).unwrap_or_default()
    }

    /// Renders the message with its source lines.
    pub fn render(&self, sources: &[Source], colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(self.message.as_str()));
        let mut files: Vec<u32> = Vec::new();
        for (span, _) in &self.labels {
            if !files.contains(&span.file) {
                files.push(span.file);
            }
        }
        for file in files {
            let Some(source) = sources.get(file as usize) else { continue };
            let mut snippet = Snippet::source(&*source.text).path(&*source.name).fold(true);
            for (i, (span, text)) in self.labels.iter().enumerate().filter(|(_, l)| l.0.file == file) {
                let kind = if i == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
                let end = (span.end as usize).min(source.text.len());
                let mark = kind.span((span.start as usize).min(end)..end);
                snippet = snippet.annotation(if text.is_empty() { mark } else { mark.label(text.as_str()) });
            }
            group = group.element(snippet);
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        renderer.render(&[group]).to_string()
    }
}

/// The most diagnostics shown; the number of the others is reported.
pub(crate) const MAX_SHOWN: usize = 20;

/// Renders the first diagnostics and the number of further ones.
pub(crate) fn rendered(all: &[Diagnostic], sources: &[Source], colour: bool) -> String {
    let mut each: Vec<String> = all.iter().take(MAX_SHOWN).map(|d| d.render(sources, colour)).collect();
    if all.len() > MAX_SHOWN {
        each.push(format!("and {} more", all.len() - MAX_SHOWN));
    }
    each.join("\n\n")
}

/// Adds a diagnostic that suggests the most similar name. Beyond `MAX_SHOWN` diagnostics nothing is suggested,
/// because the search is slow and the diagnostic not shown.
pub(crate) fn add_near<'a>(
    faults: &mut Vec<Diagnostic>,
    fault: Diagnostic,
    wrong: &str,
    names: impl IntoIterator<Item = &'a str>,
) {
    let shown = faults.len() < MAX_SHOWN;
    faults.push(if shown { fault.nearest(wrong, names) } else { fault.about(wrong) });
}

/// Returns the most similar name, if it is similar enough to be a misspelling.
pub(crate) fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A single letter has no near misspellings: every other letter would qualify.
    let limit = (1 + wrong.len() / 4).min(wrong.len().saturating_sub(1));
    let wrong = wrong.to_lowercase();
    // A name in a library is compared without its prefix.
    let own =
        |name: &'a str| if wrong.contains("::") { name } else { name.rsplit("::").next().unwrap_or(name) };
    let near = |name: &'a str| (distance(&wrong, &own(name).to_lowercase()), name);
    let alike = |name: &&'a str| own(name).len().abs_diff(wrong.len()) <= limit;
    names.into_iter().filter(alike).map(near).filter(|(d, _)| *d <= limit).min().map(|(_, name)| name)
}

/// Returns the edit distance: insertions, deletions, substitutions and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    // Names are ASCII. Common prefixes and suffixes are frequent in long programs and cost nothing.
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while let ([x, rest @ ..], [y, others @ ..]) = (a, b)
        && x == y
    {
        (a, b) = (rest, others);
    }
    while let ([rest @ .., x], [others @ .., y]) = (a, b)
        && x == y
    {
        (a, b) = (rest, others);
    }
    let (mut before, mut last) = (Vec::new(), (0..=b.len()).collect::<Vec<_>>());
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        (before, last) = (last, row);
    }
    last[b.len()]
}

/// All errors of a program, with its source texts.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The source texts.
    pub sources: Vec<Source>,
    /// The errors.
    pub faults: Vec<Diagnostic>,
}

impl Faults {
    /// Renders the first errors with their source lines, and the number of further ones.
    pub fn render(&self, colour: bool) -> String {
        rendered(&self.faults, &self.sources, colour)
    }
}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Faults {}

/// Returns a number of indices as text: `1 index`, `2 indices`.
pub(crate) fn indices(n: usize) -> String {
    if n == 1 { "1 index".into() } else { format!("{n} indices") }
}
