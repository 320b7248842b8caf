//! `gradus repl`: adds equations one by one and shows the values that they define. A line with an error
//! changes nothing.

use crate::args::{InputArgs, ReplArgs};
use crate::open::{Opened, RelativeLoader};
use crate::{Done, Failure, Terminal, open, show};
use gradus::lang::ast::{Name, Statement};
use gradus::lang::{GradientOptions, Program, Source, parse_query};
use std::path::PathBuf;

const HELP: &str = "\
An equation is added, and its value is printed:   A[i] = const([1, 2, 3])
An expression is evaluated, and not added:        A, or A[i] A[i] + 1
Input continues on the next line while a bracket is open, and after a comma or an operator.
:list            print the program
:grad [LOSS]     print its gradient equations
:drop NAME       remove the equations of a name
:load FILE       add the equations of a file
:save FILE       write the program to a file
:quit            exit (also Ctrl-D)";

/// The program so far.
struct Session<'a> {
    text: String,
    folder: PathBuf,
    given: &'a InputArgs,
    colour: bool,
}

pub(crate) fn run(args: &ReplArgs, terminal: &mut Terminal<'_>) -> Done {
    let mut session =
        Session { text: String::new(), folder: ".".into(), given: &args.given, colour: terminal.colour };
    if let Some(file) = &args.file {
        session.folder = open::folder(file);
        session.text = open::program(file, terminal)?.program.sources[0].text.to_string();
    }
    if !terminal.interactive {
        let mut line = String::new();
        loop {
            let begun = line.len();
            terminal.input.read_line(&mut line)?;
            // An empty line ends an incomplete statement.
            if !line[begun..].trim().is_empty() && is_incomplete(&line) {
                continue;
            }
            if line.is_empty() {
                return Ok(());
            }
            let Some(answer) = session.line(&line) else { return Ok(()) };
            write!(terminal.out, "{answer}")?;
            line.clear();
        }
    }
    writeln!(terminal.out, "Type an equation or an expression; :help lists the commands.")?;
    terminal.out.flush()?;
    edited(&mut session, terminal)
}

/// Reads lines with editing and history until end of input.
fn edited(session: &mut Session<'_>, terminal: &mut Terminal<'_>) -> Done {
    let failed = |e: rustyline::error::ReadlineError| Failure::Run(e.to_string());
    let mut editor = rustyline::DefaultEditor::new().map_err(failed)?;
    let history = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".gradus_history"));
    if let Some(history) = &history {
        // The history file does not exist in the first session.
        let _ = editor.load_history(history);
    }
    let mut begun = String::new();
    loop {
        match editor.readline(if begun.is_empty() { "gradus> " } else { "    ... " }) {
            Ok(more) => {
                begun.push_str(&more);
                // An empty line ends an incomplete statement.
                if is_incomplete(&begun) && !more.trim().is_empty() {
                    begun.push('\n');
                    continue;
                }
                let line = std::mem::take(&mut begun);
                let _ = editor.add_history_entry(&line);
                let Some(answer) = session.line(&line) else { break };
                write!(terminal.out, "{answer}")?;
                terminal.out.flush()?;
            }
            Err(rustyline::error::ReadlineError::Interrupted) => begun.clear(),
            Err(rustyline::error::ReadlineError::Eof) => break,
            Err(e) => return Err(failed(e)),
        }
    }
    if let Some(history) = &history {
        let _ = editor.save_history(history);
    }
    Ok(())
}

/// Returns true if a statement is incomplete: a bracket is open, or it ends with a comma or an operator.
fn is_incomplete(text: &str) -> bool {
    if text.trim_start().starts_with(':') {
        return false;
    }
    let (mut open, mut quoted, mut comment) = (0i64, false, false);
    let mut code = String::new();
    for c in text.chars() {
        match c {
            '\n' => (quoted, comment) = (false, false),
            _ if comment => continue,
            '"' => quoted = !quoted,
            '#' if !quoted => comment = true,
            '(' | '{' | '[' if !quoted => open += 1,
            ')' | ']' | '}' if !quoted => open -= 1,
            _ => {}
        }
        if !comment {
            code.push(c);
        }
    }
    let last = code.trim_end().chars().last();
    open > 0
        || last.is_some_and(|c| matches!(c, ',' | '=' | '+' | '-' | '*' | '/' | '<' | '>' | '&' | '|' | '?'))
}

impl Session<'_> {
    /// Processes a line and returns the answer; `None` if the line ends the session.
    fn line(&mut self, line: &str) -> Option<String> {
        let line = line.trim();
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let answer = match command {
            "" => Ok(String::new()),
            ":quit" | ":q" | ":exit" => return None,
            ":help" | ":h" => Ok(format!("{HELP}\n")),
            ":list" => {
                Ok(if self.text.is_empty() { String::new() } else { format!("{}\n", self.text.trim_end()) })
            }
            ":grad" => self.gradient(rest.trim()),
            ":drop" => self.dropped(rest.trim()),
            ":load" => self.loaded(rest.trim()),
            ":save" => self.saved(rest.trim()),
            _ if command.starts_with(':') => {
                Err(Failure::Usage(format!("unknown command `{command}`; :help lists the commands")))
            }
            _ => self.equations(line),
        };
        Some(answer.unwrap_or_else(|failure| match failure {
            Failure::Program(faults) | Failure::UsageAt(faults) => {
                format!("{}\n", faults.render(self.colour))
            }
            Failure::Run(why) | Failure::Usage(why) => format!("error: {why}\n"),
        }))
    }

    fn program(&self, text: &str) -> Done<Program> {
        Ok(Program::load(Source::new("repl", text), &RelativeLoader(&self.folder))?)
    }

    /// Shows a name or an expression, or adds statements.
    fn equations(&mut self, line: &str) -> Done<String> {
        let word = line.trim_end_matches(';');
        // Statements may be followed by an expression to show.
        if let Some((before, last)) = word.rsplit_once(';')
            && parse_query(&Source::new("repl", last)).is_ok()
        {
            return Ok(self.equations(before)? + &self.equations(last.trim())?);
        }
        let program = self.program(&self.text)?;
        if program.definition(word).is_some() {
            return self.value(program, &[word.into()]);
        }
        if parse_query(&Source::new("repl", word)).is_ok() {
            let (grown, name) = program.ask(Source::new("repl", word))?;
            let shown = self.value(grown, std::slice::from_ref(&name))?;
            // The generated name is not shown.
            return Ok(shown.strip_prefix(&*name).map_or(shown.clone(), str::to_string));
        }
        let text = format!(
            "{}{}{line}\n",
            self.text,
            if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" }
        );
        let grown = self.program(&text)?;
        let before = program.statements().len();
        let mut defined: Vec<Name> = Vec::new();
        for statement in grown.statements().into_iter().skip(before) {
            if let Statement::Equation(e) = statement
                && !defined.contains(&e.target.name)
            {
                defined.push(e.target.name);
            }
        }
        // An equation with missing inputs is kept, and computed later.
        let waiting: Vec<&Name> =
            grown.needed(&defined).iter().filter_map(|n| grown.inputs().find(|i| *i == n)).collect();
        let given = |n: &Name| self.given.inputs.iter().chain(&self.given.set).any(|p| p.name == **n);
        // The same holds for names that depend on a virtual time without a number of steps.
        let waiting = waiting.into_iter().filter(|n| !given(n)).chain(grown.undecided(&defined));
        let waiting: Vec<String> = waiting.map(|n| format!("`{n}`")).collect();
        if !waiting.is_empty() {
            self.text = text;
            return Ok(format!("added; not computed without {}\n", waiting.join(", ")));
        }
        let shown = if defined.is_empty() { String::new() } else { self.value(grown, &defined)? };
        self.text = text;
        Ok(shown)
    }

    fn value(&self, program: Program, names: &[Name]) -> Done<String> {
        let opened = Opened { program, folder: self.folder.clone() };
        let ready = self.given.ready(&opened, names)?;
        let mut values = opened.program.run(&ready.inputs, &ready.settings, names)?;
        values.extend(ready.inputs);
        let each = names.iter().filter_map(|n| Some(show::tensor(&opened.program, n, values.get(n)?)));
        Ok(each.collect())
    }

    fn gradient(&self, loss: &str) -> Done<String> {
        let loss = (!loss.is_empty()).then(|| Name::from(loss));
        Ok(self
            .program(&self.text)?
            .gradient(&GradientOptions { loss, ..GradientOptions::default() })?
            .text())
    }

    fn dropped(&mut self, name: &str) -> Done<String> {
        let program = self.program(&self.text)?;
        let defines = |s: &Statement| matches!(s, Statement::Equation(e) if *e.target.name == *name);
        let mut statements = program.statements();
        let before = statements.len();
        statements.retain(|s| !defines(s));
        if statements.len() == before {
            return Err(Failure::Run(format!("no equation defines `{name}`")));
        }
        self.text = statements.iter().map(|s| format!("{s}\n")).collect();
        Ok(String::new())
    }

    fn loaded(&mut self, file: &str) -> Done<String> {
        let path = self.folder.join(file);
        let text = format!("{}{}\n", self.text, crate::open::read(&path)?);
        let program = self.program(&text)?;
        self.text = text;
        Ok(format!("{} equations\n", program.equations.len()))
    }

    fn saved(&self, file: &str) -> Done<String> {
        if file.is_empty() {
            return Err(Failure::Usage(":save needs a file name".into()));
        }
        gradus::files::atomic::write(&self.folder.join(file), &[self.text.as_bytes()])?;
        Ok(String::new())
    }
}
