//! Requests about people: what they may do, and how their comments are answered.

use http::Method;
use serde_json::json;

use crate::forge::ForgeError;
use crate::model::{Fact, Permission, PrNumber};

use super::client::Client;
use super::endpoints::segment;
use super::transport::Call;
use super::wire::Review;

/// Reviews that are read.
const MOST_REVIEWS: usize = 3_000;

/// A reaction to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Seen.
    Eyes,
    /// Done.
    Rocket,
    /// Not done.
    Confused,
}

impl Reaction {
    fn name(self) -> &'static str {
        match self {
            Self::Eyes => "eyes",
            Self::Rocket => "rocket",
            Self::Confused => "confused",
        }
    }
}

#[derive(serde::Deserialize)]
struct Collaborator {
    /// admin, write, read, none: maintain counts as write, triage as read.
    permission: String,
    #[serde(default)]
    role_name: String,
    user: Option<User>,
}

#[derive(serde::Deserialize)]
struct User {
    permissions: Option<Flags>,
}

/// What a role allows, whatever it is called.
#[derive(serde::Deserialize)]
struct Flags {
    #[serde(default)]
    maintain: bool,
}

impl Client {
    /// Reacts to a comment of a conversation; the same reaction twice is one.
    pub async fn react(&self, comment: u64, reaction: Reaction) -> Result<(), ForgeError> {
        let path = self.path(&format!("/issues/comments/{comment}/reactions"));
        let body = json!({"content": reaction.name()});
        let _: serde::de::IgnoredAny = self.write(Method::POST, path, body).await?;
        Ok(())
    }

    /// Reviews of a pull request, oldest first; the flag says whether these are all.
    pub async fn reviews(&self, number: PrNumber) -> Result<(Vec<Review>, bool), ForgeError> {
        let path = self.path(&format!("/pulls/{number}/reviews"));
        let mut reviews: Vec<Review> = Vec::new();
        for page in 1.. {
            let (rows, more) = self.page(&path, page, Vec::len).await?;
            reviews.extend::<Vec<Review>>(rows);
            if !more {
                break;
            }
            if reviews.len() >= MOST_REVIEWS {
                return Ok((reviews, false));
            }
        }
        Ok((reviews, true))
    }

    /// Whether an account is an active member of a team of the repository's organisation.
    pub async fn is_member(
        &self,
        (org, team): (&str, &str),
        login: &str,
    ) -> Result<Fact<bool>, ForgeError> {
        #[derive(serde::Deserialize)]
        struct Membership {
            state: String,
        }
        if !org.eq_ignore_ascii_case(self.repo().owner()) {
            return Ok(Fact::Known(false));
        }
        let path = format!(
            "/orgs/{}/teams/{}/memberships/{}",
            segment(org),
            segment(team),
            segment(login)
        );
        let call = Call::get(path);
        let answer = match self.about_members(&call).await {
            Ok(answer) => answer,
            // No member, or no such team.
            Err(ForgeError::NotFound(_)) => return Ok(Fact::Known(false)),
            Err(ForgeError::Validation(_) | ForgeError::Forbidden(_)) => {
                let why = "this App may not read the organisation's members";
                return Ok(Fact::Unavailable(why.to_owned()));
            }
            Err(error) => return Err(error),
        };
        let membership: Membership = answer.json(&call)?;
        Ok(Fact::Known(membership.state == "active"))
    }

    /// What an account may do in the repository now.
    pub async fn permission(&self, login: &str) -> Result<Permission, ForgeError> {
        let path = self.path(&format!("/collaborators/{}/permission", segment(login)));
        let answer: Collaborator = match self.read(path).await {
            Ok(answer) => answer,
            // No collaborator, or no such account.
            Err(ForgeError::NotFound(_)) => return Ok(Permission::None),
            Err(error) => return Err(error),
        };
        let maintains = answer.role_name == "maintain"
            || answer
                .user
                .and_then(|user| user.permissions)
                .is_some_and(|flags| flags.maintain);
        Ok(match answer.permission.as_str() {
            "admin" => Permission::Admin,
            "write" if maintains => Permission::Maintain,
            "write" => Permission::Write,
            "read" => Permission::Read,
            _ => Permission::None,
        })
    }
}
