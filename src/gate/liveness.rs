//! Does a listed property count? (protocol section 1, "live property"). PURE.

use std::cell::RefCell;
use std::collections::HashMap;

use super::case::Case;
use super::frozen::FrozenRows;
use super::sources::conftests;
use crate::model::{
    Class, EntryKind, ListedProperty, NodeId, Presence, PropertyFact, PropertyState, TreeFacts,
};

/// Answers for one set of freezes on one merged tree.
pub struct Liveness<'a> {
    case: &'a Case<'a>,
    tree: &'a TreeFacts,
    pub frozen: FrozenRows<'a>,
    /// Look at the tree as it will be after the merge: nothing is local then.
    after_merge: bool,
    /// Many rules list the same property.
    known: RefCell<HashMap<NodeId, ListedProperty>>,
}

impl<'a> Liveness<'a> {
    pub fn new(case: &'a Case<'a>, tree: &'a TreeFacts, frozen: FrozenRows<'a>) -> Self {
        Self {
            case,
            tree,
            frozen,
            after_merge: false,
            known: RefCell::default(),
        }
    }

    /// For the holes that a contract patch would open: who brought the tests does not matter there.
    pub fn after_merge(self) -> Self {
        Self {
            after_merge: true,
            known: RefCell::default(),
            ..self
        }
    }

    /// State and reason of one listed property.
    pub fn of(&self, property: &NodeId) -> ListedProperty {
        if let Some(known) = self.known.borrow().get(property) {
            return known.clone();
        }
        let (state, why) = self.state(property);
        let found = ListedProperty {
            nodeid: property.to_string(),
            state,
            why,
        };
        let mut known = self.known.borrow_mut();
        known.insert(property.clone(), found.clone());
        found
    }

    fn state(&self, property: &NodeId) -> (PropertyState, String) {
        if let Some(why) = self.ghost(property) {
            return (PropertyState::Ghost, why);
        }
        let fact = self.fact(property);
        if let Some(why) = fact.and_then(|fact| disabled(property, &fact.presence)) {
            return (PropertyState::Disabled, why);
        }
        if let Some(found) = self.denied(property) {
            return found;
        }
        if !self.after_merge
            && let Some(why) = self.local(property, fact)
        {
            return (PropertyState::Local, why);
        }
        (PropertyState::Live, self.why_live(property, fact))
    }

    /// A row takes the vote; or all rows about it are worth nothing, and then it votes and covers nothing.
    fn denied(&self, property: &NodeId) -> Option<(PropertyState, String)> {
        let rows = self.frozen.blocking(property);
        let frozen = rows.iter().find(|row| row.takes_vote());
        let row = frozen.or(rows.first())?;
        let row_id = if row.nodeid == *property {
            String::new()
        } else {
            format!(" by the row {}", row.nodeid)
        };
        let owner = row
            .owner
            .map_or(String::new(), |owner| format!(" (owner {owner})"));
        Some(if frozen.is_some() {
            (
                PropertyState::Frozen,
                format!("frozen{row_id}: {}{owner}", row.reason),
            )
        } else if row.is_sensitive {
            let why = "the path is sensitive, so the freeze takes no vote";
            (
                PropertyState::Void,
                format!("no coverage{row_id}: {why}{owner}"),
            )
        } else {
            let why = format!(
                "votes, and gives no coverage{row_id}, which is {}: {}{owner}",
                row.state, row.why
            );
            (PropertyState::Void, why)
        })
    }

    fn fact(&self, property: &NodeId) -> Option<&'a PropertyFact> {
        self.case.sources()?.properties.get(property.as_str())
    }

    fn why_live(&self, property: &NodeId, fact: Option<&PropertyFact>) -> String {
        let witness = if self.after_merge {
            "in the merged tree"
        } else if self.case.touches(property.path()) {
            "a witness: its text and what it stands in are unchanged"
        } else {
            "a witness: its file is outside the write-set"
        };
        match fact.map(|fact| &fact.presence) {
            Some(Presence::NotLookedAt(why)) => format!("{witness}; not looked at: {why}"),
            Some(_) => witness.to_owned(),
            None => format!("{witness}; its source was not looked at"),
        }
    }

    /// Why the merged tree holds no such property (protocol 5.2, `ghost-property`).
    fn ghost(&self, property: &NodeId) -> Option<String> {
        let path = property.path();
        match self.tree.files.get(path) {
            Some(Some(kind)) if kind.is_regular() => {}
            Some(Some(EntryKind::Symlink)) => return Some(format!("{path} is a symlink")),
            Some(Some(_)) => return Some(format!("{path} is a submodule")),
            Some(None) | None => return Some(self.no_file(property)),
        }
        let class = self.case.classes.classify(path);
        if class != Class::Property && !self.case.classes.holds_inline_properties(path) {
            return Some(format!("{path} is of class {class}, not property"));
        }
        match self.fact(property).map(|fact| &fact.presence) {
            Some(Presence::Absent { renamed_to }) => Some(absent(property, renamed_to.as_deref())),
            Some(Presence::Unavailable(why)) => Some(format!("{path} could not be read: {why}")),
            _ => None,
        }
    }

    fn no_file(&self, property: &NodeId) -> String {
        let gone = format!("{} is not a file of the merged tree", property.path());
        match self.fact(property).map(|fact| &fact.presence) {
            Some(Presence::Absent {
                renamed_to: Some(new),
            }) => format!("{gone}; its text is now {new}"),
            _ => gone,
        }
    }

    /// Why the property is no witness of this patch.
    fn local(&self, property: &NodeId, fact: Option<&PropertyFact>) -> Option<String> {
        let path = property.path();
        if self.case.touches(path) && !fact.is_some_and(|fact| fact.unchanged) {
            return Some(match fact.map(|fact| &fact.presence) {
                Some(Presence::Present(_)) => {
                    "its text, or what it stands in, changes in this patch".to_owned()
                }
                _ => "its file is in the write-set".to_owned(),
            });
        }
        match fact.and_then(|fact| fact.needs.as_deref()) {
            Some(needed) if needed == path => {
                return Some(
                    "its file could not be read whole, so what it needs is not known".to_owned(),
                );
            }
            Some(needed) => return Some(format!("{needed}, which it needs, is in the write-set")),
            None => {}
        }
        let conftest = conftests(path).find(|file| self.case.touches(file))?;
        Some(format!("{conftest}, which it needs, is in the write-set"))
    }
}

/// Why a property that is there does not run (protocol 5.2, `disabled-property`).
fn disabled(property: &NodeId, presence: &Presence) -> Option<String> {
    let path = property.path();
    match presence {
        Presence::Disabled(disabled) => Some(format!("{path}:{}: {}", disabled.line, disabled.why)),
        Presence::Broken(line) => Some(format!(
            "{path}:{line} is no valid source, so nothing in the file is sure to run"
        )),
        _ => None,
    }
}

fn absent(property: &NodeId, renamed_to: Option<&str>) -> String {
    let names = &property.as_str()[property.path().len()..];
    let what = format!(
        "{} has no {}",
        property.path(),
        names.trim_start_matches("::")
    );
    match renamed_to {
        Some(new) => format!("{what}; its text is now {new}"),
        None => what,
    }
}
