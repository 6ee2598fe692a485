//! Who calls: the App by its signed token, or an installation by the token it was given.

use std::collections::BTreeSet;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use chrono::TimeDelta;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;

use super::key::AppKey;
use super::model::{Access, Permissions, State};
use super::reply::Refusal;
use super::routes::SUSPENDED;

/// An authenticated caller.
#[derive(Debug, Clone)]
pub enum Caller {
    App,
    Installation {
        permissions: Permissions,
        /// Full names.
        repositories: std::collections::BTreeSet<String>,
    },
}

#[derive(Deserialize)]
struct Claims {
    iss: serde_json::Value,
    iat: i64,
    exp: i64,
}

impl Caller {
    /// Finds out who sent these headers.
    pub fn of(headers: &HeaderMap, state: &State, key: &AppKey) -> Result<Self, Refusal> {
        let header = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let Some((scheme, token)) = header.and_then(|value| value.split_once(' ')) else {
            return Err(Refusal::new(401, "Requires authentication"));
        };
        if !scheme.eq_ignore_ascii_case("bearer") && !scheme.eq_ignore_ascii_case("token") {
            return Err(Refusal::new(401, "Bad credentials"));
        }
        if token.starts_with("ghs_") {
            return Self::by_token(token, state);
        }
        check_app_token(token, state, key)?;
        Ok(Self::App)
    }

    fn by_token(token: &str, state: &State) -> Result<Self, Refusal> {
        let bad = || Refusal::new(401, "Bad credentials");
        let token = state.tokens.get(token).ok_or_else(bad)?;
        if token.expires_at <= state.now() {
            return Err(bad());
        }
        let installation = state
            .installations
            .get(&token.installation)
            .ok_or_else(bad)?;
        if installation.suspended {
            return Err(Refusal::new(403, SUSPENDED));
        }
        let mut repositories = installation.repositories.clone();
        if let Some(narrowed) = &token.repositories {
            repositories.retain(|name| narrowed.contains(name));
        }
        // A right that was taken from the installation is gone from its tokens too.
        let mut permissions = token.permissions.clone();
        permissions.retain(|name, access| {
            installation
                .permissions
                .get(name)
                .is_some_and(|has| has >= access)
        });
        Ok(Self::Installation {
            permissions,
            repositories,
        })
    }

    /// Only the App itself may go on.
    pub fn must_be_app(&self) -> Result<(), Refusal> {
        match self {
            Self::App => Ok(()),
            Self::Installation { .. } => {
                Err(Refusal::new(401, "A JSON web token could not be decoded"))
            }
        }
    }

    /// What an installation sees.
    pub fn repositories(&self) -> Result<&BTreeSet<String>, Refusal> {
        match self {
            Self::Installation { repositories, .. } => Ok(repositories),
            Self::App => Err(Refusal::new(
                403,
                "This endpoint needs an installation's access token",
            )),
        }
    }

    /// Only an installation that was given the right may go on.
    pub fn may_read_members(&self) -> Result<(), Refusal> {
        match self {
            Self::Installation { permissions, .. } if permissions.contains_key("members") => Ok(()),
            _ => Err(Refusal::new(403, "Resource not accessible by integration")),
        }
    }

    /// Only an installation that sees `repo` and has one of the rights may go on.
    pub fn may(&self, repo: &str, any_of: &[(&str, Access)]) -> Result<(), Refusal> {
        let Self::Installation {
            permissions,
            repositories,
        } = self
        else {
            return Err(Refusal::new(
                403,
                "This endpoint needs an installation's access token",
            ));
        };
        if !repositories
            .iter()
            .any(|name| name.eq_ignore_ascii_case(repo))
        {
            return Err(Refusal::not_found());
        }
        let has = |(name, access): &(&str, Access)| {
            *name == "metadata" || permissions.get(*name).is_some_and(|has| has >= access)
        };
        if any_of.iter().any(has) {
            Ok(())
        } else {
            Err(Refusal::new(403, "Resource not accessible by integration"))
        }
    }
}

/// RS256 by the App's key; issued by the App, not in the future, and for at most ten minutes.
fn check_app_token(token: &str, state: &State, key: &AppKey) -> Result<(), Refusal> {
    let mut validation = Validation::new(Algorithm::RS256);
    validation.validate_exp = false;
    validation.required_spec_claims.clear();
    let undecodable = || Refusal::new(401, "A JSON web token could not be decoded");
    let public = DecodingKey::from_rsa_pem(key.public_pem().as_bytes())
        .map_err(|_| Refusal::new(500, "the App's own key is unreadable"))?;
    let claims = jsonwebtoken::decode::<Claims>(token, &public, &validation)
        .map_err(|_| undecodable())?
        .claims;
    let issuer = claims
        .iss
        .as_str()
        .map_or_else(|| claims.iss.to_string(), str::to_owned);
    if issuer != state.app_id.to_string() {
        return Err(Refusal::new(
            401,
            "'Issuer' claim ('iss') must be the App's id",
        ));
    }
    let now = state.now().timestamp();
    if claims.iat > now {
        return Err(Refusal::new(
            401,
            "'Issued at' claim ('iat') must be in the past",
        ));
    }
    if claims.exp <= now {
        return Err(Refusal::new(
            401,
            "'Expiration time' claim ('exp') must be in the future",
        ));
    }
    if claims.exp - claims.iat.max(now - 60) > TimeDelta::minutes(10).num_seconds() {
        return Err(Refusal::new(
            401,
            "'Expiration time' claim ('exp') is too far in the future",
        ));
    }
    Ok(())
}

/// A new token: its form tells nothing, as with the real forge.
pub fn mint() -> String {
    let bytes: [u8; 27] = rand::random();
    let text = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    format!("ghs_{}", text.replace(['-', '_'], "x"))
}
