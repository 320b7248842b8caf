//! The values of a kernel as nodes. Each node is one vector instruction, or a few.

use super::encode::Form;
use super::far::Far;
use super::machine::Logic;
use std::cell::RefCell;

/// The operation of a node. The last operand may be in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Action {
    /// Loads an element through the access with this number.
    Load(usize),
    /// Loads a byte as a boolean.
    LoadMask(usize),
    Binary(Form, Option<u8>),
    Unary(Form, Option<u8>),
    /// The shift operation, and its distance.
    Shift(u8, u8),
    /// `a · b + c`.
    Fma,
    /// Bitwise logic of three operands, by this table of eight results.
    Ternary(u8),
    /// Compares two operands, lane by lane.
    Compare(u8),
    /// Selects the second operand where the first is true, else the third.
    Blend,
    /// Returns the second operand. If the third operand is true in any lane, calls a function of the first operand. The
    /// function replaces the lanes whose argument is too large for the fast formula.
    Far(Far),
    Logic(Logic),
    /// Reduces the elements of a row.
    Fold(Fold),
}

/// A reduction of the elements of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fold {
    Sum,
    Max,
    Min,
}

impl Fold {
    /// Returns the identity element.
    pub(super) fn identity(self) -> u32 {
        match self {
            // Negative zero, so that a sum of negative zeros is -0.
            Fold::Sum => (-0.0f32).to_bits(),
            Fold::Max => f32::NEG_INFINITY.to_bits(),
            Fold::Min => f32::INFINITY.to_bits(),
        }
    }
}

/// An operand: a node, or the bits of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arg {
    Node(usize),
    Number(u32),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) op: Action,
    pub(super) args: Vec<Arg>,
    /// If true, the value is the same for all elements of a row, so it is computed once per row.
    pub(super) row: bool,
}

/// Nodes under construction. Equal nodes are stored once.
#[derive(Debug)]
pub(super) struct Nodes {
    all: RefCell<Vec<Node>>,
    /// If true, code is generated for AVX-512, which has single instructions for some operations that need several on AVX2.
    pub(super) has_avx512: bool,
}

impl Nodes {
    pub(super) fn new(has_avx512: bool) -> Nodes {
        Nodes { all: RefCell::default(), has_avx512 }
    }

    /// Returns the node of an operation.
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

    /// Returns the node of a load.
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

    /// Returns the operation and operands of a node.
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

    /// Returns true if the value of the operation is a mask.
    pub(super) fn is_mask(&self) -> bool {
        matches!(self.op, Action::LoadMask(_) | Action::Compare(..) | Action::Logic(_))
    }

    /// Returns the operands that are nodes.
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
