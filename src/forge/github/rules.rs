//! Which checks a branch requires, by its rules and by its older protection.

use serde::Deserialize;
use serde_json::Value;

use crate::forge::ForgeError;

use super::client::Client;
use super::endpoints::segment;

/// A check that must have passed before a branch moves.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RequiredCheck {
    pub context: String,
    /// The App that must have brought it; none, or -1, for any.
    #[serde(default, alias = "integration_id")]
    pub app_id: Option<i64>,
}

#[derive(Deserialize)]
struct Rule {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    parameters: Value,
}

#[derive(Deserialize)]
struct Parameters {
    required_status_checks: Vec<RequiredCheck>,
}

#[derive(Deserialize)]
struct Protected {
    #[serde(default)]
    protection: Protection,
}

#[derive(Default, Deserialize)]
struct Protection {
    required_status_checks: Option<StatusChecks>,
}

#[derive(Deserialize)]
struct StatusChecks {
    #[serde(default)]
    contexts: Vec<String>,
    #[serde(default)]
    checks: Vec<RequiredCheck>,
}

impl Client {
    /// The checks that the rules of a branch require, those of its organisation too.
    pub async fn checks_by_rules(&self, branch: &str) -> Result<Vec<RequiredCheck>, ForgeError> {
        let path = self.path(&format!("/rules/branches/{}", segment(branch)));
        let mut found = Vec::new();
        for page in 1.. {
            let (rules, more): (Vec<Rule>, bool) = self.page(&path, page, Vec::len).await?;
            for rule in rules {
                if rule.kind == "required_status_checks" {
                    let parameters: Parameters = serde_json::from_value(rule.parameters)
                        .map_err(|error| ForgeError::Malformed(format!("a rule: {error}")))?;
                    found.extend(parameters.required_status_checks);
                }
            }
            if !more {
                break;
            }
        }
        Ok(found)
    }

    /// The checks that the protection of a branch requires.
    pub async fn checks_by_protection(
        &self,
        branch: &str,
    ) -> Result<Vec<RequiredCheck>, ForgeError> {
        let path = self.path(&format!("/branches/{}", segment(branch)));
        let branch: Protected = self.read(path).await?;
        let Some(required) = branch.protection.required_status_checks else {
            return Ok(Vec::new());
        };
        let mut found = required.checks;
        for context in required.contexts {
            if found.iter().all(|check| check.context != context) {
                let app_id = None;
                found.push(RequiredCheck { context, app_id });
            }
        }
        Ok(found)
    }
}
