//! What a JavaScript file takes in: imports, re-exports, `require`, and what mocks stand for.

use super::calls::{arguments, chain, string};
use crate::model::Import;
use crate::source::syntax::{Id, Syntax};

pub(super) fn imports(syntax: &Syntax<'_>) -> Vec<Import> {
    let mut found: Vec<Import> = syntax
        .all()
        .filter_map(|id| {
            let target = match syntax.kind(id) {
                "string" if syntax.field(id) == "source" => string(syntax, id),
                "call_expression" => called(syntax, id),
                _ => None,
            }?;
            Some(Import {
                target,
                names: Vec::new(),
                line: syntax.line(id),
            })
        })
        .collect();
    found.dedup_by(|a, b| a.target == b.target);
    found
}

/// `require("x")`, `import("x")`, `jest.mock("x")`, `vi.importActual("x")`.
fn called(syntax: &Syntax<'_>, call: Id) -> Option<String> {
    let function = syntax.child(call, "function")?;
    let loads = syntax.kind(function) == "import" || {
        let chain = chain(syntax, call)?;
        let last = chain.properties.last().copied().unwrap_or(chain.root);
        matches!(
            last,
            "require"
                | "resolve"
                | "mock"
                | "doMock"
                | "unmock"
                | "requireActual"
                | "requireMock"
                | "importActual"
                | "importMock"
        )
    };
    loads.then_some(())?;
    string(syntax, *arguments(syntax, call).first()?)
}
