//! What a Python test stands in: the module without its tests, and the classes around it.

use std::collections::HashMap;

use super::Module;
use super::inherit::bases;
use super::scope::Sort;
use crate::digest::Pieces;
use crate::model::FileDigest;
use crate::source::level::{Mentions, Role, Unit, add, add_kept, kept};
use crate::source::syntax::Id;

/// Digests by scope.
pub(super) struct Contexts(Vec<FileDigest>);

impl Contexts {
    pub fn of(&self, scope: usize) -> &FileDigest {
        &self.0[scope]
    }

    /// The module without its test items.
    pub fn module(&self) -> &FileDigest {
        &self.0[0]
    }

    pub fn new(module: &Module<'_, '_, '_>) -> Self {
        let levels = Levels::new(module);
        let mut digests: Vec<FileDigest> = Vec::new();
        for (at, scope) in module.outline.scopes.iter().enumerate() {
            let mut pieces = Pieces::default();
            match scope.class {
                None => levels.add_module(&mut pieces),
                Some(class) => {
                    let around = module.outline.definitions[class].scope;
                    pieces.add(digests[around].as_str().as_bytes());
                    levels.add_class(&mut pieces, class, at);
                }
            }
            digests.push(pieces.finish());
        }
        Self(digests)
    }
}

struct Levels<'m, 'n, 's, 't> {
    module: &'m Module<'n, 's, 't>,
    mentions: Mentions<'t>,
    /// By scope: its definitions, by the statement that they are.
    members: Vec<HashMap<Id, usize>>,
    /// By scope: it holds a test.
    tests: Vec<bool>,
}

impl<'m, 'n, 's, 't> Levels<'m, 'n, 's, 't> {
    fn new(module: &'m Module<'n, 's, 't>) -> Self {
        let definitions = &module.outline.definitions;
        let mentions = Mentions::new(
            module.names.syntax,
            definitions
                .iter()
                .map(|definition| (definition.name, module.names.syntax.range(definition.whole))),
        );
        let scopes = module.outline.scopes.len();
        let mut members = vec![HashMap::new(); scopes];
        let mut tests = vec![false; scopes];
        for (at, definition) in definitions.iter().enumerate() {
            members[definition.scope].insert(definition.whole, at);
            let test = definition.name.starts_with("test") || module.marks[at].generator.is_some();
            tests[definition.scope] |= test && definition.sort == Sort::Function;
        }
        Self {
            module,
            mentions,
            members,
            tests,
        }
    }

    /// A test that nothing else of the file names: taken out of the contexts of others.
    fn is_apart(&self, at: usize) -> bool {
        let definition = &self.module.outline.definitions[at];
        let marks = &self.module.marks[at];
        let test = match definition.sort {
            Sort::Function => {
                !marks.fixture && (definition.name.starts_with("test") || marks.generator.is_some())
            }
            Sort::Class(scope) => self.is_test_class(definition.name, definition.inner, scope),
            Sort::Assigned => true,
            Sort::Imported => false,
        };
        test && !self.mentions.elsewhere(definition.name)
    }

    fn is_test_class(&self, name: &str, class: Id, scope: usize) -> bool {
        let names = self.module.names;
        name.starts_with("Test")
            || self.tests[scope]
            || bases(names, class).iter().any(|base| {
                names
                    .dotted(*base)
                    .and_then(|path| path.last().copied())
                    .is_some_and(|last| last.ends_with("TestCase"))
            })
    }

    fn units(&self, scope: usize) -> Vec<Unit> {
        let syntax = self.module.names.syntax;
        let body = self.module.outline.scopes[scope].body;
        syntax
            .children(body)
            .map(|child| {
                let apart = self.members[scope]
                    .get(&child)
                    .is_some_and(|at| self.is_apart(*at));
                Unit::of(syntax, child, if apart { Role::Item } else { Role::Kept })
            })
            .collect()
    }

    /// Of a class that stays, only what is not a test.
    fn add_module(&self, pieces: &mut Pieces) {
        let syntax = self.module.names.syntax;
        let units = self.units(0);
        for unit in kept(&units) {
            let class = self.members[0].get(&unit.id).copied();
            let sort = class.map(|class| self.module.outline.definitions[class].sort);
            match (class, sort) {
                (Some(class), Some(Sort::Class(scope))) => self.add_class(pieces, class, scope),
                _ => add(pieces, syntax, unit.range.clone()),
            }
        }
    }

    fn add_class(&self, pieces: &mut Pieces, class: usize, scope: usize) {
        let syntax = self.module.names.syntax;
        let whole = syntax.range(self.module.outline.definitions[class].whole);
        let body = syntax.range(self.module.outline.scopes[scope].body);
        add(pieces, syntax, whole.start..body.start);
        add_kept(pieces, syntax, &self.units(scope));
    }
}
