//! `map`: a rule that has properties guard a path.

use super::{Proposal, ProposedFile, Unproposed, base_text, label, tag};
use crate::contract::map::{self, MapRule};
use crate::contract::rows::Edit;
use crate::model::{Layer, NodeId, Snapshot};

/// Proposes that `properties` guard `path`: in the rule of that very prefix, or in one of its own.
///
/// # Errors
/// The sentence that says why nothing can be proposed.
pub fn map(snapshot: &Snapshot, path: &str, properties: &[NodeId]) -> Result<Proposal, Unproposed> {
    let (file, text) = base_text(snapshot, Layer::Map)?;
    let existing = text
        .map(|text| map::parse(file, text.as_bytes()))
        .transpose()?;
    let rules = existing.map_or_else(Vec::new, |map| map.rules);
    let at = rules.iter().position(|rule| rule.path_prefix == path);
    let mut rule = match at {
        Some(at) => rules[at].clone(),
        None => MapRule {
            path_prefix: path.to_owned(),
            live_properties: Vec::new(),
            min_live: None,
            line: 0,
        },
    };
    let listed = rule.live_properties.len();
    for property in properties {
        if !rule.live_properties.contains(property) {
            rule.live_properties.push(property.clone());
        }
    }
    if rule.live_properties.len() == listed {
        return Err(Unproposed(format!(
            "{file} lists {} for {path} already",
            if properties.len() == 1 { "it" } else { "them" }
        )));
    }
    let edit = match at {
        Some(at) => Edit::Replace(at, rule),
        None => Edit::Add(rule),
    };
    let new = map::edit(file, text.map(str::as_bytes), &edit)?;
    Ok(Proposal {
        subject: format!("map/{}", tag(path)),
        title: format!("Guard {}", label(path)),
        files: vec![ProposedFile::text(file, text, new)?],
        digests: Vec::new(),
        remark: None,
    })
}
