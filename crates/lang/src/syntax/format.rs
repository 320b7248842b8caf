//! The formatter. Prints programs in one canonical form. Comments and blank lines are kept, and so is the text of
//! statements with a comment inside and of long statements that are already broken over several lines.

use super::diagnostic::Faults;
use crate::syntax::ast::Statement;
use crate::syntax::parse::{Extent, parse_with_extents};
use crate::syntax::source::Source;

/// The maximum length of a line.
const WIDTH: usize = 100;
const INDENT: &str = "    ";

/// Formats a program.
pub fn format(source: &Source) -> Result<String, Faults> {
    let faulty = |faults| Faults { sources: vec![source.clone()], faults };
    let (statements, extents) = parse_with_extents(source, 0).map_err(faulty)?;
    let mut out = Out { text: &source.text, lines: Vec::new() };
    out.block(&statements, &extents, 0, source.text.len(), 0);
    while out.lines.last().is_some_and(String::is_empty) {
        out.lines.pop();
    }
    let blank = out.lines.iter().take_while(|l| l.is_empty()).count();
    let mut text = out.lines[blank..].join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    Ok(text)
}

struct Out<'a> {
    text: &'a str,
    lines: Vec<String>,
}

impl Out<'_> {
    /// Formats the statements between two offsets of the text, with the comments around them.
    fn block(&mut self, statements: &[Statement], extents: &[Extent], from: usize, to: usize, depth: usize) {
        let mut at = from;
        for (statement, extent) in statements.iter().zip(extents) {
            self.between(at, extent.start, depth, at > from || depth > 0);
            self.statement(statement, extent, depth);
            at = extent.end;
        }
        self.between(at, to, depth, at > from || depth > 0);
    }

    /// Copies comments and blank lines between two statements; a comment after a statement stays on its line.
    fn between(&mut self, from: usize, to: usize, depth: usize, behind: bool) {
        let Some(gap) = self.text.get(from..to) else { return };
        let lines: Vec<&str> = gap.split('\n').map(|l| l.trim_matches([' ', '\t', '\r', ';'])).collect();
        for (i, line) in lines.iter().enumerate() {
            let last = i + 1 == lines.len();
            match (i == 0 && behind, line.is_empty()) {
                (true, true) => {}
                (true, false) => {
                    if let Some(before) = self.lines.last_mut() {
                        before.push_str("  ");
                        before.push_str(line);
                    }
                }
                // Space before the next statement on its line is not a blank line.
                (false, true) if last => {}
                (false, true) => self.lines.push(String::new()),
                (false, false) => self.lines.push(format!("{}{line}", INDENT.repeat(depth))),
            }
        }
    }

    fn statement(&mut self, statement: &Statement, extent: &Extent, depth: usize) {
        let written = self.text.get(extent.start..extent.end).unwrap_or_default();
        let indent = INDENT.repeat(depth);
        let head = match statement {
            Statement::Block(..) => Some("{".to_string()),
            Statement::Function(f) => f.to_string().lines().next().map(str::to_string),
            _ => None,
        };
        if let Some(head) = head {
            let first = extent.inside.first().map_or(extent.end, |e| e.start);
            let before = self.text.get(extent.start..first).unwrap_or_default();
            if let Some(open) = before.find('{').filter(|o| !before[..*o].contains('#')) {
                self.lines.push(format!("{indent}{head}"));
                let inner = inside(statement);
                self.block(&inner, &extent.inside, extent.start + open + 1, extent.end - 1, depth + 1);
                self.lines.push(format!("{indent}}}"));
                return;
            }
        }
        let printed = statement.to_string();
        let long = written.contains('\n') && printed.lines().any(|l| indent.len() + l.len() > WIDTH);
        if long || has_comment(written) {
            // Copied unchanged, apart from the indent of its first line.
            let mut lines = written.lines().map(|l| l.trim_end().to_string());
            self.lines.push(format!("{indent}{}", lines.next().unwrap_or_default()));
            self.lines.extend(lines);
        } else {
            self.lines.extend(printed.lines().map(|l| format!("{indent}{l}")));
        }
    }
}

/// Returns the statements inside a block or function.
fn inside(statement: &Statement) -> Vec<Statement> {
    match statement {
        Statement::Block(inside, _) => inside.clone(),
        Statement::Function(f) => f.body.iter().cloned().map(Statement::Equation).collect(),
        _ => Vec::new(),
    }
}

/// Returns true if `#` occurs outside a string.
fn has_comment(text: &str) -> bool {
    let mut quoted = false;
    text.chars().any(|c| {
        match c {
            '"' => quoted = !quoted,
            '\n' => quoted = false,
            _ => {}
        }
        c == '#' && !quoted
    })
}
