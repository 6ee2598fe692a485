//! The modules, blocks and test macros of a Rust file, and what stands in each.

use std::ops::Range;
use std::rc::Rc;

use super::attributes::{Attribute, Testing, Truth};
use crate::model::Disabled;
use crate::source::items::{DEEPEST, MOST_ITEMS, disabled, names_in};
use crate::source::level::{Role, Unit};
use crate::source::syntax::{Id, Syntax};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// A file or a module with a body.
    Module,
    /// An `impl` block: it holds no test, but perhaps what is built for tests only.
    Block,
    /// `proptest! { … }` and the like.
    Macro { every_function: bool },
}

/// A file, module, block or macro whose members are looked at one by one.
pub(super) struct Level<'t> {
    pub sort: Sort,
    pub parent: Option<usize>,
    /// Its text before its members.
    pub header: Range<usize>,
    /// The module's names.
    pub names: Vec<String>,
    pub off: Option<Rc<Disabled>>,
    /// It, or what it lies in, is built for tests only.
    pub for_tests: bool,
    pub members: Vec<Member<'t>>,
}

/// One thing at a level, with its attributes and documentation.
pub(super) struct Member<'t> {
    pub unit: Unit,
    pub attributes: Vec<Attribute<'t>>,
    pub kind: Kind<'t>,
}

pub(super) enum Kind<'t> {
    /// A function or what stands for one in a macro; `body` is its block.
    Function {
        name: Id,
        body: Id,
    },
    /// Index of the level that it is.
    Level {
        name: Option<&'t str>,
        level: usize,
    },
    /// A macro that may make tests of any name in it.
    UnknownMacro,
    Other,
}

impl Member<'_> {
    /// Built for tests only, by an attribute of its own.
    pub fn is_for_tests(&self) -> bool {
        self.attributes.iter().any(|own| {
            own.is("cfg")
                && own.predicate(false) == Truth::False
                && own.predicate(true) != Truth::False
        })
    }

    pub fn testing(&self) -> Option<Testing> {
        self.attributes.iter().filter_map(Attribute::testing).max()
    }

    /// What its attributes disable it by.
    pub fn disabled(&self) -> Option<Disabled> {
        self.attributes.iter().find_map(|own| {
            let condition = own.predicate(true);
            let why = if own.is("ignore") {
                "ignored by #[ignore]".to_owned()
            } else if own.is("cfg") && condition == Truth::False {
                format!("never built: #[{}]", own.spelled())
            } else if own.is("cfg") && condition == Truth::Unknown {
                format!("built only under #[{}]", own.spelled())
            } else if own.is("cfg_attr")
                && condition != Truth::False
                && (own.mentions("ignore") || own.mentions("cfg"))
            {
                format!("ignored by #[{}]", own.spelled())
            } else {
                return None;
            };
            Some(disabled(own.line, why))
        })
    }
}

/// Every level of the file, outermost first; the line where they nest too deep.
pub(super) fn levels<'t>(syntax: &Syntax<'t>) -> Result<Vec<Level<'t>>, u32> {
    let root = syntax.root();
    let start = syntax.range(root).start;
    let mut found = vec![Level {
        sort: Sort::Module,
        parent: None,
        header: start..start,
        names: Vec::new(),
        off: None,
        for_tests: false,
        members: Vec::new(),
    }];
    let mut bodies = vec![root];
    let mut at = 0;
    let mut count = 0;
    while at < found.len() {
        let mut reader = Reading {
            syntax,
            found: &mut found,
            bodies: &mut bodies,
            at,
            members: Vec::new(),
            pending: Vec::new(),
            start: None,
        };
        reader.read()?;
        count += reader.members.len();
        let members = reader.members;
        if count > MOST_ITEMS * 4 {
            return Err(members.first().map_or(1, |member| member.unit.line));
        }
        found[at].members = members;
        at += 1;
    }
    Ok(found)
}

struct Reading<'a, 't> {
    syntax: &'a Syntax<'t>,
    found: &'a mut Vec<Level<'t>>,
    bodies: &'a mut Vec<Id>,
    at: usize,
    members: Vec<Member<'t>>,
    /// Attributes of the member to come.
    pending: Vec<Attribute<'t>>,
    /// Where the member to come starts: byte and line.
    start: Option<(usize, u32)>,
}

impl<'t> Reading<'_, 't> {
    fn read(&mut self) -> Result<(), u32> {
        let body = self.bodies[self.at];
        if let Sort::Macro { .. } = self.found[self.at].sort {
            self.read_macro(body);
            return Ok(());
        }
        let syntax = self.syntax;
        for child in syntax.children(body) {
            match syntax.kind(child) {
                "{" | "}" | "empty_statement" | ";" => {}
                "attribute_item" => self.attribute(child),
                "inner_attribute_item" => {
                    self.inner_attribute(child);
                    self.member(child, Kind::Other);
                }
                "line_comment" | "block_comment" => self.comment(child),
                _ => self.item(child)?,
            }
        }
        Ok(())
    }

    fn begin(&mut self, id: Id) {
        let syntax = self.syntax;
        self.start
            .get_or_insert((syntax.range(id).start, syntax.line(id)));
    }

    fn attribute(&mut self, id: Id) {
        self.begin(id);
        self.pending.extend(Attribute::read(self.syntax, id));
    }

    /// Outer documentation and what stands among attributes belong to the member to come.
    fn comment(&mut self, id: Id) {
        let text = self.syntax.text(id);
        let outer = self.syntax.child(id, "outer").is_some() && !text.starts_with("////");
        if outer || self.start.is_some() {
            self.begin(id);
        } else {
            self.member(id, Kind::Other);
        }
    }

    /// `#![cfg(…)]` says of the whole level what `#[cfg(…)]` says of an item.
    fn inner_attribute(&mut self, id: Id) {
        let Some(attribute) = Attribute::read(self.syntax, id) else {
            return;
        };
        let own = Member {
            unit: Unit::of(self.syntax, id, Role::Kept),
            attributes: vec![attribute],
            kind: Kind::Other,
        };
        let level = &mut self.found[self.at];
        level.for_tests |= own.is_for_tests();
        if let Some(why) = own.disabled() {
            level.off.get_or_insert(Rc::new(why));
        }
    }

    fn item(&mut self, id: Id) -> Result<(), u32> {
        let syntax = self.syntax;
        let kind = match syntax.kind(id) {
            "function_item" => match (syntax.child(id, "name"), syntax.child(id, "body")) {
                (Some(name), Some(body)) => Kind::Function { name, body },
                _ => Kind::Other,
            },
            "mod_item" => match (syntax.child(id, "name"), syntax.child(id, "body")) {
                (Some(name), Some(body)) => {
                    let name = syntax.text(name);
                    self.level(id, body, Some(name), Sort::Module)?
                }
                _ => Kind::Other,
            },
            "impl_item" => match syntax.child(id, "body") {
                Some(body) => self.level(id, body, None, Sort::Block)?,
                None => Kind::Other,
            },
            "macro_invocation" => self.invocation(id)?,
            "expression_statement" => match syntax.first_part(id) {
                Some(inner) if syntax.kind(inner) == "macro_invocation" => {
                    self.invocation(inner)?
                }
                _ => Kind::Other,
            },
            _ => Kind::Other,
        };
        self.member(id, kind);
        Ok(())
    }

    fn invocation(&mut self, id: Id) -> Result<Kind<'t>, u32> {
        let syntax = self.syntax;
        let name = syntax
            .child(id, "macro")
            .map_or("", |name| syntax.text(name));
        let Some(body) = syntax.child_of_kind(id, "token_tree") else {
            return Ok(Kind::Other);
        };
        let name = name.rsplit("::").next().unwrap_or(name).trim();
        match name {
            "proptest" | "rusty_fork_test" => self.level(
                id,
                body,
                None,
                Sort::Macro {
                    every_function: false,
                },
            ),
            "quickcheck" => self.level(
                id,
                body,
                None,
                Sort::Macro {
                    every_function: true,
                },
            ),
            "thread_local" | "lazy_static" | "include" | "prop_compose" | "bitflags"
            | "criterion_group" | "criterion_main" => Ok(Kind::Other),
            _ => Ok(Kind::UnknownMacro),
        }
    }

    fn level(
        &mut self,
        id: Id,
        body: Id,
        name: Option<&'t str>,
        sort: Sort,
    ) -> Result<Kind<'t>, u32> {
        let parent = &self.found[self.at];
        let names = match name {
            Some(name) => names_in(&parent.names, name),
            None => parent.names.clone(),
        };
        if names.len() >= DEEPEST {
            return Err(self.syntax.line(id));
        }
        let whole = self.syntax.range(id);
        let probe = Member {
            unit: Unit::of(self.syntax, id, Role::Kept),
            attributes: std::mem::take(&mut self.pending),
            kind: Kind::Other,
        };
        let level = Level {
            sort,
            parent: Some(self.at),
            header: self.start.map_or(whole.start, |(start, _)| start)
                ..self.syntax.range(body).start,
            names,
            off: probe.disabled().map(Rc::new).or_else(|| parent.off.clone()),
            for_tests: parent.for_tests || probe.is_for_tests(),
            members: Vec::new(),
        };
        self.pending = probe.attributes;
        self.found.push(level);
        self.bodies.push(body);
        Ok(Kind::Level {
            name,
            level: self.found.len() - 1,
        })
    }

    fn member(&mut self, id: Id, kind: Kind<'t>) {
        let mut unit = Unit::of(self.syntax, id, Role::Kept);
        if let Some((start, line)) = self.start.take() {
            unit.range.start = start;
            unit.line = line;
        }
        self.members.push(Member {
            unit,
            attributes: std::mem::take(&mut self.pending),
            kind,
        });
    }

    /// The functions among a macro's tokens, each with its attributes; the rest token by token.
    fn read_macro(&mut self, body: Id) {
        let syntax = self.syntax;
        let tokens: Vec<Id> = syntax.children(body).collect();
        let inside = 1..tokens.len().saturating_sub(1);
        let mut name = None;
        let mut hash = None;
        let mut after_fn = false;
        for token in tokens.get(inside).unwrap_or_default().iter().copied() {
            let text = syntax.text(token);
            match syntax.kind(token) {
                "#" => hash = Some(token),
                "!" if hash.is_some() => {}
                "token_tree" if hash.is_some() && text.starts_with('[') => {
                    if let Some(hash) = hash.take() {
                        self.begin(hash);
                    }
                    self.pending.extend(Attribute::read(syntax, token));
                    // `#![…]` configures the whole macro.
                    if self
                        .pending
                        .last()
                        .is_some_and(|own| own.is("proptest_config"))
                    {
                        self.member(token, Kind::Other);
                    }
                }
                "line_comment" | "block_comment" => self.comment(token),
                "fn" => {
                    self.begin(token);
                    after_fn = true;
                }
                "identifier" if after_fn && name.is_none() => name = Some(token),
                "token_tree" if after_fn && text.starts_with('{') => {
                    let kind = name
                        .take()
                        .map_or(Kind::Other, |name| Kind::Function { name, body: token });
                    after_fn = false;
                    self.member(token, kind);
                }
                _ if after_fn || self.start.is_some() => {}
                _ => self.member(token, Kind::Other),
            }
        }
        // What is left over is no function, and no test either.
        if let (Some(_), Some(last)) = (self.start, tokens.last()) {
            self.member(*last, Kind::Other);
        }
    }
}
