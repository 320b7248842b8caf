//! Finds the origin of a NaN or an infinity. Runs a graph op by op, including loop iterations, and traces
//! back from the value that is not finite.

use gradus_ir::graph::Id;
use gradus_ir::ops::Form;
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::while_loop::While;
use gradus_ir::{Aval, DType, Graph, Op, Result};
use gradus_tensor::{Tensor, try_apply};

/// Kinds of values that are not finite, ordered by severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NonFinite {
    Infinity,
    Nan,
}

fn non_finite(t: &Tensor) -> Result<Option<NonFinite>> {
    if is_finite(t)? {
        return Ok(None);
    }
    Ok(Some(if t.is_nan().any(()).item::<bool>()? { NonFinite::Nan } else { NonFinite::Infinity }))
}

/// Returns true if all elements are finite.
pub(crate) fn is_finite(t: &Tensor) -> Result<bool> {
    t.all_finite().item()
}

/// Describes the origin of the first output that is not finite; `None` if all outputs are finite. The origin
/// is an input, or an op whose operands are finite. If several operands of an op are not finite, the search
/// follows the most severe one. Operands that depend only on constants are ignored, because their values are
/// intended. `names` are the names of the inputs.
pub(crate) fn explain(graph: &Graph, ins: &[Tensor], names: &[String]) -> Result<Option<String>> {
    let run = Run::new(graph, ins, &vec![false; ins.len()])?;
    let Some(source) = run.first_source()? else { return Ok(None) };
    Ok(Some(match source {
        Source::Op(text) => text,
        Source::Input(at) => {
            let name = names.get(at).map_or("", String::as_str);
            format!("{name} ({}) was not finite before the step", graph.aval(graph.inputs()[at].1))
        }
    }))
}

/// Origin of a value that is not finite.
enum Source {
    /// An input of the graph.
    Input(usize),
    /// A description of an op.
    Op(String),
}

/// A graph with the values of all its nodes.
struct Run<'g> {
    graph: &'g Graph,
    values: Vec<Vec<Tensor>>,
    /// Nodes that depend only on constants.
    constant: Vec<bool>,
}

/// A loop that is run again: its body, and the inputs of each iteration.
struct Iterations<'g> {
    body: &'g Graph,
    /// The inputs of the body that are carries.
    carries: std::ops::Range<usize>,
    inputs: Vec<Vec<Tensor>>,
}

impl<'g> Run<'g> {
    /// Evaluates a graph. `fixed[i]` is true if input `i` is constant in the enclosing graph.
    fn new(graph: &'g Graph, ins: &[Tensor], fixed: &[bool]) -> Result<Run<'g>> {
        let mut values: Vec<Vec<Tensor>> = Vec::with_capacity(graph.nodes().len());
        let mut constant = Vec::with_capacity(graph.nodes().len());
        for (i, node) in graph.nodes().iter().enumerate() {
            let input = graph.inputs().iter().position(|(_, id)| id.node as usize == i);
            constant.push(match input {
                Some(at) => fixed[at],
                None => node.ins.iter().all(|id| constant[id.node as usize]),
            });
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

    fn outputs(&self) -> Vec<Tensor> {
        self.graph.outputs().iter().map(|id| self.value(*id).clone()).collect()
    }

    /// Returns the origin of the first output that is not finite.
    fn first_source(&self) -> Result<Option<Source>> {
        for id in self.graph.outputs() {
            if let Some(source) = self.source(*id)? {
                return Ok(Some(source));
            }
        }
        Ok(None)
    }

    /// Traces a value that is not finite back to the op that made it; `None` if it is finite.
    fn source(&self, mut id: Id) -> Result<Option<Source>> {
        loop {
            let Some(own) = non_finite(self.value(id))? else { return Ok(None) };
            if let Some(at) = self.graph.inputs().iter().position(|(_, input)| *input == id) {
                return Ok(Some(Source::Input(at)));
            }
            let mut worst = None;
            for operand in &self.graph.nodes()[id.node as usize].ins {
                let bad = if self.constant[operand.node as usize] {
                    None
                } else {
                    non_finite(self.value(*operand))?
                };
                if bad.is_some() && worst.is_none_or(|(w, _)| bad > w) {
                    worst = Some((bad, *operand));
                }
            }
            match worst {
                Some((_, operand)) => id = operand,
                None => return Ok(Some(Source::Op(self.describe(id, own)?))),
            }
        }
    }

    /// Describes the op that made a value that is not finite from finite operands. For an op with nested graphs,
    /// describes the op inside of them.
    fn describe(&self, id: Id, bad: NonFinite) -> Result<String> {
        let node = &self.graph.nodes()[id.node as usize];
        let avals: Vec<Aval> = node.ins.iter().map(|id| self.graph.aval(*id).clone()).collect();
        let ins: Vec<Tensor> = node.ins.iter().map(|id| self.value(*id).clone()).collect();
        let fixed: Vec<bool> = node.ins.iter().map(|id| self.constant[id.node as usize]).collect();
        let inner = match node.op.def().form(&avals) {
            Form::Region(body) => Run::new(&body, &ins, &fixed)?.first_source()?,
            Form::Switch(branches) => {
                let at = ins[0].to_dtype(DType::I64).item::<i64>()?.clamp(0, branches.len() as i64 - 1);
                Run::new(&branches[at as usize], &ins[1..], &fixed[1..])?.first_source()?
            }
            Form::Scan(op) => {
                Iterations::of_scan(&op, &ins)?.source(self.value(id), id.out as usize, &op, &fixed)?
            }
            Form::While(op) => {
                let iterations = Iterations::of_while(&op, &ins)?;
                iterations.trace_back(iterations.inputs.len(), id.out as usize, &fixed)?
            }
            _ => None,
        };
        if let Some(Source::Op(text)) = inner {
            let name = if let Op::Call(call) = &node.op { &call.name } else { node.op.name() };
            return Ok(format!("{text}, in `{name}`"));
        }
        let what = if bad == NonFinite::Nan { "NaN" } else { "an infinity" };
        let operands: Vec<String> = avals.iter().map(|a| a.to_string()).collect();
        let result = self.graph.aval(id);
        Ok(format!("`{}` made {what} ({result} from {})", node.op.name(), operands.join(", ")))
    }
}

impl<'g> Iterations<'g> {
    fn of_scan(op: &'g Scan, ins: &[Tensor]) -> Result<Iterations<'g>> {
        let carries = op.shared..op.shared + op.carries;
        let (mut now, mut inputs) = (ins[carries.clone()].to_vec(), Vec::new());
        for iteration in 0..op.length {
            let at = slice(op, iteration);
            let slices = ins[carries.end..].iter().map(|x| x.at(at));
            let point: Vec<Tensor> = ins[..op.shared].iter().cloned().chain(now).chain(slices).collect();
            now = Run::new(&op.body, &point, &vec![false; point.len()])?.outputs();
            now.truncate(op.carries);
            inputs.push(point);
        }
        Ok(Iterations { body: &op.body, carries, inputs })
    }

    fn of_while(op: &'g While, ins: &[Tensor]) -> Result<Iterations<'g>> {
        let (mut point, mut inputs) = (ins.to_vec(), Vec::new());
        let free = vec![false; ins.len()];
        while op.bound == 0 || inputs.len() < op.bound {
            if !Run::new(&op.condition, &point, &free)?.outputs()[0].item::<bool>()? {
                break;
            }
            inputs.push(point.clone());
            let next = Run::new(&op.body, &point, &free)?.outputs();
            point.truncate(op.shared);
            point.extend(next);
        }
        Ok(Iterations { body: &op.body, carries: op.shared..ins.len(), inputs })
    }

    /// Returns the origin of an output. For a stacked output, returns that of its first slice that is not
    /// finite.
    fn source(&self, value: &Tensor, out: usize, op: &Scan, fixed: &[bool]) -> Result<Option<Source>> {
        if out < op.carries {
            return self.trace_back(self.inputs.len(), out, fixed);
        }
        for iteration in 0..op.length {
            if non_finite(&value.at(slice(op, iteration)))?.is_some() {
                return self.trace_back(iteration + 1, out, fixed);
            }
        }
        Ok(None)
    }

    /// Traces an output of iteration `iterations` back along the carries to the iteration that made it.
    fn trace_back(&self, mut iterations: usize, mut out: usize, fixed: &[bool]) -> Result<Option<Source>> {
        while iterations > 0 {
            let free: Vec<bool> =
                fixed.iter().enumerate().map(|(i, f)| *f && !self.carries.contains(&i)).collect();
            let run = Run::new(self.body, &self.inputs[iterations - 1], &free)?;
            match run.source(self.body.outputs()[out])? {
                Some(Source::Input(at)) if self.carries.contains(&at) => out = at - self.carries.start,
                Some(Source::Op(text)) => {
                    let all = self.inputs.len();
                    return Ok(Some(Source::Op(format!("{text}, in step {iterations} of {all}"))));
                }
                other => return Ok(other),
            }
            iterations -= 1;
        }
        Ok(None)
    }
}

/// Returns the slice that an iteration of a loop reads.
fn slice(op: &Scan, iteration: usize) -> i64 {
    (if op.reverse { op.length - 1 - iteration } else { iteration }) as i64
}
