//! The contract's texts, parsed once for a whole evaluation. PURE.

use std::collections::BTreeMap;

use super::classes::{self, Classifier};
use crate::config::repo::{self, Paths, RepoConfig};
use crate::contract::ContractError;
use crate::contract::catalog::{self, Catalog};
use crate::contract::evidence::{self, Evidence};
use crate::contract::freezes::{self, Freezes};
use crate::contract::frozen_tests::{self, FrozenTests};
use crate::contract::ledger::{self, Ledger};
use crate::contract::lock::{self, Lock};
use crate::contract::map::{self, HunkMap};
use crate::contract::seeds::{self, Seeds};
use crate::model::{BlobFact, ContractFile, Layer};

/// Where fixtures are when no lock says so.
const DEFAULT_ROOT: &str = "tests/fixtures";

/// What became of reading one contract file at one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read<T> {
    /// The configuration switches the layer off.
    Off,
    Absent,
    /// It is there and is not what the protocol asks for.
    Broken(ContractError),
    /// It could not be had; why.
    Unavailable(String),
    Ready(T),
}

impl<T> Read<T> {
    pub fn ready(&self) -> Option<&T> {
        match self {
            Self::Ready(value) => Some(value),
            _ => None,
        }
    }
}

/// One contract file at the base tip and, where the merged tree has another entry, as proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides<T> {
    pub path: String,
    pub base: Read<T>,
    pub proposed: Option<Read<T>>,
}

impl<T> Sides<T> {
    /// What the merged tree has.
    pub fn merged(&self) -> &Read<T> {
        self.proposed.as_ref().unwrap_or(&self.base)
    }

    pub fn of(&self, judge: Judge) -> &Read<T> {
        match judge {
            Judge::BaseTip => &self.base,
            Judge::MergedTree => self.merged(),
        }
    }

    /// Both versions that could be read, base first.
    pub fn readable(&self) -> impl Iterator<Item = &T> {
        let proposed = self.proposed.as_ref().and_then(Read::ready);
        self.base.ready().into_iter().chain(proposed)
    }
}

/// Whose lock, map and freezes judge (protocol 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    BaseTip,
    MergedTree,
}

/// Every contract file, read.
#[derive(Debug)]
pub struct Reading {
    /// In force: the base tip's, or the defaults when that has none or it can't be read; with the
    /// proposed globs where the repository opts in.
    pub config: RepoConfig,
    /// The globs of `config` are proposed by the patch.
    pub by_proposed_globs: bool,
    pub config_file: Sides<RepoConfig>,
    pub lock: Sides<Lock>,
    pub freezes: Sides<Freezes>,
    pub map: Sides<HunkMap>,
    pub ledger: Sides<Ledger>,
    pub catalog: Sides<Catalog>,
    pub evidence: Sides<Evidence>,
    pub frozen_tests: Sides<FrozenTests>,
    pub seeds: Sides<Seeds>,
}

impl Reading {
    /// Where the base tip has nothing of a contract, the globs that are proposed stand: there is nothing
    /// else to go by, and nothing is judged in a repository that opts in.
    pub fn new(contract: &BTreeMap<Layer, ContractFile>) -> Self {
        Self::read(contract, !has_any(contract))
    }

    /// The globs of the base tip, come what may.
    pub fn strict(contract: &BTreeMap<Layer, ContractFile>) -> Self {
        Self::read(contract, false)
    }

    fn read(contract: &BTreeMap<Layer, ContractFile>, opts_in: bool) -> Self {
        let config_file = sides(contract, Layer::Config, false, |path, bytes| {
            let config = repo::parse(path, bytes)?;
            if config.paths != Paths::default() {
                classes::check(&config).map_err(|error| ContractError {
                    path: path.to_owned(),
                    line: 1,
                    column: 1,
                    message: format!("`paths`: {error}"),
                })?;
            }
            Ok(config)
        });
        let mut config = config_file.base.ready().cloned().unwrap_or_default();
        let proposed = config_file.proposed.as_ref().and_then(Read::ready);
        let proposed = proposed.filter(|_| opts_in);
        if let Some(proposed) = proposed {
            config.paths = proposed.paths.clone();
        }
        let by_proposed_globs = proposed.is_some();
        let reading = Self {
            lock: side(contract, Layer::Lock, &config, |path, bytes| {
                let lock = lock::parse(path, bytes)?;
                check_roots(&lock, &config, path)?;
                Ok(lock)
            }),
            freezes: side(contract, Layer::Freezes, &config, freezes::parse),
            map: side(contract, Layer::Map, &config, map::parse),
            ledger: side(contract, Layer::Ledger, &config, ledger::parse),
            catalog: side(contract, Layer::Catalog, &config, catalog::parse),
            evidence: side(contract, Layer::Evidence, &config, evidence::parse),
            frozen_tests: side(contract, Layer::FrozenTests, &config, frozen_tests::parse),
            seeds: side(contract, Layer::Seeds, &config, seeds::parse),
            by_proposed_globs,
            config_file,
            config: RepoConfig::default(),
        };
        Self { config, ..reading }
    }

    /// Fixtures roots by the base tip's lock, or where locks are by default.
    fn base_roots(&self) -> Vec<String> {
        match &self.lock.base {
            Read::Off => Vec::new(),
            Read::Ready(lock) => lock.roots.clone(),
            // A repository that opts in brings its first lock with the patch.
            Read::Absent => match self.lock.proposed.as_ref().and_then(Read::ready) {
                Some(lock) => lock.roots.clone(),
                None => vec![DEFAULT_ROOT.to_owned()],
            },
            Read::Broken(_) | Read::Unavailable(_) => vec![DEFAULT_ROOT.to_owned()],
        }
    }

    /// The scope of a property that the catalog does not know: all fixtures (protocol 3.6).
    pub fn default_scope(&self, judge: Judge) -> Vec<String> {
        let roots = match self.lock.of(judge) {
            Read::Ready(lock) => lock.roots.clone(),
            Read::Off => vec![DEFAULT_ROOT.to_owned()],
            _ => self.base_roots(),
        };
        let mut globs: Vec<String> = roots.iter().map(|root| format!("{root}/**")).collect();
        globs.sort();
        globs
    }

    /// Fixtures roots to list in the merged tree: of both versions of the lock, sorted.
    pub fn roots(&self) -> Vec<String> {
        let mut roots = self.base_roots();
        for lock in self.lock.readable() {
            roots.extend(lock.roots.iter().cloned());
        }
        roots.sort();
        roots.dedup();
        roots
    }

    /// Classes always come from the base tip (protocol 5.3). A base without a map takes the
    /// proposed one: there is nothing else to go by when a repository opts in.
    pub fn classifier(&self) -> Classifier {
        let map = match &self.map.base {
            Read::Absent => self.map.merged().ready(),
            base => base.ready(),
        };
        Classifier::new(&self.config, self.base_roots(), map)
    }
}

/// Whether the base tip has one of the files by which a repository has opted in (protocol 3).
fn has_any(contract: &BTreeMap<Layer, ContractFile>) -> bool {
    let layers = [
        Layer::Config,
        Layer::Lock,
        Layer::Freezes,
        Layer::Map,
        Layer::Ledger,
    ];
    layers
        .iter()
        .filter_map(|layer| contract.get(layer))
        .any(|file| file.base != BlobFact::Absent)
}

fn side<T>(
    contract: &BTreeMap<Layer, ContractFile>,
    layer: Layer,
    config: &RepoConfig,
    parse: impl Fn(&str, &[u8]) -> Result<T, ContractError>,
) -> Sides<T> {
    sides(contract, layer, config.is_off(layer), parse)
}

fn sides<T>(
    contract: &BTreeMap<Layer, ContractFile>,
    layer: Layer,
    off: bool,
    parse: impl Fn(&str, &[u8]) -> Result<T, ContractError>,
) -> Sides<T> {
    let Some(file) = contract.get(&layer) else {
        return Sides {
            path: layer.default_path().to_owned(),
            base: if off { Read::Off } else { Read::Absent },
            proposed: None,
        };
    };
    let read = |fact: &BlobFact| {
        if off {
            Read::Off
        } else {
            read(&file.path, fact, &parse)
        }
    };
    Sides {
        path: file.path.clone(),
        base: read(&file.base),
        proposed: file.merged.as_ref().map(read),
    }
}

fn read<T>(
    path: &str,
    fact: &BlobFact,
    parse: impl Fn(&str, &[u8]) -> Result<T, ContractError>,
) -> Read<T> {
    let broken = |message: String| {
        Read::Broken(ContractError {
            path: path.to_owned(),
            line: 1,
            column: 1,
            message,
        })
    };
    match fact {
        BlobFact::Absent => Read::Absent,
        BlobFact::NotRegular(what) => broken(format!("expected a regular file, found {what}")),
        BlobFact::TooLarge(size) => broken(format!(
            "expected at most 64 MiB, found a file of {size} bytes"
        )),
        BlobFact::Unavailable(why) => Read::Unavailable(why.clone()),
        BlobFact::Content { bytes, .. } => match parse(path, &bytes.0) {
            Ok(value) => Read::Ready(value),
            Err(error) => Read::Broken(error),
        },
    }
}

/// The fixtures root is disjoint from contract, properties and production (protocol 3.2).
fn check_roots(lock: &Lock, config: &RepoConfig, path: &str) -> Result<(), ContractError> {
    let contract: Vec<&str> = Layer::ALL
        .iter()
        .map(|layer| config.guarded_path(*layer))
        .collect();
    let properties = classes::property_globs(config);
    let production = classes::production_globs(config);
    let guarded = lock::Guarded {
        contract: &contract,
        properties: &properties,
        production: &production,
    };
    lock::check_roots(lock, guarded, path)
}
