//! Implements the `Device` trait for the CPU. Tensors on the CPU call [`Executable`] directly; host steps of
//! other devices use this trait.

use crate::executable::Executable;
use crate::{Isa, PROFILE, Pool};
use gradus_compile::{Plan, Profile, Work};
use gradus_device::{
    Argument, Code, CodeBody, Device, Done, Pending, Request, Sink, Statistics, memory_error,
};
use gradus_ir::{Error, Result};
use gradus_mem::{HOST, Storage, live_bytes, stats, trim};
use std::ops::Range;
use std::sync::Arc;

/// The processor on which the program itself runs.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

impl Device for Cpu {
    fn id(&self) -> u16 {
        HOST
    }

    fn name(&self) -> &str {
        "cpu"
    }

    fn facts(&self) -> Vec<(String, String)> {
        vec![
            ("threads".to_string(), Pool::global().threads().to_string()),
            ("instructions".to_string(), format!("{:?}", Isa::best()).to_lowercase()),
        ]
    }

    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn alloc(&self, bytes: usize) -> Result<Storage> {
        Storage::zeroed(bytes).ok_or_else(|| memory_error(bytes))
    }

    fn upload(&self, bytes: &[u8]) -> Result<Storage> {
        Storage::from_slice(bytes).ok_or_else(|| memory_error(bytes.len()))
    }

    fn read(&self, parts: &[(&Storage, Range<usize>)]) -> Pending {
        Pending::ready(parts.iter().map(|(from, at)| self.copy(from, at.clone())).collect())
    }

    fn copy(&self, from: &Storage, at: Range<usize>) -> Result<Storage> {
        let bytes = from.host::<u8>().and_then(|all| all.get(at));
        self.upload(bytes.ok_or_else(|| Error::value("a range of bytes", "is outside of its storage"))?)
    }

    fn prepare(&self, plan: Plan, _: &Request<'_>) -> Result<Arc<dyn gradus_device::Executable>> {
        Ok(Arc::new(Executable::of(plan)?))
    }

    fn finish(&self) -> Pending {
        Pending::ready(Ok(Vec::new()))
    }

    fn trim(&self) {
        trim();
    }

    fn memory(&self) -> Statistics {
        let used = live_bytes();
        Statistics { used, reserved: used + stats().cached_bytes, peak: used }
    }
}

impl gradus_device::Executable for Executable {
    fn run(&self, arguments: &mut Vec<Argument>, sink: Option<&mut dyn Sink>) -> Result<Vec<Storage>> {
        let Some(sink) = sink else { return Executable::run(self, Pool::global(), arguments) };
        let (outputs, times) = self.profile(Pool::global(), arguments)?;
        times.into_iter().enumerate().for_each(|(step, took)| sink.span(step, took));
        Ok(outputs)
    }

    fn explain(&self) -> String {
        self.plan().explained()
    }

    fn steps(&self) -> Vec<String> {
        self.plan().steps.iter().map(|step| step.title()).collect()
    }

    fn costs(&self) -> Vec<Work> {
        self.plan().steps.iter().map(|step| step.work(self.plan())).collect()
    }

    fn arena(&self) -> usize {
        self.plan().arena
    }

    fn done(&self) -> Done {
        Executable::done(self)
    }

    fn code(&self) -> Vec<Code> {
        let code = |(step, code): (usize, &[u8])| Code { step, body: CodeBody::Instructions(code.to_vec()) };
        self.instructions().map(code).collect()
    }
}
