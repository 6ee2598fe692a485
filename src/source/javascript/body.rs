//! What the body of a test does before it can assert anything, and what one test does to the others.

use std::collections::HashMap;

use super::Found;
use super::calls::{self, option};
use crate::model::{Disabled, ItemSort, TestItem};
use crate::source::items::{disabled, quoted};
use crate::source::syntax::{Id, Syntax};

pub(super) fn is_hook(name: &str) -> bool {
    matches!(
        name,
        "before" | "beforeEach" | "beforeAll" | "setup" | "suiteSetup"
    )
}

/// Does a callback skip its test by a statement of its own, or return at once?
pub(super) fn skip_of(syntax: &Syntax<'_>, callback: Id) -> Option<Disabled> {
    let parameters = syntax
        .child(callback, "parameters")
        .or_else(|| syntax.child(callback, "parameter"))
        .map_or("", |id| syntax.text(id));
    let body = syntax.child(callback, "body")?;
    if syntax.kind(body) != "statement_block" {
        return skip_call(syntax, parameters, body);
    }
    for (at, statement) in syntax.parts(body).enumerate() {
        match syntax.kind(statement) {
            "return_statement" if at == 0 => {
                // `return property` is a test; a bare return, or one of a skip, is none.
                let value = syntax.first_part(statement);
                let skip = value.map(|value| skip_call(syntax, parameters, value));
                match skip {
                    None => return Some(disabled(syntax.line(statement), "returns at once")),
                    Some(Some(found)) => return Some(found),
                    Some(None) => {}
                }
            }
            "expression_statement" => {
                let skip = syntax
                    .first_part(statement)
                    .and_then(|part| skip_call(syntax, parameters, part));
                if skip.is_some() {
                    return skip;
                }
            }
            "if_statement" if at == 0 => {
                let then = syntax.child(statement, "consequence");
                let skip = then.and_then(|then| first_skip(syntax, parameters, then));
                if skip.is_some() {
                    return skip;
                }
            }
            _ => {}
        }
    }
    None
}

/// A skip among the statements of what an `if` runs.
fn first_skip(syntax: &Syntax<'_>, parameters: &str, then: Id) -> Option<Disabled> {
    let inner = std::iter::once(then).chain(syntax.parts(then));
    inner
        .filter(|id| {
            matches!(
                syntax.kind(*id),
                "expression_statement" | "return_statement"
            )
        })
        .filter_map(|id| syntax.first_part(id))
        .find_map(|part| skip_call(syntax, parameters, part))
}

/// `this.skip()`, `t.skip()` of the callback's own parameter, `skip()` taken out of it, `test.skip()`,
/// `pending()`.
fn skip_call(syntax: &Syntax<'_>, parameters: &str, expression: Id) -> Option<Disabled> {
    let call = match syntax.kind(expression) {
        "await_expression" => syntax.first_part(expression)?,
        _ => expression,
    };
    if syntax.kind(call) != "call_expression" {
        return None;
    }
    let chain = calls::chain(syntax, call)?;
    let is_parameter = |name: &str| {
        let mut words = parameters.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
        words.any(|word| word == name)
    };
    let skips = match (chain.root, chain.properties.as_slice()) {
        ("pending", []) => true,
        ("skip" | "todo", []) => is_parameter(chain.root),
        ("this" | "test" | "it", [.., "skip" | "todo" | "fixme" | "fail"]) => {
            chain.properties.last() != Some(&"fail") || chain.root == "test"
        }
        (root, [.., "skip" | "todo"]) => is_parameter(root),
        _ => false,
    };
    let line = syntax.line(call);
    skips.then(|| disabled(line, format!("skipped by {}", quoted(syntax.text(call)))))
}

/// The line of a `seed` among the options that `arguments` hold.
pub(super) fn seed_of(syntax: &Syntax<'_>, arguments: &[Id]) -> Option<u32> {
    arguments
        .iter()
        .find_map(|object| option(syntax, *object, &["seed"]))
        .map(|member| syntax.line(member))
}

/// Where something is marked `.only`, the rest does not run: what runs is an innermost marked one, what
/// it holds and what it lies in.
pub(super) fn mark_only(found: &mut [Found]) {
    // In the order of the text, so that of nested ones the inner follows the outer.
    let mut innermost: Vec<(usize, usize, u32)> = Vec::new();
    for one in found.iter().filter(|one| one.only) {
        let range = &one.place.range;
        while innermost
            .last()
            .is_some_and(|(_, end, _)| *end >= range.end)
        {
            innermost.pop();
        }
        innermost.push((range.start, range.end, one.place.line));
    }
    let Some((_, _, first)) = innermost.first().copied() else {
        return;
    };
    for one in found.iter_mut() {
        let range = &one.place.range;
        let after = innermost.partition_point(|(start, _, _)| *start < range.start);
        let holds = innermost
            .get(after)
            .is_some_and(|(_, end, _)| *end <= range.end);
        let lies = |at: usize| {
            innermost
                .get(at)
                .is_some_and(|(start, end, _)| *start <= range.start && range.end <= *end)
        };
        let runs = holds || lies(after) || (after > 0 && lies(after - 1));
        if !runs {
            let why = "another test of the file is marked .only";
            one.disabled.get_or_insert_with(|| disabled(first, why));
        }
    }
}

/// Of two tests of one name nobody knows which one an id means: where one is disabled, all are.
pub(super) fn mark_namesakes(items: &mut [TestItem]) {
    let mut off: HashMap<Vec<String>, Disabled> = HashMap::new();
    for item in items.iter() {
        if let (ItemSort::Test, Some(disabled)) = (item.sort, &item.disabled) {
            off.entry(item.names.clone())
                .or_insert_with(|| disabled.clone());
        }
    }
    for item in items.iter_mut() {
        if item.sort == ItemSort::Test && item.disabled.is_none() {
            item.disabled = off.get(&item.names).cloned();
        }
    }
}
