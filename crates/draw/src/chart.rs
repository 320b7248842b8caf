//! Draws parts that depend on each other, such as the equations of a program.

use crate::label;
use crate::layout::{self, Wire};
use crate::scene::{Cell, Kind, Level, Line};
use crate::svg;

/// The role of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An input from outside.
    Input,
    /// A value that the program contains as numbers. Its lines are shortened to fewer characters than others.
    Constant,
    /// Computed from other parts.
    Inner,
    /// A result that is returned, such as an output of a program.
    Output,
}

/// A part: a box with a title and text lines.
#[derive(Clone, Debug)]
pub struct Part {
    /// The role, which determines the colour.
    pub role: Role,
    /// Its name.
    pub title: String,
    /// Text after the name, such as a type.
    pub note: String,
    /// The lines of its description. Long lines are shortened; the tooltip has the complete lines.
    pub lines: Vec<String>,
    /// The indices of the parts that this part depends on, which may include itself and later parts.
    pub needs: Vec<usize>,
}

/// Largest number of characters per line. It is larger than for boxes of ops, because descriptions should be
/// readable.
const LINE: usize = 72;

/// Largest number of characters per line of a constant.
const CONSTANT_LINE: usize = 36;

/// Draws the parts as SVG. Each part is below those that it depends on; if parts form a cycle, dashed arrows
/// point upwards.
pub fn svg_of_parts(parts: &[Part]) -> String {
    let order = dependency_order(parts);
    let row_of: Vec<usize> =
        (0..parts.len()).map(|i| order.iter().position(|o| *o == i).unwrap_or(0)).collect();
    let mut cells: Vec<Cell> = order.iter().enumerate().map(|(at, i)| cell(at, &parts[*i])).collect();
    let (mut wires, mut lines) = (Vec::new(), Vec::new());
    for (to, part) in order.iter().map(|i| &parts[*i]).enumerate() {
        for (k, need) in part.needs.iter().enumerate().filter(|(_, n)| **n < parts.len()) {
            let from = row_of[*need];
            if from == to {
                continue;
            }
            let (above, below) = (from.min(to), from.max(to));
            let middle = |c: usize| cells[c].size.0 / 2.0;
            let start = (middle(above), cells[above].size.1);
            wires.push(Wire { from: above, to: below, start, end: (middle(below), 0.0) });
            let tip = format!("{} needs {}", part.title, parts[*need].title);
            let id = format!("n{to}.in{k}");
            lines.push(Line { id, gradient: from > to, tip, points: Vec::new() });
        }
    }
    let sizes: Vec<(f64, f64)> = cells.iter().map(|c| c.size).collect();
    let placed = layout::place(&sizes, &wires);
    cells.iter_mut().zip(&placed.corners).for_each(|(cell, corner)| cell.corner = *corner);
    for (line, mut points) in lines.iter_mut().zip(placed.wire_points) {
        if line.gradient {
            points.reverse();
        }
        line.points = points;
    }
    let mut kinds = vec![(Kind::Input, "input")];
    let has_constants = parts.iter().any(|p| p.role == Role::Constant);
    kinds.extend(has_constants.then_some((Kind::Constant, "constant")));
    kinds.extend([(Kind::Op, "equation"), (Kind::Output, "output")]);
    svg::write_with(&Level { cells, lines, size: placed.size }, &kinds)
}

fn cell(at: usize, part: &Part) -> Cell {
    let (kind, most) = match part.role {
        Role::Input => (Kind::Input, LINE),
        Role::Constant => (Kind::Constant, CONSTANT_LINE),
        Role::Inner => (Kind::Op, LINE),
        Role::Output => (Kind::Output, LINE),
    };
    let lines = part.lines.iter().map(|l| label::shortened(l, most)).collect();
    let mut cell = Cell::new(format!("n{at}"), kind, &part.title, part.note.clone(), lines);
    cell.tip = part.lines.join("\n");
    cell
}

/// Orders parts so that each comes after the parts that it depends on, except in cycles.
fn dependency_order(parts: &[Part]) -> Vec<usize> {
    let (mut order, mut seen) = (Vec::with_capacity(parts.len()), vec![false; parts.len()]);
    for root in 0..parts.len() {
        // The parts from the root to the current one, each with its number of visited dependencies.
        let mut path = vec![(root, 0)];
        while let Some((part, at)) = path.pop() {
            if at == 0 && std::mem::replace(&mut seen[part], true) {
                continue;
            }
            match parts[part].needs.get(at) {
                Some(need) => {
                    path.push((part, at + 1));
                    if *need < parts.len() && !seen[*need] {
                        path.push((*need, 0));
                    }
                }
                None => order.push(part),
            }
        }
    }
    order
}
