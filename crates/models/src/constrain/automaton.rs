//! Matches texts against expressions, byte by byte. A state is the set of paths on which a text may continue.
//! States and transitions are computed when first needed, and cached.

use super::expression::{Arena, Expression, Id, NEVER};
use super::vocabulary::Vocabulary;
use std::collections::HashMap;
use std::sync::Arc;

/// One way to continue a text: a stack of expressions to match, the next one last. Each is stored with its
/// progress, which is the index of the next byte or part, or the number of repetitions.
type Path = Vec<(Id, u32)>;

/// All paths on which a text may continue, sorted. An empty path means that the text may end here.
pub(super) type State = Arc<[Path]>;

/// Largest number of paths of a state. Further paths are dropped: this permits fewer texts, but all of them
/// are valid.
const MAX_PATHS: usize = 256;

/// Largest number of cached states.
const MAX_STATES: usize = 4096;

/// Largest number of cached masks; a mask has a byte per token.
const MAX_MASKS: usize = 256;

/// A state in the cache, with what has been computed for it.
struct CachedState {
    state: State,
    /// Number of bytes of the shortest text that completes this state.
    shortest: usize,
    /// Number of the state after each byte, or `UNKNOWN` or `DEAD`.
    next: Box<[u32; 256]>,
    /// Permitted tokens, and the largest `shortest` of the states after them.
    mask: Option<(Arc<[bool]>, usize)>,
}

/// Marks a transition that has not been computed yet.
const UNKNOWN: u32 = u32::MAX;
/// Marks a byte with which no text continues.
const DEAD: u32 = u32::MAX - 1;

/// Expressions with the cache of their states.
pub(super) struct Automaton {
    arena: Arena,
    states: Vec<CachedState>,
    numbers: HashMap<State, u32>,
    /// Number of cached masks.
    masks: usize,
}

impl Automaton {
    /// Returns the automaton of an expression and its start state.
    pub(super) fn new(arena: Arena, root: Id) -> (Automaton, State) {
        let automaton = Automaton { arena, states: Vec::new(), numbers: HashMap::new(), masks: 0 };
        let start = automaton.close(vec![vec![(root, 0)]]);
        (automaton, start)
    }

    /// Returns true if a text may end here.
    pub(super) fn accepts(&self, state: &State) -> bool {
        state.iter().any(Vec::is_empty)
    }

    /// Returns true if a text must end here.
    pub(super) fn is_finished(&self, state: &State) -> bool {
        state.iter().all(Vec::is_empty)
    }

    /// Number of bytes of the shortest text that completes a state.
    pub(super) fn shortest(&self, state: &State) -> usize {
        state.iter().map(|path| self.rest(path)).min().unwrap_or(NEVER)
    }

    /// Number of bytes of the shortest text that completes one path.
    fn rest(&self, path: &Path) -> usize {
        let each = |(id, at): &(Id, u32)| match self.arena.get(*id) {
            Expression::Literal(bytes) => bytes.len() - *at as usize,
            Expression::Sequence(parts) => {
                let rest = &parts[*at as usize..];
                rest.iter().fold(0, |sum: usize, p| sum.saturating_add(self.arena.shortest(*p)))
            }
            Expression::Repeat { item, min, .. } => match min.saturating_sub(*at) {
                0 => 0,
                n => self.arena.shortest(*item).saturating_mul(n as usize),
            },
            _ => self.arena.shortest(*id),
        };
        path.iter().fold(0, |sum: usize, frame| sum.saturating_add(each(frame)))
    }

    /// Expands paths until each is empty or its next expression is a byte or a literal.
    fn close(&self, mut open: Vec<Path>) -> State {
        let mut done: Vec<Path> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        while let Some(mut path) = open.pop() {
            if done.len() >= MAX_PATHS {
                break;
            }
            let Some((id, at)) = path.last().copied() else {
                done.push(path);
                continue;
            };
            match self.arena.get(id) {
                Expression::Byte(_) | Expression::Literal(_) => {
                    done.push(path);
                    continue;
                }
                _ if !seen.insert(path.clone()) => {}
                Expression::Sequence(parts) => {
                    path.pop();
                    if let Some(part) = parts.get(at as usize) {
                        if (at as usize) + 1 < parts.len() {
                            path.push((id, at + 1));
                        }
                        path.push((*part, 0));
                    }
                    open.push(path);
                }
                Expression::Choice(parts) => {
                    path.pop();
                    // Each part adds at least one path, so parts beyond `MAX_PATHS` would be dropped anyway.
                    for part in parts.iter().take(MAX_PATHS).rev() {
                        let mut path = path.clone();
                        path.push((*part, 0));
                        open.push(path);
                    }
                }
                Expression::Repeat { item, min, max } => {
                    path.pop();
                    if at >= *min {
                        open.push(path.clone());
                    }
                    if at < *max {
                        // Without an upper limit, counts above the lower limit are equivalent; merging them
                        // keeps the number of states small.
                        let count = if *max == u32::MAX { (at + 1).min(*min) } else { at + 1 };
                        if count < *max {
                            path.push((id, count));
                        }
                        path.push((*item, 0));
                        open.push(path);
                    }
                }
            }
        }
        done.sort_unstable();
        done.dedup();
        done.into()
    }

    /// Returns the state after a byte, or `None` if no text continues with it.
    pub(super) fn step(&mut self, state: &State, byte: u8) -> Option<State> {
        let from = self.number(state);
        match self.next(from, byte) {
            DEAD => None,
            to => Some(self.states[to as usize].state.clone()),
        }
    }

    /// Returns the number of a state in the cache. If the cache is full, it is cleared first, which
    /// invalidates all numbers.
    fn number(&mut self, state: &State) -> u32 {
        if self.states.len() >= MAX_STATES {
            self.states.clear();
            self.numbers.clear();
            self.masks = 0;
        }
        self.intern(state.clone())
    }

    fn intern(&mut self, state: State) -> u32 {
        if let Some(n) = self.numbers.get(&state) {
            return *n;
        }
        let n = self.states.len() as u32;
        let shortest = self.shortest(&state);
        self.states.push(CachedState {
            state: state.clone(),
            shortest,
            next: Box::new([UNKNOWN; 256]),
            mask: None,
        });
        self.numbers.insert(state, n);
        n
    }

    /// Returns the number of the state after a byte, or `DEAD`.
    fn next(&mut self, from: u32, byte: u8) -> u32 {
        let known = self.states[from as usize].next[usize::from(byte)];
        if known != UNKNOWN {
            return known;
        }
        let mut after = Vec::new();
        for path in self.states[from as usize].state.iter() {
            let Some((id, at)) = path.last().copied() else { continue };
            let mut path = path.clone();
            path.pop();
            match self.arena.get(id) {
                Expression::Byte(set) if set.contains(byte) => after.push(path),
                Expression::Literal(bytes) if bytes[at as usize] == byte => {
                    if (at as usize) + 1 < bytes.len() {
                        path.push((id, at + 1));
                    }
                    after.push(path);
                }
                _ => {}
            }
        }
        let to = if after.is_empty() {
            DEAD
        } else {
            let state = self.close(after);
            self.intern(state)
        };
        self.states[from as usize].next[usize::from(byte)] = to;
        to
    }

    /// Returns for every token whether it may come next. A token may come next if the text can continue with
    /// it, and at most `budget` more bytes complete the text.
    pub(super) fn mask(&mut self, state: &State, vocabulary: &Vocabulary, budget: usize) -> Vec<bool> {
        let number = self.number(state);
        if let Some((mask, longest)) = &self.states[number as usize].mask
            && *longest <= budget
        {
            return mask.to_vec();
        }
        let mut mask = vec![false; vocabulary.len()];
        let (mut longest, mut cut) = (0, false);
        // The state at each depth of the trie.
        let mut states = vec![number];
        let mut at = 0;
        while let Some(node) = vocabulary.nodes().get(at) {
            let depth = node.depth as usize;
            states.truncate(depth);
            let from = states[depth - 1];
            let to = self.next(from, node.byte);
            if to == DEAD {
                at = node.end as usize;
                continue;
            }
            let rest = self.states[to as usize].shortest;
            for token in vocabulary.tokens(node) {
                if rest <= budget {
                    mask[*token as usize] = true;
                    longest = longest.max(rest);
                } else {
                    cut = true;
                }
            }
            states.push(to);
            at += 1;
        }
        if !cut && self.masks < MAX_MASKS {
            self.masks += 1;
            self.states[number as usize].mask = Some((mask.clone().into(), longest));
        }
        mask
    }
}
