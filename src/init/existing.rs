//! The contract files that are there already.

use crate::config::repo::{self, RepoConfig};
use crate::contract::ContractError;
use crate::contract::freezes::{self, Freezes};
use crate::contract::lock::{self, Lock};
use crate::contract::map::{self, HunkMap};
use crate::gate::classes;
use crate::model::Layer;

/// A file with what it says.
#[derive(Debug, Clone)]
pub struct Held<T> {
    pub bytes: Vec<u8>,
    pub value: T,
}

/// What a repository has of a contract.
#[derive(Debug, Default)]
pub struct Existing {
    pub config: Option<Held<RepoConfig>>,
    pub lock: Option<Held<Lock>>,
    pub freezes: Option<Held<Freezes>>,
    pub map: Option<Held<HunkMap>>,
}

/// Why a file that is there cannot be kept.
#[derive(Debug)]
pub enum ExistingError<E> {
    /// It is not what the protocol asks for.
    Contract(ContractError),
    /// It could not be had.
    Read(E),
}

impl<E> From<ContractError> for ExistingError<E> {
    fn from(error: ContractError) -> Self {
        Self::Contract(error)
    }
}

impl Existing {
    /// Reads the configuration, and the other files where it says that they are. `read` gives a file's
    /// bytes, and `None` when there is no such file.
    ///
    /// # Errors
    /// The first file that cannot be read or is not what the protocol asks for.
    pub fn read<E>(
        mut read: impl FnMut(&str) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Self, ExistingError<E>> {
        let path = Layer::Config.default_path();
        let config = held(&mut read, path, repo::parse)?;
        if let Some(config) = &config {
            classes::check(&config.value).map_err(|error| ContractError {
                path: path.to_owned(),
                line: 1,
                column: 1,
                message: format!("`paths`: {error}"),
            })?;
        }
        let settings = config
            .as_ref()
            .map_or_else(RepoConfig::default, |config| config.value.clone());
        let place = |layer| settings.layer_path(layer);
        Ok(Self {
            lock: place(Layer::Lock)
                .map(|path| held(&mut read, path, lock::parse))
                .transpose()?
                .flatten(),
            freezes: place(Layer::Freezes)
                .map(|path| held(&mut read, path, freezes::parse))
                .transpose()?
                .flatten(),
            map: place(Layer::Map)
                .map(|path| held(&mut read, path, map::parse))
                .transpose()?
                .flatten(),
            config,
        })
    }
}

fn held<T, E>(
    read: &mut impl FnMut(&str) -> Result<Option<Vec<u8>>, E>,
    path: &str,
    parse: impl Fn(&str, &[u8]) -> Result<T, ContractError>,
) -> Result<Option<Held<T>>, ExistingError<E>> {
    let Some(bytes) = read(path).map_err(ExistingError::Read)? else {
        return Ok(None);
    };
    let value = parse(path, &bytes)?;
    Ok(Some(Held { bytes, value }))
}
