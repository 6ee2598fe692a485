//! What can go wrong with a request to the forge, as far as a caller acts on it.

use chrono::{DateTime, Utc};

use crate::model::RepoName;

/// Why the forge gave no usable answer. Each text names the request, and holds no credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    /// 404: it does not exist, or this App may not see it.
    #[error("not found: {0}")]
    NotFound(String),
    /// 401 with a token that was made a moment ago, or with the App's own signature.
    #[error("the forge refuses this App's credentials: {0}")]
    Unauthorized(String),
    /// 403 that is no rate limit: a permission is missing.
    #[error("not allowed: {0}")]
    Forbidden(String),
    /// A primary or secondary limit; nothing is worth asking before `until`.
    #[error("rate limited until {until}")]
    RateLimited { until: DateTime<Utc> },
    /// This repository has used its share of the installation's requests; what is left is for the others.
    #[error("this repository has used its share of the forge's requests until {until}")]
    OverShare { until: DateTime<Utc> },
    /// The job is another worker's by now: nothing was sent.
    #[error("another worker has taken the job over")]
    LeaseLost,
    /// The repository goes by another name; `id` is the forge's own for it.
    #[error("the repository is called {to} now")]
    Renamed { id: u64, to: RepoName },
    /// The repository's name leads to another owner's, which this installation does not see; or the installation
    /// is suspended.
    #[error(
        "the repository is out of this installation's reach: it has another owner, or the installation is suspended"
    )]
    OutOfReach,
    /// A redirect that was not followed.
    #[error("the forge redirects {0}")]
    Redirected(String),
    /// 410.
    #[error("gone: {0}")]
    Gone(String),
    /// 400, 409 or 422: the request itself is wrong or comes at the wrong state; repeating it is of no use.
    #[error("the forge refused the request: {0}")]
    Validation(String),
    /// Time-out, broken connection or 5xx: worth another try later. A write may have taken effect.
    #[error("the forge did not answer: {0}")]
    Transient(String),
    /// The answer is larger than is read.
    #[error("the answer to {what} is larger than {limit} bytes")]
    TooLarge { what: String, limit: usize },
    /// The answer is not what the API promises.
    #[error("the forge's answer makes no sense: {0}")]
    Malformed(String),
}

impl ForgeError {
    /// The kind of error in one word, for counting.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "not_found",
            Self::Unauthorized(_) => "unauthorized",
            Self::Forbidden(_) => "forbidden",
            Self::RateLimited { .. } => "rate_limited",
            Self::OverShare { .. } => "over_share",
            Self::LeaseLost => "lease_lost",
            Self::Renamed { .. } => "renamed",
            Self::OutOfReach => "out_of_reach",
            Self::Redirected(_) => "redirected",
            Self::Gone(_) => "gone",
            Self::Validation(_) => "refused",
            Self::Transient(_) => "no_answer",
            Self::TooLarge { .. } => "too_large",
            Self::Malformed(_) => "malformed",
        }
    }
}
