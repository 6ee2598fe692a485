//! `X-Hub-Signature-256`: HMAC-SHA-256 over the raw body.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

type HmacSha256 = Hmac<Sha256>;

/// Why a body is not to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("the header X-Hub-Signature-256 is missing; set a secret for the webhook")]
    Missing,
    #[error("the header X-Hub-Signature-256 is not sha256= and 64 hex digits")]
    Malformed,
    #[error("the signature does not match; the webhook's secret differs from this server's")]
    Mismatch,
}

/// The webhook's secrets. More than one is valid at once while a secret is being changed.
pub struct Secrets(Vec<HmacSha256>);

/// Bytes whose signature was verified.
pub struct Verified(Bytes);

impl Verified {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Secrets {
    /// Empty secrets are left out. `None` if none is left: then nothing could be verified.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let keyed: Vec<_> = secrets
            .into_iter()
            .filter(|secret| !secret.is_empty())
            // HMAC takes a key of any length.
            .filter_map(|secret| HmacSha256::new_from_slice(secret.as_bytes()).ok())
            .collect();
        (!keyed.is_empty()).then_some(Self(keyed))
    }

    /// Verifies the value of `X-Hub-Signature-256` over `body`, comparing in constant time. Its digits are
    /// in lower case, as every forge writes them.
    pub fn verify(&self, body: Bytes, header: Option<&[u8]>) -> Result<Verified, SignatureError> {
        let digest = header
            .ok_or(SignatureError::Missing)?
            .strip_prefix(b"sha256=")
            .filter(|digest| !digest.iter().any(u8::is_ascii_uppercase))
            .ok_or(SignatureError::Malformed)?;
        let mut claimed = [0_u8; 32];
        hex::decode_to_slice(digest, &mut claimed).map_err(|_| SignatureError::Malformed)?;
        let mut matches = false;
        // Every secret is tried, so that the time does not tell which one matched.
        for keyed in &self.0 {
            let mut mac = keyed.clone();
            mac.update(&body);
            matches |= mac.verify_slice(&claimed).is_ok();
        }
        if matches {
            Ok(Verified(body))
        } else {
            Err(SignatureError::Mismatch)
        }
    }
}

/// Secrets that may be exchanged while deliveries come in. Clones share them.
#[derive(Clone)]
pub struct SharedSecrets(Arc<RwLock<Arc<Secrets>>>);

impl From<Secrets> for SharedSecrets {
    fn from(secrets: Secrets) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(secrets))))
    }
}

impl SharedSecrets {
    /// Those that are valid now.
    pub fn get(&self) -> Arc<Secrets> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on these are valid, and no others.
    pub fn replace(&self, secrets: Secrets) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(secrets);
    }
}

/// The header's value for a body: what a forge sends.
pub fn sign(secret: &str, body: &[u8]) -> String {
    // HMAC takes a key of any length, so the error does not occur; an empty value verifies nowhere.
    HmacSha256::new_from_slice(secret.as_bytes()).map_or_else(
        |_| String::new(),
        |mut mac| {
            mac.update(body);
            format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of GitHub's documentation, "Validating webhook deliveries".
    const SECRET: &str = "It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const SIGNATURE: &str =
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn verify(secrets: &[&str], header: Option<&str>) -> Result<(), SignatureError> {
        Secrets::new(secrets.iter().copied())
            .expect("a secret")
            .verify(Bytes::from_static(BODY), header.map(str::as_bytes))
            .map(|verified| assert_eq!(verified.bytes(), BODY))
    }

    #[test]
    fn the_documented_example_verifies() {
        assert_eq!(sign(SECRET, BODY), SIGNATURE);
        assert_eq!(verify(&[SECRET], Some(SIGNATURE)), Ok(()));
    }

    #[test]
    fn any_of_several_secrets_verifies() {
        assert_eq!(verify(&["old", SECRET], Some(SIGNATURE)), Ok(()));
        assert_eq!(verify(&[SECRET, "new"], Some(SIGNATURE)), Ok(()));
        assert_eq!(
            verify(&["old", "new"], Some(SIGNATURE)),
            Err(SignatureError::Mismatch)
        );
    }

    #[test]
    fn what_is_no_signature_of_the_body_is_refused() {
        assert_eq!(verify(&[SECRET], None), Err(SignatureError::Missing));
        let flipped = SIGNATURE.replace("757", "756");
        assert_eq!(
            verify(&[SECRET], Some(&flipped)),
            Err(SignatureError::Mismatch)
        );
        for malformed in [
            "",
            "sha256=",
            &SIGNATURE["sha256=".len()..],
            &SIGNATURE[..SIGNATURE.len() - 2],
            &format!("{SIGNATURE}00"),
            &SIGNATURE.replace("sha256", "sha1"),
            &SIGNATURE.to_uppercase().replace("SHA256", "sha256"),
            &SIGNATURE.replace("75", "zz"),
        ] {
            assert_eq!(
                verify(&[SECRET], Some(malformed)),
                Err(SignatureError::Malformed),
                "{malformed}"
            );
        }
    }

    #[test]
    fn without_a_secret_there_is_no_verifier() {
        assert!(Secrets::new([]).is_none());
        assert!(Secrets::new([""]).is_none());
    }
}
