//! Does what a command is about concern a patch that its sender brings? Who opened or pushed to an open pull
//! request is not the one who changes the contract that judges it (interfaces section 7).

use crate::command::Owner;
use crate::model::{Decision, Fact, NodeId, PrNumber};
use crate::store::Ask;

use super::bound::Judged;
use super::commands::Commands;
use super::stop::Stop;

/// What a command is about.
#[derive(Debug, Default)]
pub(super) struct Subject {
    /// Beginnings of paths.
    pub prefixes: Vec<String>,
    pub paths: Vec<String>,
    pub nodes: Vec<NodeId>,
}

impl Subject {
    /// Whether the write-set holds one of the paths, the file of one of the nodes, or a path that a node guards; or
    /// whether something was found of a node.
    fn concerns(&self, decision: &Decision) -> bool {
        let is_node = |id: &str| self.nodes.iter().any(|node| overlaps(node, id));
        let writes = decision.write_set.iter().any(|change| {
            let path = change.path.as_str();
            self.paths.iter().any(|own| own == path)
                || self
                    .prefixes
                    .iter()
                    .any(|own| path.starts_with(own.as_str()))
                || self.nodes.iter().any(|node| lies_at(path, node.path()))
        });
        let guards = decision
            .coverage
            .iter()
            .flat_map(|row| &row.properties)
            .any(|property| is_node(&property.nodeid));
        let found = decision.findings.iter();
        let found = found.filter_map(|finding| finding.nodeid.as_deref());
        writes || guards || found.into_iter().any(is_node)
    }
}

/// The path itself, or one below it: a node may be a directory.
fn lies_at(path: &str, place: &str) -> bool {
    let rest = path.strip_prefix(place);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a row of `node` would block the test `id`, or the other way round (protocol 5.2): the same node, either
/// inside the other, or parameters of one function.
fn overlaps(node: &NodeId, id: &str) -> bool {
    let Ok(id) = id.parse::<NodeId>() else {
        return true;
    };
    id.function() == node.function()
        || id.enclosing().any(|outer| outer == node.as_str())
        || node.enclosing().any(|outer| outer == id.as_str())
        || lies_at(id.path(), node.as_str())
}

impl Commands<'_> {
    /// Whether every row is the sender's: who owns one of several does not end the others.
    pub(super) async fn owns(&self, ask: &Ask, owners: &[String]) -> Result<Fact<bool>, Stop> {
        let mut unknown = None;
        for owner in owners {
            let member = match Owner::of(owner) {
                Some(Owner::Login(login)) => Fact::Known(login.eq_ignore_ascii_case(&ask.actor)),
                Some(Owner::Team(org, team)) => {
                    self.client.is_member((&org, &team), &ask.actor).await?
                }
                // A bare word gives nobody a right.
                None => Fact::Known(false),
            };
            match member {
                Fact::Known(true) => {}
                Fact::Known(false) => return Ok(Fact::Known(false)),
                other => unknown = unknown.or(Some(other)),
            }
        }
        Ok(unknown.unwrap_or(Fact::Known(!owners.is_empty())))
    }

    /// An open pull request of the sender's that concerns `subject`. One that was not judged yet could be about
    /// anything, and counts.
    pub(super) async fn concerned(
        &self,
        ask: &Ask,
        subject: &Subject,
        judged: &Judged<'_>,
    ) -> Result<Fact<Option<PrNumber>>, Stop> {
        let pushed = self.store.pushes(judged.key).await?;
        let opened = judged.decision.author.login.as_deref();
        let is_theirs = opened.is_some_and(|login| login.eq_ignore_ascii_case(&ask.actor))
            || pushed
                .iter()
                .any(|(pushed, _)| pushed.account == ask.actor_id);
        if is_theirs && subject.concerns(judged.decision) {
            return Ok(Fact::Known(Some(self.number)));
        }
        let person = (ask.actor.as_str(), ask.actor_id);
        for (number, decision) in self.store.brought_by(self.client.repo(), person).await? {
            let decision = decision.and_then(|json| serde_json::from_str::<Decision>(&json).ok());
            let concerns = decision.is_none_or(|decision| subject.concerns(&decision));
            if number != self.number && concerns {
                return Ok(Fact::Known(Some(number)));
            }
        }
        Ok(Fact::Known(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_overlaps_what_a_row_of_it_would_block() {
        let property = "tests/p/test_a.py::TestA::test_x";
        for node in [
            property,
            "tests/p/test_a.py::TestA::test_x[1]",
            "tests/p/test_a.py::TestA",
            "tests/p/test_a.py",
            "tests/p",
        ] {
            let id: NodeId = node.parse().expect("a node id");
            assert!(overlaps(&id, property), "{node}");
            assert!(overlaps(&id, &format!("{property}[2]")), "{node}");
        }
        for other in ["tests/p/test_a.py::TestB", "tests/p/test_ab.py", "tests/p2"] {
            let id: NodeId = other.parse().expect("a node id");
            assert!(!overlaps(&id, property), "{other}");
        }
    }
}
