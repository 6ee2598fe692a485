//! What the body of a Python function does before it can assert anything.

use super::marks::positional;
use super::names::Names;
use crate::model::{Disabled, Generator};
use crate::source::items::{disabled, quoted};
use crate::source::syntax::Id;

/// Is it a skip that ends the test where it stands?
///
/// Any statement of the body itself is reached whenever the end of the test is; under an `if` only the
/// first statement counts, as a `skipif` would.
pub(super) fn skip_of(names: &Names<'_, '_>, body: Id) -> Option<Disabled> {
    let syntax = names.syntax;
    let mut first = true;
    for statement in syntax.parts(body) {
        if let Some(found) = skip_statement(names, statement) {
            return Some(found);
        }
        if first && syntax.kind(statement) == "return_statement" {
            return Some(disabled(syntax.line(statement), "returns at once"));
        }
        if first && syntax.kind(statement) == "if_statement" {
            let then = syntax.child(statement, "consequence");
            let skip = then.and_then(|block| {
                syntax
                    .parts(block)
                    .find_map(|inner| skip_statement(names, inner))
            });
            if skip.is_some() {
                return skip;
            }
        }
        first &= is_preamble(names, statement);
    }
    None
}

/// Statements that leave the next one the first: docstrings, imports, `pass`.
fn is_preamble(names: &Names<'_, '_>, statement: Id) -> bool {
    let syntax = names.syntax;
    match syntax.kind(statement) {
        "import_statement" | "import_from_statement" | "pass_statement" => true,
        "expression_statement" => syntax
            .first_part(statement)
            .is_some_and(|part| syntax.kind(part) == "string"),
        _ => false,
    }
}

/// `pytest.skip(…)`, `self.skipTest(…)`, `raise SkipTest`, alone or as the value of an assignment.
pub(super) fn skip_statement(names: &Names<'_, '_>, statement: Id) -> Option<Disabled> {
    let syntax = names.syntax;
    let part = syntax.first_part(statement)?;
    let skips = match syntax.kind(statement) {
        "raise_statement" => names.paths(part).iter().any(|path| {
            path.iter()
                .any(|name| matches!(*name, "SkipTest" | "skip" | "Skipped" | "XFailed"))
        }),
        "expression_statement" | "return_statement" => is_skip_call(names, value_of(names, part)),
        _ => false,
    };
    let text = quoted(syntax.text(statement));
    skips.then(|| disabled(syntax.line(statement), format!("skipped by {text}")))
}

fn value_of(names: &Names<'_, '_>, expression: Id) -> Id {
    match names.syntax.kind(expression) {
        "assignment" => names.syntax.child(expression, "right"),
        "await" => names.syntax.first_part(expression),
        _ => None,
    }
    .unwrap_or(expression)
}

fn is_skip_call(names: &Names<'_, '_>, expression: Id) -> bool {
    names.syntax.kind(expression) == "call"
        && names.paths(expression).iter().any(|path| {
            matches!(
                path[..],
                [.., "skipTest" | "importorskip"] | ["pytest", .., "skip" | "xfail"]
            )
        })
}

/// A call that ends the import of a module: `sys.exit()`, `pytest.exit()`.
pub(super) fn is_exit(names: &Names<'_, '_>, statement: Id) -> bool {
    let syntax = names.syntax;
    syntax.kind(statement) == "expression_statement"
        && syntax.first_part(statement).is_some_and(|part| {
            syntax.kind(part) == "call"
                && names.paths(part).iter().any(|path| {
                    matches!(
                        path[..],
                        ["exit" | "quit" | "_exit"]
                            | ["sys" | "pytest" | "os" | "builtins", "exit" | "_exit"]
                    )
                })
        })
}

/// The line where a body seeds a generator with a literal.
pub(super) fn seed_of(names: &Names<'_, '_>, body: Id) -> Option<u32> {
    let syntax = names.syntax;
    let seeds = |call: &Id| {
        let path = names.dotted(*call);
        let argument = positional(names, *call, 0);
        let fixed = argument.is_some_and(|value| {
            matches!(
                syntax.kind(value),
                "integer" | "string" | "float" | "unary_operator"
            )
        });
        fixed
            && path.is_some_and(|path| {
                path.len() > 1 && path[path.len() - 1] == "seed" && path[path.len() - 2] == "random"
            })
    };
    syntax
        .below(body)
        .filter(|id| syntax.kind(*id) == "call")
        .find(seeds)
        .map(|call| syntax.line(call))
}

/// Hypothesis without a decorator: a state machine's test case.
pub(super) fn machine(names: &Names<'_, '_>, base: Id) -> Option<Generator> {
    names
        .ends_with(base, &["RuleBasedStateMachine", "GenericStateMachine"])
        .then_some(Generator::Hypothesis)
}
