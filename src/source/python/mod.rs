//! Python, as pytest and unittest collect it.
//!
//! Any function and any class of a module or a class is an item, because what pytest collects can be
//! configured. What runs on import decides: definitions in functions and in strings are no items.

mod body;
mod context;
mod imports;
mod inherit;
mod marks;
mod names;
mod scope;

use std::collections::HashMap;
use std::rc::Rc;

use super::items::{Facts, Items, Place, disabled, names_in};
use super::syntax::{Id, Syntax};
use crate::model::{Disabled, Generator, ItemSort};
use context::Contexts;
use marks::Marks;
use names::Names;
use scope::{Definition, Outline, Sort};

/// What a module says; the line where it cannot be read.
pub(super) fn read(syntax: &Syntax<'_>) -> Result<Facts, u32> {
    if let Some(line) = other_encoding(syntax.text) {
        return Err(line);
    }
    let names = Names::new(syntax);
    let outline = scope::outline(&names)?;
    let module = Module::new(&names, outline);
    let contexts = Contexts::new(&module);
    let mut items = Items::default();
    let mut at_item = Vec::new();
    for at in 0..module.outline.definitions.len() {
        at_item.push(items.len());
        module.add_item(&mut items, &contexts, at)?;
    }
    inherit::add_inherited(&mut items, &module, &contexts, &at_item)?;
    if names.is_exhausted() {
        return Err(1);
    }
    Ok(Facts {
        items: items.into_vec(),
        imports: imports::imports(syntax),
        rest: contexts.module().clone(),
        frame: None,
        modules: Vec::new(),
        makes_more: makes_more(syntax),
    })
}

/// Functions that define names when they run, and what pytest and unittest ask for more tests.
const MAKERS: &[&str] = &[
    "exec", "eval", "globals", "locals", "setattr", "type", "vars", "__dict__",
];
const COLLECTORS: &[&str] = &[
    "load_tests",
    "pytest_collect_file",
    "pytest_pycollect_makeitem",
];

fn makes_more(syntax: &Syntax<'_>) -> bool {
    syntax.all().any(|id| match syntax.kind(id) {
        "wildcard_import" => true,
        "call" => {
            let function = syntax.child(id, "function");
            function.is_some_and(|name| MAKERS.contains(&syntax.text(name)))
        }
        "attribute" => {
            let name = syntax.child(id, "attribute");
            name.is_some_and(|name| MAKERS.contains(&syntax.text(name)))
        }
        "function_definition" => {
            let name = syntax.child(id, "name");
            name.is_some_and(|name| COLLECTORS.contains(&syntax.text(name)))
        }
        _ => false,
    })
}

/// The line of a declaration that the text is not UTF-8: then it means something else than it reads.
fn other_encoding(text: &str) -> Option<u32> {
    for (line, number) in text.lines().take(2).zip(1..) {
        let comment = line.trim_start_matches(['\u{feff}', ' ', '\t', '\u{c}']);
        let declared = comment
            .strip_prefix('#')
            .and_then(|comment| comment.split_once("coding"))
            .and_then(|(_, rest)| rest.strip_prefix([':', '=']));
        if let Some(declared) = declared {
            let name: String = declared
                .trim_start_matches([' ', '\t'])
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
                .map(|c| {
                    if c == '_' {
                        '-'
                    } else {
                        c.to_ascii_lowercase()
                    }
                })
                .collect();
            let plain = matches!(name.as_str(), "utf-8" | "utf8" | "ascii" | "us-ascii");
            if !plain && !name.is_empty() {
                return Some(number);
            }
        }
    }
    None
}

/// The outline with what its decorators and bodies say.
struct Module<'n, 's, 't> {
    names: &'n Names<'s, 't>,
    outline: Outline<'t>,
    /// By definition.
    marks: Vec<Marks>,
    /// By scope: the definitions that stand in it.
    members: Vec<Vec<usize>>,
    /// By scope: the names that lead to it.
    paths: Vec<Vec<String>>,
    /// By scope: what disables all that it holds, enclosing scopes included.
    off: Vec<Option<Rc<Disabled>>>,
    /// By definition: where its name is bound anew.
    rebound: Vec<Option<Disabled>>,
}

impl<'n, 's, 't> Module<'n, 's, 't> {
    fn new(names: &'n Names<'s, 't>, outline: Outline<'t>) -> Self {
        let marks = outline
            .definitions
            .iter()
            .map(|definition| {
                let parts = names.syntax.children(definition.whole);
                Marks::of(
                    names,
                    parts.filter(|id| names.syntax.kind(*id) == "decorator"),
                )
            })
            .collect();
        let mut members = vec![Vec::new(); outline.scopes.len()];
        for (at, definition) in outline.definitions.iter().enumerate() {
            members[definition.scope].push(at);
        }
        let mut module = Self {
            names,
            members,
            rebound: vec![None; outline.definitions.len()],
            paths: Vec::new(),
            off: Vec::new(),
            outline,
            marks,
        };
        module.name_scopes();
        module.find_rebound();
        module.switch_off();
        module
    }

    fn name_scopes(&mut self) {
        for scope in &self.outline.scopes {
            let path = match scope.class {
                Some(class) => {
                    let class = &self.outline.definitions[class];
                    names_in(&self.paths[class.scope], class.name)
                }
                None => Vec::new(),
            };
            self.paths.push(path);
        }
    }

    /// Later bindings of a definition's name, of `Class.method` from the module, and of attributes
    /// that switch a definition off.
    fn find_rebound(&mut self) {
        let mut last: HashMap<(usize, &str), usize> = HashMap::new();
        let mut order: Vec<(Id, Event)> = Vec::new();
        for (at, definition) in self.outline.definitions.iter().enumerate() {
            order.push((definition.name_at, Event::Defined(at)));
        }
        for (at, binding) in self.outline.bindings.iter().enumerate() {
            order.push((binding.at, Event::Bound(at)));
        }
        order.sort_by_key(|(id, _)| *id);
        for (_, event) in order {
            match event {
                Event::Defined(at) => {
                    let definition = &self.outline.definitions[at];
                    let key = (definition.scope, definition.name);
                    let line = self.names.syntax.line(definition.name_at);
                    if let Some(before) = last.insert(key, at) {
                        let why = format!("replaced by a later definition at line {line}");
                        self.rebound[before].get_or_insert(disabled(line, why));
                    }
                }
                Event::Bound(at) => self.bound(at, &mut last),
            }
        }
    }

    fn bound(&mut self, at: usize, last: &mut HashMap<(usize, &'t str), usize>) {
        let binding = &self.outline.bindings[at];
        let syntax = self.names.syntax;
        let line = syntax.line(binding.at);
        let Some((name, attributes)) = binding.path.split_first() else {
            return;
        };
        let Some(mut target) = last.get(&(binding.scope, *name)).copied() else {
            return;
        };
        let mut attributes = attributes;
        while let (Sort::Class(scope), Some((next, rest))) = (
            self.outline.definitions[target].sort,
            attributes.split_first(),
        ) {
            let Some(found) = last.get(&(scope, *next)).copied() else {
                break;
            };
            target = found;
            attributes = rest;
        }
        let why = match (attributes, binding.value) {
            ([], _) if self.is_own_binding(target, binding.at) => None,
            ([], _) => Some(format!("replaced or deleted at line {line}")),
            (["__test__"], Some(value)) if syntax.text(value) != "True" => {
                Some("__test__ is not True".to_owned())
            }
            (["pytestmark"], Some(value)) => {
                marks::skipping_in(self.names, value).map(|found| found.why)
            }
            (["skip" | "unittest_skip" | "__unittest_skip__"], _) => {
                Some("skipped by an attribute".to_owned())
            }
            _ => None,
        };
        if let Some(why) = why {
            self.rebound[target].get_or_insert(disabled(line, why));
        }
    }

    /// The binding is the one that the definition itself makes.
    fn is_own_binding(&self, definition: usize, at: Id) -> bool {
        let definition = &self.outline.definitions[definition];
        [definition.name_at, definition.inner].contains(&at)
    }

    fn switch_off(&mut self) {
        for at in 0..self.outline.scopes.len() {
            let scope = &self.outline.scopes[at];
            let own = scope.disabled.clone().or_else(|| self.set_up_skips(at));
            let off = match scope.class {
                Some(class) => own
                    .or_else(|| self.own_disabled(class))
                    .or_else(|| inherit::constructor(self, class))
                    .map(Rc::new)
                    .or_else(|| self.off[self.outline.definitions[class].scope].clone()),
                None => own.map(Rc::new),
            };
            self.off.push(off);
        }
    }

    /// A fixture or `setUp` that every test of the scope runs, and that skips.
    fn set_up_skips(&self, scope: usize) -> Option<Disabled> {
        const SET_UP: [&str; 9] = [
            "setUp",
            "setUpClass",
            "asyncSetUp",
            "setup_method",
            "setup_class",
            "setup_function",
            "setup_module",
            "setUpModule",
            "setup",
        ];
        self.members[scope]
            .iter()
            .map(|at| (&self.outline.definitions[*at], &self.marks[*at]))
            .filter(|(definition, marks)| {
                definition.sort == Sort::Function
                    && (marks.autouse || SET_UP.contains(&definition.name))
            })
            .find_map(|(definition, _)| {
                let body = self.names.syntax.child(definition.inner, "body")?;
                body::skip_of(self.names, body)
            })
    }

    /// What disables a definition by itself.
    fn own_disabled(&self, at: usize) -> Option<Disabled> {
        let definition = &self.outline.definitions[at];
        if let Some(found) = &self.rebound[at] {
            return Some(found.clone());
        }
        if let Some(found) = &self.marks[at].disabled {
            return Some(found.clone());
        }
        if let Some(found) = &definition.condition {
            return Some((**found).clone());
        }
        let body = self.names.syntax.child(definition.inner, "body")?;
        (definition.sort == Sort::Function)
            .then(|| body::skip_of(self.names, body))
            .flatten()
    }

    /// What disables a definition, enclosing scopes included.
    fn disabled(&self, at: usize) -> Option<Disabled> {
        let definition = &self.outline.definitions[at];
        let enclosing = || self.off[definition.scope].as_deref().cloned();
        let body = match definition.sort {
            Sort::Class(scope) => self.off[scope].as_deref().cloned(),
            _ => None,
        };
        self.own_disabled(at).or(body).or_else(enclosing)
    }

    fn place(&self, definition: &Definition<'t>) -> Place {
        let syntax = self.names.syntax;
        let whole = match definition.sort {
            // The statement: what is assigned decides what the test does.
            Sort::Assigned => syntax
                .parent(definition.name_at)
                .unwrap_or(definition.whole),
            _ => definition.whole,
        };
        Place::of(syntax, whole, Some(definition.name_at))
    }

    fn add_item(&self, items: &mut Items, contexts: &Contexts, at: usize) -> Result<(), u32> {
        let definition = &self.outline.definitions[at];
        let syntax = self.names.syntax;
        let names = names_in(&self.paths[definition.scope], definition.name);
        let sort = match definition.sort {
            Sort::Class(_) => ItemSort::Group,
            Sort::Imported => ItemSort::Computed,
            Sort::Function | Sort::Assigned => ItemSort::Test,
        };
        let place = self.place(definition);
        let context = contexts.of(definition.scope);
        let item = items.add(syntax, (names.clone(), sort), &place, context)?;
        let marks = &self.marks[at];
        item.disabled = self.disabled(at);
        item.skipped_rows.clone_from(&marks.rows);
        item.generator = marks.generator;
        item.seed = marks.seed;
        if definition.sort == Sort::Function {
            let body = syntax.child(definition.inner, "body");
            item.seed = item
                .seed
                .or_else(|| body.and_then(|body| body::seed_of(self.names, body)));
        }
        if self.is_machine(definition) {
            item.generator = Some(Generator::Hypothesis);
            let off = item.disabled.clone();
            if definition.sort == Sort::Assigned {
                let run = (names_in(&names, "runTest"), ItemSort::Test);
                let test = items.add(syntax, run, &place, context)?;
                test.generator = Some(Generator::Hypothesis);
                test.disabled = off;
            }
        }
        Ok(())
    }

    /// A state machine of Hypothesis, or its `TestCase` under a name of its own.
    fn is_machine(&self, definition: &Definition<'t>) -> bool {
        match definition.sort {
            Sort::Class(_) => inherit::bases(self.names, definition.inner)
                .iter()
                .any(|base| body::machine(self.names, *base).is_some()),
            Sort::Assigned => self
                .names
                .dotted(definition.inner)
                .is_some_and(|path| path.len() > 1 && path[path.len() - 1] == "TestCase"),
            Sort::Function | Sort::Imported => false,
        }
    }
}

enum Event {
    Defined(usize),
    Bound(usize),
}
