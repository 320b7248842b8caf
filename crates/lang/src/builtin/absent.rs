//! What the core has and the language does without, and what to write instead.

/// Names in the core, and why they are no builtins.
pub static ABSENT: &[(&[&str], &str)] = &[];

/// What to write instead of a function of the core that is no builtin.
pub(crate) fn instead(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    ABSENT.iter().find(|(names, _)| names.contains(&lower.as_str())).map(|(_, why)| *why)
}
