//! What the body of a Go test does: skips, subtests, generators and seeds.

use std::rc::Rc;

use crate::model::{Disabled, Generator};
use crate::source::items::{disabled, quoted};
use crate::source::syntax::{Id, Syntax};

/// A call of `t.Run`.
pub(super) struct Run<'t> {
    /// Its statement where it is one of the block's own, else the call.
    pub statement: Id,
    pub name_at: Option<Id>,
    /// `None` when it is computed.
    pub name: Option<String>,
    /// The block of its function, and what that calls its `*testing.T`.
    pub body: Option<(Id, &'t str)>,
    /// Under a condition, in a loop, or in a function of its own.
    pub blocked: Option<Disabled>,
}

/// The first parameter's name and, of `*testing.T`, the `T`.
pub(super) fn handle<'t>(syntax: &Syntax<'t>, function: Id) -> Option<(&'t str, &'t str)> {
    let parameters = syntax.child(function, "parameters")?;
    let parameter = syntax.first_part(parameters)?;
    let name = syntax
        .child(parameter, "name")
        .map_or("", |name| syntax.text(name));
    let sort = syntax
        .text(syntax.child(parameter, "type")?)
        .strip_prefix('*')?;
    Some((name, sort.rsplit('.').next().unwrap_or(sort)))
}

/// The receiver and the name of a method call: `t`, `Skip`.
fn method<'t>(syntax: &Syntax<'t>, call: Id) -> Option<(&'t str, &'t str)> {
    if syntax.kind(call) != "call_expression" {
        return None;
    }
    let function = syntax.child(call, "function")?;
    let operand = syntax.child(function, "operand")?;
    let field = syntax.child(function, "field")?;
    Some((syntax.text(operand), syntax.text(field)))
}

fn statements(syntax: &Syntax<'_>, block: Id) -> impl Iterator<Item = Id> {
    let list = syntax.child_of_kind(block, "statement_list");
    let statements: Vec<Id> = list.map_or(Vec::new(), |list| syntax.parts(list).collect());
    statements.into_iter()
}

/// A skip that is a statement of the body itself, or of an `if` that comes first (but not one of
/// `testing.Short()`, which only a flag turns on); or a body that returns at once.
pub(super) fn skip_of(syntax: &Syntax<'_>, body: Id, handle: &str) -> Option<Disabled> {
    let mut first = true;
    for statement in statements(syntax, body) {
        if let Some(found) = skip_statement(syntax, statement, handle) {
            return Some(found);
        }
        if first && syntax.kind(statement) == "return_statement" {
            return Some(disabled(syntax.line(statement), "returns at once"));
        }
        if first && syntax.kind(statement) == "if_statement" {
            let short = syntax
                .child(statement, "condition")
                .is_some_and(|condition| syntax.text(condition) == "testing.Short()");
            let then = syntax.child(statement, "consequence").filter(|_| !short);
            let skip = then.and_then(|then| {
                statements(syntax, then).find_map(|inner| skip_statement(syntax, inner, handle))
            });
            if skip.is_some() {
                return skip;
            }
        }
        let marks = ["Parallel", "Helper"];
        let call = syntax
            .first_part(statement)
            .and_then(|call| method(syntax, call));
        first &= call.is_some_and(|(_, name)| marks.contains(&name));
    }
    None
}

fn skip_statement(syntax: &Syntax<'_>, statement: Id, handle: &str) -> Option<Disabled> {
    if syntax.kind(statement) != "expression_statement" {
        return None;
    }
    let call = syntax.first_part(statement)?;
    let (receiver, name) = method(syntax, call)?;
    let skips = receiver == handle && matches!(name, "Skip" | "Skipf" | "SkipNow");
    let why = format!("skipped by {}", quoted(syntax.text(call)));
    skips.then(|| disabled(syntax.line(call), why))
}

/// Every `handle.Run(…)` below `block` that is not inside another one.
pub(super) fn runs<'t>(syntax: &Syntax<'t>, block: Id, handle: &str) -> Vec<Run<'t>> {
    let mut found = Vec::new();
    // Where something ends that may not run, and why.
    let mut blocked: Vec<(Id, Rc<Disabled>)> = Vec::new();
    let mut inside_until = block;
    for id in syntax.below(block) {
        while blocked.last().is_some_and(|(until, _)| *until <= id) {
            blocked.pop();
        }
        if id < inside_until {
            continue;
        }
        let line = syntax.line(id);
        let why = match syntax.kind(id) {
            "func_literal" => "run in a function that may never be called",
            "if_statement"
            | "for_statement"
            | "expression_switch_statement"
            | "type_switch_statement"
            | "select_statement"
            | "defer_statement" => "run only under a condition",
            "call_expression" => {
                if let Some(mut run) = run_of(syntax, id, handle) {
                    run.blocked = blocked.first().map(|(_, why)| (**why).clone());
                    inside_until = syntax.after(id);
                    found.push(run);
                }
                continue;
            }
            _ => continue,
        };
        blocked.push((syntax.after(id), Rc::new(disabled(line, why))));
    }
    found
}

fn run_of<'t>(syntax: &Syntax<'t>, call: Id, handle: &str) -> Option<Run<'t>> {
    let (receiver, name) = method(syntax, call)?;
    let arguments: Vec<Id> = syntax.parts(syntax.child(call, "arguments")?).collect();
    // `suite.Run(t, new(Suite))`: the suite's methods are subtests.
    if name == "Run"
        && arguments
            .first()
            .is_some_and(|first| syntax.text(*first) == handle)
    {
        return Some(Run {
            statement: call,
            name_at: None,
            name: None,
            body: None,
            blocked: None,
        });
    }
    (name == "Run" && receiver == handle && arguments.len() == 2).then_some(())?;
    let statement = syntax
        .parent(call)
        .filter(|parent| syntax.kind(*parent) == "expression_statement");
    let body = (syntax.kind(arguments[1]) == "func_literal")
        .then(|| {
            let (inner, _) = self::handle(syntax, arguments[1])?;
            Some((syntax.child(arguments[1], "body")?, inner))
        })
        .flatten();
    Some(Run {
        statement: statement.unwrap_or(call),
        name_at: Some(arguments[0]),
        name: literal(syntax, arguments[0]),
        body,
        blocked: None,
    })
}

/// The text of a string literal without escapes.
fn literal(syntax: &Syntax<'_>, id: Id) -> Option<String> {
    let text = syntax.text(id);
    match syntax.kind(id) {
        "raw_string_literal" => Some(text.trim_matches('`').to_owned()),
        "interpreted_string_literal" if !text.contains('\\') => {
            Some(text.trim_matches('"').to_owned())
        }
        _ => None,
    }
}

pub(super) fn generator(syntax: &Syntax<'_>, body: Id) -> Option<Generator> {
    syntax
        .below(body)
        .filter_map(|id| method(syntax, id))
        .find_map(|call| match call {
            ("rapid", "Check" | "MakeCheck" | "MakeFuzz" | "MakeCustom") => Some(Generator::Rapid),
            ("quick", "Check" | "CheckEqual") => Some(Generator::Quickcheck),
            _ => None,
        })
}

/// The line where a body fixes a seed: `rand.NewSource(1)`, `rand.Seed(1)`, `rand.NewPCG(1, 2)`.
pub(super) fn seed(syntax: &Syntax<'_>, body: Id) -> Option<u32> {
    syntax
        .below(body)
        .filter(|id| {
            method(syntax, *id).is_some_and(|(receiver, name)| {
                receiver == "rand" && matches!(name, "Seed" | "NewSource" | "NewPCG" | "NewChaCha8")
            })
        })
        .find(|id| {
            let arguments = syntax.child(*id, "arguments");
            arguments
                .and_then(|arguments| syntax.first_part(arguments))
                .is_some_and(|first| syntax.kind(first) == "int_literal")
        })
        .map(|id| syntax.line(id))
}
