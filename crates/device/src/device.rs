//! Declares the traits that a device implements: [`Device`] and [`Executable`].
//! Plans and storages go in; storages, times and generated code come out.
//! `gradus-compile` decides the kernels of a plan; the crate of a device decides how they run.

use crate::pending::Pending;
use gradus_compile::{InputLayout, Plan, Profile, Text, Work, compile_with};
use gradus_ir::{Error, Graph, Kind, Result};
use gradus_mem::Storage;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A device: memory, a queue that works in order, and limits.
pub trait Device: Send + Sync + 'static {
    /// Returns the number of the device, which each of its storages has. 0 is the CPU.
    fn id(&self) -> u16;
    /// Returns the name of the device, such as `wgpu:0`.
    fn name(&self) -> &str;
    /// Describes the device for users, as pairs of name and value: adapter, driver, limits.
    fn facts(&self) -> Vec<(String, String)>;
    /// Returns the limits by which graphs are compiled for this device.
    fn profile(&self) -> &Profile;
    /// Allocates memory. Its content is unspecified.
    fn alloc(&self, bytes: usize) -> Result<Storage>;
    /// Allocates memory and fills it with `bytes`.
    fn upload(&self, bytes: &[u8]) -> Result<Storage>;
    /// Copies byte ranges of storages of this device into storages of the host. One wait suffices for all ranges.
    fn read(&self, parts: &[(&Storage, Range<usize>)]) -> Pending;
    /// Copies the bytes `at` of a storage into a new storage of this device.
    fn copy(&self, from: &Storage, at: Range<usize>) -> Result<Storage>;
    /// Prepares a plan for execution, which may compile kernels.
    fn prepare(&self, plan: Plan, request: &Request<'_>) -> Result<Arc<dyn Executable>>;
    /// Compiles a graph into a plan and prepares it.
    fn program(&self, graph: &Graph, request: &Request<'_>) -> Result<Arc<dyn Executable>> {
        self.prepare(compile_with(graph, request.layouts, self.profile())?, request)
    }
    /// Returns a future that completes when all work queued so far is done.
    fn finish(&self) -> Pending;
    /// Frees memory that is cached for reuse.
    fn trim(&self);
    /// Returns the amounts of memory in use.
    fn memory(&self) -> Statistics;
}

/// Options for preparing an executable.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Layouts of inputs; empty if all are row-major.
    pub layouts: &'a [InputLayout],
    /// Pairs `(output, input)` of the new and the old value of a cell. The device may write the output over the input.
    /// If a run fails, the cell keeps its old value.
    pub keeps: &'a [(usize, usize)],
    /// The degree to which generated code is specialised to this graph.
    pub text: Text,
}

/// The memory of a device, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Memory that storages and running programs use.
    pub used: usize,
    /// Memory allocated from the system, in use or cached.
    pub reserved: usize,
    /// The largest value of `used` so far.
    pub peak: usize,
}

/// A plan prepared for a device. It may be run from several threads at once.
pub trait Executable: Send + Sync + Debug {
    /// Runs the plan on arguments with the layouts it was compiled for, and returns the storages of its outputs.
    /// Arguments whose storage is unshared may become outputs; they are then removed from the list. If the run fails,
    /// all arguments keep their values.
    fn run(&self, arguments: &mut Vec<Argument>, sink: Option<&mut dyn Sink>) -> Result<Vec<Storage>>;
    /// Describes the plan as text for users.
    fn explain(&self) -> String;
    /// Describes each step, in order.
    fn steps(&self) -> Vec<String>;
    /// Returns the operations and bytes of each step, in order.
    fn costs(&self) -> Vec<Work>;
    /// Returns the size of the temporaries in bytes.
    fn arena(&self) -> usize;
    /// Returns the total work of all runs so far.
    fn done(&self) -> Done;
    /// Returns the generated code of its steps, in order. A step that calls a precompiled routine has none.
    fn code(&self) -> Vec<Code>;
}

/// Generated code of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The index of the step.
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

/// A receiver of the times of a run.
pub trait Sink {
    /// Receives the time that a step took.
    fn span(&mut self, step: usize, took: Duration);
}

/// The total work of the runs of an executable.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Operations and bytes.
    pub work: Work,
    /// The number of iterations of the plan's loops that end by a condition.
    pub iterations: u64,
}

/// An argument of a run: row-major elements that start at an offset.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The storage of the elements. If this is the last reference to the storage, a result may overwrite it.
    pub storage: Storage,
    /// The offset of the first element, in bytes.
    pub offset: usize,
}

/// Builds the error of a failed allocation.
pub fn memory_error(bytes: usize) -> Error {
    Error::new(Kind::Memory { bytes })
}
