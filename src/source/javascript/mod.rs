//! JavaScript and TypeScript, as jest, vitest, mocha and node's own runner collect them: calls with a
//! title.
//!
//! One pass over the tree; a call counts when it stands straight in the file or in the callback of a
//! suite. Under a condition, or in any other function, nobody knows whether it is ever made.

mod body;
mod calls;
mod imports;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::items::{Facts, Items, Place, disabled, names_in};
use super::level::{Role, Unit, add, add_kept};
use super::syntax::{Id, Syntax};
use crate::digest::{self, Pieces};
use crate::model::{Disabled, FileDigest, Generator, ItemSort};
use calls::{Declaration, Roots};

/// What a file says; the line where it cannot be read.
pub(super) fn read(syntax: &Syntax<'_>) -> Result<Facts, u32> {
    let mut walk = Walk::new(syntax);
    walk.all()?;
    walk.finish()
}

/// What blocks a call that is made perhaps, or several times.
const CONDITION: &str = "declared only under a condition";

/// The file, or the callback of a suite.
struct Level {
    parent: Option<usize>,
    names: Vec<String>,
    /// The call before its body.
    header: std::ops::Range<usize>,
    body: Id,
    /// What keeps everything in it from running, outer levels aside.
    off: Option<Disabled>,
    /// Its title, or one around it, is computed: what is in it has no known name.
    computed: bool,
}

/// What surrounds the node that is looked at.
#[derive(Clone)]
struct Frame {
    /// The first node after it.
    until: Option<Id>,
    level: usize,
    /// Index of the test whose body it is.
    test: Option<usize>,
    /// Why a call here may never be made.
    blocked: Option<Rc<Disabled>>,
}

/// A test or suite as it was found; digests come when every level is known.
struct Found {
    level: usize,
    /// The test that it is a subtest of.
    inside: Option<usize>,
    names: Vec<String>,
    sort: ItemSort,
    place: Place,
    disabled: Option<Disabled>,
    only: bool,
    seed: Option<u32>,
    generator: Option<Generator>,
}

struct Walk<'s, 't> {
    syntax: &'s Syntax<'t>,
    roots: Roots<'t>,
    levels: Vec<Level>,
    found: Vec<Found>,
    /// Frames of callbacks that are still to come.
    callbacks: HashMap<Id, Frame>,
    /// Statements that are nothing but a test or suite.
    statements: HashSet<Id>,
    /// Line of a seed that holds for the whole file.
    seed: Option<u32>,
    /// A function that is not known is called where tests are declared.
    makes_more: bool,
}

impl<'s, 't> Walk<'s, 't> {
    fn new(syntax: &'s Syntax<'t>) -> Self {
        let file = Level {
            parent: None,
            names: Vec::new(),
            header: 0..0,
            body: syntax.root(),
            off: None,
            computed: false,
        };
        Self {
            roots: Roots::new(syntax),
            syntax,
            levels: vec![file],
            found: Vec::new(),
            callbacks: HashMap::new(),
            statements: HashSet::new(),
            seed: None,
            makes_more: false,
        }
    }

    fn all(&mut self) -> Result<(), u32> {
        let mut frames = vec![Frame {
            until: None,
            level: 0,
            test: None,
            blocked: None,
        }];
        for id in self.syntax.all() {
            while frames.len() > 1 && frames[frames.len() - 1].until.is_some_and(|end| end <= id) {
                frames.pop();
            }
            let frame = &frames[frames.len() - 1];
            if let Some(inner) = self.entered(frame, id) {
                frames.push(inner);
            } else if self.syntax.kind(id) == "call_expression" {
                let frame = frame.clone();
                self.call(&frame, id)?;
            }
        }
        Ok(())
    }

    /// The frame that begins with `id`, if one does.
    fn entered(&mut self, around: &Frame, id: Id) -> Option<Frame> {
        let syntax = self.syntax;
        let until = Some(syntax.after(id));
        if let Some(frame) = self.callbacks.remove(&id) {
            return Some(Frame { until, ..frame });
        }
        let why = match syntax.kind(id) {
            "arrow_function"
            | "function_expression"
            | "generator_function"
            | "function_declaration"
            | "generator_function_declaration"
            | "method_definition" => "declared in a function that may never be called",
            "if_statement" | "for_statement" | "for_in_statement" | "while_statement"
            | "do_statement" | "switch_statement" | "try_statement" | "ternary_expression"
            | "binary_expression" | "class_body" => CONDITION,
            _ => return None,
        };
        let line = syntax.line(id);
        let blocked = around
            .blocked
            .clone()
            .or_else(|| Some(Rc::new(disabled(line, why))));
        Some(Frame {
            until,
            blocked,
            ..around.clone()
        })
    }

    fn call(&mut self, frame: &Frame, call: Id) -> Result<(), u32> {
        let syntax = self.syntax;
        if let Some(declared) = calls::declaration(syntax, &self.roots, call, frame.test.is_some())
        {
            return self.declare(frame, call, &declared);
        }
        let Some(chain) = calls::chain(syntax, call) else {
            return Ok(());
        };
        let last = chain.properties.last().copied().unwrap_or(chain.root);
        self.makes_more |= self.may_declare(frame, call, &chain);
        let seed = matches!(last, "assert" | "check" | "configureGlobal" | "prop")
            .then(|| body::seed_of(syntax, &calls::arguments(syntax, call)))
            .flatten();
        match frame.test {
            Some(test) => {
                let test = &mut self.found[test];
                test.seed = test.seed.or(seed);
                if matches!(last, "property" | "asyncProperty") {
                    test.generator = Some(Generator::FastCheck);
                }
            }
            None if last == "configureGlobal" => self.seed = self.seed.or(seed),
            None => {}
        }
        if frame.test.is_none() && frame.blocked.is_none() && body::is_hook(last) {
            let callback = calls::arguments(syntax, call)
                .into_iter()
                .find(|id| calls::is_function(syntax, *id));
            if let Some(skip) = callback.and_then(|callback| body::skip_of(syntax, callback)) {
                self.levels[frame.level].off.get_or_insert(skip);
            }
        }
        Ok(())
    }

    /// Whether a call that declares nothing by itself may reach one that does.
    fn may_declare(&self, frame: &Frame, call: Id, chain: &calls::Chain<'_>) -> bool {
        let blocked = frame.blocked.as_ref();
        let is_reached = blocked.is_none_or(|blocked| blocked.why == CONDITION);
        let declares = calls::may_declare(self.syntax, call, chain);
        frame.test.is_none() && is_reached && declares
    }

    fn declare(&mut self, frame: &Frame, call: Id, declared: &Declaration<'t>) -> Result<(), u32> {
        let syntax = self.syntax;
        let level = &self.levels[frame.level];
        let around = match frame.test {
            Some(test) => self.found[test].names.clone(),
            None => level.names.clone(),
        };
        let title = declared.literal_title(syntax).filter(|_| !level.computed);
        let computed = title.is_none();
        let names = match &title {
            Some(title) => names_in(&around, title),
            None => around,
        };
        let sort = match declared.suite {
            _ if computed => ItemSort::Computed,
            true => ItemSort::Group,
            false => ItemSort::Test,
        };
        let statement = self.statement_of(call, level.body);
        let own = declared.disabled(syntax, &self.roots, call).or_else(|| {
            let callback = declared.callback.filter(|_| !declared.suite)?;
            body::skip_of(syntax, callback)
        });
        let mut inner = declared.chain.inner.iter();
        let inner_seed = inner.find_map(|arguments| {
            body::seed_of(syntax, &syntax.parts(*arguments).collect::<Vec<_>>())
        });
        let found = Found {
            level: frame.level,
            inside: frame.test,
            names: names.clone(),
            sort,
            place: Place::of(syntax, statement.unwrap_or(call), declared.title),
            disabled: own.or_else(|| frame.blocked.as_deref().cloned()),
            only: declared.is_only(syntax),
            seed: inner_seed.or_else(|| {
                let generates = declared.generates();
                generates
                    .then(|| body::seed_of(syntax, &declared.arguments))
                    .flatten()
            }),
            generator: declared.generates().then_some(Generator::FastCheck),
        };
        if names.len() > super::items::DEEPEST || self.found.len() > super::items::MOST_ITEMS {
            return Err(syntax.line(call));
        }
        let off = found.disabled.clone();
        if frame.test.is_none() {
            self.statements.extend(statement);
        }
        self.found.push(found);
        let mut inner = Frame {
            until: None,
            level: frame.level,
            test: None,
            blocked: None,
        };
        if declared.suite {
            self.levels.push(Level {
                parent: Some(frame.level),
                names: names.clone(),
                header: syntax.range(call),
                body: call,
                off,
                computed,
            });
            inner.level = self.levels.len() - 1;
            let body = declared
                .callback
                .and_then(|callback| syntax.child(callback, "body"));
            if let Some(body) = body {
                let level = &mut self.levels[inner.level];
                level.header.end = syntax.range(body).start;
                level.body = body;
            } else if !computed {
                self.add_unknown_members(inner.level, call, names);
            }
        } else {
            inner.test = Some(self.found.len() - 1);
        }
        self.callbacks
            .extend(declared.callback.map(|callback| (callback, inner)));
        Ok(())
    }

    /// A suite whose callback is written elsewhere holds tests that are not known here.
    fn add_unknown_members(&mut self, level: usize, call: Id, names: Vec<String>) {
        self.found.push(Found {
            level,
            inside: None,
            names,
            sort: ItemSort::Computed,
            place: Place::of(self.syntax, call, None),
            disabled: None,
            only: false,
            seed: None,
            generator: None,
        });
    }

    /// The statement of a level that is nothing but this call.
    fn statement_of(&self, call: Id, body: Id) -> Option<Id> {
        let syntax = self.syntax;
        let mut at = call;
        for _ in 0..8 {
            let parent = syntax.parent(at)?;
            if parent == body {
                return (syntax.kind(at) == "expression_statement").then_some(at);
            }
            match syntax.kind(parent) {
                "await_expression"
                | "parenthesized_expression"
                | "expression_statement"
                | "unary_expression" => at = parent,
                _ => return None,
            }
        }
        None
    }

    /// What the tests of each level stand in.
    fn contexts(&self) -> Vec<FileDigest> {
        let syntax = self.syntax;
        let mut contexts: Vec<FileDigest> = Vec::new();
        for level in &self.levels {
            let mut pieces = Pieces::default();
            if let Some(parent) = level.parent {
                pieces.add(contexts[parent].as_str().as_bytes());
            }
            add(&mut pieces, syntax, level.header.clone());
            if matches!(syntax.kind(level.body), "program" | "statement_block") {
                let units: Vec<Unit> = syntax
                    .children(level.body)
                    .filter(|child| !matches!(syntax.kind(*child), "{" | "}" | ";"))
                    .map(|child| {
                        let apart = self.statements.contains(&child);
                        Unit::of(syntax, child, if apart { Role::Item } else { Role::Kept })
                    })
                    .collect();
                add_kept(&mut pieces, syntax, &units);
            }
            contexts.push(pieces.finish());
        }
        contexts
    }

    fn finish(mut self) -> Result<Facts, u32> {
        let contexts = self.contexts();
        for at in 1..self.levels.len() {
            let parent = self.levels[at].parent.unwrap_or(0);
            let outer = self.levels[parent].off.clone();
            self.levels[at].off = self.levels[at].off.take().or(outer);
        }
        body::mark_only(&mut self.found);
        let mut items = Items::default();
        for found in &self.found {
            let mut context = contexts[found.level].clone();
            if let Some(test) = found.inside {
                let around = &self.found[test].place.range;
                let text = self.syntax.slice(around.clone()).as_bytes();
                context = digest::pieces([context.as_str().as_bytes(), text]);
            }
            let name = (found.names.clone(), found.sort);
            let item = items.add(self.syntax, name, &found.place, &context)?;
            item.disabled = found
                .disabled
                .clone()
                .or_else(|| self.levels[found.level].off.clone())
                .or_else(|| {
                    found
                        .inside
                        .and_then(|test| self.found[test].disabled.clone())
                });
            item.generator = found.generator;
            item.seed = found.seed.or(self
                .seed
                .filter(|_| found.generator == Some(Generator::FastCheck)));
        }
        let mut items = items.into_vec();
        body::mark_namesakes(&mut items);
        Ok(Facts {
            items,
            imports: imports::imports(self.syntax),
            rest: contexts
                .into_iter()
                .next()
                .unwrap_or_else(|| digest::pieces([])),
            frame: None,
            modules: Vec::new(),
            makes_more: self.makes_more,
        })
    }
}
