//! Writes a drawing as SVG text.
//! Takes a [`Level`] with positions; returns a document with a legend, tooltips and styles.
//! `scene.rs` and `layout.rs` decide sizes and positions.

use crate::scene::{
    Cell, FRAME, Kind, LINE_HEIGHT, Level, Line, MARGIN, Panel, TEXT, TITLE, TITLE_HEIGHT, order_text,
};
use std::fmt::Write;

/// Margin around the drawing, and the additional space above it for the legend.
const BORDER: f64 = 20.0;
const LEGEND: f64 = 26.0;

const STYLE: &str = "\
.gradus { font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: 11px; background: #fcfcfd; }
.gradus text { fill: #475063; stroke: none; }
.gradus .title { font-size: 13px; font-weight: bold; fill: #1c2333; }
.gradus .tag { fill: #8a93a6; }
.gradus .order { fill: #b35c00; }
.gradus .gradient .order { fill: #c2447e; }
.gradus rect { stroke-width: 1.2; }
.gradus .input > rect { fill: #e1eeff; stroke: #3b78c4; }
.gradus .constant > rect { fill: #f6f0dc; stroke: #ab9550; }
.gradus .op > rect { fill: #ffffff; stroke: #6b7486; }
.gradus .region > rect { fill: #eef1f8; stroke: #7682a6; }
.gradus .output > rect { fill: #def4e3; stroke: #2f8f4e; stroke-width: 2; }
.gradus .gradient > rect { fill: #fdeaf2; stroke: #c2447e; }
.gradus .panel { fill: #fafbfe; stroke: #aab3cc; stroke-dasharray: 5 3; }
.gradus path { fill: none; stroke-width: 1.3; }
.gradus .wire > path { stroke: #5d677c; }
.gradus .flow > path { stroke: #c2447e; stroke-dasharray: 6 3; }
.gradus .link > path { stroke: #c2447e; stroke-dasharray: 1.5 3; }
.gradus .wire:hover > path, .gradus .flow:hover > path { stroke: #e07000; stroke-width: 3; }
.gradus marker path { stroke: none; }
";

/// Writes the complete picture.
pub(crate) fn write(level: &Level) -> String {
    let gradients = level.cells.iter().any(|c| !c.gradients.is_empty());
    let mut kinds = legend_kinds(gradients);
    if level.cells.iter().any(|c| c.order.is_some()) {
        // The legend entry of ops explains the numbers.
        let entry = kinds.iter_mut().find(|(kind, _)| *kind == Kind::Op);
        entry.into_iter().for_each(|(_, word)| *word = "op, (n) order of evaluation");
    }
    write_with(level, &kinds)
}

/// Writes the complete picture, with these kinds of boxes in its legend.
pub(crate) fn write_with(level: &Level, kinds: &[(Kind, &str)]) -> String {
    let legend: f64 = kinds.iter().map(|(_, word)| legend_width(word)).sum();
    let (width, height) = (level.size.0.max(legend) + 2.0 * BORDER, level.size.1 + 2.0 * BORDER + LEGEND);
    let (w, h) = (width.ceil(), height.ceil());
    let mut s = String::new();
    push(
        &mut s,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"gradus\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\">\n"
        ),
    );
    push(&mut s, format_args!("<style>\n{}</style>\n<defs>\n", STYLE.replace('>', "&gt;")));
    for (id, colour) in [("gradus-wire", "#5d677c"), ("gradus-flow", "#c2447e")] {
        push(
            &mut s,
            format_args!(
                "<marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" \
             markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 1L10 5L0 9z\" style=\"fill:{colour}\"/></marker>\n"
            ),
        );
    }
    push(&mut s, format_args!("</defs>\n<rect width=\"{w}\" height=\"{h}\" fill=\"#fcfcfd\"/>\n"));
    legend_row(&mut s, kinds);
    let left = BORDER + (level.size.0.max(legend) - level.size.0) / 2.0;
    draw_level(&mut s, level, (left, BORDER + LEGEND), "");
    s.push_str("</svg>\n");
    s
}

/// Appends formatted text. Writing to a string cannot fail.
fn push(s: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = s.write_fmt(text);
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Input => "input",
        Kind::Constant => "constant",
        Kind::Op => "op",
        Kind::Region => "region",
        Kind::Output => "output",
        Kind::Gradient => "gradient",
    }
}

fn legend_kinds(gradients: bool) -> Vec<(Kind, &'static str)> {
    let mut kinds = vec![
        (Kind::Input, "input"),
        (Kind::Constant, "constant"),
        (Kind::Op, "op"),
        (Kind::Region, "graph inside"),
        (Kind::Output, "output"),
    ];
    kinds.extend(gradients.then_some((Kind::Gradient, "gradient")));
    kinds
}

fn legend_width(word: &str) -> f64 {
    22.0 + word.len() as f64 * TEXT + 16.0
}

fn legend_row(s: &mut String, kinds: &[(Kind, &str)]) {
    let mut x = BORDER;
    for (kind, word) in kinds {
        push(
            s,
            format_args!(
                "<g class=\"legend {}\"><rect x=\"{x:.1}\" y=\"10\" width=\"16\" height=\"12\" rx=\"{}\"/>\
             <text x=\"{:.1}\" y=\"20\">{word}</text></g>\n",
                class(*kind),
                radius(*kind),
                x + 22.0
            ),
        );
        x += legend_width(word);
    }
}

fn radius(kind: Kind) -> u32 {
    match kind {
        Kind::Input | Kind::Output => 12,
        Kind::Gradient => 6,
        _ => 3,
    }
}

fn draw_level(s: &mut String, level: &Level, origin: (f64, f64), path: &str) {
    for line in &level.lines {
        draw_line(s, line, origin, path);
    }
    for cell in &level.cells {
        draw_cell(s, cell, origin, path);
    }
}

fn draw_line(s: &mut String, line: &Line, origin: (f64, f64), path: &str) {
    let class = if line.gradient { "flow" } else { "wire" };
    let id = format!("{path}{}", line.id);
    push(
        s,
        format_args!(
            "<g class=\"{class}\" id=\"{}\"><title>{}</title><path d=\"",
            escape(&id),
            escape(&line.tip)
        ),
    );
    let mut last = (0.0, 0.0);
    for (k, point) in line.points.iter().enumerate() {
        let (x, y) = (origin.0 + point.0, origin.1 + point.1);
        match k {
            0 => push(s, format_args!("M{x:.1} {y:.1}")),
            _ if k % 2 == 1 => push(s, format_args!("L{x:.1} {y:.1}")),
            _ => {
                let middle = (last.1 + y) / 2.0;
                push(s, format_args!("C{:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}", last.0));
            }
        }
        last = (x, y);
    }
    push(s, format_args!("\" marker-end=\"url(#gradus-{class})\"/></g>\n"));
}

fn draw_cell(s: &mut String, cell: &Cell, origin: (f64, f64), path: &str) {
    let (x, y) = (origin.0 + cell.corner.0, origin.1 + cell.corner.1);
    let id = escape(&format!("{path}{}", cell.id));
    push(
        s,
        format_args!(
            "<g class=\"node {}\" id=\"{id}\"><title>{}</title>",
            class(cell.kind),
            escape(&cell.tip)
        ),
    );
    push(
        s,
        format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{}\"/>",
            cell.size.0,
            cell.size.1,
            radius(cell.kind)
        ),
    );
    let (mut line, right) = (y + MARGIN * 0.4 + TITLE_HEIGHT - 4.0, x + cell.size.0 - MARGIN);
    // Centres the text, except in boxes with a tag, which have the title on the left and the tag on the right.
    let alone = cell.tag.is_empty();
    let middle = x + cell.size.0 / 2.0;
    title(s, if alone { (middle, "middle") } else { (x + MARGIN, "start") }, line, cell);
    if !alone {
        // In a wide box the tag stays next to the title.
        let number = cell.order.map_or(0, |order| order_text(order).len());
        let near = x + MARGIN + (number + cell.title.chars().count()) as f64 * TITLE + 12.0;
        let tag = if cell.panels.is_empty() { (right, "end") } else { (near, "start") };
        text(s, "tag", tag, line, &cell.tag);
    }
    for words in &cell.lines {
        line += LINE_HEIGHT;
        text(s, "line", if alone { (middle, "middle") } else { (x + MARGIN, "start") }, line, words);
    }
    s.push_str("</g>\n");
    for panel in &cell.panels {
        draw_panel(s, panel, (x, y), &format!("{path}{}.{}", cell.id, panel.key));
    }
    let mut from = (x + cell.size.0, y + cell.size.1 / 2.0);
    for gradient in &cell.gradients {
        let to = x + gradient.corner.0;
        let link = escape(&format!("{path}{}.link", gradient.id));
        push(
            s,
            format_args!(
                "<g class=\"link\" id=\"{link}\"><path d=\"M{:.1} {:.1}L{to:.1} {:.1}\"/></g>\n",
                from.0, from.1, from.1
            ),
        );
        draw_cell(s, gradient, (x, y), path);
        from.0 = to + gradient.size.0;
    }
}

fn draw_panel(s: &mut String, panel: &Panel, origin: (f64, f64), path: &str) {
    let (x, y) = (origin.0 + panel.corner.0, origin.1 + panel.corner.1);
    push(
        s,
        format_args!(
            "<rect class=\"panel\" id=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>",
            escape(path),
            panel.size.0,
            panel.size.1
        ),
    );
    text(s, "tag", (x + 6.0, "start"), y + 13.0, &panel.key);
    s.push('\n');
    let inner = (x + panel.inset(), y + FRAME + LINE_HEIGHT);
    draw_level(s, &panel.level, inner, &format!("{path}/"));
}

/// Writes the title of a box, after its number if that is shown.
fn title(s: &mut String, at: (f64, &str), y: f64, cell: &Cell) {
    let Some(order) = cell.order else { return text(s, "title", at, y, &cell.title) };
    let (number, words) = (order_text(order), escape(&cell.title));
    push(
        s,
        format_args!(
            "<text class=\"title\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"{}\" xml:space=\"preserve\">\
             <tspan class=\"order\">{number}</tspan>{words}</text>",
            at.0, at.1
        ),
    );
}

fn text(s: &mut String, class: &str, (x, anchor): (f64, &str), y: f64, words: &str) {
    let words = escape(words);
    push(
        s,
        format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
        ),
    );
}

/// Escapes text for an element or an attribute. Characters that XML cannot represent are replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
