//! The settings of a run, as given from outside.

use crate::program::{Program, Tables};
use crate::syntax::ast::Name;
use crate::syntax::diagnostic::{Diagnostic, Faults};
use crate::syntax::source::{Source, Span};
use gradus_ir::DType;
use std::collections::HashMap;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The dtype of its numbers.
    pub float: DType,
    /// Parameters given from outside.
    pub set: HashMap<Name, f64>,
    /// The number of time steps; if `None`, that of the inputs. For a time that ends by a condition, the maximum.
    pub steps: Option<usize>,
    /// Temperatures by the name on the left, `*` for all.
    pub temperatures: HashMap<Name, f64>,
    /// The remaining relative distance at which a fixpoint counts as converged; if `None`, it depends on the dtype.
    pub tolerance: Option<f64>,
    /// The most rounds of a fixpoint.
    pub rounds: usize,
    /// If true, a fixpoint that has not converged is not an error.
    pub allow_unconverged: bool,
    /// Tables of relations, which the program reads by name.
    pub tables: Tables,
    /// If true, rules that read only relations, constants and tables are solved over tuples before lowering.
    pub sparse: bool,
    /// If true, the graph will be differentiated: the derivatives of its fixpoints must converge too.
    pub differentiated: bool,
    /// The text of the settings, such as a command line, for error messages.
    pub command: Option<Source>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            float: DType::F32,
            set: HashMap::new(),
            steps: None,
            temperatures: HashMap::new(),
            tolerance: None,
            rounds: 10_000,
            allow_unconverged: false,
            tables: Tables::default(),
            sparse: true,
            differentiated: false,
            command: None,
        }
    }
}

impl Settings {
    /// Returns the span of an option (`--steps`, `--set K=`) in the command, whose file number follows those
    /// of the program.
    pub fn place(&self, option: &str, program: &Program) -> Span {
        let file = program.sources.len() as u32;
        self.command.as_ref().and_then(|c| c.option(option, file)).unwrap_or(Span::NOWHERE)
    }

    /// Returns errors with the program's texts and the command.
    pub fn faults(&self, program: &Program, faults: Vec<Diagnostic>) -> Faults {
        Faults { sources: program.sources.iter().chain(&self.command).cloned().collect(), faults }
    }
}
