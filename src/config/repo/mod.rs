//! `.github/frostline.yml`: the configuration of one repository (protocol 3.1). PURE.

mod lane;
mod parse;

use std::collections::BTreeMap;

use crate::model::{BlobFact, CommentPolicy, Effect, Layer, Rule};

pub use parse::parse;

/// Whether refusals block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Enforce,
    Observe,
}

/// Whom everything binds (protocol 5.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ApplyTo {
    #[default]
    Agents,
    All,
}

/// Additions to the built-in table of agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agents {
    pub logins: Vec<String>,
    pub branches: Vec<String>,
    pub labels: Vec<String>,
    pub trailers: Vec<String>,
    pub exclude_logins: Vec<String>,
}

/// Globs per class, as written (a leading `!` removes); protocol section 2.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths {
    pub production: Vec<String>,
    pub properties: Vec<String>,
    pub inline_properties: Vec<String>,
    pub harness: Vec<String>,
    pub golden: Vec<String>,
    pub tests: Vec<String>,
    pub notes: Vec<String>,
    pub sensitive: Vec<String>,
    pub ignored: Vec<String>,
}

/// Where a layer lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerSetting {
    Path(String),
    Off,
}

/// The configuration with every default filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepoConfig {
    pub mode: Mode,
    pub apply_to: ApplyTo,
    /// Exact names of the guarded branches beside the default branch.
    pub branches: Vec<String>,
    pub agents: Agents,
    pub paths: Paths,
    /// Only layers that the file moves or switches off.
    pub contract: BTreeMap<Layer, LayerSetting>,
    /// Only rules whose effect the file changes; already checked against protocol 5.2.
    pub rules: BTreeMap<Rule, Effect>,
    pub comments: CommentPolicy,
    /// `review.author_may_accept`: a maintainer may accept a pull request of their own.
    pub author_may_accept: bool,
    /// `audit.issue: false`: what an audit of the default branch finds is told by its check-run alone.
    pub no_audit_issue: bool,
    /// `lane.runners`: runners that a replay line may name beside pytest.
    pub runners: Vec<String>,
    /// Those of them that the file says how to run; the first whose files fit is taken.
    pub commands: Vec<RunnerCommand>,
    pub lane: LaneSettings,
}

/// A runner that the lane starts by a command of the configuration, and that writes a JUnit report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerCommand {
    pub name: String,
    /// Globs of the files whose tests it runs.
    pub files: Vec<String>,
    /// The program and its words, with `{nodeid}`, `{seed}` and `{report}` to be filled in.
    pub command: Vec<String>,
}

/// How tests are run; what is `None` is the lane's own default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaneSettings {
    /// The most runs of a window.
    pub max_runs: Option<u64>,
    /// Seconds that one run may take.
    pub timeout: Option<u64>,
    /// Runs at the same time.
    pub workers: Option<u64>,
}

impl RepoConfig {
    /// What the configuration file of a tree says; the defaults where it is not there or can't be read
    /// (which refuses by itself).
    pub fn of(file: &BlobFact) -> Self {
        match file {
            BlobFact::Content { bytes, .. } => {
                parse(Layer::Config.default_path(), &bytes.0).unwrap_or_default()
            }
            _ => Self::default(),
        }
    }

    /// Where `layer` lives; `None` when it is off.
    pub fn layer_path(&self, layer: Layer) -> Option<&str> {
        match self.contract.get(&layer) {
            Some(LayerSetting::Path(path)) => Some(path),
            Some(LayerSetting::Off) => None,
            None => Some(layer.default_path()),
        }
    }

    pub fn is_off(&self, layer: Layer) -> bool {
        self.layer_path(layer).is_none()
    }

    /// The path that is of class contract for `layer`: where it lives, or its default path when off.
    pub fn guarded_path(&self, layer: Layer) -> &str {
        self.layer_path(layer).unwrap_or(layer.default_path())
    }
}
