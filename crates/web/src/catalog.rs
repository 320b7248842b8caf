//! The operations that a page can call by name, with their arguments and implementations. The types of the
//! TypeScript package are generated from this table.

mod arguments;
mod table;

use crate::request::{Fault, Request};
use crate::session;
use arguments::Arguments;
use gradus_ir::ops::Pointwise;
use gradus_ir::{Error, Result};
use gradus_tensor::{Arg, Tensor, pointwise};
use serde_json::{Value, json};

/// An operation.
pub(crate) struct Entry {
    name: &'static str,
    /// Its arguments in TypeScript. For a method, without the tensor itself.
    arguments: &'static str,
    doc: &'static str,
    /// If true, it is a method of a tensor.
    method: bool,
    run: Run,
}

/// The implementation of an operation.
enum Run {
    /// A pointwise op of the graph's catalog.
    Pointwise(&'static Pointwise),
    Function(fn(&Arguments<'_>) -> Result<Vec<Tensor>>),
}

impl Entry {
    fn call(&self, arguments: &Arguments<'_>) -> Result<Vec<Tensor>> {
        match self.run {
            Run::Function(f) => f(arguments),
            Run::Pointwise(op) => {
                let operands = (0..op.arity).map(|i| arguments.operand(i)).collect::<Result<Vec<_>>>()?;
                Ok(vec![pointwise(op, &operands.iter().map(Arg::from).collect::<Vec<_>>())])
            }
        }
    }
}

/// Describes all operations as JSON, for the page.
pub(crate) fn describe() -> Value {
    let results = |name: &str| match name {
        "sort" | "topk" | "qr" | "eigh" => json!(2),
        "svd" => json!(3),
        "split" | "chunk" | "unbind" => json!("list"),
        _ => json!(1),
    };
    let described = |e: Entry| {
        let results = results(e.name);
        json!({"name": e.name, "arguments": e.arguments, "doc": e.doc, "method": e.method, "results": results})
    };
    table::entries().into_iter().map(described).collect()
}

/// Answers the request `op`: calls an operation, and keeps its results for the page.
pub(crate) fn apply(request: &Request) -> Result<Value, Fault> {
    thread_local! {
        static ENTRIES: std::collections::HashMap<&'static str, Entry> =
            table::entries().into_iter().map(|e| (e.name, e)).collect();
    }
    let name = request.text("name")?;
    let arguments = Arguments::new(request.list("args")?);
    let outs = ENTRIES.with(|entries| match entries.get(name.as_str()) {
        Some(entry) => entry.call(&arguments),
        None => Err(Error::value(format!("the operation `{name}`"), "does not exist")),
    })?;
    Ok(session::keep_all(outs)?)
}
