//! The traits that a device implements.

use crate::pending::Pending;
use gradus_compile::{Given, Plan, Profile, Text, Work, compile_with};
use gradus_ir::{Error, Graph, Kind, Result};
use gradus_mem::Storage;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A device: memory, a queue that works in order, and limits.
pub trait Device: Send + Sync + 'static {
    /// Its number, which its storages carry. 0 is the CPU.
    fn id(&self) -> u16;
    /// Its name, such as `wgpu:0`.
    fn name(&self) -> &str;
    /// What it is, for people: adapter, driver and limits, one fact per pair.
    fn facts(&self) -> Vec<(String, String)>;
    /// The limits by which graphs are compiled for it.
    fn profile(&self) -> &Profile;
    /// New memory. Its content is undefined.
    fn alloc(&self, bytes: usize) -> Result<Storage>;
    /// New memory with these bytes.
    fn upload(&self, bytes: &[u8]) -> Result<Storage>;
    /// Bytes of storages of this device, as storages of the host. One list is one wait.
    fn read(&self, parts: &[(&Storage, Range<usize>)]) -> Pending;
    /// A copy of these bytes of a storage.
    fn copy(&self, from: &Storage, at: Range<usize>) -> Result<Storage>;
    /// Makes a plan ready.
    fn prepare(&self, plan: Plan, request: &Request<'_>) -> Result<Arc<dyn Executable>>;
    /// Compiles a graph and makes it ready.
    fn program(&self, graph: &Graph, request: &Request<'_>) -> Result<Arc<dyn Executable>> {
        self.prepare(compile_with(graph, request.given, self.profile())?, request)
    }
    /// Ends when all that was queued so far is done.
    fn finish(&self) -> Pending;
    /// Frees memory that is kept for later use.
    fn trim(&self);
    /// How much memory is in use.
    fn memory(&self) -> Statistics;
}

/// What the user of an executable wants of it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// How inputs are stored; empty if all are row-major.
    pub given: &'a [Given],
    /// Pairs of an output and an input that are the new and the old value of a cell. If a run fails, the cell keeps its
    /// old value. The device may write the output over the input.
    pub keeps: &'a [(usize, usize)],
    /// How special the code may be.
    pub text: Text,
}

/// Memory of a device in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Held by storages and running programs.
    pub used: usize,
    /// Taken from the system, in use or kept for later.
    pub reserved: usize,
    /// The most that was used at once.
    pub peak: usize,
}

/// A plan made ready on a device. It may be run from several threads at once.
pub trait Executable: Send + Sync + Debug {
    /// Runs it on arguments that are stored as it was compiled for; returns the storages of its outputs. Arguments that
    /// nobody else holds may become outputs and are then gone from the list. If the run fails, all are as they were.
    fn run(&self, arguments: &mut Vec<Argument>, sink: Option<&mut dyn Sink>) -> Result<Vec<Storage>>;
    /// The plan for people.
    fn explain(&self) -> String;
    /// What each step is, in order.
    fn steps(&self) -> Vec<String>;
    /// Operations and bytes of each step, in order.
    fn costs(&self) -> Vec<Work>;
    /// Bytes of temporaries.
    fn arena(&self) -> usize;
    /// What all runs so far have done.
    fn done(&self) -> Done;
    /// The generated code of its steps, in order. A step that calls prepared routines has none.
    fn code(&self) -> Vec<Code>;
}

/// Generated code of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The step, by number.
    pub step: usize,
    /// The code itself.
    pub body: CodeBody,
}

/// Code in the form that a device runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeBody {
    /// Source text of a kernel, such as WGSL.
    Text(String),
    /// Machine instructions of the host.
    Instructions(Vec<u8>),
}

/// Takes the times of a run.
pub trait Sink {
    /// A step took so long.
    fn span(&mut self, step: usize, took: Duration);
}

/// What runs have done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Operations and bytes.
    pub work: Work,
    /// Iterations of the plan's own loops that go on while a condition holds.
    pub turns: u64,
}

/// A value given to a run: row-major elements from an offset on.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Their storage. If it is handed over and nobody else holds it, a result may take it over.
    pub storage: Storage,
    /// The first byte.
    pub offset: usize,
}

/// The error of memory that could not be had.
pub fn memory_error(bytes: usize) -> Error {
    Error::new(Kind::Memory { bytes })
}
