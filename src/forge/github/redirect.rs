//! Answers that come from another address than the one that was asked.
//!
//! A repository's old name leads to where it is now. Invariants: no credential goes to another host (the
//! transport drops it there), and no answer of another host is believed.

use http::{Extensions, Uri};
use serde::Deserialize;
use tower_http::follow_redirect::RequestUri;

use crate::forge::ForgeError;
use crate::model::{InstallationId, RepoName};

use super::client::App;
use super::transport::{Answer, Call};

/// Who answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The address that was asked.
    Straight,
    /// Another one of the same forge.
    Redirected,
    /// Another host, or nobody knows who.
    Elsewhere,
}

impl Way {
    /// `origin` is the forge's; `asked` the address below it.
    pub fn of(extensions: &Extensions, origin: &str, asked: &Uri) -> Self {
        let Some(RequestUri(from)) = extensions.get::<RequestUri>() else {
            return Self::Elsewhere;
        };
        let host = from.scheme_str().zip(from.authority());
        if host.is_none_or(|(scheme, host)| format!("{scheme}://{host}") != origin) {
            Self::Elsewhere
        } else if from.path_and_query() == asked.path_and_query() {
            Self::Straight
        } else {
            Self::Redirected
        }
    }
}

pub(super) fn elsewhere(call: &Call) -> ForgeError {
    ForgeError::Malformed(format!("{}: another host answered", call.name()))
}

/// The answer, with how it came. What a name leads to, and can't be seen there, is another owner's.
pub(super) fn seen(way: Way, answer: Result<Answer, ForgeError>) -> Result<Answer, ForgeError> {
    match (way, answer) {
        (Way::Redirected, Ok(answer)) => Ok(Answer {
            redirected: true,
            ..answer
        }),
        (Way::Redirected, Err(ForgeError::NotFound(_) | ForgeError::Forbidden(_))) => {
            Err(ForgeError::OutOfReach)
        }
        (_, answer) => answer,
    }
}

/// What a name leads to.
#[derive(Debug, Deserialize)]
struct Found {
    id: u64,
    full_name: RepoName,
}

impl App {
    /// Why `repo` can't be worked with by this name, once the forge showed that it can't: another name, or
    /// an owner out of reach. `None` if the name is right.
    pub(super) async fn moved(
        &self,
        installation: InstallationId,
        repo: &RepoName,
    ) -> Result<Option<ForgeError>, ForgeError> {
        let token = self.token_for_all(installation).await?;
        let call = Call::get(format!("/repos/{repo}"));
        let answer = self.send_with(&call, token).await?;
        let Found { id, full_name } = answer.json(&call)?;
        let same = full_name.as_str().eq_ignore_ascii_case(repo.as_str());
        Ok((!same).then_some(ForgeError::Renamed { id, to: full_name }))
    }
}
