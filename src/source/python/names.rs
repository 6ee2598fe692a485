//! What the names in a Python text stand for: imports and plain assignments, followed a few steps.

use std::cell::Cell;
use std::collections::HashMap;

use crate::source::syntax::{Id, Syntax};

/// Steps from alias to alias that are followed, meanings of one name, and names in a dotted path.
const STEPS: usize = 32;

/// Steps that one text may take in all; a text that asks for more is not read.
const FUEL: usize = 2_000_000;

enum Meaning<'t> {
    /// Imported: the dotted path.
    Path(Vec<&'t str>),
    /// Assigned: the expression.
    Value(Id),
}

pub(super) struct Names<'s, 't> {
    pub syntax: &'s Syntax<'t>,
    meanings: HashMap<&'t str, Vec<Meaning<'t>>>,
    fuel: Cell<usize>,
}

impl<'s, 't> Names<'s, 't> {
    pub fn new(syntax: &'s Syntax<'t>) -> Self {
        let mut names = Self {
            syntax,
            meanings: HashMap::new(),
            fuel: Cell::new(FUEL),
        };
        for id in syntax.all() {
            match syntax.kind(id) {
                "import_statement" => names.imported(id, Vec::new()),
                "import_from_statement" => {
                    let module = syntax.child(id, "module_name");
                    names.imported(
                        id,
                        module.map_or(Vec::new(), |id| segments(syntax.text(id))),
                    );
                }
                "assignment" => names.assigned(id),
                _ => {}
            }
        }
        names
    }

    /// Counts `steps`; `false` when the text has used up what it may.
    pub fn spend(&self, steps: usize) -> bool {
        self.fuel.set(self.fuel.get().saturating_sub(steps));
        !self.is_exhausted()
    }

    /// Something was not looked at for want of steps: nothing that was found can be relied on.
    pub fn is_exhausted(&self) -> bool {
        self.fuel.get() == 0
    }

    fn imported(&mut self, statement: Id, module: Vec<&'t str>) {
        let syntax = self.syntax;
        let whole_module = module.is_empty();
        for part in syntax.children(statement) {
            if syntax.field(part) != "name" {
                continue;
            }
            let (name, alias) = match syntax.kind(part) {
                "aliased_import" => (syntax.child(part, "name"), syntax.child(part, "alias")),
                _ => (Some(part), None),
            };
            let Some(name) = name else { continue };
            let mut path = module.clone();
            path.extend(segments(syntax.text(name)));
            let bound = match alias {
                Some(alias) => syntax.text(alias),
                None if whole_module => {
                    path.truncate(1);
                    path[0]
                }
                None => path[path.len() - 1],
            };
            self.meanings
                .entry(bound)
                .or_default()
                .push(Meaning::Path(path));
        }
    }

    fn assigned(&mut self, assignment: Id) {
        let syntax = self.syntax;
        let (Some(left), Some(right)) = (
            syntax.child(assignment, "left"),
            syntax.child(assignment, "right"),
        ) else {
            return;
        };
        if syntax.kind(left) == "identifier" {
            self.meanings
                .entry(syntax.text(left))
                .or_default()
                .push(Meaning::Value(right));
        }
    }

    /// `a.b.c` of `a.b.c`, `a.b.c(…)` and `(a.b.c)`; `None` for any other expression.
    pub fn dotted(&self, expression: Id) -> Option<Vec<&'t str>> {
        let syntax = self.syntax;
        let mut at = expression;
        let mut path = Vec::new();
        for _ in 0..STEPS {
            match syntax.kind(at) {
                "identifier" => {
                    path.push(syntax.text(at));
                    path.reverse();
                    return Some(path);
                }
                "attribute" => {
                    path.push(syntax.text(syntax.child(at, "attribute")?));
                    at = syntax.child(at, "object")?;
                }
                "call" => at = syntax.child(at, "function")?,
                "parenthesized_expression" => at = syntax.first_part(at)?,
                _ => return None,
            }
        }
        None
    }

    /// Every dotted path that `expression` may stand for, its own spelling first.
    pub fn paths(&self, expression: Id) -> Vec<Vec<&'t str>> {
        let mut open: Vec<Vec<&str>> = self.dotted(expression).into_iter().collect();
        let mut found: Vec<Vec<&str>> = Vec::new();
        while let Some(path) = open.pop() {
            if found.len() >= STEPS || found.contains(&path) || !self.spend(1) {
                continue;
            }
            let meanings = self.meanings.get(path[0]).into_iter().flatten();
            for meaning in meanings.rev().take(STEPS) {
                let start = match meaning {
                    Meaning::Path(start) => Some(start.clone()),
                    Meaning::Value(value) => self.dotted(*value),
                };
                if let Some(mut start) = start {
                    start.extend_from_slice(&path[1..]);
                    if start.len() <= STEPS {
                        open.push(start);
                    }
                }
            }
            found.push(path);
        }
        found
    }

    /// The expressions that a plain name was assigned, `expression` itself when it is no such name.
    pub fn values(&self, expression: Id) -> Vec<Id> {
        let mut open = vec![expression];
        let mut found = Vec::new();
        let mut steps = 0;
        while let Some(at) = open.pop() {
            steps += 1;
            if steps > STEPS || !self.spend(1) {
                break;
            }
            let meanings = (self.syntax.kind(at) == "identifier")
                .then(|| self.meanings.get(self.syntax.text(at)))
                .flatten();
            match meanings {
                Some(meanings) => {
                    let values = meanings.iter().rev().take(STEPS);
                    open.extend(values.filter_map(|meaning| match meaning {
                        Meaning::Value(value) => Some(*value),
                        Meaning::Path(_) => None,
                    }));
                }
                None => found.push(at),
            }
        }
        found
    }

    /// The last name of any path that `expression` may stand for is one of `names`.
    pub fn ends_with(&self, expression: Id, names: &[&str]) -> bool {
        self.paths(expression)
            .iter()
            .any(|path| path.last().is_some_and(|last| names.contains(last)))
    }
}

fn segments(text: &str) -> Vec<&str> {
    let names: Vec<&str> = text.split('.').map(str::trim).collect();
    names.into_iter().filter(|name| !name.is_empty()).collect()
}
