//! The time step at which lines are lowered, which traced nodes remember with their location in the program. If a run
//! fails, its error has both.

use crate::syntax::source::Span;
use gradus_ir::Error;
use gradus_ir::graph::{Line, Step};

/// The loops around the lines that are lowered now, and the step that is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// The number of loops in the graph.
    loops: usize,
    /// The step. `None` outside of steps.
    step: Option<Step>,
}

impl Clock {
    /// Returns the clock at a single step.
    pub(crate) fn at(self, step: i64) -> Clock {
        Clock { step: Some(Step::One(step)), ..self }
    }

    /// Returns the clock in a loop over steps.
    pub(crate) fn from(self, first: i64) -> Clock {
        let loops = self.loops + 1;
        Clock { loops, step: Some(Step::Each { loops, number: self.loops, first }) }
    }

    /// Returns the clock in a loop that is not over steps.
    pub(crate) fn looped(self) -> Clock {
        let loops = self.loops + 1;
        let step = self.step.map(|step| match step {
            Step::Each { number, first, .. } => Step::Each { loops, number, first },
            Step::One(_) => step,
        });
        Clock { loops, step }
    }

    /// Returns the clock where no step is known, because all are computed at once.
    pub(crate) fn unknown(self) -> Clock {
        Clock { step: None, ..self }
    }

    /// Returns the clock of a line that counts its steps from another one.
    pub(crate) fn later(self, by: i64) -> Clock {
        Clock { step: self.step.map(|step| step.later(by)), ..self }
    }

    /// Returns the line that nodes remember: a location and the step.
    pub(crate) fn line(self, span: Span) -> Line {
        Line::Part { file: span.file, start: span.start, end: span.end, step: self.step }
    }
}

/// Returns the location in the program at which a run failed, and the time step, if the error has them.
pub(crate) fn failure(e: &Error) -> Option<(Span, Option<i64>)> {
    let &Line::Part { file, start, end, step } = e.line()? else { return None };
    Some((Span { file, start, end }, step.and_then(|step| step.at(e.iterations()))))
}
