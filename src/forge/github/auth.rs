//! The App's signature and the installation tokens that it buys.
//!
//! Invariant: however many requests need a token at once, one is minted; each token is good for one
//! repository and for no more than [`PERMISSIONS`] (or [`PROPOSING`], or [`TRACKING`]), and what only reads has a token that
//! can't write.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderValue, Method};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::{Deserialize, Serialize};

use crate::forge::ForgeError;
use crate::model::{InstallationId, RepoName};

use super::transport::{self, Answer, Call, Transport};

/// What tokens are asked for: what the requests of this room need and nothing else. The App's manifest
/// asks for the same (a test compares).
pub const PERMISSIONS: &[(&str, &str)] = &[
    ("checks", "write"),
    ("contents", "read"),
    ("metadata", "read"),
    ("pull_requests", "write"),
];

/// What a token is asked for that puts a commit on a branch of the App's and opens a pull request. The App's
/// manifest does not ask for it: who wants such pull requests grants it.
pub const PROPOSING: &[(&str, &str)] = &[
    ("contents", "write"),
    ("metadata", "read"),
    ("pull_requests", "write"),
];

/// What a token is asked for that writes the issue of the audit. The App's manifest asks to read issues only.
pub const TRACKING: &[(&str, &str)] = &[("issues", "write"), ("metadata", "read")];

/// A token is not used in its last minutes: a request must end while it is valid.
const EXPIRY_MARGIN: TimeDelta = TimeDelta::minutes(3);
/// Clocks that are less apart, in seconds, are no reason for the forge to refuse a signature.
const LEAST_SKEW: u64 = 30;
/// Most tokens kept at a time.
const CACHED_TOKENS: u64 = 10_000;

/// The App's numeric id and private key. Shows neither in `Debug`.
#[derive(Clone)]
pub struct AppKey {
    id: u64,
    key: EncodingKey,
}

impl fmt::Debug for AppKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: String,
}

impl AppKey {
    /// `pem` is the RSA private key as GitHub hands it out (PKCS#1) or in PKCS#8. The error says what
    /// is wrong with it without quoting it.
    pub fn from_pem(id: u64, pem: &[u8]) -> Result<Self, String> {
        let key = EncodingKey::from_rsa_pem(pem)
            .map_err(|_| "not an RSA private key in PEM form".to_owned())?;
        let key = Self { id, key };
        // Parsing is lazy: a damaged key shows only when it signs.
        key.jwt(Utc::now())
            .map_err(|_| "an RSA private key that can't sign".to_owned())?;
        Ok(key)
    }

    pub fn app_id(&self) -> u64 {
        self.id
    }

    /// Valid from a minute ago (the forge's clock may lag) for less than the ten minutes it may be.
    fn jwt(&self, now: DateTime<Utc>) -> Result<String, jsonwebtoken::errors::Error> {
        let claims = Claims {
            iat: now.timestamp() - 60,
            exp: now.timestamp() + 9 * 60,
            iss: self.id.to_string(),
        };
        jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &self.key)
    }
}

/// An installation token for one repository. Opaque; `Debug` hides it.
#[derive(Clone)]
pub(super) struct Token {
    secret: String,
    expires_at: DateTime<Utc>,
}

impl Token {
    pub fn authorization(&self) -> Result<HeaderValue, ForgeError> {
        bearer(&self.secret)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token(expires_at: {})", self.expires_at)
    }
}

fn bearer(secret: &str) -> Result<HeaderValue, ForgeError> {
    HeaderValue::from_str(&format!("Bearer {secret}"))
        .map_err(|_| ForgeError::Malformed("a token that fits in no header".to_owned()))
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    Read,
    Write,
    /// For commits on branches of the App's own; not every installation grants it.
    Propose,
    /// For the issue that says what an audit found; not every installation grants it.
    Track,
}

impl Scope {
    const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Propose, Self::Track];
}

impl Scope {
    fn permissions(self) -> serde_json::Map<String, serde_json::Value> {
        let level = |level: &'static str| match self {
            Self::Read => "read",
            Self::Write | Self::Propose | Self::Track => level,
        };
        let wanted = match self {
            Self::Propose => PROPOSING,
            Self::Track => TRACKING,
            Self::Read | Self::Write => PERMISSIONS,
        };
        wanted
            .iter()
            .map(|(name, wanted)| ((*name).to_owned(), level(wanted).into()))
            .collect()
    }
}

/// Whose token, of which repository, and what for.
pub(super) type Key = (InstallationId, RepoName, Scope);

struct BeforeExpiry;

impl moka::Expiry<Key, Token> for BeforeExpiry {
    fn expire_after_create(&self, _: &Key, token: &Token, _: Instant) -> Option<Duration> {
        let left = token.expires_at - EXPIRY_MARGIN - Utc::now();
        Some(left.to_std().unwrap_or(Duration::ZERO))
    }
}

/// Tokens that are still good, and the way to new ones.
pub(super) struct Tokens {
    app_id: u64,
    key: RwLock<AppKey>,
    /// How far ahead of this machine's clock the App signs, in seconds: 0 until the forge refused that.
    ahead: AtomicI64,
    cache: moka::future::Cache<Key, Token>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("app_id", &self.app_id)
            .finish_non_exhaustive()
    }
}

impl Tokens {
    pub fn new(key: AppKey) -> Self {
        let cache = moka::future::Cache::builder()
            .max_capacity(CACHED_TOKENS)
            .expire_after(BeforeExpiry)
            .build();
        Self {
            app_id: key.id,
            key: RwLock::new(key),
            ahead: AtomicI64::new(0),
            cache,
        }
    }

    pub fn app_id(&self) -> u64 {
        self.app_id
    }

    /// Signs with `key` from now on. False, and nothing is changed, if it is another App's. Tokens that the
    /// key before bought stay good.
    pub fn replace_key(&self, key: AppKey) -> bool {
        let same_app = key.id == self.app_id;
        if same_app {
            *self.key.write().unwrap_or_else(PoisonError::into_inner) = key;
        }
        same_app
    }

    /// A token of `key`. `minted` is called before a request goes out.
    pub async fn get(
        &self,
        transport: &Transport,
        api_path: &str,
        key: &Key,
        minted: impl FnOnce(),
    ) -> Result<Token, ForgeError> {
        self.cache
            .try_get_with_by_ref(key, async {
                minted();
                let (installation, repo, scope) = key;
                let body = serde_json::json!({
                    "repositories": [repo.name()], "permissions": scope.permissions(),
                });
                self.mint(transport, api_path, *installation, body).await
            })
            .await
            .map_err(|error| (*error).clone())
    }

    /// Sends what the App itself signs. If the forge refuses the signature while its clock is far from this
    /// machine's, it is signed once more, by the forge's clock; a refused request has done nothing.
    pub async fn send_signed(
        &self,
        transport: &Transport,
        call: &Call,
        path: &str,
    ) -> Result<Answer, ForgeError> {
        let (answer, _) = transport::send(transport, call, path, self.app()?).await;
        if !matches!(answer, Err(ForgeError::Unauthorized(_))) {
            return answer;
        }
        let ahead = transport.clock.ahead().num_seconds();
        let signed = self.ahead.load(Ordering::Relaxed);
        if ahead.abs_diff(signed) < LEAST_SKEW {
            return answer;
        }
        tracing::warn!(
            seconds = ahead,
            "the forge's clock is ahead of this machine's; signing by the forge's"
        );
        self.ahead.store(ahead, Ordering::Relaxed);
        transport::send(transport, call, path, self.app()?).await.0
    }

    /// The App's own signature.
    fn app(&self) -> Result<HeaderValue, ForgeError> {
        let key = self.key.read().unwrap_or_else(PoisonError::into_inner);
        let now = Utc::now() + TimeDelta::seconds(self.ahead.load(Ordering::Relaxed));
        let jwt = key
            .jwt(now)
            .map_err(|_| ForgeError::Unauthorized("the App's key can't sign".to_owned()))?;
        bearer(&jwt)
    }

    /// Forgets `token`, unless another request has replaced it already.
    pub async fn forget(&self, key: &Key, token: &Token) {
        use moka::ops::compute::Op;
        self.cache
            .entry_by_ref(key)
            .and_compute_with(async |entry| match entry {
                Some(entry) if entry.value().secret == token.secret => Op::Remove,
                _ => Op::Nop,
            })
            .await;
    }

    /// Forgets the tokens of a name: it may be another repository's soon.
    pub async fn forget_name(&self, installation: InstallationId, repo: &RepoName) {
        for scope in Scope::ALL {
            let key = (installation, repo.clone(), scope);
            self.cache.invalidate(&key).await;
        }
    }

    /// A new token for what `body` asks.
    pub async fn mint(
        &self,
        transport: &Transport,
        api_path: &str,
        installation: InstallationId,
        body: serde_json::Value,
    ) -> Result<Token, ForgeError> {
        #[derive(Deserialize)]
        struct Minted {
            token: String,
            expires_at: DateTime<Utc>,
        }
        let call = Call::with_body(
            Method::POST,
            format!("/app/installations/{}/access_tokens", installation.0),
            body,
        );
        let path = format!("{api_path}{}", call.path);
        let answer = self.send_signed(transport, &call, &path).await?;
        // serde's message could quote the token.
        let minted: Minted = serde_json::from_slice(&answer.body)
            .map_err(|_| ForgeError::Malformed(format!("{}: no token", call.name())))?;
        Ok(Token {
            secret: minted.token,
            // The forge's time, and the time at which it comes here.
            expires_at: minted.expires_at - transport.clock.ahead(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moka::Expiry as _;

    #[test]
    fn a_token_is_not_used_in_its_last_minutes() {
        let repo = "a/b".parse().expect("a name");
        let key = (InstallationId(1), repo, Scope::Read);
        let left = |minutes| {
            let token = Token {
                secret: "x".to_owned(),
                expires_at: Utc::now() + TimeDelta::minutes(minutes),
            };
            BeforeExpiry
                .expire_after_create(&key, &token, Instant::now())
                .expect("every token expires")
        };
        assert!((56 * 60..=57 * 60).contains(&left(60).as_secs()));
        assert_eq!(left(2), Duration::ZERO);
        assert_eq!(left(-5), Duration::ZERO);
    }
}
