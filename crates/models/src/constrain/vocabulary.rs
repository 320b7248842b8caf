//! The bytes of all tokens, as a trie.

use crate::tokenizer::Tokenizer;

/// A node of the trie: one byte of some tokens. Nodes are stored in depth-first order.
pub(super) struct Node {
    pub(super) byte: u8,
    /// Depth in the trie; 1 for the first byte of tokens.
    pub(super) depth: u32,
    /// Index of the node after this node's subtree.
    pub(super) end: u32,
    /// Tokens that end here, as a range of `tokens`.
    from: u32,
    to: u32,
}

/// The bytes of all tokens that represent text.
pub struct Vocabulary {
    bytes: Vec<Option<Box<[u8]>>>,
    nodes: Vec<Node>,
    tokens: Vec<u32>,
}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vocabulary of {} tokens", self.bytes.len())
    }
}

impl Vocabulary {
    /// Makes the vocabulary of a tokeniser, for a model with `count` logits. Special tokens represent no
    /// text.
    pub fn new(tokenizer: &Tokenizer, count: usize) -> Vocabulary {
        Vocabulary::from_bytes((0..count as i64).map(|id| tokenizer.bytes(id)).collect())
    }

    /// Makes a vocabulary from the bytes of each token. Grammars never permit tokens whose bytes are `None`
    /// or empty.
    pub fn from_bytes(bytes: Vec<Option<Vec<u8>>>) -> Vocabulary {
        let bytes: Vec<Option<Box<[u8]>>> =
            bytes.into_iter().map(|b| b.filter(|b| !b.is_empty()).map(Vec::into_boxed_slice)).collect();
        let mut sorted: Vec<u32> = (0..bytes.len() as u32).filter(|t| bytes[*t as usize].is_some()).collect();
        sorted.sort_by(|a, b| bytes[*a as usize].cmp(&bytes[*b as usize]));
        let mut nodes: Vec<Node> = Vec::new();
        // Indices of the nodes on the path from the root to the last token.
        let mut open: Vec<usize> = Vec::new();
        for (i, token) in sorted.iter().enumerate() {
            let text = bytes[*token as usize].as_deref().unwrap_or_default();
            let same = open.iter().zip(text).take_while(|(node, byte)| nodes[**node].byte == **byte).count();
            let next = nodes.len() as u32;
            for node in open.drain(same..) {
                nodes[node].end = next;
            }
            for (depth, byte) in text.iter().enumerate().skip(same) {
                open.push(nodes.len());
                nodes.push(Node {
                    byte: *byte,
                    depth: depth as u32 + 1,
                    end: 0,
                    from: i as u32,
                    to: i as u32,
                });
            }
            // Tokens with equal bytes are adjacent.
            if let Some(last) = open.last() {
                nodes[*last].to = i as u32 + 1;
            }
        }
        let next = nodes.len() as u32;
        for node in open {
            nodes[node].end = next;
        }
        Vocabulary { bytes, nodes, tokens: sorted }
    }

    /// Number of tokens, including tokens without text.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns true if there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the bytes of a token, or `None` if it does not represent text.
    pub fn bytes(&self, token: i64) -> Option<&[u8]> {
        self.bytes.get(usize::try_from(token).ok()?)?.as_deref()
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Tokens that end at a node.
    pub(super) fn tokens(&self, node: &Node) -> &[u32] {
        &self.tokens[node.from as usize..node.to as usize]
    }
}
