//! A model as a table: what it holds, how large it is, how much arithmetic it takes.

use crate::module::{Module, Part, evaluating};
use gradus_ir::Result;
use gradus_tensor::{Outputs, Tensor, trace};

/// The parameters and buffers of a model with their types and counts, and the arithmetic of a function of it at these inputs,
/// when it is not training.
///
/// ```
/// use gradus_nn::{Forward, Linear, summary};
/// use gradus_tensor::{Generator, Tensor};
/// let layer = Linear::new(3, 2, &Generator::new(0));
/// let table = summary(&layer, |m, x| m.forward(&x[0]), &[&Tensor::zeros([1, 3])]).unwrap();
/// assert!(table.contains("weight  f32[2,3]  6"));
/// ```
pub fn summary<M: Module, R: Outputs>(
    model: &M,
    f: impl FnOnce(&M, &[Tensor]) -> R,
    inputs: &[&Tensor],
) -> Result<String> {
    let graph = evaluating(&model.modes(), || trace(inputs, |x| f(model, x)))?;
    let (mut rows, mut trained, mut frozen, mut bytes) = (Vec::new(), 0, 0, 0);
    for (name, part) in model.parts() {
        let (t, mark) = match part {
            Part::Param(p) if p.requires_grad() => {
                trained += p.numel();
                (p, "")
            }
            Part::Param(p) => {
                frozen += p.numel();
                (p, "frozen")
            }
            Part::Buffer(b) => (b, "buffer"),
            Part::Mode(_) | Part::Generator(_) => continue,
        };
        let aval = t.aval().map_or_else(String::new, |a| a.to_string());
        bytes += t.numel() * t.dtype().size();
        rows.push([name, aval, t.numel().to_string(), mark.to_string()]);
    }
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut text = String::new();
    for [name, aval, count, mark] in &rows {
        let [a, b, c] = widths;
        text += format!("{name:a$}  {aval:b$}  {count:>c$}  {mark}").trim_end();
        text.push('\n');
    }
    let outs: Vec<String> = graph.output_avals().iter().map(|a| a.to_string()).collect();
    let flops = graph.inlined()?.stats().flops;
    text += &format!("{trained} parameters trained, {frozen} frozen; {bytes} bytes\n");
    text += &format!("{flops} operations to {}\n", outs.join(", "));
    Ok(text)
}
