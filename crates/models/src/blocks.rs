//! Assigns the blocks of a cache to texts, and finds blocks that hold a given beginning of a text.
//!
//! Takes numbers of blocks and tokens; holds no keys or values. A block has a count of the texts that use it.
//! A full block is found by its tokens and those before it, also after the last text that used it has ended:
//! it stays until its memory is needed. `session.rs` computes the content of blocks.

use std::collections::HashMap;

/// Identifies the content of a full block: the tokens from the beginning of the text to the end of the block.
/// A number is never used for other tokens.
pub(crate) type Content = u64;

/// The content before the first block.
pub(crate) const START: Content = 0;

/// The content before a full block, and the tokens of the block.
type Key = (Content, Box<[i64]>);

#[derive(Clone, Default)]
struct Block {
    /// Number of texts that use the block.
    users: usize,
    /// The key of a full block that can be found.
    key: Option<Key>,
    /// The value of the clock when the last text stopped using the block.
    released: u64,
}

/// The blocks of a cache. See the [module](self).
pub(crate) struct Blocks {
    /// Positions of a block.
    length: usize,
    blocks: Vec<Block>,
    /// Full blocks and their contents.
    full: HashMap<Key, (usize, Content)>,
    /// The last content that was numbered.
    contents: Content,
    clock: u64,
}

impl Blocks {
    /// Makes `count` empty blocks of `length` positions.
    pub(crate) fn new(count: usize, length: usize) -> Blocks {
        let blocks = vec![Block::default(); count];
        Blocks { length, blocks, full: HashMap::new(), contents: START, clock: 0 }
    }

    /// Number of blocks.
    pub(crate) fn count(&self) -> usize {
        self.blocks.len()
    }

    /// Number of blocks that texts use.
    pub(crate) fn used(&self) -> usize {
        self.blocks.iter().filter(|b| b.users > 0).count()
    }

    /// Adds empty blocks, up to `count`.
    pub(crate) fn grow(&mut self, count: usize) {
        self.blocks.resize(count.max(self.blocks.len()), Block::default());
    }

    /// Returns the full blocks that hold the longest known beginning of a text, with their contents.
    pub(crate) fn find(&self, text: &[i64]) -> Vec<(usize, Content)> {
        let (mut found, mut before) = (Vec::new(), START);
        for tokens in text.chunks_exact(self.length) {
            let Some(&(block, content)) = self.full.get(&(before, tokens.into())) else { break };
            found.push((block, content));
            before = content;
        }
        found
    }

    /// Takes a block that no text uses, for one text. Empty blocks come first, then the full block that has
    /// not been used for the longest time. Returns `None` if all blocks are in use.
    pub(crate) fn take(&mut self) -> Option<usize> {
        let free = self.blocks.iter().enumerate().filter(|(_, b)| b.users == 0);
        let block =
            free.min_by_key(|(_, b)| (b.key.is_some(), if b.key.is_some() { b.released } else { 0 }))?.0;
        self.hide(block);
        self.blocks[block].users = 1;
        Some(block)
    }

    /// Counts one more text that uses a block.
    pub(crate) fn share(&mut self, block: usize) {
        self.blocks[block].users += 1;
    }

    /// Counts one text less that uses a block.
    pub(crate) fn release(&mut self, block: usize) {
        self.clock += 1;
        self.blocks[block].users -= 1;
        self.blocks[block].released = self.clock;
    }

    /// Returns true if several texts use a block.
    pub(crate) fn is_shared(&self, block: usize) -> bool {
        self.blocks[block].users > 1
    }

    /// Makes a full block known by its tokens and the content before them. Returns its content. If another
    /// block holds the same content, only that one is found.
    pub(crate) fn fill(&mut self, block: usize, before: Content, tokens: &[i64]) -> Content {
        let key = (before, Box::from(tokens));
        if let Some((_, content)) = self.full.get(&key) {
            return *content;
        }
        self.contents += 1;
        self.blocks[block].key = Some(key.clone());
        self.full.insert(key, (block, self.contents));
        self.contents
    }

    /// Makes a block unknown, because its content will change.
    pub(crate) fn hide(&mut self, block: usize) {
        if let Some(key) = self.blocks[block].key.take() {
            self.full.remove(&key);
        }
    }
}
