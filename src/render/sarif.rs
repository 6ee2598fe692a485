//! The decision as SARIF 2.1.0, for code scanning and editors. PURE.
//!
//! Invariant: paths are relative to the repository's root and percent-encoded, nothing of the machine is
//! in it, and no text from a repository becomes a link.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::about::about;
use super::check::title;
use super::escape::visible;
use super::lines::Lines;
use super::words::{self, shown_findings};
use crate::model::{Decision, Effect, Finding, Layer, Rule};

/// Names the root that every path is relative to; code hosts and editors know the name.
const ROOT: &str = "%SRCROOT%";

/// One run with one result a finding, and a final newline.
pub fn sarif(decision: &Decision) -> String {
    let lines = Lines::new(decision);
    let results: Vec<Value> = shown_findings(decision)
        .into_iter()
        .map(|finding| result(finding, &lines))
        .collect();
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "frostline",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": Rule::ALL.iter().map(|rule| descriptor(*rule)).collect::<Vec<_>>(),
            } },
            "automationDetails": { "id": "frostline/" },
            "invocations": [{ "executionSuccessful": true }],
            "originalUriBaseIds": { ROOT: { "description": { "text": "The root of the repository" } } },
            "results": results,
            "properties": {
                "verdict": decision.verdict,
                "observe": decision.observe,
                "headline": words::headline(decision),
                "base": decision.base,
                "head": decision.head,
            },
        }],
    });
    format!("{log:#}\n")
}

fn descriptor(rule: Rule) -> Value {
    let about = about(rule);
    let help = format!(
        "{}. To mend it: {}. See `docs/rules.md#{rule}` of Frostline.",
        upper_first(about.why),
        about.fix
    );
    json!({
        "id": rule,
        "shortDescription": { "text": title(rule) },
        "fullDescription": { "text": format!("{}.", upper_first(about.when)) },
        "help": { "text": help.replace('`', ""), "markdown": help },
        "defaultConfiguration": { "level": level(rule.default_effect()) },
    })
}

fn upper_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

fn level(effect: Effect) -> &'static str {
    match effect {
        Effect::Refuse => "error",
        Effect::HumanReview => "warning",
        Effect::AllowRecheck | Effect::Notice => "note",
    }
}

fn result(finding: &Finding, lines: &Lines<'_>) -> Value {
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level(finding.effect),
        "message": { "text": message(finding) },
        "locations": [location(finding, lines)],
        "properties": { "effect": finding.effect },
    });
    if let Some(index) = Rule::ALL.iter().position(|rule| *rule == finding.rule) {
        result["ruleIndex"] = index.into();
    }
    result
}

fn message(finding: &Finding) -> String {
    let mut text = finding.message.clone();
    if !finding.fix.is_empty() {
        let _ = write!(text, ". To mend it: {}", finding.fix);
    }
    if let Some(owner) = &finding.owner {
        let _ = write!(text, " (owner {owner})");
    }
    without_links(&visible(&text))
}

/// Viewers make a link of `[text](target)`; with a backslash before it a bracket is only a bracket.
fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '[' | ']') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A finding about no path stands at the configuration: code hosts refuse a result without a place.
fn location(finding: &Finding, lines: &Lines<'_>) -> Value {
    let path = finding
        .path
        .as_deref()
        .unwrap_or(Layer::Config.default_path());
    let mut physical = json!({ "artifactLocation": { "uri": uri(path), "uriBaseId": ROOT } });
    if let Some((start, end)) = lines.of(finding) {
        physical["region"] = json!({ "startLine": start, "endLine": end });
    }
    let mut location = json!({ "physicalLocation": physical });
    if let Some(nodeid) = &finding.nodeid {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": visible(nodeid) }]);
    }
    location
}

/// A path as a relative URI: everything but unreserved characters and `/` is percent-encoded, so that no
/// part of it can be taken for a scheme, a query or a fragment.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_relative_uri_whatever_its_name() {
        assert_eq!(uri("src/a b.py"), "src/a%20b.py");
        assert_eq!(uri("c:/x?y#z%é"), "c%3A/x%3Fy%23z%25%C3%A9");
    }

    #[test]
    fn brackets_make_no_link() {
        assert_eq!(without_links("[a](b)\\"), "\\[a\\](b)\\\\");
    }
}
