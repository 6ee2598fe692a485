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

/// Which names of items occur elsewhere in the text, as identifiers or as whole strings: a test item
/// that something else of the text names is a helper of it as well, and stays in the context.
pub(super) struct Mentions<'t>(HashMap<&'t str, Named>);

struct Named {
    /// Of the only definition; `None` when there are several.
    only: Option<Range<usize>>,
    /// Occurrences that have to be there: one for each definition.
    definitions: usize,
    occurrences: usize,
}

impl<'t> Mentions<'t> {
    /// Looks for the names of `definitions`, each with the range of its text.
    pub fn new(
        syntax: &Syntax<'t>,
        definitions: impl Iterator<Item = (&'t str, Range<usize>)>,
    ) -> Self {
        let mut names: HashMap<&str, Named> = HashMap::new();
        for (name, range) in definitions {
            let named = names.entry(name).or_insert(Named {
                only: Some(range),
                definitions: 0,
                occurrences: 0,
            });
            named.definitions += 1;
            if named.definitions > 1 {
                named.only = None;
            }
        }
        for id in syntax.all() {
            if !is_name(syntax.kind(id)) {
                continue;
            }
            let Some(named) = names.get_mut(syntax.text(id)) else {
                continue;
            };
            let at = syntax.range(id).start;
            // What names itself alone is not named elsewhere.
            if named.only.as_ref().is_none_or(|own| !own.contains(&at)) {
                named.occurrences += 1;
            }
        }
        Self(names)
    }

    /// Something besides the definitions of `name` names it.
    pub fn elsewhere(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|named| {
            let own = if named.only.is_some() {
                0
            } else {
                named.definitions
            };
            named.occurrences > own
        })
    }
}

fn is_name(kind: &str) -> bool {
    matches!(
        kind,
        "identifier" | "type_identifier" | "string_content" | "interpreted_string_literal_content"
    )
}
