//! What is left of one level of a text (a module, a class, a block) when its test items are taken out.

use std::collections::HashMap;
use std::ops::Range;

use super::syntax::{Id, Syntax};
use crate::digest::Pieces;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Part of every test's context.
    Kept,
    Comment,
    /// Left out, with the comments that are attached to it by layout.
    Item,
}

/// One thing that stands at a level.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    pub id: Id,
    pub range: Range<usize>,
    pub line: u32,
    pub end_line: u32,
    pub role: Role,
}

impl Unit {
    pub fn of(syntax: &Syntax<'_>, id: Id, role: Role) -> Self {
        Self {
            id,
            range: syntax.range(id),
            line: syntax.line(id),
            end_line: syntax.end_line(id),
            role: if syntax.is_comment(id) {
                Role::Comment
            } else {
                role
            },
        }
    }
}

/// The units that are left when the items and the comments attached to them are taken out: a comment
/// belongs to an item that starts on the line below it, or that ends on its own line.
pub(super) fn kept(units: &[Unit]) -> Vec<&Unit> {
    let mut goes: Vec<bool> = units.iter().map(|unit| unit.role == Role::Item).collect();
    for at in (1..units.len()).rev() {
        let (before, after) = (&units[at - 1], &units[at]);
        if goes[at] && before.role == Role::Comment && before.end_line + 1 >= after.line {
            goes[at - 1] = true;
        }
    }
    for at in 1..units.len() {
        let (before, after) = (&units[at - 1], &units[at]);
        if before.role == Role::Item && after.role == Role::Comment && after.line == before.end_line
        {
            goes[at] = true;
        }
    }
    units
        .iter()
        .zip(goes)
        .filter_map(|(unit, goes)| (!goes).then_some(unit))
        .collect()
}

/// Adds each of the kept units of a level, so that the space between them does not count.
pub(super) fn add_kept(pieces: &mut Pieces, syntax: &Syntax<'_>, units: &[Unit]) {
    for unit in kept(units) {
        add(pieces, syntax, unit.range.clone());
    }
}

pub(super) fn add(pieces: &mut Pieces, syntax: &Syntax<'_>, range: Range<usize>) {
    pieces.add(syntax.slice(range).trim_end().as_bytes());
}

/// How often names occur in a text, as identifiers or as whole strings: a test item that something
/// else of the text names is a helper of it as well, and stays in the context.
pub(super) struct Mentions<'t>(HashMap<&'t str, usize>);

impl<'t> Mentions<'t> {
    /// Counts the occurrences of the names of `definitions`, one entry for each definition.
    pub fn new(syntax: &Syntax<'t>, definitions: impl Iterator<Item = &'t str>) -> Self {
        let mut left: HashMap<&str, usize> = HashMap::new();
        for name in definitions {
            *left.entry(name).or_default() += 1;
        }
        let mut others: HashMap<&str, usize> = left.keys().map(|name| (*name, 0)).collect();
        for id in syntax.all() {
            let names = matches!(
                syntax.kind(id),
                "identifier"
                    | "field_identifier"
                    | "property_identifier"
                    | "shorthand_property_identifier"
                    | "string_content"
                    | "interpreted_string_literal_content"
            );
            if names && let Some(count) = others.get_mut(syntax.text(id)) {
                *count += 1;
            }
        }
        for (name, definitions) in left {
            if let Some(count) = others.get_mut(name) {
                *count = count.saturating_sub(definitions);
            }
        }
        Self(others)
    }

    /// Something besides the definitions of `name` names it.
    pub fn elsewhere(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|count| *count > 0)
    }
}
