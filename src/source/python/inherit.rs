//! Classes of one file that take tests from one another.

use std::collections::{HashMap, HashSet};

use super::Module;
use super::context::Contexts;
use super::names::Names;
use super::scope::Sort;
use crate::digest;
use crate::model::{Disabled, ItemSort};
use crate::source::items::{Items, Place, disabled, names_in};
use crate::source::syntax::Id;

/// More bases than this, counted over all ancestors, are not followed: the class's tests are unknown.
const MOST_BASES: usize = 64;

/// Bases that bring no test of their own.
const EMPTY_BASES: &[&str] = &[
    "object",
    "ABC",
    "Generic",
    "Protocol",
    "NamedTuple",
    "TypedDict",
    "Enum",
    "IntEnum",
    "StrEnum",
    "Flag",
    "str",
    "int",
    "dict",
    "list",
    "tuple",
    "set",
    "RuleBasedStateMachine",
    "GenericStateMachine",
];

fn brings_nothing(name: &str) -> bool {
    EMPTY_BASES.contains(&name)
        || name.ends_with("TestCase")
        || name.ends_with("Exception")
        || name.ends_with("Error")
}

/// The expressions that a class names as its bases.
pub(super) fn bases(names: &Names<'_, '_>, class: Id) -> Vec<Id> {
    let syntax = names.syntax;
    syntax
        .child(class, "superclasses")
        .map_or(Vec::new(), |list| {
            syntax
                .parts(list)
                .filter(|part| syntax.kind(*part) != "keyword_argument")
                .take(MOST_BASES + 1)
                .collect()
        })
}

/// pytest collects no class that has a constructor, unless unittest runs it.
pub(super) fn constructor(module: &Module<'_, '_, '_>, class: usize) -> Option<Disabled> {
    let definition = &module.outline.definitions[class];
    let Sort::Class(scope) = definition.sort else {
        return None;
    };
    if !definition.name.starts_with("Test") || !bases(module.names, definition.inner).is_empty() {
        return None;
    }
    let found = module.members[scope]
        .iter()
        .map(|own| &module.outline.definitions[*own])
        .find(|own| matches!(own.name, "__init__" | "__new__"))?;
    let line = module.names.syntax.line(found.name_at);
    Some(disabled(
        line,
        format!("pytest collects no class with a {}", found.name),
    ))
}

struct Ancestry {
    /// Definitions of the ancestors in this file, nearest first.
    known: Vec<usize>,
    /// A base is not in this file, and may bring tests.
    foreign: Option<Id>,
}

/// Adds, for each class with bases, the tests that it takes from them. `at_item` says where each
/// definition's own item is.
pub(super) fn add_inherited(
    items: &mut Items,
    module: &Module<'_, '_, '_>,
    contexts: &Contexts,
    at_item: &[usize],
) -> Result<(), u32> {
    let definitions = &module.outline.definitions;
    let mut classes: HashMap<&str, usize> = HashMap::new();
    for (at, definition) in definitions.iter().enumerate() {
        if let Sort::Class(_) = definition.sort {
            classes.insert(definition.name, at);
        }
    }
    for (at, definition) in definitions.iter().enumerate() {
        let Sort::Class(scope) = definition.sort else {
            continue;
        };
        let ancestry = ancestry(module, &classes, at);
        let names = &module.paths[scope];
        let mut off = module.disabled(at);
        let mut taken: HashSet<&str> = module.members[scope]
            .iter()
            .map(|own| definitions[*own].name)
            .collect();
        for base in ancestry.known {
            let Sort::Class(base_scope) = definitions[base].sort else {
                continue;
            };
            if off.is_none() && !module.outline.scopes[scope].enabled {
                off = module.outline.scopes[base_scope].disabled.clone();
            }
            off = off.or_else(|| module.marks[base].disabled.clone());
            for own in &module.members[base_scope] {
                let member = &definitions[*own];
                if member.sort != Sort::Function || !taken.insert(member.name) {
                    continue;
                }
                let both = [contexts.of(scope), contexts.of(base_scope)];
                let mut item = items.get(at_item[*own]).clone();
                item.names = names_in(names, member.name);
                item.context = digest::pieces(both.map(|context| context.as_str().as_bytes()));
                item.disabled = module.own_disabled(*own).or_else(|| off.clone());
                items.push(item)?;
            }
        }
        if let Some(base) = ancestry.foreign {
            let syntax = module.names.syntax;
            let place = Place::of(syntax, base, None);
            let item = (names.clone(), ItemSort::Computed);
            let item = items.add(syntax, item, &place, contexts.of(scope))?;
            item.disabled = off;
        }
    }
    Ok(())
}

fn ancestry(module: &Module<'_, '_, '_>, classes: &HashMap<&str, usize>, class: usize) -> Ancestry {
    let mut found = Ancestry {
        known: Vec::new(),
        foreign: None,
    };
    let mut seen = HashSet::from([class]);
    let mut open = vec![class];
    while let Some(at) = open.pop() {
        let own = bases(module.names, module.outline.definitions[at].inner);
        let too_many = own.len() > MOST_BASES;
        for base in own.into_iter().rev() {
            if too_many || seen.len() > MOST_BASES {
                found.foreign = Some(base);
                return found;
            }
            let syntax = module.names.syntax;
            let name = match syntax.kind(base) {
                "subscript" => syntax.child(base, "value").map(|value| syntax.text(value)),
                _ => module
                    .names
                    .dotted(base)
                    .and_then(|path| path.last().copied()),
            };
            match name.and_then(|name| classes.get(name)) {
                Some(known) if seen.insert(*known) => open.push(*known),
                Some(_) => {}
                None if name.is_some_and(|n| brings_nothing(n.rsplit('.').next().unwrap_or(n))) => {
                }
                None => found.foreign = Some(base),
            }
        }
        if at != class {
            found.known.push(at);
        }
    }
    found
}
