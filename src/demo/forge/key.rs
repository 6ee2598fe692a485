//! The App's key pair, made at start: no key is ever written into the program or the repository.

use anyhow::{Context as _, Result};
use rsa::pkcs1::{EncodeRsaPrivateKey as _, EncodeRsaPublicKey as _, LineEnding};

/// A key pair in the form in which the forge hands it out.
#[derive(Clone)]
pub struct AppKey {
    private_pem: String,
    public_pem: String,
}

impl AppKey {
    /// Makes a 2,048-bit RSA key.
    pub fn generate() -> Result<Self> {
        let key = rsa::PrivateKey::new(&mut rand::rng(), 2048).context("no RSA key")?;
        Ok(Self {
            private_pem: key.to_pkcs1_pem(LineEnding::LF)?.to_string(),
            public_pem: key.to_public_key().to_pkcs1_pem(LineEnding::LF)?,
        })
    }

    /// PKCS#1, as the App's owner downloads it.
    pub fn private_pem(&self) -> &str {
        &self.private_pem
    }

    pub(super) fn public_pem(&self) -> &str {
        &self.public_pem
    }
}
