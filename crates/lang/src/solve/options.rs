//! Settings with everything evaluated: numbers, sizes and the number of steps.

use super::clock::Clock;
use crate::builtin::{self, Verdict};
use crate::check::Settings;
use crate::elaborate::time::timed_refs;
use crate::elaborate::{Domains, number};
use crate::program::{Program, Tables};
use crate::syntax::ast::Name;
use crate::syntax::diagnostic::{Diagnostic, add_near};
use crate::syntax::limit::{MAX_ROUNDS, MAX_STEPS};
use crate::syntax::source::Span;
use gradus_ir::{Aval, DType};
use gradus_tensor::with_line;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// The settings with everything evaluated.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) float: DType,
    pub(crate) numbers: HashMap<Name, f64>,
    pub(crate) axes: HashMap<Name, (usize, Span)>,
    pub(crate) steps: usize,
    /// The most steps of a time that ends by a condition.
    pub(crate) most_steps: usize,
    pub(crate) temperatures: HashMap<Name, f64>,
    pub(crate) tolerance: f64,
    pub(crate) rounds: usize,
    /// Tables of relations, the domains of argument positions, and whether rules are solved over tuples.
    pub(crate) tables: Tables,
    pub(crate) domains: Arc<Domains>,
    pub(crate) sparse: bool,
    /// The number of calls of the program's own functions so far.
    pub(crate) calls: Arc<AtomicUsize>,
    /// If true, a fixpoint that has not converged is not an error.
    pub(crate) allow_unconverged: bool,
    /// Run-time checks of fixpoints inside functions, and of numbers.
    pub(crate) verdicts: Rc<RefCell<Vec<Verdict>>>,
    /// The loops and the step of the lines being traced.
    clock: Rc<Cell<Clock>>,
    /// The number of loops and derivatives being traced; checks inside them do not reach the run.
    traced: Rc<Cell<usize>>,
    /// The number of these that are loops over steps, which return their checks.
    read_at: Rc<Cell<usize>>,
    /// The number of these that are derivatives.
    derived: Rc<Cell<usize>>,
    /// If true, booleans may stand for numbers of a dtype that is not known yet.
    guessing: Rc<Cell<bool>>,
}

impl Options {
    /// Returns the size of the domain of an argument position, if it has one.
    pub(crate) fn domain_size(&self, name: &str, position: usize) -> Option<usize> {
        let domain = self.domains.number(name, position)?;
        self.domains.size(domain, |n| self.axes.get(n).map(|a| a.0))
    }

    /// Returns the same options with another number of time steps.
    pub(crate) fn lasting(self, steps: usize) -> Options {
        Options { steps, ..self }
    }

    /// Runs `f`, which traces lines with another clock.
    pub(crate) fn timed<R>(&self, clock: impl FnOnce(Clock) -> Clock, f: impl FnOnce() -> R) -> R {
        let before = self.clock.get();
        self.clock.set(clock(before));
        let done = f();
        self.clock.set(before);
        done
    }

    /// Runs `f`, whose nodes remember this location in the program.
    pub(crate) fn located<R>(&self, span: Span, f: impl FnOnce() -> R) -> R {
        with_line(self.clock.get().line(span), f)
    }

    /// Runs `f`, which traces into a graph of its own.
    pub(crate) fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        self.traced.set(self.traced.get() + 1);
        let done = f();
        self.traced.set(self.traced.get() - 1);
        done
    }

    /// Runs `f`, which is traced to find dtypes. If `open`, booleans may stand for numbers of an unknown dtype.
    pub(crate) fn guessed<R>(&self, open: bool, f: impl FnOnce() -> R) -> R {
        let before = self.guessing.replace(open);
        let done = self.within(f);
        self.guessing.set(before);
        done
    }

    /// Returns true while booleans may stand for numbers of an unknown dtype.
    pub(crate) fn is_guessing(&self) -> bool {
        self.guessing.get()
    }

    /// Runs `f`, which is traced for differentiation.
    pub(crate) fn derived<R>(&self, f: impl FnOnce() -> R) -> R {
        self.derived.set(self.derived.get() + 1);
        let done = self.within(f);
        self.derived.set(self.derived.get() - 1);
        done
    }

    /// Returns true while tracing for differentiation.
    pub(crate) fn is_derived(&self) -> bool {
        self.derived.get() > 0
    }

    /// Runs `f`, which is traced step by step and returns the checks of each step.
    pub(crate) fn by_steps<R>(&self, f: impl FnOnce() -> R) -> R {
        let read = self.read_at.get();
        if self.is_read() {
            self.read_at.set(read + 1);
        }
        let done = self.within(f);
        self.read_at.set(read);
        done
    }

    /// Returns true if checks of fixpoints and numbers made here reach the run.
    pub(crate) fn is_read(&self) -> bool {
        self.traced.get() == self.read_at.get()
    }
}

impl Program {
    /// Evaluates the settings; errors in them are added to `faults`.
    pub(crate) fn options(
        &self,
        inputs: &BTreeMap<Name, Aval>,
        settings: &Settings,
        faults: &mut Vec<Diagnostic>,
    ) -> Option<Options> {
        for (name, x) in settings.set.iter().collect::<BTreeMap<_, _>>() {
            let place = settings.place(&format!("--set {name}="), self);
            match self.params.iter().find(|(n, _)| n == name) {
                None => {
                    let names = self.params.iter().map(|(n, _)| &**n);
                    let what = format!("there is no parameter `{name}` to set to {x}");
                    add_near(faults, Diagnostic::error(place, what), name, names);
                }
                Some((_, p)) if p.fixed => {
                    let what = format!("`{name}` is a constant and cannot be set");
                    faults.push(Diagnostic::error(place, what).and(p.span, "declared here").about(name));
                }
                Some(_) => {}
            }
        }
        if settings.rounds > MAX_ROUNDS {
            let what = format!("a fixpoint may take at most {MAX_ROUNDS} rounds, not {}", settings.rounds);
            let help =
                "if more rounds are needed, convergence is too slow: solve the equation in another way";
            faults.push(Diagnostic::error(settings.place("--rounds", self), what).help(help));
        }
        for name in settings.temperatures.keys().collect::<BTreeSet<_>>() {
            self.check_temperature(name, settings.place(&format!("--temperature {name}="), self), faults);
        }
        let mut kept = |d: Diagnostic| faults.push(d);
        let numbers = self.numbers(&settings.set).map_err(&mut kept).ok()?;
        let mut axes = HashMap::new();
        for (name, (size, span)) in &self.axes {
            let n = number(size, &numbers).map_err(&mut kept).ok()?;
            axes.insert(name.clone(), (n as usize, *span));
        }
        let steps = self.steps(inputs, settings, &axes).map_err(&mut kept).ok()?;
        if settings.steps.is_some() {
            for (time, _) in self.equations.iter().flat_map(timed_refs) {
                axes.entry(time.clone()).and_modify(|(n, _)| *n = steps);
            }
        }
        let tolerance = settings.tolerance.unwrap_or(if settings.float == DType::F64 { 1e-12 } else { 1e-6 });
        Some(Options {
            float: settings.float,
            steps,
            most_steps: settings.steps.unwrap_or(MAX_STEPS),
            numbers,
            axes,
            temperatures: settings.temperatures.clone(),
            tolerance,
            // A refused number of rounds is not tried.
            rounds: if settings.rounds > MAX_ROUNDS { 1 } else { settings.rounds },
            tables: settings.tables.clone(),
            domains: Arc::new(if self.has_facts() {
                self.domains(&settings.tables)
            } else {
                Domains::default()
            }),
            sparse: settings.sparse,
            calls: Arc::default(),
            allow_unconverged: settings.allow_unconverged,
            verdicts: Rc::default(),
            clock: Rc::default(),
            traced: Rc::default(),
            read_at: Rc::default(),
            derived: Rc::new(Cell::new(usize::from(settings.differentiated))),
            guessing: Rc::default(),
        })
    }

    /// Checks that a temperature is set for something that uses one.
    fn check_temperature(&self, name: &Name, place: Span, faults: &mut Vec<Diagnostic>) {
        let all = &**name == "*";
        if !all && self.definition(name).is_none_or(|d| d.equations.is_empty()) {
            let what = format!("no equation defines `{name}`, so it has no temperature");
            let names = self.names.iter().filter(|n| !self.is_input(n)).map(|n| &**n);
            return add_near(faults, Diagnostic::error(place, what), name, names);
        }
        let bodies = self.functions.values().flat_map(|f| &f.body).filter(|_| all);
        let own = self.equations.iter().filter(|e| all || e.target.name == *name);
        let mut parts = own.chain(bodies).flat_map(|e| [&e.value].into_iter().chain(&e.guard));
        if !parts.any(|e| builtin::has_temperature(e, self)) {
            let who = if all { "nothing in the program".into() } else { format!("no equation of `{name}`") };
            let what = format!("{who} has a temperature");
            faults.push(
                Diagnostic::error(place, what)
                    .help("only sig(x) without a temperature of its own uses one")
                    .about(name),
            );
        }
    }
}
