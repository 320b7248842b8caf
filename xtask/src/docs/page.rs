//! Renders chapters as HTML: Markdown by `pulldown-cmark`, headings with anchors, links between chapters,
//! pictures, navigation.

use super::pictures::{Pictures, Show};
use super::summary::{Chapter, Entry, address};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};
use std::collections::BTreeSet;

/// The body of a page.
pub(crate) struct Page {
    pub(crate) body: String,
    pub(crate) headings: Vec<Heading>,
    /// Links to chapters: the file and the fragment, which may be empty.
    pub(crate) links: Vec<(String, String)>,
}

/// A heading that links can lead to.
#[derive(Debug, PartialEq)]
pub(crate) struct Heading {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) level: u8,
}

/// Returns the language of a code block and the words after it: `eq mlp.eq picture`.
pub(crate) fn fence(info: &str) -> (&str, Vec<&str>) {
    let mut words = info.split([' ', ',']).filter(|word| !word.is_empty());
    (words.next().unwrap_or(""), words.collect())
}

/// Renders a chapter. `files` are the chapters of the book; links to other files of the repository become
/// plain text.
pub(crate) fn render(
    file: &str,
    text: &str,
    files: &BTreeSet<&str>,
    pictures: &Pictures,
) -> Result<Page, String> {
    let (mut headings, mut links, mut count) = (Vec::new(), Vec::new(), 0);
    let mut events: Vec<Event<'_>> = Vec::new();
    let parsed: Vec<Event<'_>> =
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).collect();
    let up = "../".repeat(file.matches('/').count());
    let mut in_source_link = false; // inside a link to a file that is not in the book
    let mut at = 0;
    while at < parsed.len() {
        match &parsed[at] {
            Event::Start(Tag::Heading { level, .. }) => {
                let end = (at..parsed.len()).find(|i| matches!(parsed[*i], Event::End(TagEnd::Heading(_))));
                let words = plain(&parsed[at..end.unwrap_or(at)]);
                let id = unique(slug(&words), &headings);
                let level = *level as u8;
                headings.push(Heading { id: id.clone(), text: words, level });
                events.push(Event::Html(format!("<h{level} id=\"{id}\"><a href=\"#{id}\">").into()));
            }
            Event::End(TagEnd::Heading(level)) => {
                events.push(Event::Html(format!("</a></h{}>\n", *level as u8).into()));
            }
            Event::Start(Tag::Link { dest_url, link_type, title, id }) => match link(file, dest_url, files) {
                Link::Chapter(target, fragment) => {
                    let hash = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
                    let url = format!("{up}{}{hash}", address(&target));
                    links.push((target, fragment));
                    let (title, id) = (title.clone(), id.clone());
                    let dest_url = CowStr::from(url);
                    events.push(Event::Start(Tag::Link { link_type: *link_type, dest_url, title, id }));
                }
                Link::Outside => events.push(parsed[at].clone()),
                Link::Source(path) => {
                    in_source_link = true;
                    let path = path.replace('"', "&quot;");
                    events.push(Event::Html(format!("<span class=\"source\" title=\"{path}\">").into()));
                }
            },
            Event::End(TagEnd::Link) if in_source_link => {
                in_source_link = false;
                events.push(Event::Html("</span>".into()));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let (language, words) = fence(info);
                let code = plain(&parsed[at + 1..]); // up to the end of the block
                events.push(Event::Html(block(language, &words, &code).into()));
                if words.contains(&"picture") {
                    count += 1;
                    let picture = pictures.of_text(file, count, &code, Show::of(&words))?;
                    events.push(Event::Html(figure(&up, &picture, "drawing of the program above").into()));
                }
                while !matches!(parsed[at], Event::End(TagEnd::CodeBlock)) {
                    at += 1;
                }
            }
            Event::Text(words) if words.trim_start().starts_with("{{#picture ") => {
                let inner = words.trim().trim_start_matches("{{#picture ").trim_end_matches("}}");
                let (program, options) = fence(inner);
                let picture = pictures.of_file(program, Show::of(&options))?;
                events.push(Event::Html(figure(&up, &picture, program).into()));
            }
            Event::Start(Tag::Table(_)) => {
                events.push(Event::Html("<div class=\"table\">".into()));
                events.push(parsed[at].clone());
            }
            Event::End(TagEnd::Table) => {
                events.push(parsed[at].clone());
                events.push(Event::Html("</div>\n".into()));
            }
            other => events.push(other.clone()),
        }
        at += 1;
    }
    let mut body = String::new();
    html::push_html(&mut body, events.into_iter());
    Ok(Page { body, headings, links })
}

/// The target of a link.
enum Link {
    /// To a chapter: file and fragment.
    Chapter(String, String),
    /// Out of the repository.
    Outside,
    /// To a file of the repository that is not in the book.
    Source(String),
}

fn link(file: &str, target: &str, files: &BTreeSet<&str>) -> Link {
    if target.contains("://") || target.starts_with("mailto:") {
        return Link::Outside;
    }
    let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
    if path.is_empty() {
        return Link::Chapter(file.to_owned(), fragment.to_owned());
    }
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    parts.insert(0, "docs");
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    match path.strip_prefix("docs/").filter(|chapter| files.contains(chapter)) {
        Some(chapter) => Link::Chapter(chapter.to_owned(), fragment.to_owned()),
        None => Link::Source(path),
    }
}

/// Returns the text of events up to the end of their heading or code block.
fn plain(events: &[Event<'_>]) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            Event::Text(words) | Event::Code(words) => text.push_str(words),
            Event::SoftBreak => text.push(' '),
            Event::End(TagEnd::CodeBlock | TagEnd::Heading(_)) => break,
            _ => {}
        }
    }
    text
}

/// Returns the anchor of a heading: its letters and digits, with hyphens between words.
fn slug(text: &str) -> String {
    let kept = text.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().split_whitespace().collect::<Vec<_>>().join("-")
}

fn unique(id: String, headings: &[Heading]) -> String {
    let taken = |id: &str| headings.iter().any(|heading| heading.id == id);
    if !taken(&id) {
        return id;
    }
    (1..).map(|n| format!("{id}-{n}")).find(|id| !taken(id)).unwrap_or(id)
}

fn block(language: &str, words: &[&str], code: &str) -> String {
    let label = match language {
        "rust" => "Rust",
        "python" if words.contains(&"torch") => "PyTorch",
        "python" if words.contains(&"jax") => "JAX",
        "python" => "Python",
        "eq" => "equations",
        "sh" => "shell",
        "output" => "output",
        "toml" => "TOML",
        _ => "",
    };
    let file = words.iter().find(|word| word.contains('.')).map(|name| format!("{label} · {name}"));
    let label = file.as_deref().unwrap_or(label);
    // Leaves out lines that rustdoc hides.
    let shown = code.lines().filter(|line| language != "rust" || !(line.starts_with("# ") || *line == "#"));
    let code = escape(&shown.collect::<Vec<_>>().join("\n"));
    format!(
        "<figure class=\"code {language}\"><figcaption>{label}</figcaption><pre><code>{code}</code></pre></figure>\n"
    )
}

fn figure(up: &str, picture: &str, words: &str) -> String {
    let words = escape(words);
    format!(
        "<figure class=\"picture\"><a href=\"{up}{picture}\"><img src=\"{up}{picture}\" alt=\"{words}\" loading=\"lazy\"></a></figure>\n"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns a complete page of the book: table of contents, body, and links to the chapters before and after.
pub(crate) fn document(
    title: &str,
    entries: &[Entry],
    chapter: &Chapter,
    (before, after): (Option<&Chapter>, Option<&Chapter>),
    page: &Page,
) -> String {
    let up = "../".repeat(chapter.file.matches('/').count());
    let mut contents = String::new();
    for entry in entries {
        match entry {
            Entry::Part(part) => contents += &format!("<li class=\"part\">{}</li>\n", escape(part)),
            Entry::Chapter(c) => {
                let here = if c.file == chapter.file { " aria-current=\"page\"" } else { "" };
                let (url, name) = (address(&c.file), escape(&c.title));
                contents +=
                    &format!("<li class=\"depth{}\"><a href=\"{up}{url}\"{here}>{name}</a></li>\n", c.depth);
            }
        }
    }
    let neighbour = |c: Option<&Chapter>, class: &str, arrow: (&str, &str)| {
        c.map_or_else(String::new, |c| {
            let (url, name) = (address(&c.file), escape(&c.title));
            format!("<a class=\"{class}\" href=\"{up}{url}\">{}{name}{}</a>", arrow.0, arrow.1)
        })
    };
    let (before, after) = (neighbour(before, "before", ("← ", "")), neighbour(after, "after", ("", " →")));
    let (name, body, title) = (escape(&chapter.title), &page.body, escape(title));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{name} · {title}</title>\n<link rel=\"stylesheet\" href=\"{up}book.css\">\n</head>\n<body>\n\
         <nav><details open><summary>{title}</summary>\n<ul>\n{contents}</ul>\n</details></nav>\n\
         <main>\n{body}\n<footer>{before}{after}</footer>\n</main>\n</body>\n</html>\n"
    )
}

/// Returns a page that redirects to another.
pub(crate) fn redirect(url: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Gradus</title>\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\"><a href=\"{url}\">Gradus</a></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_words_with_hyphens() {
        assert_eq!(slug("The rule of `@`, derived"), "the-rule-of-derived");
        let headings = [Heading { id: "a".into(), text: String::new(), level: 1 }];
        assert_eq!(unique("a".into(), &headings), "a-1");
    }

    #[test]
    fn links_lead_to_chapters_or_become_text() {
        let files = BTreeSet::from(["a.md", "b/c.md"]);
        let of = |file, target| match link(file, target, &files) {
            Link::Chapter(file, fragment) => format!("{file}#{fragment}"),
            Link::Outside => "outside".into(),
            Link::Source(path) => path,
        };
        assert_eq!(of("b/c.md", "../a.md#x"), "a.md#x");
        assert_eq!(of("a.md", "#x"), "a.md#x");
        assert_eq!(of("b/c.md", "../../src/lib.rs"), "src/lib.rs");
        assert_eq!(of("a.md", "https://example.org"), "outside");
    }

    #[test]
    fn words_after_the_language() {
        assert_eq!(fence("eq mlp.eq picture"), ("eq", vec!["mlp.eq", "picture"]));
        assert_eq!(fence("rust,no_run"), ("rust", vec!["no_run"]));
    }

    #[test]
    fn code_is_escaped_and_hidden_lines_go() {
        let html = block("rust", &[], "# use a;\nlet x = a < b;\n");
        assert!(html.contains("<code>let x = a &lt; b;</code>"), "{html}");
        assert!(block("eq", &["m.eq", "picture"], "A = 1\n").contains("equations · m.eq"));
    }
}
