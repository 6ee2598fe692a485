//! Plain data that every room shares: identifiers, the facts a decision needs, and the decision.
//!
//! PURE. Invariant: what could not be had is a value here ([`Fact`], [`BlobFact`]), never an empty list.

mod checks;
mod decision;
mod ids;
mod lane;
mod merge_group;
mod node_id;
mod people;
mod review;
mod rules;
mod snapshot;
mod source;

pub use checks::{ForeignCheck, Requirement};
pub use decision::*;
pub use ids::*;
pub use lane::{Action, LANE_SCHEMA, LaneFact, LaneResult, ScopeChange};
pub use merge_group::{MergeGroup, named_pull};
pub use node_id::NodeId;
pub use people::Permission;
pub use review::{Person, Review, ReviewOutcome, Reviews, Says, Standing, Tie, Tied};
pub use snapshot::*;
pub use source::*;
