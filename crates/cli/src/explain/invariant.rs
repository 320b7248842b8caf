//! Separates the loop-invariant part of a loop body, which is computed once, from the part that each round
//! computes.

use gradus::Graph;
use gradus::ir::{Builder, Result, Var};

/// Splits a graph into the part computed before the rounds and the part computed in each round. The second
/// takes the inputs of the graph, then the results of the first. `moving` marks inputs that change between
/// rounds. Returns `None` if no arithmetic is loop-invariant.
pub(super) fn split_invariant(graph: &Graph, moving: &[bool]) -> Result<Option<(Graph, Graph)>> {
    let nodes = graph.nodes();
    let input = |i: usize| graph.inputs().iter().position(|(_, id)| id.node as usize == i);
    let mut moves: Vec<bool> = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        let given = input(i).is_some_and(|at| moving[at]);
        moves.push(given || node.ins.iter().any(|id| moves[id.node as usize]));
    }
    // Only arithmetic is hoisted: constants and views cost nothing to compute again.
    let hoisted: Vec<bool> =
        nodes.iter().zip(&moves).map(|(node, moves)| !moves && graph.node_stats(node).flops > 0).collect();
    let mut read = vec![false; nodes.len()];
    graph.outputs().iter().for_each(|id| read[id.node as usize] = true);
    for (i, node) in nodes.iter().enumerate().rev() {
        if read[i] && !hoisted[i] {
            node.ins.iter().for_each(|id| read[id.node as usize] = true);
        }
    }
    let kept: Vec<usize> = (0..nodes.len()).filter(|i| read[*i] && hoisted[*i]).collect();
    if kept.is_empty() {
        return Ok(None);
    }
    let before = Builder::new();
    let named = || graph.inputs().iter().zip(graph.input_avals());
    let ins: Vec<Var<'_>> = named().map(|((name, _), aval)| before.input(name, aval)).collect();
    let values = before.inline_all(graph, &ins);
    let results: Vec<Var<'_>> = kept.iter().flat_map(|i| values[*i].iter().copied()).collect();
    let round = Builder::new();
    let ins: Vec<Var<'_>> = named().map(|((name, _), aval)| round.input(name, aval)).collect();
    let mut values: Vec<Vec<Var<'_>>> = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        let given = || node.outs.iter().map(|aval| round.input("before", aval.clone())).collect();
        values.push(match input(i) {
            Some(at) => vec![ins[at]],
            None if !read[i] => Vec::new(),
            None if hoisted[i] => given(),
            None => {
                let own = node.ins.iter().map(|id| values[id.node as usize][id.out as usize]);
                round.apply(node.op.clone(), &own.collect::<Vec<_>>())
            }
        });
    }
    let outs = graph.outputs().iter().map(|id| values[id.node as usize][id.out as usize]);
    Ok(Some((before.finish(&results)?, round.finish(&outs.collect::<Vec<_>>())?)))
}
