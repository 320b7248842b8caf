//! Where a NaN or an infinity came from: a graph is run again, op by op, and followed back from the value that is not finite.

use gradus_ir::graph::Id;
use gradus_ir::ops::Form;
use gradus_ir::{Aval, Graph, Op, Result};
use gradus_tensor::{Tensor, try_apply};

/// How bad a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bad {
    Infinity,
    Nan,
}

fn badness(t: &Tensor) -> Result<Option<Bad>> {
    if is_finite(t)? {
        return Ok(None);
    }
    Ok(Some(if t.is_nan().any(()).item::<bool>()? { Bad::Nan } else { Bad::Infinity }))
}

/// Whether all elements are.
pub(crate) fn is_finite(t: &Tensor) -> Result<bool> {
    t.all_finite().item()
}

/// Says which op of a graph first made a value that is not finite, among those that led to its first such output; `None` if
/// all outputs are finite. An op is blamed if none of its operands is as bad as its result; what follows from constants
/// alone is meant to be as it is. Inputs have these names.
pub(crate) fn explain(graph: &Graph, ins: &[Tensor], names: &[String]) -> Result<Option<String>> {
    let run = Run::new(graph, ins)?;
    for id in graph.outputs() {
        if badness(run.value(*id))?.is_some() {
            return run.blame(*id, names).map(Some);
        }
    }
    Ok(None)
}

/// A graph with all its values.
struct Run<'g> {
    graph: &'g Graph,
    values: Vec<Vec<Tensor>>,
    /// Nodes that follow from constants alone.
    constant: Vec<bool>,
}

impl<'g> Run<'g> {
    fn new(graph: &'g Graph, ins: &[Tensor]) -> Result<Run<'g>> {
        let mut values: Vec<Vec<Tensor>> = Vec::with_capacity(graph.nodes().len());
        let mut constant = Vec::with_capacity(graph.nodes().len());
        for (i, node) in graph.nodes().iter().enumerate() {
            let input = graph.inputs().iter().position(|(_, id)| id.node as usize == i);
            constant.push(input.is_none() && node.ins.iter().all(|id| constant[id.node as usize]));
            let operands: Vec<&Tensor> =
                node.ins.iter().map(|id| &values[id.node as usize][id.out as usize]).collect();
            values.push(match input {
                Some(at) => vec![ins[at].clone()],
                None => try_apply(node.op.clone(), &operands)?,
            });
        }
        Ok(Run { graph, values, constant })
    }

    fn value(&self, id: Id) -> &Tensor {
        &self.values[id.node as usize][id.out as usize]
    }

    /// Follows a value that is not finite back to the op that made it so.
    fn blame(&self, mut id: Id, names: &[String]) -> Result<String> {
        loop {
            let node = &self.graph.nodes()[id.node as usize];
            if let Some(at) = self.graph.inputs().iter().position(|(_, input)| *input == id) {
                let name = names.get(at).map_or("", String::as_str);
                return Ok(format!("{name} ({}) was not finite to begin with", self.graph.aval(id)));
            }
            let own = badness(self.value(id))?;
            let mut worst = None;
            for operand in node.ins.iter().filter(|o| !self.constant[o.node as usize]) {
                let bad = badness(self.value(*operand))?;
                if bad.is_some() && worst.is_none_or(|(w, _)| bad > w) {
                    worst = Some((bad, *operand));
                }
            }
            match worst {
                Some((_, operand)) => id = operand,
                None => return self.describe(id, own),
            }
        }
    }

    /// The op that made a value from finite ones: the one inside of it, if it is a region.
    fn describe(&self, id: Id, bad: Option<Bad>) -> Result<String> {
        let node = &self.graph.nodes()[id.node as usize];
        let avals: Vec<Aval> = node.ins.iter().map(|id| self.graph.aval(*id).clone()).collect();
        if let Form::Region(body) = node.op.def().form(&avals) {
            let ins: Vec<Tensor> = node.ins.iter().map(|id| self.value(*id).clone()).collect();
            let names: Vec<String> = (0..ins.len()).map(|i| format!("operand {i}")).collect();
            if let Some(inner) = explain(&body, &ins, &names)? {
                let name = if let Op::Call(call) = &node.op { &call.name } else { node.op.name() };
                return Ok(format!("{inner}, in `{name}`"));
            }
        }
        let what = if bad == Some(Bad::Nan) { "NaN" } else { "an infinity" };
        let operands: Vec<String> = avals.iter().map(|a| a.to_string()).collect();
        let result = self.graph.aval(id);
        Ok(format!("`{}` made {what} ({result} from {})", node.op.name(), operands.join(", ")))
    }
}
