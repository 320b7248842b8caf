//! Keeps products of a loop for a later loop that would compute them again. An example is the backward loop of a recurrence,
//! which needs products of the forward loop. This takes no additional memory, because the later loop would have stored the
//! same products.

use super::{LoopOptimizer, input, rebuild};
use crate::profile::Loops;
use gradus_ir::graph::{Builder, Id, Node, Var};
use gradus_ir::ops::scan::Scan;
use gradus_ir::ops::{Form, Op};
use gradus_ir::{Graph, Result};
use std::sync::Arc;

/// A product of a later loop that an earlier loop computes too.
struct RepeatedProduct {
    /// The later loop, and the product in its body.
    later: usize,
    product: Id,
    /// The earlier loop, and the product in its body.
    earlier: usize,
    kept: Id,
}

/// Rebuilds a graph so that loops return the products that later loops would compute again.
pub(super) fn reuse_products(graph: &Graph, limits: &Loops) -> Result<Graph> {
    let found: Vec<RepeatedProduct> =
        (0..graph.nodes().len()).flat_map(|later| find_repeated(graph, later, limits)).collect();
    if found.is_empty() {
        return Ok(graph.clone());
    }
    rebuild(graph, |b, i, values, operands| {
        let Op::Scan(scan) = &graph.nodes()[i].op else { return Ok(None) };
        let keeps: Vec<Id> = found.iter().filter(|a| a.earlier == i).map(|a| a.kept).collect();
        let given: Vec<&RepeatedProduct> = found.iter().filter(|a| a.later == i).collect();
        if keeps.is_empty() && given.is_empty() {
            return Ok(None);
        }
        // Kept values are additional results, in the order in which they were found.
        let stack = |a: &&RepeatedProduct| {
            let before = found.iter().filter(|o| o.earlier == a.earlier);
            let index = before.take_while(|o| !std::ptr::eq(*o, *a)).count();
            values[a.earlier][graph.nodes()[a.earlier].outs.len() + index]
        };
        let more: Vec<Var<'_>> = given.iter().map(stack).collect();
        let products: Vec<Id> = given.iter().map(|a| a.product).collect();
        let body = extended_body(scan, &keeps, &products, &more)?;
        b.try_apply(Scan { body, ..scan.clone() }, &[operands, &more].concat()).map(Some)
    })
}

/// Builds the body of a loop with additional outputs `keeps`. The values `given` become new inputs: slices of `stacks`.
fn extended_body(scan: &Scan, keeps: &[Id], given: &[Id], stacks: &[Var<'_>]) -> Result<Arc<Graph>> {
    let r = Builder::new();
    let body = &scan.body;
    let own: Vec<Var<'_>> = body.input_avals().into_iter().map(|a| r.input("x", a)).collect();
    let slice = |v: &Var<'_>| r.input("x", v.aval().with_shape(&v.shape()[1..]));
    let more: Vec<Var<'_>> = stacks.iter().map(slice).collect();
    let mut values: Vec<Vec<Var<'_>>> = Vec::with_capacity(body.nodes().len());
    for (i, node) in body.nodes().iter().enumerate() {
        let operands: Vec<Var<'_>> =
            node.ins.iter().map(|id| values[id.node as usize][id.out as usize]).collect();
        let replaced = given.iter().position(|id| id.node as usize == i);
        values.push(match (input(node), replaced) {
            (Some(i), _) => vec![own[i]],
            (None, Some(k)) => vec![more[k]],
            (None, None) => r.from_origin(&node.origin, || r.try_apply(node.op.clone(), &operands))?,
        });
    }
    let outs: Vec<Var<'_>> =
        body.outputs().iter().chain(keeps).map(|id| values[id.node as usize][id.out as usize]).collect();
    Ok(Arc::new(r.finish(&outs)?))
}

/// Finds the products of a loop that an earlier loop computes too.
fn find_repeated(graph: &Graph, later: usize, limits: &Loops) -> Vec<RepeatedProduct> {
    let Op::Scan(scan) = &graph.nodes()[later].op else { return Vec::new() };
    let ahead = LoopOptimizer::new(scan, limits).batched_values().into_iter();
    ahead.filter_map(|product| find_earlier(graph, later, scan, product)).collect()
}

fn find_earlier(graph: &Graph, later: usize, scan: &Scan, product: Id) -> Option<RepeatedProduct> {
    let node = &scan.body.nodes()[product.node as usize];
    let types: Vec<_> = node.ins.iter().map(|id| scan.body.aval(*id).clone()).collect();
    if !matches!(node.op.def().form(&types), Form::Contract { .. }) {
        return None;
    }
    // Each operand must be an input of the body: a slice of a result of an earlier loop, or a shared operand of both
    // loops.
    let given: Vec<(usize, Id)> = node
        .ins
        .iter()
        .map(|id| input(&scan.body.nodes()[id.node as usize]).map(|i| (i, graph.nodes()[later].ins[i])))
        .collect::<Option<_>>()?;
    let is_slice = |i: usize| i >= scan.shared + scan.carries;
    let earlier = given.iter().find(|(i, _)| is_slice(*i))?.1.node as usize;
    let Op::Scan(first) = &graph.nodes()[earlier].op else { return None };
    if first.length != scan.length {
        return None;
    }
    let kept = |i: usize, id: Id| -> Option<usize> {
        if !is_slice(i) {
            return graph.nodes()[earlier].ins[..first.shared].iter().position(|own| *own == id);
        }
        // The operand is a result of the earlier loop; in that loop's body it must be a carry before the iteration.
        let out = (id.node as usize == earlier).then_some(id.out as usize)?;
        let from = first.body.outputs().get(out)?;
        let carry = input(&first.body.nodes()[from.node as usize])?;
        let is_carry = (first.shared..first.shared + first.carries).contains(&carry);
        (out >= first.carries && is_carry).then_some(carry)
    };
    let wanted: Vec<usize> = given.into_iter().map(|(i, id)| kept(i, id)).collect::<Option<_>>()?;
    let nodes = first.body.nodes();
    let same = |n: &Node| {
        let own = n.ins.iter().map(|id| input(&nodes[id.node as usize]));
        n.op == node.op && own.eq(wanted.iter().map(|i| Some(*i)))
    };
    let at = nodes.iter().position(same)?;
    Some(RepeatedProduct { later, product, earlier, kept: Id { node: at as u32, out: 0 } })
}
