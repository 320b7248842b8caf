//! Builds the text of a kernel, with its bindings and its parameter block.
//! Templates add lines; `finish` returns a [`Module`] and what a dispatch of it needs.

use crate::dialect::{Dialect, Frame, Unit};
use crate::int::Int;
use crate::library;
use crate::limits::{Barriers, Limits};
use crate::program::{GpuProgram, Memory, Module, Word};
use gradus_compile::Text;
use gradus_ir::DType;

/// Threads per group, unless [`Build::without_barriers`] chooses fewer.
pub(crate) const GROUP: u32 = 256;

/// Smallest and largest number of threads per group on software adapters, which run one group per core. The smallest
/// number fills the vector registers of a core.
const SOFTWARE_GROUP: [usize; 2] = [8, 64];
/// Number of groups of a dispatch that keep all cores of a software adapter busy.
const SOFTWARE_GROUPS: usize = 16;

/// Largest number of words in a parameter block, because every adapter supports uniform buffers of 16 KiB.
const MAX_PARAMETERS: usize = 4096;

/// A kernel under construction.
pub(crate) struct Build<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) text: Text,
    program: &'a GpuProgram,
    bindings: Vec<Binding>,
    parameters: Vec<Word>,
    shared: Vec<(String, &'static str, u32)>,
    head: String,
    body: String,
    depth: usize,
    next: usize,
    /// Threads per group.
    group: u32,
    /// Functions used by this kernel only: name, parameters and lines.
    functions: Vec<(String, String, String)>,
    /// While a function is under construction, the constants and lines of the kernel outside of it.
    outside: (String, String),
}

struct Binding {
    memory: Memory,
    unit: Option<Unit>,
    written: bool,
}

/// The result of a template: the kernel and how to launch it.
pub(crate) struct Launch {
    pub(crate) module: Module,
    pub(crate) bindings: Vec<Memory>,
    pub(crate) parameters: Vec<Word>,
    pub(crate) groups: [u32; 3],
}

impl<'a> Build<'a> {
    pub(crate) fn new(program: &'a GpuProgram, dialect: Dialect, text: Text) -> Build<'a> {
        let (bindings, shared) = (Vec::new(), Vec::new());
        let (head, body) = (String::new(), String::new());
        // Word 0 is zero. Fences combine values with it, because compilers do not know its value.
        let parameters = vec![Word::Value(0)];
        let (functions, outside) = (Vec::new(), (String::new(), String::new()));
        Build {
            dialect,
            text,
            program,
            bindings,
            parameters,
            shared,
            head,
            body,
            depth: 1,
            next: 0,
            group: GROUP,
            functions,
            outside,
        }
    }

    /// Chooses the number of threads per group of a kernel without barriers. `threads` is the number of threads of the
    /// dispatch. On software adapters groups are small, so that a kernel with few threads occupies all cores.
    pub(crate) fn without_barriers(&mut self, limits: &Limits, threads: usize) {
        let [fewest, most] = SOFTWARE_GROUP;
        self.group = match (limits.barriers, self.text) {
            (Barriers::Cheap, _) => GROUP,
            (Barriers::Expensive, Text::Generic) => most as u32,
            (Barriers::Expensive, Text::Special) => {
                let wanted = (threads / SOFTWARE_GROUPS).next_power_of_two().clamp(fewest, most);
                wanted as u32
            }
        };
    }

    /// Returns the threads per group.
    pub(crate) fn group(&self) -> u32 {
        self.group
    }

    /// Returns the number of this thread in the dispatch, as an expression.
    pub(crate) fn thread(&self) -> String {
        format!("{GROUP_NUMBER} * {}u + local", self.group)
    }

    /// Chooses the number of threads per group of a kernel whose groups share memory.
    pub(crate) fn group_of(&mut self, threads: u32) {
        self.group = threads;
    }

    /// Returns the number of this group's tile, for a kernel in which a group computes one of `groups` tiles. A
    /// dispatch in two dimensions may have more groups than tiles. Each excess group computes the last tile again and
    /// must not write. If excess groups are possible, also returns the condition that this group is not one of them.
    pub(crate) fn group_number(&mut self, groups: usize, limits: &Limits) -> (Int, Option<String>) {
        let number = self.value(GROUP_NUMBER);
        if self.text == Text::Special && groups <= limits.groups as usize {
            return (Int::Text(number), None);
        }
        let all = self.size(groups as i64);
        let exists = self.value(format!("{number} < {}", all.text()));
        (Int::Text(self.value(format!("min({number}, {} - 1u)", all.text()))), Some(exists))
    }

    /// Finishes the kernel as [`Build::finish`] does, with enough groups for `threads` threads.
    pub(crate) fn finish_threads(self, threads: usize, limits: &Limits) -> Result<Launch, String> {
        let groups = threads.div_ceil(self.group as usize);
        self.finish(groups, limits.groups, limits.bindings)
    }

    /// Declares an access to a buffer. Must be called before any line is written.
    pub(crate) fn bind(&mut self, buffer: usize, unit: Unit, written: bool) {
        let memory = self.program.memory(buffer);
        let own = match self.bindings.iter().position(|b| b.memory == memory) {
            Some(k) => &mut self.bindings[k],
            None => {
                self.bindings.push(Binding { memory, unit: None, written: false });
                let last = self.bindings.len() - 1;
                &mut self.bindings[last]
            }
        };
        own.written |= written;
        own.unit = Some(match (own.unit, unit) {
            (None, unit) => unit,
            (Some(a), b) if a == b => a,
            (Some(Unit::Atomic), _) | (_, Unit::Atomic) => Unit::Atomic,
            _ => Unit::Word,
        });
    }

    /// Returns the number of a buffer's binding, and the unit of its elements.
    pub(crate) fn binding(&self, buffer: usize) -> (usize, Unit) {
        let memory = self.program.memory(buffer);
        let k = self.bindings.iter().position(|b| b.memory == memory).unwrap_or(0);
        (k, self.bindings.get(k).and_then(|b| b.unit).unwrap_or(Unit::Word))
    }

    pub(crate) fn dtype(&self, buffer: usize) -> DType {
        self.program.buffers[buffer].dtype
    }

    /// Adds a word to the parameter block. Returns it as an expression of type `u32`.
    pub(crate) fn parameter(&mut self, word: Word) -> String {
        let at = self.parameters.len();
        self.parameters.push(word);
        format!("p[{}].{}", at / 4, ["x", "y", "z", "w"][at % 4])
    }

    /// Returns a number as an expression: a parameter in generic text, a literal in special text.
    pub(crate) fn size(&mut self, x: i64) -> Int {
        match self.text {
            Text::Generic => Int::Text(self.parameter(Word::Value(x as u32))),
            Text::Special => Int::signed(x),
        }
    }

    /// Returns the index of an element of a buffer, counted from the start of its memory.
    pub(crate) fn start(&mut self, buffer: usize, offset: i64) -> Int {
        match u32::try_from(offset) {
            Ok(plus) => Int::Text(self.parameter(Word::Start { buffer, plus })),
            Err(_) => {
                let start = Int::Text(self.parameter(Word::Start { buffer, plus: 0 }));
                start.plus(&Int::Text(self.parameter(Word::Value(offset as u32))))
            }
        }
    }

    /// Returns a name that the kernel does not use yet.
    pub(crate) fn name(&mut self) -> String {
        self.next += 1;
        format!("v{}", self.next)
    }

    /// Appends a line to the kernel or to the function under construction.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        for line in text.as_ref().lines() {
            if line.starts_with('}') {
                self.depth -= 1;
            }
            self.body += &"  ".repeat(self.depth);
            self.body += line;
            self.body += "\n";
            if line.ends_with('{') {
                self.depth += 1;
            }
        }
    }

    /// Assigns an expression to a new name.
    pub(crate) fn value(&mut self, expression: impl AsRef<str>) -> String {
        let name = self.name();
        self.line(format!("let {name} = {};", expression.as_ref()));
        name
    }

    /// Assigns an expression to a new name, before all lines. The expression must depend only on parameters.
    pub(crate) fn constant(&mut self, expression: impl AsRef<str>) -> String {
        let name = self.name();
        self.head += &format!("  let {name} = {};\n", expression.as_ref());
        name
    }

    /// Assigns an integer to a new name, unless it is already a literal or a name.
    pub(crate) fn int(&mut self, x: Int) -> Int {
        match x {
            Int::Text(t) if t.contains(|c: char| !c.is_ascii_alphanumeric()) => Int::Text(self.value(t)),
            x => x,
        }
    }

    /// Declares a variable with its first value. Returns its name.
    pub(crate) fn variable(&mut self, first: impl AsRef<str>) -> String {
        let name = self.name();
        self.line(format!("var {name} = {};", first.as_ref()));
        name
    }

    /// Starts a function that only this kernel uses. Lines and constants are added to it until `close_function`.
    pub(crate) fn open_function(&mut self, name: &str, parameters: &str) {
        self.outside = (std::mem::take(&mut self.head), std::mem::take(&mut self.body));
        self.functions.push((name.to_string(), parameters.to_string(), String::new()));
    }

    /// Ends the function under construction.
    pub(crate) fn close_function(&mut self) {
        let (head, body) = std::mem::take(&mut self.outside);
        let text = std::mem::replace(&mut self.head, head) + &std::mem::replace(&mut self.body, body);
        if let Some(last) = self.functions.last_mut() {
            last.2 = text;
        }
    }

    /// Returns an array in shared memory. Calls with the same element type return the same array.
    pub(crate) fn shared(&mut self, element: &'static str, length: u32) -> String {
        if let Some((name, ..)) = self.shared.iter().find(|(_, e, _)| *e == element) {
            return name.clone();
        }
        let name = format!("s{}", self.shared.len());
        self.shared.push((name.clone(), element, length));
        name
    }

    /// Declares a separate array in shared memory.
    pub(crate) fn shared_array(&mut self, name: &str, element: &'static str, length: u32) {
        self.shared.push((name.to_string(), element, length));
    }

    /// Finishes the kernel for a dispatch of `groups` groups. `most` and `bindings` are limits of the adapter: groups
    /// along one dimension, and storage buffers. Returns the reason if the kernel exceeds the adapter's limits.
    pub(crate) fn finish(self, groups: usize, most: u32, bindings: u32) -> Result<Launch, String> {
        if self.bindings.len() > bindings as usize {
            return Err(format!(
                "its kernel needs {} bindings; the adapter has {bindings}",
                self.bindings.len()
            ));
        }
        if self.parameters.len() > MAX_PARAMETERS {
            return Err(format!(
                "its kernel needs {} parameter words; a block has at most {MAX_PARAMETERS}",
                self.parameters.len()
            ));
        }
        let body = self.head + &self.body;
        let units: Vec<(Unit, bool)> =
            self.bindings.iter().map(|b| (b.unit.unwrap_or(Unit::Word), b.written)).collect();
        let own: String = self.functions.iter().map(|f| f.2.as_str()).collect();
        let functions = library::needed(&(own + &body), self.dialect);
        let frame = Frame {
            bindings: &units,
            parameters: self.parameters.len().div_ceil(4),
            shared: &self.shared,
            group: [self.group, 1, 1],
            functions: &functions,
            local: &self.functions,
            body: &body,
        };
        let text = self.dialect.entry(&frame);
        let module =
            Module { text, writable: units.iter().map(|(_, w)| *w).collect(), group: [self.group, 1, 1] };
        let mut parameters = self.parameters;
        parameters.resize(parameters.len().next_multiple_of(4), Word::Value(0));
        // Uses a second dimension if there are more groups than one dimension allows. Few groups are then unused.
        let y = groups.div_ceil(most as usize).max(1);
        let x = groups.div_ceil(y).max(1);
        if y > most as usize {
            return Err(format!(
                "its kernel needs {groups} groups; the adapter allows at most {most} times {most}"
            ));
        }
        let bindings = self.bindings.iter().map(|b| b.memory).collect();
        Ok(Launch { module, bindings, parameters, groups: [x as u32, y as u32, 1] })
    }
}

/// The number of this group in the dispatch, as an expression.
pub(crate) const GROUP_NUMBER: &str = "(group.y * groups.x + group.x)";
