//! Does a listed property count? (protocol section 1, "live property"). PURE.

use super::case::Case;
use super::frozen::FrozenRows;
use crate::model::{Class, EntryKind, ListedProperty, NodeId, PropertyState, TreeFacts};

/// Answers for one set of freezes on one merged tree.
pub struct Liveness<'a> {
    case: &'a Case<'a>,
    tree: &'a TreeFacts,
    pub frozen: FrozenRows<'a>,
    /// Look at the tree as it will be after the merge: nothing is local then.
    after_merge: bool,
}

impl<'a> Liveness<'a> {
    pub fn new(case: &'a Case<'a>, tree: &'a TreeFacts, frozen: FrozenRows<'a>) -> Self {
        Self {
            case,
            tree,
            frozen,
            after_merge: false,
        }
    }

    /// For the holes that a contract patch would open: who brought the tests does not matter there.
    pub fn after_merge(self) -> Self {
        Self {
            after_merge: true,
            ..self
        }
    }

    /// State and reason of one listed property.
    pub fn of(&self, property: &NodeId) -> ListedProperty {
        let (state, why) = self.state(property);
        ListedProperty {
            nodeid: property.to_string(),
            state,
            why,
        }
    }

    fn state(&self, property: &NodeId) -> (PropertyState, String) {
        if let Some(why) = self.ghost(property) {
            return (PropertyState::Ghost, why);
        }
        if let Some(row) = self.frozen.blocking(property).first() {
            let row_id = if row.nodeid == *property {
                String::new()
            } else {
                format!(" by the row {}", row.nodeid)
            };
            let why = format!("frozen{row_id}: {} (owner {})", row.reason, row.owner);
            return (PropertyState::Frozen, why);
        }
        if !self.after_merge
            && let Some(why) = self.local(property)
        {
            return (PropertyState::Local, why);
        }
        let why = "a witness: its file is outside the write-set; its source was not looked at";
        (PropertyState::Live, why.to_owned())
    }

    /// Why the merged tree holds no such property (protocol 5.2, `ghost-property`).
    fn ghost(&self, property: &NodeId) -> Option<String> {
        let path = property.path();
        match self.tree.files.get(path) {
            Some(Some(kind)) if kind.is_regular() => {}
            Some(Some(EntryKind::Symlink)) => return Some(format!("{path} is a symlink")),
            Some(Some(_)) => return Some(format!("{path} is a submodule")),
            Some(None) | None => return Some(format!("{path} is not a file of the merged tree")),
        }
        let class = self.case.classes.classify(path);
        if class == Class::Property || self.case.classes.holds_inline_properties(path) {
            None
        } else {
            Some(format!("{path} is of class {class}, not property"))
        }
    }

    /// Why the property is no witness of this patch.
    fn local(&self, property: &NodeId) -> Option<String> {
        let path = property.path();
        if self.case.touches(path) {
            return Some("its file is in the write-set".to_owned());
        }
        let mut dir = path;
        while let Some((above, _)) = dir.rsplit_once('/') {
            let conftest = format!("{above}/conftest.py");
            if self.case.touches(&conftest) {
                return Some(format!("{conftest}, which it needs, is in the write-set"));
            }
            dir = above;
        }
        self.case
            .touches("conftest.py")
            .then(|| "conftest.py, which it needs, is in the write-set".to_owned())
    }
}
