//! The fixtures that a property reads, and their digest (protocol 3.6 and 4).

use anyhow::{bail, ensure};

use super::ground::Ground;
use crate::config::repo::RepoConfig;
use crate::contract::catalog::{self, Property};
use crate::contract::glob::GlobList;
use crate::contract::{lock, seeds};
use crate::digest;
use crate::git::Files;
use crate::model::{BlobFact, Fact, FileDigest, Layer, NodeId};

/// The scope of one property on one tree.
pub struct Scope {
    /// By the catalog, or the node id itself.
    pub property_id: String,
    /// Globs from the repository's root.
    pub globs: Vec<String>,
    /// A catalogued glob that matches no file.
    pub missing: Option<String>,
    pub digest: String,
    /// The catalog's seed, or the first of the corpus.
    pub seed: Option<i64>,
}

impl Scope {
    pub fn of(ground: &Ground, node: &NodeId) -> anyhow::Result<Self> {
        let files = &ground.files;
        let property = property(ground, node)?;
        let corpus = contract(&ground.files, &ground.config, Layer::Seeds)?;
        let corpus = corpus
            .map(|(path, bytes)| seeds::parse(&path, &bytes))
            .transpose()?;
        let first = corpus.iter().flat_map(|corpus| &corpus.nodes);
        let first = first
            .filter(|row| row.nodeid == *node)
            .flat_map(|row| &row.seeds)
            .next();
        let seed = property
            .as_ref()
            .and_then(|row| row.seed.as_ref())
            .or(first);
        let seed = seed
            .map(ToString::to_string)
            .and_then(|seed| seed.parse().ok());
        let globs = match &property {
            Some(property) => property.fixtures.clone(),
            None => roots(ground)?
                .iter()
                .map(|root| format!("{root}/**"))
                .collect(),
        };
        let missing = match &property {
            Some(_) => missing(files, &globs)?,
            None => None,
        };
        let property_id = property.map_or_else(|| node.to_string(), |row| row.property_id);
        Ok(Self {
            property_id,
            digest: digest_of(files, &globs)?,
            globs,
            missing,
            seed,
        })
    }
}

fn property(ground: &Ground, node: &NodeId) -> anyhow::Result<Option<Property>> {
    let Some((path, bytes)) = contract(&ground.files, &ground.config, Layer::Catalog)? else {
        return Ok(None);
    };
    let rows = catalog::parse(&path, &bytes)?.properties;
    Ok(rows.into_iter().find(|row| row.nodeid == *node))
}

/// The digest of the file that a test stands in; `None` where it cannot be read.
pub fn test_digest(files: &Files, node: &NodeId) -> Option<FileDigest> {
    match files.read(node.path()) {
        Ok(BlobFact::Content { bytes, .. }) => Some(digest::blob(&bytes.0).sha256),
        _ => None,
    }
}

fn roots(ground: &Ground) -> anyhow::Result<Vec<String>> {
    Ok(
        match contract(&ground.files, &ground.config, Layer::Lock)? {
            Some((path, bytes)) => lock::parse(&path, &bytes)?.roots,
            None => vec!["tests/fixtures".to_owned()],
        },
    )
}

/// A contract file of the tree, with its path; `None` when it is not there or off.
pub fn contract(
    files: &Files,
    config: &RepoConfig,
    layer: Layer,
) -> anyhow::Result<Option<(String, Vec<u8>)>> {
    let Some(path) = config.layer_path(layer) else {
        return Ok(None);
    };
    match files.read(path)? {
        BlobFact::Absent => Ok(None),
        BlobFact::Content { bytes, .. } => Ok(Some((path.to_owned(), bytes.0))),
        _ => bail!(
            "{path} in {} cannot be read; `frostline ledger validate` says why",
            files.name()
        ),
    }
}

fn missing(files: &Files, globs: &[String]) -> anyhow::Result<Option<String>> {
    let entries = files.below(&[String::new()])?;
    for glob in globs {
        let one = GlobList::new([glob.as_str()])?;
        if !entries.iter().any(|entry| one.is_match(&entry.path)) {
            return Ok(Some(glob.clone()));
        }
    }
    Ok(None)
}

fn digest_of(files: &Files, globs: &[String]) -> anyhow::Result<String> {
    let globs = GlobList::new(globs.iter().map(String::as_str))?;
    let mut entries = files.below(&[String::new()])?;
    entries.retain(|entry| globs.is_match(&entry.path));
    let digests = files.digests(&entries);
    let mut pinned = Vec::with_capacity(entries.len());
    for entry in &entries {
        let Some(Fact::Known(digest)) = digests.get(&entry.id) else {
            bail!(
                "the fixture {} cannot be read, so its digest is not known",
                entry.path
            );
        };
        ensure!(
            entry.opaque.is_none(),
            "the fixture {} has no digest that can be relied on: {}",
            entry.path,
            entry.opaque.as_deref().unwrap_or_default()
        );
        pinned.push((entry.path.as_bytes(), digest.of_file(entry.lfs)));
    }
    Ok(digest::manifest(pinned))
}
