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
                "new_expression" => made(syntax, id),
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

/// Functions that load or run code from a file, whatever their arguments are.
const LOADERS: &[&str] = &[
    "createRequire",
    "eval",
    "glob",
    "globEager",
    "runInContext",
    "runInNewContext",
    "runInThisContext",
];

/// `require("x")`, `import("x")`, `jest.mock("x")`, `vi.importActual("x")`; anything when the path is
/// computed.
fn called(syntax: &Syntax<'_>, call: Id) -> Option<String> {
    let anything = || Import::ANYTHING.to_owned();
    let function = syntax.child(call, "function")?;
    let imports = syntax.kind(function) == "import";
    let chain = chain(syntax, call);
    let last = match &chain {
        Some(chain) => Some(chain.properties.last().copied().unwrap_or(chain.root)),
        // What is called on `import.meta`, or on a value.
        None => syntax
            .child(function, "property")
            .map(|name| syntax.text(name)),
    };
    if last.is_some_and(|last| LOADERS.contains(&last)) {
        return Some(anything());
    }
    let argument = arguments(syntax, call).first().copied();
    let plain = argument.and_then(|argument| string(syntax, argument));
    if plain.is_none() && argument.is_some() && (imports || last == Some("require")) {
        return Some(anything());
    }
    let loads = imports || {
        let last = last?;
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
    plain
}

/// `new Worker(…)`, `new vm.Script(…)`, `new Function(…)`.
fn made(syntax: &Syntax<'_>, id: Id) -> Option<String> {
    let constructor = syntax.child(id, "constructor")?;
    let name = syntax.text(constructor).rsplit('.').next()?.trim();
    let loads = matches!(
        name,
        "Worker" | "SharedWorker" | "Script" | "SourceTextModule" | "Function"
    );
    loads.then(|| Import::ANYTHING.to_owned())
}
