//! Plots the loss: as an SVG drawing, and as Braille dots in a terminal.

use super::journal::Record;
use std::fmt::Write;

/// The finite losses to plot, with the first and last step and the smallest and largest loss.
struct Frame {
    steps: (f64, f64),
    losses: (f64, f64),
    points: Vec<(f64, f64)>,
    /// Losses on held-out examples.
    validation: Vec<(f64, f64)>,
}

impl Frame {
    fn of(records: &[Record]) -> Option<Frame> {
        let finite = |value: fn(&Record) -> Option<f64>| -> Vec<(f64, f64)> {
            let point = |r: &Record| Some((r.step as f64, value(r).filter(|x| x.is_finite())?));
            records.iter().filter_map(point).collect()
        };
        let (points, validation) = (finite(|r| Some(r.loss)), finite(|r| r.validation));
        let (first, last) = (points.first()?.0, points.last()?.0);
        let all = || points.iter().chain(&validation).map(|p| p.1);
        let losses = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        Some(Frame { steps: (first, last), losses, points, validation })
    }

    /// Points as fractions of the frame, from its lower left corner.
    fn fractions(&self, points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
        let part = |x: f64, (low, high): (f64, f64)| if high > low { (x - low) / (high - low) } else { 0.5 };
        points.iter().map(move |(step, loss)| (part(*step, self.steps), part(*loss, self.losses)))
    }
}

/// Size of the drawing in pixels, and margins for the numbers at its axes.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const AROUND: f64 = 30.0;

/// Draws the losses as SVG, with both axes.
pub(crate) fn svg(records: &[Record]) -> String {
    let (w, h) = (WIDTH - LEFT - AROUND, HEIGHT - 2.0 * AROUND);
    let (right, bottom) = (LEFT + w, AROUND + h);
    let mut s = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"monospace\" font-size=\"11\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fcfcfd\"/>\n\
         <path d=\"M{LEFT} {AROUND}V{bottom}H{right}\" fill=\"none\" stroke=\"#6b7486\"/>\n"
    );
    if let Some(frame) = Frame::of(records) {
        let mut text = |x: f64, y: f64, anchor: &str, what: &str| {
            let _ = writeln!(
                s,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"#475063\">{what}</text>"
            );
        };
        text(LEFT - 6.0, AROUND + 4.0, "end", &format!("{:.4}", frame.losses.1));
        text(LEFT - 6.0, bottom, "end", &format!("{:.4}", frame.losses.0));
        text(LEFT, bottom + 16.0, "middle", &frame.steps.0.to_string());
        text(right, bottom + 16.0, "middle", &frame.steps.1.to_string());
        let held_out = if frame.validation.is_empty() { "" } else { " (orange: held out)" };
        text(LEFT + w / 2.0, AROUND - 12.0, "middle", &format!("loss by step{held_out}"));
        let pixels = |(x, y): (f64, f64)| format!("{:.1},{:.1}", LEFT + x * w, bottom - y * h);
        for (points, colour) in [(&frame.points, "#3b78c4"), (&frame.validation, "#d9822b")] {
            let points: Vec<String> = frame.fractions(points).map(pixels).collect();
            if !points.is_empty() {
                let _ = writeln!(
                    s,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
                    points.join(" ")
                );
            }
        }
    }
    s.push_str("</svg>\n");
    s
}

/// Size of the plot in a terminal, in characters; each has two columns and four rows of dots.
const COLUMNS: usize = 60;
const ROWS: usize = 8;

/// Bits of the dots of a Braille character, by row and column from the upper left.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Plots the losses as text. Returns an empty text if no loss is finite.
pub(crate) fn plot(records: &[Record]) -> String {
    let Some(frame) = Frame::of(records) else { return String::new() };
    let mut cells = [[0u32; COLUMNS]; ROWS];
    for (x, y) in frame.fractions(&frame.points) {
        let column = (x * (2 * COLUMNS - 1) as f64).round() as usize;
        let row = ((1.0 - y) * (4 * ROWS - 1) as f64).round() as usize;
        cells[row / 4][column / 2] |= DOTS[row % 4][column % 2];
    }
    let mut out = String::new();
    for (i, row) in cells.iter().enumerate() {
        let label = match i {
            0 => format!("{:.4}", frame.losses.1),
            _ if i == ROWS - 1 => format!("{:.4}", frame.losses.0),
            _ => String::new(),
        };
        let dots: String = row.iter().filter_map(|bits| char::from_u32(0x2800 + bits)).collect();
        let _ = writeln!(out, "{label:>10} │{dots}");
    }
    let (first, last) = (frame.steps.0.to_string(), frame.steps.1.to_string());
    let between = COLUMNS.saturating_sub(first.len());
    let _ = writeln!(out, "{:>10} │{first}{last:>between$}", "step");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(losses: &[f64]) -> Vec<Record> {
        let record = |(i, loss): (usize, &f64)| Record {
            step: i as u64 + 1,
            loss: *loss,
            validation: None,
            rate: 0.1,
            time: 0.0,
        };
        losses.iter().enumerate().map(record).collect()
    }

    #[test]
    fn the_drawing_goes_from_corner_to_corner() {
        let text = svg(&records(&[3.0, f64::NAN, 1.0]));
        assert!(text.contains("points=\"70.0,30.0 610.0,330.0\""), "{text}");
        assert!(text.contains(">3.0000<") && text.contains(">1.0000<"), "{text}");
        assert!(!svg(&[]).contains("polyline"));
        let mut held_out = records(&[3.0, 2.0, 2.0]);
        held_out[2].validation = Some(1.0);
        let text = svg(&held_out);
        assert!(text.contains("points=\"70.0,30.0 340.0,180.0 610.0,180.0\""), "{text}");
        assert!(text.contains("points=\"610.0,330.0\"") && text.contains("(orange: held out)"), "{text}");
    }

    #[test]
    fn the_plot_goes_from_corner_to_corner() {
        let text = plot(&records(&[3.0, 1.0]));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("    3.0000 │⠁"), "{text}");
        assert!(lines[7].starts_with("    1.0000 │") && lines[7].ends_with('⢀'), "{text}");
        assert_eq!(lines.len(), 9);
        assert_eq!(plot(&records(&[f64::NAN])), "");
    }
}
