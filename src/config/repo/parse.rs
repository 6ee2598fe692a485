//! Reading `.github/frostline.yml`.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::lane::lane;
use super::{Agents, ApplyTo, LayerSetting, Mode, Paths, RepoConfig};
use crate::contract::document::{Fault, Kind, Member, Node, Place, quoted};
use crate::contract::reader::{self, Object, suggestion};
use crate::contract::{ContractError, glob, yaml};
use crate::model::{CommentPolicy, Effect, Layer, Rule};

const KEYS: &[&str] = &[
    "version", "mode", "apply_to", "branches", "agents", "paths", "contract", "rules", "review",
    "lane", "comments", "audit",
];

/// Reads the configuration at `path` of the repository, which is a fixed one.
///
/// # Errors
/// The first thing that is not as protocol 3.1 has it.
pub fn parse(path: &str, bytes: &[u8]) -> Result<RepoConfig, ContractError> {
    read(bytes).map_err(|fault| fault.in_file(path))
}

fn read(bytes: &[u8]) -> Result<RepoConfig, Fault> {
    let root = yaml::parse(bytes)?;
    let file = Object::of(&root, "the configuration")?;
    if let Some(version) = file.get("version") {
        reader::version_one(version)?;
    }
    file.closed(KEYS)?;
    let (runners, commands, lane) = file.get("lane").map_or(Ok(Default::default()), lane)?;
    let review = file.get("review");
    Ok(RepoConfig {
        runners,
        commands,
        lane,
        no_audit_issue: file.get("audit").map_or(Ok(false), no_audit_issue)?,
        author_may_accept: review.map_or(Ok(false), author_may_accept)?,
        mode: choice(
            &file,
            "mode",
            &[("enforce", Mode::Enforce), ("observe", Mode::Observe)],
        )?,
        apply_to: choice(
            &file,
            "apply_to",
            &[("agents", ApplyTo::Agents), ("all", ApplyTo::All)],
        )?,
        branches: names(&file, "branches", branch)?,
        agents: file.get("agents").map_or(Ok(Agents::default()), agents)?,
        paths: file.get("paths").map_or(Ok(Paths::default()), paths)?,
        contract: file.get("contract").map_or(Ok(BTreeMap::new()), layers)?,
        rules: file.get("rules").map_or(Ok(BTreeMap::new()), rules)?,
        comments: choice(
            &file,
            "comments",
            &[
                ("holes", CommentPolicy::Holes),
                ("always", CommentPolicy::Always),
                ("never", CommentPolicy::Never),
            ],
        )?,
    })
}

/// One of a few words; the default when the key is not there.
fn choice<T: Copy + Default>(
    file: &Object<'_, '_>,
    key: &str,
    choices: &[(&str, T)],
) -> Result<T, Fault> {
    let Some(node) = file.get(key) else {
        return Ok(T::default());
    };
    let word = reader::string(node, &format!("`{key}`"))?;
    let choice = choices.iter().find(|(name, _)| *name == word);
    choice.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        Fault::new(
            node.place,
            format!(
                "`{key}`: {} is unknown; {}",
                quoted(word),
                suggestion(word, &known)
            ),
        )
    })
}

/// A list of strings, each of which `check` accepts; empty when the key is not there.
fn names(
    object: &Object<'_, '_>,
    key: &str,
    check: fn(&str) -> Result<(), String>,
) -> Result<Vec<String>, Fault> {
    let Some(node) = object.get(key) else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for item in reader::list(node, &format!("`{key}`"))? {
        let name = reader::string(item, &format!("an entry of `{key}`"))?;
        check(name).map_err(|why| Fault::new(item.place, format!("an entry of `{key}`: {why}")))?;
        names.push(name.to_owned());
    }
    Ok(names)
}

pub(super) fn word(text: &str) -> Result<(), String> {
    match text.trim().is_empty() || text.chars().any(char::is_control) {
        true => Err(format!("expected a name, found {}", quoted(text))),
        false => Ok(()),
    }
}

/// The exact name of a branch.
fn branch(text: &str) -> Result<(), String> {
    word(text)?;
    if let Some(name) = text.strip_prefix("refs/heads/") {
        return Err(format!("expected a branch's name; write {}", quoted(name)));
    }
    match text.contains([' ', '~', '^', ':', '?', '*', '[', '\\']) {
        true => Err(format!(
            "expected the exact name of a branch, found {}",
            quoted(text)
        )),
        false => Ok(()),
    }
}

/// The beginning of branch names, or a pattern of them.
fn branch_pattern(text: &str) -> Result<(), String> {
    word(text)?;
    let is_pattern = text.contains(['*', '?']);
    // No branch's name holds these, so what holds them would match nothing and say nothing.
    let foreign = text.contains([' ', '~', '^', ':', '[', '\\']);
    match foreign || (is_pattern && text.contains(['{', '}'])) {
        true => Err(format!(
            "expected the beginning of branch names, or a pattern with `*` and `?`, found {}",
            quoted(text)
        )),
        false => Ok(()),
    }
}

fn agents(node: &Node<'_>) -> Result<Agents, Fault> {
    let object = Object::of(node, "`agents`")?;
    object.closed(&["logins", "branches", "labels", "trailers", "exclude_logins"])?;
    Ok(Agents {
        logins: names(&object, "logins", word)?,
        branches: names(&object, "branches", branch_pattern)?,
        labels: names(&object, "labels", word)?,
        trailers: names(&object, "trailers", word)?,
        exclude_logins: names(&object, "exclude_logins", word)?,
    })
}

fn paths(node: &Node<'_>) -> Result<Paths, Fault> {
    let object = Object::of(node, "`paths`")?;
    object.closed(&[
        "production",
        "properties",
        "inline_properties",
        "harness",
        "golden",
        "tests",
        "notes",
        "sensitive",
        "ignored",
    ])?;
    Ok(Paths {
        production: production(&object)?,
        properties: globs(&object, "properties")?,
        inline_properties: globs(&object, "inline_properties")?,
        harness: globs(&object, "harness")?,
        golden: globs(&object, "golden")?,
        tests: globs(&object, "tests")?,
        notes: globs(&object, "notes")?,
        sensitive: globs(&object, "sensitive")?,
        ignored: globs(&object, "ignored")?,
    })
}

pub(super) fn globs(object: &Object<'_, '_>, key: &str) -> Result<Vec<String>, Fault> {
    let globs = names(object, key, |text| {
        glob::check(text).map_err(|error| error.to_string())
    })?;
    if globs.len() > glob::MAX_GLOBS {
        let place = object.get(key).map_or(object.place, |node| node.place);
        return Err(Fault::new(
            place,
            format!(
                "`{key}`: expected at most {} globs, found {}",
                glob::MAX_GLOBS,
                globs.len()
            ),
        ));
    }
    Ok(globs)
}

/// The list replaces the built-in one, so it has to leave something.
fn production(object: &Object<'_, '_>) -> Result<Vec<String>, Fault> {
    let globs = globs(object, "production")?;
    match object.get("production") {
        Some(node) if globs.iter().all(|text| glob::split(text).0) => Err(Fault::new(
            node.place,
            "`production`: expected at least one glob that adds: this list replaces the built-in one, and nothing would be production; leave the key out to keep the built-in list",
        )),
        _ => Ok(globs),
    }
}

/// The layers that may be moved or switched off, with their keys under `contract:`.
fn movable() -> impl Iterator<Item = (&'static str, Layer)> {
    let layers = Layer::ALL.into_iter();
    layers.filter_map(|layer| Some((layer.key()?, layer)))
}

fn layers(node: &Node<'_>) -> Result<BTreeMap<Layer, LayerSetting>, Fault> {
    let object = Object::of(node, "`contract`")?;
    let keys: Vec<&str> = movable().map(|(key, _)| key).collect();
    object.closed(&keys)?;
    let mut settings = BTreeMap::new();
    for (key, layer) in movable() {
        let Some(node) = object.get(key) else {
            continue;
        };
        let setting = match &node.kind {
            Kind::Bool(false) => LayerSetting::Off,
            Kind::Text(text) if text == "off" => LayerSetting::Off,
            Kind::Text(text) => {
                reader::canonical(text, node.place, &format!("`{key}`"))?;
                LayerSetting::Path(text.to_string())
            }
            _ => {
                let expected = "a path or `off`";
                return Err(reader::expected(node, &format!("`{key}`"), expected));
            }
        };
        settings.insert(layer, setting);
    }
    refuse_shared_paths(&object, &settings)?;
    Ok(settings)
}

/// Each moved layer has a path of its own: not that of another, not inside it, not the configuration's.
fn refuse_shared_paths(
    object: &Object<'_, '_>,
    settings: &BTreeMap<Layer, LayerSetting>,
) -> Result<(), Fault> {
    let path_of = |layer: Layer| match settings.get(&layer) {
        Some(LayerSetting::Path(path)) => path.as_str(),
        Some(LayerSetting::Off) | None => layer.default_path(),
    };
    let lies_in = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for (key, layer) in movable() {
        let (Some(node), Some(LayerSetting::Path(path))) = (object.get(key), settings.get(&layer))
        else {
            continue;
        };
        let mut others = Layer::ALL.into_iter().filter(|other| *other != layer);
        let taken = others.find(|other| {
            let other = path_of(*other);
            lies_in(path, other) || lies_in(other, path)
        });
        if let Some(other) = taken {
            return Err(Fault::new(
                node.place,
                format!(
                    "`{key}`: {} is taken by the {} ({}); give each its own path",
                    quoted(path),
                    other.title(),
                    path_of(other)
                ),
            ));
        }
    }
    Ok(())
}

fn rules(node: &Node<'_>) -> Result<BTreeMap<Rule, Effect>, Fault> {
    let object = Object::of(node, "`rules`")?;
    let mut effects = BTreeMap::new();
    for member in object.members {
        let rule = known::<Rule>(&member.key, member.place, "rule", Rule::ALL, Rule::name)?;
        let effect = effect(member, rule)?;
        if effect != rule.default_effect() {
            effects.insert(rule, effect);
        }
    }
    Ok(effects)
}

fn effect(member: &Member<'_>, rule: Rule) -> Result<Effect, Fault> {
    let node = &member.value;
    let word = reader::string(node, &format!("`{rule}`"))?;
    let effect = known::<Effect>(word, node.place, "effect", Effect::ALL, Effect::name)?;
    let default = rule.default_effect();
    if effect >= default || rule.may_be_lowered_to() == Some(effect) {
        return Ok(effect);
    }
    let allowed = Effect::ALL
        .iter()
        .filter(|e| **e >= default || rule.may_be_lowered_to() == Some(**e));
    let allowed: Vec<String> = allowed.map(|e| format!("`{e}`")).collect();
    Err(Fault::new(
        node.place,
        format!(
            "`{rule}`: it is `{default}` and may not be lowered to `{effect}`; allowed: {}",
            allowed.join(", ")
        ),
    ))
}

/// A name out of `all`.
fn known<T: FromStr + Copy + 'static>(
    text: &str,
    place: Place,
    what: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, Fault> {
    text.parse().map_err(|_| {
        let names: Vec<&str> = all.iter().map(|value| name(*value)).collect();
        Fault::new(
            place,
            format!(
                "unknown {what} {}; {}",
                quoted(text),
                suggestion(text, &names)
            ),
        )
    })
}

fn author_may_accept(node: &Node<'_>) -> Result<bool, Fault> {
    let object = Object::of(node, "`review`")?;
    object.closed(&["author_may_accept"])?;
    match object.get("author_may_accept") {
        Some(value) => reader::boolean(value, "`author_may_accept`"),
        None => Ok(false),
    }
}

fn no_audit_issue(node: &Node<'_>) -> Result<bool, Fault> {
    let object = Object::of(node, "`audit`")?;
    object.closed(&["issue"])?;
    match object.get("issue") {
        Some(value) => Ok(!reader::boolean(value, "`issue`")?),
        None => Ok(false),
    }
}
