//! The counterexample that the evidence ledger records for a seed (protocol 6.1, *smaller*). PURE.

use serde::Deserialize;
use serde_json::Value;

use crate::model::NodeId;

/// What a row says of its failure; what it does not state is `None`, and then nothing is equal to it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Recorded {
    pub nodeid: NodeId,
    seed: Option<Value>,
    pub fixture_digest: Option<String>,
    pub framework: Option<String>,
    pub example: Option<String>,
    /// Coarse signature.
    pub coarse: Option<String>,
    /// SHA-256 of the test's file.
    pub test_digest: Option<String>,
}

/// The last row of a node and seed that has an example. A line that is no row is none: whether the file is a
/// ledger is for [`super::evidence::parse`] to say.
pub fn of_seed(ledger: &[u8], nodeid: &NodeId, seed: i64) -> Option<Recorded> {
    let lines = ledger.rsplit(|byte| *byte == b'\n');
    let mut rows = lines.filter_map(|line| serde_json::from_slice::<Recorded>(line).ok());
    rows.find(|row| row.nodeid == *nodeid && row.seed == Some(seed.into()) && row.example.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_row_of_node_and_seed_with_an_example_is_taken() {
        let ledger = br#"{"nodeid": "t.py::t", "seed": 7, "example": "t(x=1)"}
{"nodeid": "t.py::t", "seed": 7, "example": "t(x=2)", "coarse": "c"}
{"nodeid": "t.py::t", "seed": 8, "example": "t(x=3)"}
{"nodeid": "t.py::u", "seed": 7, "example": "t(x=4)"}
{"nodeid": "t.py::t", "seed": 7, "example": null}
not a row
"#;
        let id = "t.py::t".parse().expect("a node id");
        let found = of_seed(ledger, &id, 7).expect("a row");
        assert_eq!(found.example.as_deref(), Some("t(x=2)"));
        assert_eq!(found.coarse.as_deref(), Some("c"));
        assert_eq!(of_seed(ledger, &id, 9), None);
    }
}
