//! `frostline schema`: JSON Schemas of the configuration and the contract files.

use std::process::ExitCode;

use serde_json::{Map, Value};

use super::{Outcome, out};
use crate::contract::schema::SCHEMAS;

/// Print the JSON Schemas of the configuration and the contract files
///
/// Editors that are told of them check and complete `.github/frostline.yml` and the files under
/// `test/contract` while they are written. The repository's `docs/schema` holds the same texts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  printed
  2  there is no schema of that name

Examples:
  frostline schema config > frostline.schema.json
  frostline schema | jq 'keys'")]
pub struct Args {
    /// Which one to print; without it, one object that holds all by name
    #[arg(value_name = "NAME", value_parser = SCHEMAS.map(|(name, _)| name))]
    name: Option<String>,
}

pub fn run(args: Args) -> Outcome {
    let text = match args.name {
        Some(wanted) => SCHEMAS
            .iter()
            .filter(|(name, _)| *name == wanted)
            .map(|(_, text)| *text)
            .collect(),
        None => all()?,
    };
    out::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn all() -> anyhow::Result<String> {
    let mut schemas = Map::new();
    for (name, text) in SCHEMAS {
        schemas.insert(name.to_owned(), serde_json::from_str::<Value>(text)?);
    }
    Ok(format!("{:#}\n", Value::Object(schemas)))
}
