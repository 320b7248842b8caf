//! Values of a kernel as nodes: each is one instruction on vectors, or a few.

use super::encode::Form;
use super::far::Far;
use super::machine::Logic;
use std::cell::RefCell;

/// What a node is computed by. Forms say which operands may be in memory: the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Action {
    /// An element, by its access.
    Load(usize),
    /// Whether a byte is not zero.
    LoadMask(usize),
    Binary(Form, Option<u8>),
    Unary(Form, Option<u8>),
    /// Which shift, and by how much.
    Shift(u8, u8),
    /// The first operand times the second, plus the third.
    Fma,
    /// A function of three bits by its table.
    Ternary(u8),
    /// Something that holds of two operands, lane by lane.
    Compare(u8),
    /// The second operand where the first, else the third.
    Blend,
    /// The second operand, changed by a function of the first if the third holds of any lane.
    Far(Far),
    Logic(Logic),
    /// All elements of a row.
    Fold(Fold),
}

/// How elements of a row become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fold {
    Sum,
    Max,
    Min,
}

impl Fold {
    /// What folding starts from.
    pub(super) fn identity(self) -> u32 {
        match self {
            // This alone leaves a sum of negative zeros what it is.
            Fold::Sum => (-0.0f32).to_bits(),
            Fold::Max => f32::NEG_INFINITY.to_bits(),
            Fold::Min => f32::INFINITY.to_bits(),
        }
    }
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arg {
    Node(usize),
    Number(u32),
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) op: Action,
    pub(super) args: Vec<Arg>,
    /// Whether it is the same along a row.
    pub(super) row: bool,
}

/// Nodes under construction, each there once.
#[derive(Debug)]
pub(super) struct Nodes {
    all: RefCell<Vec<Node>>,
    /// Whether the machine has the instructions of AVX-512 for what else takes several.
    pub(super) rich: bool,
}

impl Nodes {
    pub(super) fn new(rich: bool) -> Nodes {
        Nodes { all: RefCell::default(), rich }
    }

    /// The node of an operation.
    pub(super) fn push(&self, op: Action, args: Vec<Arg>) -> usize {
        let row = match op {
            Action::Fold(_) => true,
            _ => args.iter().all(|a| match a {
                Arg::Node(n) => self.all.borrow()[*n].row,
                Arg::Number(_) => true,
            }),
        };
        self.insert(Node { op, args, row })
    }

    /// The node of something read.
    pub(super) fn load(&self, op: Action, row: bool) -> usize {
        self.insert(Node { op, args: vec![], row })
    }

    fn insert(&self, node: Node) -> usize {
        let mut all = self.all.borrow_mut();
        all.iter().position(|n| *n == node).unwrap_or_else(|| {
            all.push(node);
            all.len() - 1
        })
    }

    /// What a node is.
    pub(super) fn get(&self, n: usize) -> (Action, Vec<Arg>) {
        let node = &self.all.borrow()[n];
        (node.op, node.args.clone())
    }

    pub(super) fn take(self) -> Vec<Node> {
        self.all.into_inner()
    }
}

impl Node {
    pub(super) fn is_load(&self) -> bool {
        matches!(self.op, Action::Load(_))
    }

    pub(super) fn is_fold(&self) -> bool {
        matches!(self.op, Action::Fold(_))
    }

    /// Whether its value is a mask.
    pub(super) fn is_mask(&self) -> bool {
        matches!(self.op, Action::LoadMask(_) | Action::Compare(..) | Action::Logic(_))
    }

    /// Its operands that are nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = usize> {
        self.args.iter().filter_map(|a| a.node())
    }
}

impl Arg {
    pub(super) fn node(&self) -> Option<usize> {
        match self {
            Arg::Node(n) => Some(*n),
            Arg::Number(_) => None,
        }
    }
}
