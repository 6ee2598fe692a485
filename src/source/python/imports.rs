//! What a Python text imports or loads.

use crate::model::Import;
use crate::source::syntax::{Id, Syntax};

/// Every import of the text, those in functions included, and the modules of `pytest_plugins`.
pub(super) fn imports(syntax: &Syntax<'_>) -> Vec<Import> {
    let mut found = Vec::new();
    for id in syntax.all() {
        match syntax.kind(id) {
            "import_statement" => {
                for name in named(syntax, id) {
                    found.push(import(syntax, id, name, Vec::new()));
                }
            }
            "import_from_statement" => {
                let Some(module) = syntax.child(id, "module_name") else {
                    continue;
                };
                found.push(import(syntax, id, syntax.text(module), named(syntax, id)));
            }
            "assignment"
                if syntax
                    .child(id, "left")
                    .is_some_and(|l| syntax.text(l) == "pytest_plugins") =>
            {
                let strings = syntax
                    .below(id)
                    .filter(|part| syntax.kind(*part) == "string_content");
                found.extend(
                    strings.map(|part| import(syntax, part, syntax.text(part), Vec::new())),
                );
                found.extend(computed(syntax, id).then(|| anything(syntax, id)));
            }
            "call" => found.extend(called_import(syntax, id)),
            _ => {}
        }
    }
    found
}

/// A list of module names that is not written out.
fn computed(syntax: &Syntax<'_>, assignment: Id) -> bool {
    let Some(value) = syntax.child(assignment, "right") else {
        return true;
    };
    let mut parts = std::iter::once(value).chain(syntax.below(value));
    parts.any(|part| {
        matches!(
            syntax.kind(part),
            "identifier" | "call" | "interpolation" | "binary_operator" | "concatenated_string"
        )
    })
}

fn anything(syntax: &Syntax<'_>, at: Id) -> Import {
    import(syntax, at, Import::ANYTHING, Vec::new())
}

/// Functions that run or load code from a file, whatever their arguments are.
const LOADERS: &[&str] = &[
    "exec",
    "execfile",
    "exec_module",
    "find_spec",
    "load_module",
    "load_source",
    "run_module",
    "run_path",
    "spec_from_file_location",
    "spec_from_loader",
    "SourceFileLoader",
    "SourcelessFileLoader",
];

/// `importlib.import_module("a.b")`, `pytest.importorskip("a.b")`, `__import__("a.b")`; anything when the
/// name is computed.
fn called_import(syntax: &Syntax<'_>, call: Id) -> Option<Import> {
    let function = syntax.child(call, "function")?;
    let name = match syntax.kind(function) {
        "attribute" => syntax.child(function, "attribute")?,
        "identifier" => function,
        _ => return None,
    };
    if LOADERS.contains(&syntax.text(name)) {
        return Some(anything(syntax, call));
    }
    let loads = matches!(
        syntax.text(name),
        "import_module" | "importorskip" | "__import__" | "register_assert_rewrite"
    );
    loads.then_some(())?;
    let argument = syntax.first_part(syntax.child(call, "arguments")?)?;
    let plain = syntax.kind(argument) == "string"
        && syntax.child_of_kind(argument, "interpolation").is_none();
    let content = syntax.child_of_kind(argument, "string_content");
    Some(match content.filter(|_| plain) {
        Some(content) => import(syntax, call, syntax.text(content), Vec::new()),
        None => anything(syntax, call),
    })
}

fn named<'t>(syntax: &Syntax<'t>, statement: Id) -> Vec<&'t str> {
    syntax
        .children(statement)
        .filter(|part| syntax.field(*part) == "name")
        .map(|part| syntax.text(syntax.child(part, "name").unwrap_or(part)))
        .collect()
}

fn import(syntax: &Syntax<'_>, at: Id, target: &str, names: Vec<&str>) -> Import {
    let spaceless = |text: &str| text.split_whitespace().collect::<String>();
    Import {
        target: spaceless(target),
        names: names.into_iter().map(spaceless).collect(),
        line: syntax.line(at),
    }
}
