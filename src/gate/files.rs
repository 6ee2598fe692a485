//! What each contract file of one tree is worth, for `frostline ledger validate`. PURE.

use std::collections::BTreeMap;

use super::facts::is_opted_in;
use super::reading::{Read, Reading, Sides};
use crate::contract::ContractError;
use crate::model::{BlobFact, ContractFile, Layer};

/// What became of one contract file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// It is as the protocol asks.
    Valid,
    /// The configuration switches the layer off.
    Off,
    Absent,
    /// It is not there, and a repository that has opted in needs it.
    Missing,
    /// It is not as the protocol asks; the place and what was expected.
    Broken(ContractError),
    /// It could not be had; why.
    Unavailable(String),
}

impl FileState {
    /// The gate refuses every patch by the rule `contract-unreadable` or `undetermined`.
    pub fn refuses(&self) -> bool {
        matches!(self, Self::Missing | Self::Broken(_) | Self::Unavailable(_))
    }
}

/// The state of each contract file, in the order of protocol section 3.
pub fn file_states(contract: &BTreeMap<Layer, ContractFile>) -> Vec<(Layer, String, FileState)> {
    let reading = Reading::new(contract);
    let stands_at = |path: &str| {
        contract
            .values()
            .any(|file| file.path == path && file.base != BlobFact::Absent)
    };
    let config = contract.get(&Layer::Config);
    let opted_in = is_opted_in(
        config.map_or(&BlobFact::Absent, |file| &file.base),
        stands_at,
    );
    Layer::ALL
        .into_iter()
        .map(|layer| {
            let (path, state) = match layer {
                Layer::Config => state(&reading.config_file, false),
                Layer::Lock => state(&reading.lock, opted_in),
                Layer::Freezes => state(&reading.freezes, opted_in),
                Layer::Map => state(&reading.map, opted_in),
                Layer::Ledger => state(&reading.ledger, false),
                Layer::Catalog => state(&reading.catalog, false),
                Layer::Evidence => state(&reading.evidence, false),
                Layer::FrozenTests => state(&reading.frozen_tests, false),
                Layer::Seeds => state(&reading.seeds, false),
            };
            (layer, path, state)
        })
        .collect()
}

fn state<T>(sides: &Sides<T>, needed: bool) -> (String, FileState) {
    let state = match &sides.base {
        Read::Off => FileState::Off,
        Read::Absent if needed => FileState::Missing,
        Read::Absent => FileState::Absent,
        Read::Broken(error) => FileState::Broken(error.clone()),
        Read::Unavailable(why) => FileState::Unavailable(why.clone()),
        Read::Ready(_) => FileState::Valid,
    };
    (sides.path.clone(), state)
}
