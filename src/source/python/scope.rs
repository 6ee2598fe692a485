//! Which functions and classes a Python module and its classes define, and what binds their names anew.

use std::rc::Rc;

use super::body;
use super::marks::skipping_in;
use super::names::Names;
use crate::model::Disabled;
use crate::source::items::{DEEPEST, MOST_ITEMS, disabled, quoted};
use crate::source::syntax::Id;

/// A function, a class, or a name like a test's that something is assigned to.
pub(super) struct Definition<'t> {
    /// With its decorators.
    pub whole: Id,
    /// The `def` or `class` itself; the assigned expression.
    pub inner: Id,
    pub name: &'t str,
    pub name_at: Id,
    pub sort: Sort,
    /// Index of the scope that it stands in.
    pub scope: usize,
    /// Dead, or defined only under a condition.
    pub condition: Option<Rc<Disabled>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Function,
    /// Index of the scope that its body is.
    Class(usize),
    Assigned,
    Imported,
}

/// The module or a class.
pub(super) struct Scope {
    pub body: Id,
    /// Index of the class's definition; `None` for the module.
    pub class: Option<usize>,
    /// What the body itself says: `pytestmark`, `__test__`, a skip.
    pub disabled: Option<Disabled>,
    /// `__test__ = True`: undoes a base's `__test__ = False`.
    pub enabled: bool,
    depth: usize,
}

/// A name, or an attribute of a name, that is bound other than by `def` and `class`, or deleted.
pub(super) struct Binding<'t> {
    pub scope: usize,
    pub path: Vec<&'t str>,
    pub at: Id,
    /// The value, where one is plainly assigned.
    pub value: Option<Id>,
}

pub(super) struct Outline<'t> {
    pub scopes: Vec<Scope>,
    pub definitions: Vec<Definition<'t>>,
    pub bindings: Vec<Binding<'t>>,
}

struct Task {
    statement: Id,
    scope: usize,
    condition: Option<Rc<Disabled>>,
}

struct Walk<'n, 's, 't> {
    names: &'n Names<'s, 't>,
    outline: Outline<'t>,
    open: Vec<Task>,
}

/// Walks the statements that run when the module is imported; the line where classes nest too deep.
pub(super) fn outline<'t>(names: &Names<'_, 't>) -> Result<Outline<'t>, u32> {
    let module = Scope {
        body: names.syntax.root(),
        class: None,
        disabled: None,
        enabled: false,
        depth: 0,
    };
    let mut walk = Walk {
        names,
        outline: Outline {
            scopes: vec![module],
            definitions: Vec::new(),
            bindings: Vec::new(),
        },
        open: Vec::new(),
    };
    walk.block(names.syntax.root(), 0, None);
    while let Some(task) = walk.open.pop() {
        let line = names.syntax.line(task.statement);
        walk.statement(task)?;
        if walk.outline.definitions.len() > MOST_ITEMS {
            return Err(line);
        }
    }
    Ok(walk.outline)
}

impl<'t> Walk<'_, '_, 't> {
    fn block(&mut self, block: Id, scope: usize, condition: Option<&Rc<Disabled>>) {
        let from = self.open.len();
        let tasks = self.names.syntax.parts(block).map(|statement| Task {
            statement,
            scope,
            condition: condition.cloned(),
        });
        self.open.extend(tasks);
        self.open[from..].reverse();
    }

    fn statement(&mut self, task: Task) -> Result<(), u32> {
        let syntax = self.names.syntax;
        let statement = task.statement;
        if let Some(found) = body::skip_statement(self.names, statement) {
            self.disable(0, found);
        }
        match syntax.kind(statement) {
            "decorated_definition" => {
                if let Some(inner) = syntax.child(statement, "definition") {
                    self.define(&task, inner)?;
                }
            }
            "function_definition" | "class_definition" => self.define(&task, statement)?,
            "if_statement" | "while_statement" => self.branches(&task),
            "for_statement" | "try_statement" | "with_statement" | "match_statement" => {
                self.blocks(&task);
            }
            "expression_statement" => {
                if task.condition.is_none() && body::is_exit(self.names, statement) {
                    self.dead(statement);
                }
                if let Some(part) = syntax.first_part(statement) {
                    self.expression(&task, part);
                }
            }
            "raise_statement" if task.condition.is_none() => self.dead(statement),
            "delete_statement" => self.targets(&task, statement, None),
            "import_statement" | "import_from_statement" => self.imports(&task),
            _ => {}
        }
        Ok(())
    }

    fn disable(&mut self, scope: usize, why: Disabled) {
        self.outline.scopes[scope].disabled.get_or_insert(why);
    }

    /// An import that ends here collects nothing, not even what stands above.
    fn dead(&mut self, statement: Id) {
        let syntax = self.names.syntax;
        let text = quoted(syntax.text(statement));
        let why = format!("the module cannot be imported: {text}");
        self.disable(0, disabled(syntax.line(statement), why));
    }

    fn define(&mut self, task: &Task, inner: Id) -> Result<(), u32> {
        let syntax = self.names.syntax;
        let Some(name_at) = syntax.child(inner, "name") else {
            return Ok(());
        };
        let name = syntax.text(name_at);
        let mut sort = Sort::Function;
        if syntax.kind(inner) == "class_definition" {
            let depth = self.outline.scopes[task.scope].depth + 1;
            if depth >= DEEPEST {
                return Err(syntax.line(inner));
            }
            sort = Sort::Class(self.outline.scopes.len());
            let body = syntax.child(inner, "body").unwrap_or(inner);
            self.outline.scopes.push(Scope {
                body,
                class: Some(self.outline.definitions.len()),
                disabled: None,
                enabled: false,
                depth,
            });
            let scope = self.outline.scopes.len() - 1;
            self.block(body, scope, task.condition.as_ref());
        }
        self.definition(task, (inner, name, name_at), sort);
        Ok(())
    }

    fn definition(&mut self, task: &Task, (inner, name, name_at): (Id, &'t str, Id), sort: Sort) {
        self.outline.definitions.push(Definition {
            whole: task.statement,
            inner,
            name,
            name_at,
            sort,
            scope: task.scope,
            condition: task.condition.clone(),
        });
    }

    fn bind(&mut self, task: &Task, path: Vec<&'t str>, at: Id, value: Option<Id>) {
        let scope = task.scope;
        self.outline.bindings.push(Binding {
            scope,
            path,
            at,
            value,
        });
    }

    /// Blocks of an `if` with what is known of their conditions.
    fn branches(&mut self, task: &Task) {
        let syntax = self.names.syntax;
        let statement = task.statement;
        let mut never = false;
        for part in std::iter::once(statement).chain(
            syntax
                .parts(statement)
                .filter(|part| matches!(syntax.kind(*part), "elif_clause" | "else_clause")),
        ) {
            let condition = syntax.child(part, "condition");
            let known = match condition {
                _ if never => Some(false),
                Some(condition) => truth(self.names, condition),
                None => None,
            };
            let line = syntax.line(part);
            let inherited = match known {
                Some(true) => task.condition.clone(),
                Some(false) => Some(Rc::new(disabled(
                    line,
                    "never defined: its condition is false",
                ))),
                None => Some(Rc::new(disabled(line, "defined only under a condition"))),
            };
            never |= known == Some(true);
            for block in syntax.parts(part).filter(|id| syntax.kind(*id) == "block") {
                // What never runs binds nothing and skips nothing.
                if known == Some(false) {
                    self.dead_block(block, task.scope, inherited.as_ref());
                } else {
                    self.block(block, task.scope, inherited.as_ref());
                }
            }
        }
    }

    /// Definitions of a block that never runs: they are there, and dead.
    fn dead_block(&mut self, block: Id, scope: usize, condition: Option<&Rc<Disabled>>) {
        let syntax = self.names.syntax;
        for statement in syntax.parts(block) {
            let inner = syntax.child(statement, "definition").unwrap_or(statement);
            let is_function = syntax.kind(inner) == "function_definition";
            if let (true, Some(name)) = (is_function, syntax.child(inner, "name")) {
                let task = Task {
                    statement,
                    scope,
                    condition: condition.cloned(),
                };
                self.definition(&task, (inner, syntax.text(name), name), Sort::Function);
            }
        }
    }

    /// Blocks that may not run, or not to their end.
    fn blocks(&mut self, task: &Task) {
        let syntax = self.names.syntax;
        let statement = task.statement;
        if let Some(left) = syntax.child(statement, "left") {
            self.targets(task, left, None);
        }
        let word = syntax.kind(statement).trim_end_matches("_statement");
        let why = format!("defined only under a condition ({word})");
        let condition = Some(Rc::new(disabled(syntax.line(statement), why)));
        let mut blocks = Vec::new();
        let mut open: Vec<Id> = vec![statement];
        while let Some(at) = open.pop() {
            for part in syntax.parts(at) {
                match syntax.kind(part) {
                    "block" if syntax.kind(statement) == "match_statement" && at == statement => {
                        open.push(part);
                    }
                    "block" => blocks.push(part),
                    kind if kind.ends_with("_clause") => open.push(part),
                    _ => {}
                }
            }
        }
        blocks.sort_unstable();
        for block in blocks.into_iter().rev() {
            self.block(block, task.scope, condition.as_ref());
        }
    }

    fn expression(&mut self, task: &Task, expression: Id) {
        let syntax = self.names.syntax;
        match syntax.kind(expression) {
            "assignment" | "augmented_assignment" => {
                // `a = b = value` nests to the right.
                let mut at = expression;
                let mut targets = Vec::new();
                while let Some(left) = syntax.child(at, "left") {
                    targets.push(left);
                    match syntax.child(at, "right") {
                        Some(right) if syntax.kind(right) == "assignment" => at = right,
                        _ => break,
                    }
                }
                let value = syntax.child(at, "right");
                for target in targets {
                    self.assign(task, target, value);
                }
            }
            "call" => self.marks_added(task, expression),
            _ => {}
        }
    }

    fn assign(&mut self, task: &Task, target: Id, value: Option<Id>) {
        let syntax = self.names.syntax;
        if syntax.kind(target) != "identifier" {
            self.targets(task, target, value);
            return;
        }
        let name = syntax.text(target);
        match (name, value) {
            ("pytestmark", Some(value)) => {
                if let Some(found) = skipping_in(self.names, value) {
                    self.disable(task.scope, found);
                }
            }
            ("__test__", Some(value)) if syntax.text(value) == "True" => {
                self.outline.scopes[task.scope].enabled = true;
            }
            ("__test__", Some(value)) => {
                let why = disabled(syntax.line(value), "__test__ is not True");
                self.disable(task.scope, why);
            }
            (_, Some(value))
                if name.to_ascii_lowercase().starts_with("test") && makes(self.names, value) =>
            {
                self.definition(task, (value, name, target), Sort::Assigned);
            }
            _ => {}
        }
        self.bind(task, vec![name], target, value);
    }

    /// Binds every name and every attribute of a name in a list of targets.
    fn targets(&mut self, task: &Task, targets: Id, value: Option<Id>) {
        let syntax = self.names.syntax;
        let mut open = vec![targets];
        while let Some(at) = open.pop() {
            match syntax.kind(at) {
                "identifier" | "attribute" => {
                    if let Some(path) = self.names.dotted(at) {
                        self.bind(task, path, at, value);
                    }
                }
                "subscript" | "call" => {}
                _ => open.extend(syntax.parts(at)),
            }
        }
    }

    /// `pytestmark.append(…)` and the like.
    fn marks_added(&mut self, task: &Task, call: Id) {
        let path = self.names.dotted(call).unwrap_or_default();
        if path.len() != 2 || path[0] != "pytestmark" {
            return;
        }
        let Some(arguments) = self.names.syntax.child(call, "arguments") else {
            return;
        };
        let found = self
            .names
            .syntax
            .parts(arguments)
            .find_map(|argument| skipping_in(self.names, argument));
        if let Some(found) = found {
            self.disable(task.scope, found);
        }
    }

    fn imports(&mut self, task: &Task) {
        let syntax = self.names.syntax;
        let statement = task.statement;
        let from = syntax.kind(statement) == "import_from_statement";
        for part in syntax.children(statement) {
            if syntax.field(part) != "name" {
                continue;
            }
            let bound = syntax.child(part, "alias").unwrap_or(part);
            let name = syntax.text(bound);
            if from && (name.starts_with("test_") || name.starts_with("Test")) {
                self.definition(task, (part, name, bound), Sort::Imported);
            }
            let first = name.split('.').next().unwrap_or(name);
            self.bind(task, vec![first], part, None);
        }
    }
}

/// Can a value be a test: something called, named or written as a function?
fn makes(names: &Names<'_, '_>, value: Id) -> bool {
    matches!(
        names.syntax.kind(value),
        "call" | "identifier" | "attribute" | "lambda" | "await" | "subscript"
    )
}

/// What is known of a condition without running anything. Under pytest no test module is `__main__`.
fn truth(names: &Names<'_, '_>, condition: Id) -> Option<bool> {
    let syntax = names.syntax;
    let mut at = condition;
    let mut negated = false;
    loop {
        match syntax.kind(at) {
            "parenthesized_expression" => at = syntax.first_part(at)?,
            "not_operator" => {
                negated = !negated;
                at = syntax.child(at, "argument")?;
            }
            _ => break,
        }
    }
    let text = syntax.text(at);
    let known = match syntax.kind(at) {
        "false" | "none" => Some(false),
        "true" => Some(true),
        "integer" if text.bytes().all(|digit| digit.is_ascii_digit()) => {
            Some(text.bytes().any(|digit| digit != b'0'))
        }
        "string" => Some(text.len() > 2 && text != "''''''" && text != "\"\"\"\"\"\""),
        "list" | "tuple" | "dictionary" if syntax.first_part(at).is_none() => Some(false),
        "comparison_operator" if is_main(names, at) => Some(false),
        _ if names.ends_with(at, &["TYPE_CHECKING"]) => Some(false),
        _ => None,
    };
    known.map(|known| known != negated)
}

/// `__name__ == "__main__"`, either way round.
fn is_main(names: &Names<'_, '_>, comparison: Id) -> bool {
    let syntax = names.syntax;
    let parts: Vec<&str> = syntax
        .parts(comparison)
        .map(|part| syntax.text(part))
        .collect();
    let equals = syntax
        .children(comparison)
        .any(|child| syntax.kind(child) == "==");
    let is = |name: &str| {
        parts
            .iter()
            .any(|part| part.trim_matches(['"', '\'']) == name)
    };
    equals && parts.len() == 2 && is("__name__") && is("__main__")
}
