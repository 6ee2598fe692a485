//! Rust, as `cargo test` collects it: functions with a test attribute in modules, and the functions of
//! `proptest!` and `quickcheck!`.
//!
//! A test inside a `#[cfg(test)]` module stands in that module alone: what surrounds it is what it
//! guards. What is left for production is the text without what is built for tests only.

mod attributes;
mod imports;
mod levels;

use std::collections::BTreeSet;

use super::items::{Facts, Items, Place, disabled, names_in, quoted};
use super::level::{Mentions, Role, Unit, add, kept};
use super::syntax::{Id, Syntax};
use crate::digest::{self, Pieces};
use crate::model::{Declared, Disabled, FileDigest, Generator, ItemSort, SkippedRow};
use attributes::{Attribute, Testing, Truth};
use levels::{Kind, Level, Member, Sort};

/// Names of one macro that are taken for tests that it may make.
const MOST_NAMES: usize = 256;

/// What a file says; the line where it cannot be read.
pub(super) fn read(syntax: &Syntax<'_>) -> Result<Facts, u32> {
    let levels = levels::levels(syntax)?;
    let file = File {
        syntax,
        mentions: mentions(syntax, &levels),
        levels: &levels,
    };
    let contexts = file.contexts();
    let mut items = Items::default();
    for (level, context) in levels.iter().zip(&contexts) {
        file.add_items(&mut items, level, context)?;
    }
    let mut items = items.into_vec();
    items.sort_by_key(|item| item.line);
    Ok(Facts {
        items,
        imports: imports::imports(syntax, &levels, &file.mentions),
        rest: file.rest(),
        frame: contexts.first().cloned(),
        modules: file.modules(),
        makes_more: file.makes_more(),
    })
}

fn mentions<'t>(syntax: &Syntax<'t>, levels: &[Level<'t>]) -> Mentions<'t> {
    let members = levels.iter().flat_map(|level| &level.members);
    let definitions = members.filter_map(|member| match member.kind {
        Kind::Function { name, .. } => Some((syntax.text(name), member.unit.range.clone())),
        Kind::Level {
            name: Some(name), ..
        } => Some((name, member.unit.range.clone())),
        Kind::Other if syntax.kind(member.unit.id) == "mod_item" => {
            let name = syntax.child(member.unit.id, "name")?;
            Some((syntax.text(name), member.unit.range.clone()))
        }
        _ => None,
    });
    Mentions::new(syntax, definitions)
}

struct File<'a, 't> {
    syntax: &'a Syntax<'t>,
    levels: &'a [Level<'t>],
    mentions: Mentions<'t>,
}

impl<'t> File<'_, 't> {
    /// How a member is a test, in what it stands.
    fn testing(&self, level: &Level<'t>, member: &Member<'t>) -> Option<Testing> {
        let Kind::Function { .. } = member.kind else {
            return None;
        };
        match level.sort {
            Sort::Macro {
                every_function: true,
            } => Some(Testing::ByName),
            Sort::Block => None,
            Sort::Module | Sort::Macro { .. } => {
                let conditional = || {
                    member.attributes.iter().any(|own| {
                        own.is("cfg_attr")
                            && own.mentions("test")
                            && own.predicate(true) != Truth::False
                    })
                };
                member
                    .testing()
                    .or_else(|| conditional().then_some(Testing::ByName))
            }
        }
    }

    /// What the tests at each level stand in.
    fn contexts(&self) -> Vec<FileDigest> {
        // Inner levels come after the outer ones: from the last to the first.
        let own = self.digests(|level, member, empty| match member.kind {
            Kind::Function { name, .. } => {
                self.testing(level, member).is_some()
                    && !self.mentions.elsewhere(self.syntax.text(name))
            }
            Kind::Level {
                name: Some(name), ..
            } => {
                let for_macros = member.attributes.iter().any(|own| own.is("macro_use"));
                empty && !for_macros && !self.mentions.elsewhere(name)
            }
            Kind::Level { name: None, level } => {
                let is_macro = matches!(self.levels[level].sort, Sort::Macro { .. });
                is_macro && (empty || self.holds_tests(level))
            }
            Kind::UnknownMacro | Kind::Other => false,
        });
        let support = self.support();
        let mut contexts: Vec<FileDigest> = Vec::new();
        for (level, own) in self.levels.iter().zip(own) {
            let around = level.parent.map(|parent| {
                if level.for_tests && !self.levels[parent].for_tests {
                    &support
                } else {
                    &contexts[parent]
                }
            });
            let around = around.map(|around| around.as_str().as_bytes());
            let pieces = around.into_iter().chain([own.as_str().as_bytes()]);
            contexts.push(digest::pieces(pieces));
        }
        contexts
    }

    /// What of the file reaches into its `#[cfg(test)]` modules without being what they guard: what is
    /// built for tests only, and macros, which may stand for what a test calls.
    fn support(&self) -> FileDigest {
        let mut digests = self.digests(|level, member, empty| {
            let for_macros = member.attributes.iter().any(|own| own.is("macro_use"));
            let is_macro = self.syntax.kind(member.unit.id).starts_with("macro");
            let stays = level.for_tests || member.is_for_tests() || for_macros || is_macro;
            match member.kind {
                // A test that something else calls helps that, whatever it is built for.
                Kind::Function { name, .. } => match self.testing(level, member) {
                    Some(_) => !self.mentions.elsewhere(self.syntax.text(name)),
                    None => !stays,
                },
                Kind::Level { level: inner, .. } => {
                    let is_test_macro = matches!(self.levels[inner].sort, Sort::Macro { .. });
                    (empty && !for_macros) || (is_test_macro && self.holds_tests(inner))
                }
                Kind::UnknownMacro => false,
                Kind::Other => !stays,
            }
        });
        digests.swap_remove(0)
    }

    /// Every `mod x;`.
    fn modules(&self) -> Vec<Declared> {
        let mut found = Vec::new();
        for level in self.levels {
            for member in &level.members {
                if !matches!(member.kind, Kind::Other)
                    || self.syntax.kind(member.unit.id) != "mod_item"
                {
                    continue;
                }
                let name = self.syntax.child(member.unit.id, "name");
                let attributes = member.attributes.iter().map(Attribute::spelled);
                let attributes = attributes.collect::<Vec<_>>().join("\n");
                let around = level.names.join("::");
                let off = level.off.as_ref().map_or("", |off| off.why.as_str());
                found.push(Declared {
                    name: name.map_or("", |name| self.syntax.text(name)).to_owned(),
                    how: digest::pieces([attributes.as_bytes(), around.as_bytes(), off.as_bytes()]),
                });
            }
        }
        found.sort();
        found
    }

    /// A macro may put names together, and an attribute of another crate may make a function a test.
    fn makes_more(&self) -> bool {
        let mut members = self.levels.iter().flat_map(|level| &level.members);
        members.any(|member| {
            let own = &member.attributes;
            match member.kind {
                Kind::UnknownMacro => true,
                Kind::Other => self.syntax.text(member.unit.id).starts_with("include!"),
                Kind::Function { .. } | Kind::Level { .. } => {
                    member.testing().is_none() && !own.iter().all(Attribute::is_built_in)
                }
            }
        })
    }

    fn holds_tests(&self, level: usize) -> bool {
        let level = &self.levels[level];
        let mut members = level.members.iter();
        members.any(|member| self.testing(level, member).is_some())
    }

    /// The text without what is built for tests only.
    fn rest(&self) -> FileDigest {
        if self.may_be_cut_otherwise() {
            let whole = self.syntax.range(self.syntax.root());
            return digest::pieces([self.syntax.slice(whole).as_bytes()]);
        }
        if self.levels[0].for_tests {
            return digest::pieces([]);
        }
        let mut digests = self.digests(|level, member, empty| match member.kind {
            _ if member.is_for_tests() => true,
            Kind::Level { level: inner, .. } => {
                let inner_level = &self.levels[inner];
                let is_macro = matches!(inner_level.sort, Sort::Macro { .. });
                inner_level.for_tests || (is_macro && empty && self.holds_tests(inner))
            }
            _ => self.testing(level, member) == Some(Testing::Known),
        });
        digests.swap_remove(0)
    }

    /// Editions before 2021 read `c"…"` and `cr#"…"#` as other tokens than the grammar does.
    fn may_be_cut_otherwise(&self) -> bool {
        let mut tokens = self.syntax.all().map(|id| self.syntax.text(id));
        tokens.any(|text| {
            ["c\"", "cr\"", "cr#"]
                .iter()
                .any(|start| text.starts_with(start))
        })
    }

    /// For each level the digest of its text without the members that `goes` takes out, which is told
    /// whether a member that is a level itself has nothing left but its header.
    fn digests(&self, goes: impl Fn(&Level<'t>, &Member<'t>, bool) -> bool) -> Vec<FileDigest> {
        let nothing = digest::pieces([]);
        let mut digests = vec![nothing; self.levels.len()];
        let mut empty = vec![false; self.levels.len()];
        for at in (0..self.levels.len()).rev() {
            let level = &self.levels[at];
            let units: Vec<Unit> = level
                .members
                .iter()
                .map(|member| {
                    let mut unit = member.unit.clone();
                    let is_empty = match member.kind {
                        Kind::Level { level, .. } => empty[level],
                        _ => false,
                    };
                    if goes(level, member, is_empty) {
                        unit.role = Role::Item;
                    }
                    unit
                })
                .collect();
            let left = kept(&units);
            // An import alone makes no module worth keeping in the contexts of others.
            empty[at] = left.iter().all(|unit| {
                unit.role == Role::Comment || self.syntax.kind(unit.id) == "use_declaration"
            });
            let mut pieces = Pieces::default();
            add(&mut pieces, self.syntax, level.header.clone());
            let inner: std::collections::HashMap<Id, usize> = level
                .members
                .iter()
                .filter_map(|member| match member.kind {
                    Kind::Level { level, .. } => Some((member.unit.id, level)),
                    _ => None,
                })
                .collect();
            for unit in left {
                match inner.get(&unit.id) {
                    Some(level) => pieces.add(digests[*level].as_str().as_bytes()),
                    None => add(&mut pieces, self.syntax, unit.range.clone()),
                }
            }
            digests[at] = pieces.finish();
        }
        digests
    }

    fn add_items(
        &self,
        items: &mut Items,
        level: &Level<'t>,
        context: &FileDigest,
    ) -> Result<(), u32> {
        let configured = self.seed_of_level(level);
        for member in &level.members {
            match member.kind {
                Kind::Function { name, body } if self.testing(level, member).is_some() => {
                    self.add_test(items, level, (member, name, body), context, configured)?;
                }
                Kind::Level {
                    name: Some(_),
                    level: inner,
                } if self.levels[inner].for_tests || self.holds_tests(inner) => {
                    let inner = &self.levels[inner];
                    let place = self.place(member, None);
                    let names = (inner.names.clone(), ItemSort::Group);
                    let item = items.add(self.syntax, names, &place, context)?;
                    item.disabled = inner.off.as_deref().cloned();
                }
                Kind::UnknownMacro => self.add_unknown(items, level, member, context)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn place(&self, member: &Member<'t>, name: Option<Id>) -> Place {
        let range = member.unit.range.clone();
        Place {
            name: name.map_or(range.start..range.start, |name| self.syntax.range(name)),
            range,
            line: member.unit.line,
            end_line: member.unit.end_line,
        }
    }

    fn add_test(
        &self,
        items: &mut Items,
        level: &Level<'t>,
        (member, name, body): (&Member<'t>, Id, Id),
        context: &FileDigest,
        configured: Option<u32>,
    ) -> Result<(), u32> {
        let names = names_in(&level.names, self.syntax.text(name));
        let place = self.place(member, Some(name));
        let rows = member
            .attributes
            .iter()
            .any(|own| own.is("rstest") || own.is("test_case") || own.is("test_matrix"));
        let test = (names.clone(), ItemSort::Test);
        let item = items.add(self.syntax, test, &place, context)?;
        item.disabled = self
            .disabled(member, body)
            .or_else(|| level.off.as_deref().cloned());
        item.generator = self.generator(level, member, body);
        item.seed = self.seed(body).or(configured);
        item.skipped_rows = member
            .attributes
            .iter()
            .filter(|own| own.is("test_case") && own.mentions("ignore"))
            .map(|own| SkippedRow {
                line: own.line,
                id: None,
            })
            .collect();
        if rows {
            let off = item.disabled.clone();
            let case = (names, ItemSort::Computed);
            items.add(self.syntax, case, &place, context)?.disabled = off;
        }
        Ok(())
    }

    /// Any name in a macro that is not known could be a test that it makes.
    fn add_unknown(
        &self,
        items: &mut Items,
        level: &Level<'t>,
        member: &Member<'t>,
        context: &FileDigest,
    ) -> Result<(), u32> {
        let place = self.place(member, None);
        let names: BTreeSet<&str> = self
            .syntax
            .tokens(member.unit.id)
            .filter(|token| self.syntax.kind(*token) == "identifier")
            .map(|token| self.syntax.text(token))
            .take(MOST_NAMES)
            .collect();
        for name in names {
            let computed = (names_in(&level.names, name), ItemSort::Computed);
            items.add(self.syntax, computed, &place, context)?;
        }
        Ok(())
    }

    fn disabled(&self, member: &Member<'t>, body: Id) -> Option<Disabled> {
        let by_attribute = member.disabled().or_else(|| {
            let only_if = member.attributes.iter().find(|own| {
                own.is("cfg_attr") && own.mentions("test") && own.predicate(true) == Truth::Unknown
            });
            let own = only_if.filter(|_| member.testing().is_none())?;
            let why = format!("a test only under #[{}]", own.spelled());
            Some(disabled(own.line, why))
        });
        by_attribute.or_else(|| {
            let first = self
                .syntax
                .tokens(body)
                .nth(1)
                .filter(|token| self.syntax.text(*token) == "return")?;
            Some(disabled(self.syntax.line(first), "returns at once"))
        })
    }

    fn generator(&self, level: &Level<'t>, member: &Member<'t>, body: Id) -> Option<Generator> {
        match level.sort {
            Sort::Macro {
                every_function: true,
            } => return Some(Generator::Quickcheck),
            Sort::Macro { .. } => return Some(Generator::Proptest),
            Sort::Module | Sort::Block => {}
        }
        let by = |name: &str| match name {
            "proptest" | "TestRunner" => Some(Generator::Proptest),
            "quickcheck" | "QuickCheck" => Some(Generator::Quickcheck),
            _ => None,
        };
        let attributes = &member.attributes;
        let attribute = ["proptest", "quickcheck"]
            .into_iter()
            .find(|name| attributes.iter().any(|own| own.is(name)));
        attribute.and_then(by).or_else(|| {
            self.syntax
                .tokens(body)
                .filter(|token| self.syntax.kind(*token).ends_with("identifier"))
                .find_map(|token| by(self.syntax.text(token)))
        })
    }

    /// What fixes a seed outside of the functions of a macro: its configuration.
    fn seed_of_level(&self, level: &Level<'t>) -> Option<u32> {
        let Sort::Macro { .. } = level.sort else {
            return None;
        };
        let mut others = level.members.iter();
        others.find_map(|member| match member.kind {
            Kind::Function { .. } => None,
            _ => self.seed(member.unit.id),
        })
    }

    /// Where the text below `id` fixes a seed.
    fn seed(&self, id: Id) -> Option<u32> {
        let syntax = self.syntax;
        let fixes = |token: &Id| {
            let after = syntax.slice(syntax.range(*token).end..syntax.text.len());
            match syntax.text(*token) {
                "RngSeed" => quoted(after).replace(' ', "").starts_with("::Fixed("),
                "seed_from_u64" | "from_seed" | "from_size_and_seed" => {
                    let arguments = after.trim_start().strip_prefix('(').unwrap_or("");
                    arguments
                        .trim_start()
                        .starts_with(|c: char| c.is_ascii_digit() || c == '[' || c == '*')
                }
                _ => false,
            }
        };
        syntax
            .tokens(id)
            .filter(|token| syntax.kind(*token).ends_with("identifier"))
            .find(fixes)
            .map(|token| syntax.line(token))
    }
}
