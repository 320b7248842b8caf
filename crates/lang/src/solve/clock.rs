//! Encodes the location of a call and its time step as the text of a line that traced nodes carry. Lowering
//! writes it. If a run fails, its error has this text and the iterations of the loops, from which the step
//! follows.

use crate::syntax::source::Span;
use gradus_ir::Error;

/// The loops around the lines that are lowered now, and the step that is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// The number of loops in the graph.
    depth: usize,
    /// The step. `None` outside of steps.
    step: Option<Step>,
}

/// A step of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A step that is computed on its own.
    One(i64),
    /// A loop over steps: its number, counted from the outermost loop, and the step of its iteration 0.
    Each(usize, i64),
}

impl Clock {
    /// Returns the clock at a single step.
    pub(crate) fn at(self, step: i64) -> Clock {
        Clock { step: Some(Step::One(step)), ..self }
    }

    /// Returns the clock in a loop over steps.
    pub(crate) fn from(self, first: i64) -> Clock {
        Clock { depth: self.depth + 1, step: Some(Step::Each(self.depth, first)) }
    }

    /// Returns the clock in a loop that is not over steps.
    pub(crate) fn looped(self) -> Clock {
        Clock { depth: self.depth + 1, ..self }
    }

    /// Returns the clock where no step is known, because all are computed at once.
    pub(crate) fn unknown(self) -> Clock {
        Clock { step: None, ..self }
    }

    /// Returns the clock of a line whose steps are numbered from another one.
    pub(crate) fn later(self, by: i64) -> Clock {
        let step = self.step.map(|step| match step {
            Step::One(at) => Step::One(at + by),
            Step::Each(number, first) => Step::Each(number, first + by),
        });
        Clock { step, ..self }
    }

    /// Returns the text of a location and this clock.
    pub(crate) fn line(self, span: Span) -> String {
        let Span { file, start, end } = span;
        let (number, first) = match self.step {
            None => ("-".into(), 0),
            Some(Step::One(at)) => ("one".into(), at),
            Some(Step::Each(number, first)) => (number.to_string(), first),
        };
        format!("{file} {start} {end} {} {number} {first}", self.depth)
    }
}

/// Returns the location in the program at which a run failed, and the time step, if the error has them.
pub(crate) fn failure(e: &Error) -> Option<(Span, Option<i64>)> {
    let words: Vec<&str> = e.line()?.split(' ').collect();
    let [file, start, end, depth, number, first] = words[..] else { return None };
    let span = Span { file: file.parse().ok()?, start: start.parse().ok()?, end: end.parse().ok()? };
    let (depth, first): (usize, i64) = (depth.parse().ok()?, first.parse().ok()?);
    let step = match number {
        "-" => None,
        "one" => Some(first),
        // A node that the compiler moved out of a loop has fewer iterations.
        _ if e.iterations().len() != depth => None,
        number => {
            let outer = number.parse::<usize>().ok()?;
            e.iterations().iter().rev().nth(outer).map(|i| first + *i as i64)
        }
    };
    Some((span, step))
}
