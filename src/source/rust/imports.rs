//! What a Rust file takes in: `mod x;`, `use` declarations, paths in the text, and included files.
//!
//! A `mod x;` that the file makes no use of (as in a `main.rs` that lists test modules) brings nothing,
//! unless it is there for tests or for its macros; what it implements for the types of a third module
//! is not seen.

use std::collections::BTreeMap;

use super::levels::{Kind, Level};
use crate::model::Import;
use crate::source::level::Mentions;
use crate::source::syntax::{Id, Syntax};

/// Names of one path that are kept.
const LONGEST: usize = 32;

/// A path relative to this file's directory is a target in quotes.
pub(super) fn imports(
    syntax: &Syntax<'_>,
    levels: &[Level<'_>],
    mentions: &Mentions<'_>,
) -> Vec<Import> {
    // By target, name and first line.
    let mut found: BTreeMap<(String, Option<String>), u32> = BTreeMap::new();
    let mut add = |target: String, name: Option<&str>, line: u32| {
        let key = (target, name.map(str::to_owned));
        let first = found.entry(key).or_insert(line);
        *first = line.min(*first);
    };
    for level in levels {
        for member in &level.members {
            let Kind::Other = member.kind else { continue };
            if syntax.kind(member.unit.id) != "mod_item" {
                continue;
            }
            let Some(name) = syntax.child(member.unit.id, "name") else {
                continue;
            };
            let name = syntax.text(name);
            let used = mentions.elsewhere(name)
                || level.for_tests
                || member.is_for_tests()
                || member.attributes.iter().any(|own| own.is("macro_use"));
            if !used {
                continue;
            }
            let mut path = level.names.clone();
            path.push(name.to_owned());
            add(format!("mod {}", path.join("::")), None, member.unit.line);
            for own in &member.attributes {
                match own.string() {
                    // Inside an inline module the directory is another than this file's.
                    Some(path) if own.is("path") && level.names.is_empty() => {
                        add(format!("\"{path}\""), None, own.line);
                    }
                    _ if own.is("path") || own.is("cfg_attr") && own.mentions("path") => {
                        add(Import::ANYTHING.to_owned(), None, own.line);
                    }
                    _ => {}
                }
            }
        }
    }
    for id in syntax.all() {
        match syntax.kind(id) {
            "use_declaration" => {
                for (target, name) in used(syntax, id) {
                    add(target, name, syntax.line(id));
                }
            }
            "macro_invocation" => {
                if let Some(target) = included(syntax, id) {
                    add(target, None, syntax.line(id));
                }
            }
            _ => {}
        }
    }
    for (target, name, line) in paths(syntax) {
        add(target, Some(name), line);
    }
    merge(found)
}

/// One import a target, with every name that is taken from it.
fn merge(found: BTreeMap<(String, Option<String>), u32>) -> Vec<Import> {
    let mut imports: Vec<Import> = Vec::new();
    for ((target, name), line) in found {
        match imports.last_mut() {
            Some(last) if last.target == target => {
                last.line = last.line.min(line);
                last.names.extend(name);
            }
            _ => imports.push(Import {
                target,
                names: name.into_iter().collect(),
                line,
            }),
        }
    }
    imports.sort_by(|a, b| (a.line, &a.target).cmp(&(b.line, &b.target)));
    imports
}

/// `include!("…")` and its likes; anything when the path is computed.
fn included(syntax: &Syntax<'_>, id: Id) -> Option<String> {
    let name = syntax.text(syntax.child(id, "macro")?);
    let name = name.rsplit("::").next()?.trim();
    matches!(name, "include" | "include_str" | "include_bytes").then_some(())?;
    let tree = syntax.child_of_kind(id, "token_tree")?;
    let literal = syntax
        .first_part(tree)
        .filter(|part| syntax.kind(*part) == "string_literal");
    let content = literal.and_then(|literal| syntax.child_of_kind(literal, "string_content"));
    Some(match content {
        Some(content) => format!("\"{}\"", syntax.text(content)),
        None => Import::ANYTHING.to_owned(),
    })
}

/// The leaves of a `use`: what they are taken from, and their name unless it is `*`.
fn used<'t>(syntax: &Syntax<'t>, declaration: Id) -> Vec<(String, Option<&'t str>)> {
    let mut found = Vec::new();
    let argument = syntax.child(declaration, "argument");
    let mut open: Vec<(Id, Vec<&str>)> = argument.map(|id| (id, Vec::new())).into_iter().collect();
    while let Some((id, mut prefix)) = open.pop() {
        if prefix.len() > LONGEST {
            continue;
        }
        match syntax.kind(id) {
            "use_list" => {
                for part in syntax.parts(id) {
                    open.push((part, prefix.clone()));
                }
            }
            "scoped_use_list" => {
                if let Some(path) = syntax.child(id, "path") {
                    prefix.extend(names(syntax, path));
                }
                open.extend(syntax.child(id, "list").map(|list| (list, prefix)));
            }
            "use_as_clause" => open.extend(syntax.child(id, "path").map(|path| (path, prefix))),
            "use_wildcard" => {
                prefix.extend(names(syntax, id));
                found.push((prefix.join("::"), None));
            }
            _ => {
                prefix.extend(names(syntax, id));
                let last = prefix.pop();
                found.push((prefix.join("::"), last));
            }
        }
    }
    found
}

fn names<'t>(syntax: &Syntax<'t>, path: Id) -> Vec<&'t str> {
    syntax
        .tokens(path)
        .map(|token| syntax.text(token))
        .filter(|text| !matches!(*text, "::" | "*"))
        .take(LONGEST)
        .collect()
}

/// Paths of modules anywhere in the text, in macros too: those that start with a small letter and
/// not at the standard library.
fn paths<'t>(syntax: &Syntax<'t>) -> Vec<(String, &'t str, u32)> {
    let mut found = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    let mut line = 0;
    let mut joined = false;
    for token in syntax.tokens(syntax.root()) {
        let text = syntax.text(token);
        if text == "::" {
            joined = !path.is_empty();
            continue;
        }
        if !joined {
            close(&mut found, &mut path, line);
        }
        let root = is_name(text)
            && text.starts_with(|c: char| !c.is_uppercase())
            && !matches!(text, "std" | "core" | "alloc");
        if (root && path.is_empty()) || (joined && is_name(text) && path.len() < LONGEST) {
            if path.is_empty() {
                line = syntax.line(token);
            }
            path.push(text);
        }
        joined = false;
    }
    close(&mut found, &mut path, line);
    found
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn close<'t>(found: &mut Vec<(String, &'t str, u32)>, path: &mut Vec<&'t str>, line: u32) {
    if path.len() > 1
        && let Some(name) = path.pop()
    {
        found.push((path.join("::"), name, line));
    }
    path.clear();
}
