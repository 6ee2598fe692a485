//! The decision as JSON, `frostline.decision/1` (interfaces section 2).

use serde::{Deserialize, Serialize};

use super::{
    AuthorKind, ChangeStatus, Hunk, Requirement, ReviewOutcome, Sha, Standing, Stats, Subject,
};

/// Value of [`Decision::schema`].
pub const DECISION_SCHEMA: &str = "frostline.decision/1";

/// What the gate says of a write-set (protocol 5.3). Ordered: a greater one is stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Only when the default branch's tip has not opted in.
    NotApplicable,
    Pass,
    AllowRecheck,
    HumanReview,
    Refuse,
}

/// What one finding does to the verdict. Ordered: a greater one is stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Notice,
    AllowRecheck,
    HumanReview,
    Refuse,
}

/// Result of a step: its strongest effect, or that nothing was found, or that the layer is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepResult {
    Off,
    Pass,
    Notice,
    AllowRecheck,
    HumanReview,
    Refuse,
}

/// Class of a path (protocol section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    Contract,
    Fixture,
    Property,
    Harness,
    Golden,
    Test,
    Production,
    Note,
    Other,
}

macro_rules! names {
    ($type:ident { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name that JSON, tables and documentation use.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(()),
                }
            }
        }
    };
}

names!(Verdict {
    NotApplicable => "not_applicable",
    Pass => "pass",
    AllowRecheck => "allow_recheck",
    HumanReview => "human_review",
    Refuse => "refuse",
});
names!(Effect {
    Notice => "notice",
    AllowRecheck => "allow_recheck",
    HumanReview => "human_review",
    Refuse => "refuse",
});
names!(StepResult {
    Off => "off",
    Pass => "pass",
    Notice => "notice",
    AllowRecheck => "allow_recheck",
    HumanReview => "human_review",
    Refuse => "refuse",
});
names!(Class {
    Contract => "contract",
    Fixture => "fixture",
    Property => "property",
    Harness => "harness",
    Golden => "golden",
    Test => "test",
    Production => "production",
    Note => "note",
    Other => "other",
});

impl Class {
    /// "1 fixture", "2 production files": so many paths of the class.
    pub fn counted(self, count: usize) -> String {
        let noun = match self {
            Self::Fixture | Self::Note => self.name().to_owned(),
            _ => format!("{} file", self.name()),
        };
        let ending = if count == 1 { "" } else { "s" };
        format!("{count} {noun}{ending}")
    }
}

names!(PropertyState {
    Live => "live",
    Frozen => "frozen",
    Void => "void",
    Local => "local",
    Ghost => "ghost",
    Disabled => "disabled",
});
names!(FreezeState {
    Open => "open",
    Void => "void",
    Invalid => "invalid",
    Expired => "expired",
    Unbound => "unbound",
});
names!(Rule {
    ContractUnreadable => "contract-unreadable",
    Undetermined => "undetermined",
    ForeignCheck => "foreign-check",
    OwnProposal => "own-proposal",
    LaneBlock => "lane-block",
    LaneNoise => "lane-noise",
    ContractWithProduction => "contract-with-production",
    TestsWithProduction => "tests-with-production",
    LedgerInWriteSet => "ledger-in-write-set",
    ContractChanged => "contract-changed",
    FixtureChanged => "fixture-changed",
    PropertyChanged => "property-changed",
    MissingFixture => "missing-fixture",
    DigestMismatch => "digest-mismatch",
    UnlockedFixture => "unlocked-fixture",
    OpaqueFixture => "opaque-fixture",
    CatalogBroken => "catalog-broken",
    FixtureNoteMissing => "fixture-note-missing",
    UnmappedPath => "unmapped-path",
    CoverageHole => "coverage-hole",
    SpecificRuleDark => "specific-rule-dark",
    SensitiveFreeze => "sensitive-freeze",
    VoidFreeze => "void-freeze",
    InvalidFreeze => "invalid-freeze",
    DanglingFreeze => "dangling-freeze",
    GhostProperty => "ghost-property",
    DisabledProperty => "disabled-property",
    SelfRewritingTest => "self-rewriting-test",
    GoldenChanged => "golden-changed",
    SupportChanged => "support-changed",
    TestsRemoved => "tests-removed",
    HarnessChanged => "harness-changed",
    NoProduction => "no-production",
    TestChanged => "test-changed",
    UnclassifiedCode => "unclassified-code",
    PathCollision => "path-collision",
    LinkInPlace => "link-in-place",
    LiveSetShrank => "live-set-shrank",
    LoosePrefix => "loose-prefix",
    UnboundFreeze => "unbound-freeze",
    UnusedRule => "unused-rule",
    DeadPrefix => "dead-prefix",
    LockShrank => "lock-shrank",
    SeedInSource => "seed-in-source",
});

/// A rule of protocol 5.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    ContractUnreadable,
    Undetermined,
    ForeignCheck,
    OwnProposal,
    LaneBlock,
    LaneNoise,
    ContractWithProduction,
    TestsWithProduction,
    LedgerInWriteSet,
    ContractChanged,
    FixtureChanged,
    PropertyChanged,
    MissingFixture,
    DigestMismatch,
    UnlockedFixture,
    OpaqueFixture,
    CatalogBroken,
    FixtureNoteMissing,
    UnmappedPath,
    CoverageHole,
    SpecificRuleDark,
    SensitiveFreeze,
    VoidFreeze,
    InvalidFreeze,
    DanglingFreeze,
    GhostProperty,
    DisabledProperty,
    SelfRewritingTest,
    GoldenChanged,
    SupportChanged,
    TestsRemoved,
    HarnessChanged,
    NoProduction,
    TestChanged,
    UnclassifiedCode,
    PathCollision,
    LinkInPlace,
    LiveSetShrank,
    LoosePrefix,
    UnboundFreeze,
    UnusedRule,
    DeadPrefix,
    LockShrank,
    SeedInSource,
}

impl Serialize for Rule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse()
            .map_err(|()| serde::de::Error::custom(format!("unknown rule {name:?}")))
    }
}

/// One reason for the verdict, or one thing worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    pub rule: Rule,
    pub effect: Effect,
    /// `null` for findings about no path (`undetermined`, `no-production`).
    pub path: Option<String>,
    /// 1-based line of `path`: of head's text for production, of the file itself for contract files.
    pub line: Option<u32>,
    pub nodeid: Option<String>,
    pub owner: Option<String>,
    /// One sentence: what is wrong.
    pub message: String,
    /// One sentence: the way out.
    pub fix: String,
}

/// The step that decided and, where a finding did, its rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedBy {
    pub step: u8,
    pub rule: Option<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionAuthor {
    pub kind: AuthorKind,
    pub login: Option<String>,
    pub evidence: String,
}

/// A path of the write-set with its class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassifiedChange {
    pub path: String,
    pub old_path: Option<String>,
    pub status: ChangeStatus,
    pub class: Class,
    pub hunks: Vec<Hunk>,
}

/// A row of the decision table (protocol 5.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub step: u8,
    pub name: String,
    pub result: StepResult,
    pub detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PropertyState {
    Live,
    Frozen,
    Void,
    Local,
    Ghost,
    Disabled,
}

/// A property that the map lists for a production path, and whether it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedProperty {
    pub nodeid: String,
    pub state: PropertyState,
    pub why: String,
}

/// How one production path of the write-set is covered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    pub path: String,
    /// `path_prefix` of every matching rule; none where they are left out for the patch's author.
    pub rules: Vec<String>,
    /// Live properties (distinct functions) that are needed.
    pub min_live: u64,
    /// Live properties (distinct functions) that there are: of all matching rules together, or of the
    /// one that falls short of its own `min_live`. A hole is where this is less than `min_live`.
    pub live: u64,
    pub properties: Vec<ListedProperty>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FreezeState {
    Open,
    Void,
    Invalid,
    Expired,
    Unbound,
}

impl FreezeState {
    /// Whether a row in this state takes its test's vote.
    pub fn takes_vote(self) -> bool {
        matches!(self, Self::Open | Self::Unbound)
    }
}

/// The fixture scope of a node, with its digest at both ends of the patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixtureScope {
    pub nodeid: String,
    /// Globs from the repository root.
    pub scope: Vec<String>,
    /// At the base tip, and in the merged tree; `null` where there is none, or it could not be had.
    pub before: Option<String>,
    pub after: Option<String>,
}

/// A row that is not closed, of whatever file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreezeRow {
    pub nodeid: String,
    pub source: String,
    /// 1-based line of the row in `source`.
    #[serde(default)]
    pub line: u32,
    pub state: FreezeState,
    pub reason: String,
    /// Why it is in this state: a clause, or nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    pub recorded_digest: Option<String>,
    /// The digest of its fixture scope in the merged tree, in the form of the recorded one.
    #[serde(default)]
    pub current_digest: Option<String>,
    pub owner: Option<String>,
    pub opened_at: Option<String>,
    /// When it becomes void by date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// It blocks a property that the map lists for a path of this write-set, or the patch changes its scope.
    pub touches_patch: bool,
}

/// What the gate says, and why. The same Snapshot gives the same bytes, `stats` aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Always [`DECISION_SCHEMA`].
    pub schema: String,
    /// Left out of the JSON for an ordinary patch.
    #[serde(default, skip_serializing_if = "Subject::is_patch")]
    pub subject: Subject,
    pub verdict: Verdict,
    /// `mode: observe`: the verdict is shown, and nothing is blocked.
    pub observe: bool,
    pub decided_by: DecidedBy,
    /// Where a person has to approve: what an approval is given on (protocol 5.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_key: Option<String>,
    /// Where a person has to approve, and reviews were looked at: what they come to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewOutcome>,
    pub repository: String,
    pub branch: String,
    pub into_unguarded: Option<String>,
    /// What the branch's rules say of the check that shows this; changes no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Requirement>,
    pub base: Sha,
    pub merge_base: Option<Sha>,
    pub head: Sha,
    pub author: DecisionAuthor,
    /// Whether everything binds; `false` for a person under `apply_to: agents`.
    pub bound: bool,
    /// What publishing may comment on.
    pub comments: CommentPolicy,
    pub write_set: Vec<ClassifiedChange>,
    pub table: Vec<Step>,
    /// Scopes of the properties that this patch needs, of each row's node, and of each property whose
    /// fixtures the patch changes.
    #[serde(default)]
    pub fixtures: Vec<FixtureScope>,
    pub findings: Vec<Finding>,
    pub coverage: Vec<Coverage>,
    /// Every row that is not closed; `None` where they are left out (`--for-agent`), and then
    /// [`Coverage::properties`] are too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freezes: Option<Vec<FreezeRow>>,
    pub stats: Stats,
}

impl Decision {
    /// A person had to approve, and one did.
    pub fn is_approved(&self) -> bool {
        let review = self.review.as_ref();
        self.verdict == Verdict::HumanReview
            && review.is_some_and(|review| review.standing == Standing::Approved)
    }
}

/// `comments:` of the configuration: when the one comment exists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentPolicy {
    #[default]
    Holes,
    Always,
    Never,
}
