//! Computes the logits of several texts of one model, with cached keys and values and compiled plans.
//!
//! [`Session::logits_after`] takes the full texts on every call and computes only the tokens that the cache
//! does not hold. Prefill, decoding and reuse of a common prefix all use this function. The cache is a pool of
//! blocks; a text has as many as it needs, and texts with a common prefix share those of the prefix
//! (`blocks.rs`). Texts that need one token are computed together in one plan; longer pieces are computed text
//! by text. The caller chooses the next tokens.

use crate::blocks::{Blocks, Content, START};
use crate::decoder::{BLOCK, Decoder, KvCache, Texts};
use gradus_ir::{Error, Result};
use gradus_nn::Module;
use gradus_tensor::{Compiled, Device, Tensor, Timeline, compile};
use std::sync::Arc;

/// Lengths to which pieces of a text are padded; each length has its own plan.
const CHUNKS: &[usize] = &[1, 8, 32, 128, 512];

/// Number of positions that a text may have at first, and of those for which a slot has blocks at first. A
/// device with lazy memory provides only blocks that are used.
const FIRST_POSITIONS: usize = 512;

/// Smallest number of tokens for which the beginning of a block is copied from another text instead of
/// computed.
const WORTH_COPYING: usize = 8;

/// A model with the caches of several texts. See the [module](self).
pub struct Session {
    model: Arc<Decoder>,
    device: Device,
    cache: KvCache,
    blocks: Blocks,
    slots: Vec<Held>,
    /// Plans for the current cache, by number of texts and of tokens per text.
    plans: Vec<((usize, usize), Compiled)>,
    /// The plan that copies a block of the current cache.
    copy: Option<Compiled>,
    computed: u64,
}

/// The tokens of a slot whose keys and values are cached.
#[derive(Default)]
struct Held {
    tokens: Vec<i64>,
    /// The blocks of the tokens; may have capacity for more tokens.
    blocks: Vec<usize>,
    /// The contents of the full blocks.
    contents: Vec<Content>,
    /// If true, the text has ended, and its blocks may be used for other texts.
    idle: bool,
}

/// The cached beginning of a text.
struct Cached {
    /// Number of tokens.
    tokens: usize,
    /// The blocks of the tokens with the contents of the full ones; `None` if they are those of the slot.
    other: Option<(Vec<usize>, Vec<Content>)>,
}

/// The next tokens of a text in a slot.
struct Piece<'a> {
    slot: usize,
    tokens: &'a [i64],
}

/// Length of the longest common prefix of two texts.
pub(crate) fn common_prefix(a: &[i64], b: &[i64]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl Session {
    /// Makes a session of `slots` empty slots (at least one).
    pub fn new(model: Arc<Decoder>, slots: usize) -> Session {
        let slots = slots.max(1);
        let device = model.device();
        let positions = FIRST_POSITIONS.min(model.config.context);
        let count = slots * positions.div_ceil(BLOCK);
        let cache = model.cache(count, positions);
        let slots = (0..slots).map(|_| Held::default()).collect();
        let blocks = Blocks::new(count, BLOCK);
        Session { model, device, cache, blocks, slots, plans: Vec::new(), copy: None, computed: 0 }
    }

    /// Returns the model.
    pub fn model(&self) -> &Arc<Decoder> {
        &self.model
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Number of blocks of [`BLOCK`] positions that texts use, and of all blocks of the cache.
    pub fn blocks(&self) -> (usize, usize) {
        (self.blocks.used(), self.blocks.count())
    }

    /// Number of tokens computed so far. Tokens whose keys and values were cached are not counted.
    pub fn computed(&self) -> u64 {
        self.computed
    }

    /// Returns the tokens whose keys and values a slot caches; empty if there is no such slot.
    pub fn cached_tokens(&self, slot: usize) -> &[i64] {
        self.slots.get(slot).map_or(&[], |held| &held.tokens)
    }

    /// Declares that the text of a slot has ended. Its cache is kept until other texts need the memory.
    pub fn release(&mut self, slot: usize) {
        if let Some(held) = self.slots.get_mut(slot) {
            held.idle = true;
        }
    }

    /// Empties all slots and the cache. Must be called after weights have changed, because the cache was
    /// computed with the old weights.
    pub fn forget(&mut self) {
        self.blocks = Blocks::new(self.blocks.count(), BLOCK);
        self.slots.fill_with(Held::default);
    }

    /// Number of plans compiled for the current cache.
    pub fn plans(&self) -> usize {
        self.plans.len()
    }

    /// Returns the logits of the token after each text. Each text is given with its slot; slots must be
    /// distinct. A prefix that is cached, in this slot or another one, is not computed again.
    pub fn logits_after(&mut self, texts: &[(usize, &[i64])]) -> Result<Vec<Vec<f32>>> {
        self.check(texts)?;
        let longest = texts.iter().map(|(_, text)| text.len()).max().unwrap_or(0);
        self.lengthen(longest);
        texts.iter().for_each(|(slot, _)| self.slots[*slot].idle = false);
        let mut logits: Vec<Vec<f32>> = vec![Vec::new(); texts.len()];
        let (mut together, mut numbers) = (Vec::new(), Vec::new());
        for (i, &(slot, text)) in texts.iter().enumerate() {
            self.attach(slot, text);
            if text.len() - self.slots[slot].tokens.len() == 1 {
                together.push(Piece { slot, tokens: &text[text.len() - 1..] });
                numbers.push(i);
                continue;
            }
            while self.slots[slot].tokens.len() < text.len() {
                let rest = &text[self.slots[slot].tokens.len()..];
                let length = self.chunk(slot, rest.len());
                let tokens = &rest[..rest.len().min(length)];
                logits[i] = self.run(&[Piece { slot, tokens }], length)?.swap_remove(0);
            }
        }
        if !together.is_empty() {
            for (i, own) in numbers.into_iter().zip(self.run(&together, 1)?) {
                logits[i] = own;
            }
        }
        // This loop has no early exit, so that the compiler vectorises it.
        if logits.iter().any(|own| own.iter().fold(false, |bad, x| bad | x.is_nan())) {
            self.clear();
        }
        Ok(logits)
    }

    fn check(&self, texts: &[(usize, &[i64])]) -> Result<()> {
        let config = &self.model.config;
        for (i, (slot, text)) in texts.iter().enumerate() {
            if *slot >= self.slots() || texts[..i].iter().any(|(other, _)| other == slot) {
                let why = format!("must be below {} and different from the others", self.slots());
                return Err(Error::value(format!("slot {slot}"), why));
            }
            if text.is_empty() || text.len() > config.context {
                let why = format!("must be from 1 to {}, the context of the model", config.context);
                return Err(Error::value(format!("{} tokens", text.len()), why));
            }
            let known = 0..config.vocabulary as i64;
            if let Some(bad) = text.iter().find(|t| !known.contains(*t)) {
                return Err(Error::value(
                    format!("token {bad}"),
                    format!("must be from 0 to {}", known.end - 1),
                ));
            }
        }
        Ok(())
    }

    /// Returns the padded length of the next piece: the shortest that holds `left` tokens, or else the
    /// longest that fits.
    fn chunk(&self, slot: usize, left: usize) -> usize {
        // Padding must also have positions.
        let capacity = self.cache.positions - self.slots[slot].tokens.len();
        let fits = || CHUNKS.iter().copied().filter(|n| *n <= capacity);
        fits().find(|n| *n >= left).or_else(|| fits().next_back()).unwrap_or(1)
    }

    /// Increases the number of positions of a text to at least `needed`. Plans are compiled again; the number
    /// doubles, so this is rare.
    fn lengthen(&mut self, needed: usize) {
        if needed > self.cache.positions {
            let positions = needed.next_power_of_two().min(self.model.config.context);
            self.model.lengthen_cache(&mut self.cache, positions);
            self.plans.clear();
        }
    }

    /// Replaces the cache by an empty one, because a failed text leaves NaN in its blocks. Masked positions
    /// are multiplied by zero, which does not remove NaN, so the next text in these blocks would fail too.
    fn clear(&mut self) {
        self.cache = self.model.cache(self.blocks.count(), self.cache.positions);
        self.plans.clear();
        self.copy = None;
        self.forget();
    }

    /// Returns the number of tokens of a text that need not be computed in a slot. The last token is always
    /// computed, because its logits are not stored.
    pub(crate) fn cached(&self, slot: usize, text: &[i64]) -> usize {
        self.find(slot, text).tokens
    }

    /// Finds the longest cached beginning of a text, except its last token.
    fn find(&self, slot: usize, text: &[i64]) -> Cached {
        let most = text.len().saturating_sub(1);
        let same = |held: &Held| common_prefix(&held.tokens, &text[..most]);
        let own = same(&self.slots[slot]);
        let mut best = Cached { tokens: own, other: None };
        if own == most {
            return best;
        }
        let mut offer = |tokens: usize, blocks: Vec<usize>, contents: &mut dyn Iterator<Item = Content>| {
            // The first tokens of a block must be copied.
            let rest = tokens % BLOCK;
            let tokens = if rest < WORTH_COPYING { tokens - rest } else { tokens };
            if tokens > best.tokens {
                let contents = contents.take(tokens / BLOCK).collect();
                best = Cached { tokens, other: Some((blocks, contents)) };
            }
        };
        for held in &self.slots {
            let tokens = same(held);
            if tokens > own {
                offer(tokens, held.blocks.clone(), &mut held.contents.iter().copied());
            }
        }
        let full = self.blocks.find(text);
        let tokens = (full.len() * BLOCK).min(most);
        offer(tokens, full.iter().map(|f| f.0).collect(), &mut full.iter().map(|f| f.1));
        best
    }

    /// Reduces a slot to the longest cached beginning of a text, and takes over blocks of other texts that
    /// hold a longer one.
    fn attach(&mut self, slot: usize, text: &[i64]) {
        let Cached { tokens, other } = self.find(slot, text);
        let Some((from, contents)) = other else { return self.truncate(slot, tokens) };
        let count = tokens.div_ceil(BLOCK);
        from[..count].iter().for_each(|block| self.blocks.share(*block));
        self.truncate(slot, 0);
        let held = &mut self.slots[slot];
        held.blocks = from[..count].to_vec();
        held.contents = contents;
        held.tokens = text[..tokens].to_vec();
    }

    /// Keeps the first `count` tokens of a slot.
    fn truncate(&mut self, slot: usize, count: usize) {
        let held = &mut self.slots[slot];
        held.tokens.truncate(count);
        held.contents.truncate(count / BLOCK);
        // The last blocks are released first, and so are the first ones to be used for other texts: without
        // the blocks before them they would not be found.
        while held.blocks.len() > count.div_ceil(BLOCK) {
            held.blocks.pop().into_iter().for_each(|block| self.blocks.release(block));
        }
    }

    /// Makes the next `count` positions of a slot writable.
    fn reserve(&mut self, slot: usize, count: usize) -> Result<()> {
        let begin = self.slots[slot].tokens.len();
        if !begin.is_multiple_of(BLOCK) {
            let column = begin / BLOCK;
            let block = self.slots[slot].blocks[column];
            if self.blocks.is_shared(block) {
                let own = self.take();
                self.copy(block, own)?;
                self.blocks.release(block);
                self.slots[slot].blocks[column] = own;
            } else {
                self.blocks.hide(block);
            }
        }
        while self.slots[slot].blocks.len() < (begin + count).div_ceil(BLOCK) {
            let block = self.take();
            self.slots[slot].blocks.push(block);
        }
        Ok(())
    }

    /// Takes a block. If all are in use, ends the caches of texts that have ended, or else doubles the cache.
    fn take(&mut self) -> usize {
        loop {
            if let Some(block) = self.blocks.take() {
                return block;
            }
            let ended = |held: &Held| held.idle && !held.blocks.is_empty();
            match self.slots.iter().position(ended) {
                Some(slot) => self.truncate(slot, 0),
                None => {
                    let count = 2 * self.blocks.count();
                    self.model.grow_cache(&mut self.cache, count);
                    self.blocks.grow(count);
                    self.plans.clear();
                    self.copy = None;
                }
            }
        }
    }

    /// Copies the content of a block.
    fn copy(&mut self, from: usize, to: usize) -> Result<()> {
        let number = |n: usize| Tensor::from_slice(&[n as i64], [1, 1]).to(self.device);
        let operands = [number(from), number(to)];
        if self.copy.is_none() {
            let (model, cache) = (&self.model, &self.cache);
            self.copy = Some(compile(&operands.each_ref(), |x| model.copy_block(cache, &x[0], &x[1]))?);
        }
        self.copy.as_ref().map_or(Ok(()), |plan| plan.run(&operands.each_ref()).map(drop))
    }

    /// Adds computed tokens to a slot, and makes its full blocks known.
    fn extend(&mut self, Piece { slot, tokens }: &Piece<'_>) {
        let held = &mut self.slots[*slot];
        held.tokens.extend(*tokens);
        self.computed += tokens.len() as u64;
        for column in held.contents.len()..held.tokens.len() / BLOCK {
            let before = held.contents.last().copied().unwrap_or(START);
            let own = &held.tokens[column * BLOCK..][..BLOCK];
            held.contents.push(self.blocks.fill(held.blocks[column], before, own));
        }
    }

    /// Computes a text in a slot, then its last token once more. Returns the time of each step of the plan of this token.
    pub fn timeline(&mut self, slot: usize, text: &[i64]) -> Result<Timeline> {
        self.logits_after(&[(slot, text)])?;
        self.truncate(slot, text.len() - 1);
        let piece = Piece { slot, tokens: &text[text.len() - 1..] };
        self.reserve(slot, 1)?;
        let (plan, operands) = self.prepare(std::slice::from_ref(&piece), 1)?;
        let timeline = plan.timeline(&operands.each_ref())?;
        self.extend(&piece);
        Ok(timeline)
    }

    /// Runs pieces of different texts in one plan, and returns the logits after each piece.
    fn run(&mut self, pieces: &[Piece<'_>], length: usize) -> Result<Vec<Vec<f32>>> {
        for Piece { slot, tokens } in pieces {
            self.reserve(*slot, tokens.len())?;
        }
        let (plan, operands) = self.prepare(pieces, length)?;
        let logits = plan.run(&operands.each_ref())?.swap_remove(0).to(Device::CPU);
        pieces.iter().for_each(|piece| self.extend(piece));
        (0..pieces.len()).map(|i| logits.narrow(0, i, 1).to_vec()).collect()
    }

    /// Returns the plan for some pieces, which is compiled if it is new, and its operands.
    fn prepare(&mut self, pieces: &[Piece<'_>], length: usize) -> Result<(&Compiled, [Tensor; 4])> {
        // The number of texts is rounded up to a power of two, so that few plans are compiled. Padding texts
        // have no tokens.
        let count = pieces.len().next_power_of_two();
        let columns = self.cache.positions.div_ceil(BLOCK);
        let (mut ids, mut table) = (vec![0i64; count * length], vec![0i64; count * columns]);
        let mut numbers = [const { Vec::new() }; 2];
        for (i, Piece { slot, tokens }) in pieces.iter().enumerate() {
            ids[i * length..][..tokens.len()].copy_from_slice(tokens);
            let held = &self.slots[*slot];
            // Blocks after the last one are masked. They are replaced by a block of the same text, because
            // those of another text may hold NaN, which a mask does not remove.
            let own =
                held.blocks.iter().chain(std::iter::repeat_n(held.blocks.last().unwrap_or(&0), columns));
            table[i * columns..][..columns].iter_mut().zip(own).for_each(|(to, block)| *to = *block as i64);
            let own = [held.tokens.len(), tokens.len()];
            numbers.iter_mut().zip(own).for_each(|(all, n)| all.push(n as i64));
        }
        for all in &mut numbers {
            all.resize(count, 0i64);
        }
        let there = |t: Tensor| t.to(self.device);
        let ids = there(Tensor::from_slice(&ids, [count, length]));
        let table = there(Tensor::from_slice(&table, [count, columns]));
        let [first, tokens] = numbers.map(|n| there(Tensor::from(n)));
        let operands = [ids, table, first, tokens];
        let key = (count, length);
        let known = self.plans.iter().position(|(own, _)| *own == key);
        let index = match known {
            Some(index) => index,
            None => {
                let (model, cache) = (&self.model, &self.cache);
                let step = |x: &[Tensor]| {
                    model.step(&x[0], &Texts { table: &x[1], first: &x[2], count: &x[3], cache })
                };
                let plan = compile(&operands.each_ref(), step)?;
                self.plans.push((key, plan));
                self.plans.len() - 1
            }
        };
        Ok((&self.plans[index].1, operands))
    }
}
