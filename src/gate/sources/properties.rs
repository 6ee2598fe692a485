//! What became of one listed property: is it there, does it run, did the patch change it? PURE.

use std::collections::HashMap;

use super::{SourceRead, Survey};
use crate::model::{Class, Disabled, Entry, FileDigest, NodeId, Presence, SourceFacts, TestItem};
use crate::source::{self, Found};

impl<F: Fn(&str) -> Option<Entry>> Survey<'_, F> {
    /// What became of a property, and whether its text is what the base tip has.
    pub(super) fn property(&self, id: &NodeId) -> (Presence, bool) {
        let path = id.path();
        let touched = self.change(path).is_some();
        let (names, param) = source::names_of(id);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let facts = match self.merged_read(path) {
            None if (self.entry)(path).is_some_and(|entry| entry.kind.is_regular()) => {
                let why = "there is no grammar for its language".to_owned();
                return (Presence::NotLookedAt(why), !touched);
            }
            None => return self.absent(path, &names),
            Some(SourceRead::TooLarge) => return (Presence::Unavailable(too_large()), false),
            Some(SourceRead::Unavailable(why)) => {
                return (Presence::Unavailable(why.clone()), false);
            }
            Some(SourceRead::Facts(facts)) => facts,
        };
        if let Some(line) = facts.broken {
            return (Presence::Broken(line), !touched);
        }
        if let Some(why) = source::conditional_by_name(path) {
            return (Presence::Disabled(Disabled { line: 1, why }), !touched);
        }
        if names.is_empty() {
            return (Presence::Present(1), !touched);
        }
        match source::find(facts, &names) {
            Found::Nothing => self.absent(path, &names),
            Found::Computed => {
                let why = "its title is computed".to_owned();
                (Presence::NotLookedAt(why), !touched)
            }
            Found::Item(item) => {
                let unchanged = !touched || self.is_unchanged(path, &names, item);
                (presence(item, param.as_deref()), unchanged)
            }
        }
    }

    /// A property that the merged tree does not hold; the base tip may not hold it either.
    fn absent(&self, path: &str, names: &[&str]) -> (Presence, bool) {
        let renamed_to = self.renamed(path, names);
        let before = self
            .base_facts(path)
            .map(|facts| source::find(facts, names));
        let was_there = match (self.change(path), before) {
            (None, _) | (Some(_), Some(Found::Nothing)) => false,
            (Some(change), _) => change.base.is_some(),
        };
        (Presence::Absent { renamed_to }, !was_there)
    }

    /// Whether the patch changes a property's own text, or takes it away.
    pub(super) fn is_edited(&self, id: &NodeId) -> bool {
        let (names, _) = source::names_of(id);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let before = self.base_facts(id.path());
        let after = self.merged_facts(id.path());
        let find = |facts| item_of(facts, &names);
        before.and_then(find).is_some_and(|before| {
            let after = after.and_then(find);
            after.is_none_or(|after| !has_same_text(before, after))
        })
    }

    /// Whether a property stands, word for word, in what it stood in at the base tip.
    fn is_unchanged(&self, path: &str, names: &[&str], item: &TestItem) -> bool {
        let before = self
            .base_facts(path)
            .and_then(|facts| item_of(facts, names));
        before.is_some_and(|before| before.context == item.context && has_same_text(before, item))
    }

    /// The id of the item of the merged tree that has the text of one that the base tip has.
    fn renamed(&self, path: &str, names: &[&str]) -> Option<String> {
        let before = item_of(self.base_facts(path)?, names)?;
        let own = self
            .merged_facts(path)
            .into_iter()
            .flat_map(|facts| &facts.items);
        let mut own = own.filter(|item| item.shape == before.shape);
        if let Some(item) = own.next() {
            return Some(node_id(path, &item.names));
        }
        self.by_shape().get(&before.shape).cloned()
    }

    /// The ids of what every property file of the write-set holds, and each renamed one, by shape.
    fn by_shape(&self) -> &HashMap<FileDigest, String> {
        self.shapes.get_or_init(|| {
            let mut shapes = HashMap::new();
            for (change, class) in self.changes.iter().zip(&self.classes) {
                if change.old_path.is_none() && *class != Class::Property {
                    continue;
                }
                let facts = self.merged_facts(&change.path).into_iter();
                for item in facts.flat_map(|facts| &facts.items) {
                    shapes
                        .entry(item.shape.clone())
                        .or_insert_with(|| node_id(&change.path, &item.names));
                }
            }
            shapes
        })
    }
}

fn item_of<'f>(facts: &'f SourceFacts, names: &[&str]) -> Option<&'f TestItem> {
    match source::find(facts, names) {
        Found::Item(item) => Some(item),
        Found::Computed | Found::Nothing => None,
    }
}

fn has_same_text(before: &TestItem, after: &TestItem) -> bool {
    before.text == after.text && before.disabled.is_some() == after.disabled.is_some()
}

fn presence(item: &TestItem, param: Option<&str>) -> Presence {
    if let Some(disabled) = &item.disabled {
        return Presence::Disabled(disabled.clone());
    }
    // A row whose id the source does not state, or that pytest writes otherwise, may be any of them.
    let skipped = item.skipped_rows.iter().find(|row| match (&row.id, param) {
        (Some(id), Some(param)) => !is_written_as_it_is(id) || param.contains(id.as_str()),
        (None, Some(_)) => true,
        (_, None) => false,
    });
    match skipped {
        Some(row) => Presence::Disabled(Disabled {
            line: row.line,
            why: "a parametrized row that may be this one is skipped".to_owned(),
        }),
        None => Presence::Present(item.line),
    }
}

fn too_large() -> String {
    let (file, all) = (source::LARGEST >> 20, source::BUDGET >> 20);
    format!(
        "a source of more than {file} MiB is not read, nor more than {all} MiB of new sources at once; \
         split the file, or check again"
    )
}

/// pytest escapes other characters, and the backslash itself, in the ids of rows.
fn is_written_as_it_is(id: &str) -> bool {
    id.chars()
        .all(|c| (c.is_ascii_graphic() || c == ' ') && c != '\\')
}

fn node_id(path: &str, names: &[String]) -> String {
    let names = names.iter().map(|name| name.replace("::", r"\:\:"));
    std::iter::once(path.to_owned())
        .chain(names)
        .collect::<Vec<_>>()
        .join("::")
}
