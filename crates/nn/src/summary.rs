//! Describes a model as a table: its parameters, sizes and arithmetic.

use crate::module::{Module, Part, in_evaluation_mode};
use gradus_ir::ops::Form;
use gradus_ir::{Aval, Graph, Result};
use gradus_tensor::{Outputs, Tensor, trace_function};

/// Lists the parameters and buffers of a model with types and counts. Also lists the arithmetic of a function
/// of the model at these inputs, in evaluation mode, in total and by layer. A layer is a group of parameters
/// with a common name prefix; its arithmetic is that of the functions that use them.
///
/// ```
/// use gradus_nn::{Forward, Linear, summary};
/// use gradus_tensor::{Generator, Tensor};
/// let layer = Linear::new(3, 2, &Generator::new(0));
/// let table = summary(&layer, |m, x| m.forward(&x[0]), &[&Tensor::zeros([1, 3])])?;
/// assert!(table.contains("weight  f32[2,3]  6"));
/// assert!(table.contains("14 operations to f32[1,2]"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn summary<M: Module, R: Outputs>(
    model: &M,
    f: impl FnOnce(&M, &[Tensor]) -> R,
    inputs: &[&Tensor],
) -> Result<String> {
    let types = inputs.iter().map(|t| Ok(t.check()?.aval())).collect::<Result<Vec<_>>>()?;
    let types: Vec<Aval> = types.into_iter().flatten().collect();
    let traced = in_evaluation_mode(&model.modes(), || trace_function(&types, |x| f(model, x)))?;
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
            Part::Mode(_) | Part::Generator(_) | Part::LoraSlot(_) => continue,
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
    let mut outs: Vec<String> = traced.graph.output_avals().iter().map(|a| a.to_string()).collect();
    outs.truncate(outs.len() - traced.written.len());
    text += &format!("{trained} parameters trained, {frozen} frozen; {bytes} bytes\n");
    let state = model.state();
    let layer = |name: &str| name.rsplit_once('.').map_or("itself", |(layer, _)| layer).to_string();
    let mut work = Work::default();
    let mut from = vec![Origin::Data; inputs.len()];
    for cell in &traced.captured {
        let own = state.iter().find(|(_, t)| t.is_same(cell));
        from.push(Origin::Layers(own.iter().map(|(name, _)| work.layer(layer(name))).collect()));
    }
    work.count(&traced.graph, &from, 1);
    let total = work.by_layer.iter().fold(work.rest, |sum, (_, n)| sum.saturating_add(*n));
    text += &format!("{total} operations to {}\n", outs.join(", "));
    let rest = ("no layer".to_string(), work.rest);
    let lines: Vec<(String, u64)> = work.by_layer.into_iter().chain([rest]).collect();
    let name = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let digits = total.to_string().len();
    lines.iter().for_each(|(layer, n)| text += &format!("  {layer:name$}  {n:>digits$}\n"));
    Ok(text)
}

/// Dependencies of a value: an input, or only parameters of these layers (none for constants).
#[derive(Clone, PartialEq)]
enum Origin {
    Data,
    Layers(Vec<usize>),
}

/// Arithmetic operations by layer, in the order of the first use of their parameters.
#[derive(Default)]
struct Work {
    by_layer: Vec<(String, u64)>,
    rest: u64,
}

impl Work {
    fn layer(&mut self, name: String) -> usize {
        let at = self.by_layer.iter().position(|(n, _)| *n == name);
        at.unwrap_or_else(|| {
            self.by_layer.push((name, 0));
            self.by_layer.len() - 1
        })
    }

    /// Counts a graph that runs `times` times; `inputs` are the origins of its inputs.
    fn count(&mut self, graph: &Graph, inputs: &[Origin], times: u64) {
        let mut from: Vec<Origin> = Vec::with_capacity(graph.nodes().len());
        for (i, node) in graph.nodes().iter().enumerate() {
            if let Some(at) = graph.inputs().iter().position(|(_, id)| id.node as usize == i) {
                from.push(inputs[at].clone());
                continue;
            }
            let operands: Vec<Origin> = node.ins.iter().map(|id| from[id.node as usize].clone()).collect();
            let mut layers: Vec<usize> = Vec::new();
            for own in
                operands.iter().filter_map(|o| if let Origin::Layers(own) = o { Some(own) } else { None })
            {
                layers.extend(own.iter().filter(|l| !layers.contains(l)).copied().collect::<Vec<_>>());
            }
            let flops = graph.node_stats(node).flops.saturating_mul(times);
            let avals: Vec<Aval> = node.ins.iter().map(|id| graph.aval(*id).clone()).collect();
            match (&layers[..], node.op.def().form(&avals)) {
                ([], _) => self.rest = self.rest.saturating_add(flops),
                ([one], _) => self.by_layer[*one].1 = self.by_layer[*one].1.saturating_add(flops),
                // A function or loop that uses several layers: counts the operations inside of it.
                (_, Form::Region(body)) => self.count(&body, &operands, times),
                (_, Form::Scan(op)) => {
                    let shared = operands[..op.shared].iter().cloned();
                    let inside: Vec<Origin> =
                        shared.chain(operands[op.shared..].iter().map(|_| Origin::Data)).collect();
                    self.count(&op.body, &inside, times.saturating_mul(op.length as u64));
                }
                _ => self.rest = self.rest.saturating_add(flops),
            }
            from.push(if operands.contains(&Origin::Data) { Origin::Data } else { Origin::Layers(layers) });
        }
    }
}
