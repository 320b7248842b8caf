//! Tests, by a kernel, properties of float arithmetic that WGSL does not specify.

use crate::Gpu;
use gradus_compile::Text;
use gradus_device::{Argument, Device, Request};
use gradus_ir::graph::Builder;
use gradus_ir::{Aval, DType, Error, Result};

impl Gpu {
    /// Returns true if the adapter keeps subnormal products, and false if it flushes them to zero.
    pub fn keeps_subnormals(&self) -> Result<bool> {
        let b = Builder::new();
        let one = Aval::new(DType::F32, [1]);
        let (x, y) = (b.input("x", one.clone()), b.input("y", one));
        let graph = b.finish(&[x * y])?;
        let program = self.program(&graph, &Request { layouts: &[], keeps: &[], text: Text::Generic })?;
        let given = |x: f32| Ok(Argument { storage: self.upload(&x.to_ne_bytes())?, offset: 0 });
        let outputs = program.run(&mut vec![given(f32::MIN_POSITIVE / 8.0)?, given(1.0)?], None)?;
        let parts: Vec<_> = outputs.iter().map(|s| (s, 0..s.len_bytes())).collect();
        let read = self.read(&parts).wait()?;
        let value = read.first().and_then(|s| s.host::<f32>()?.first().copied());
        Ok(value.ok_or_else(|| Error::verify("a read returned no values"))? != 0.0)
    }
}
