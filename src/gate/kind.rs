//! Is a pull request an agent's? The built-in table and the configuration's additions (protocol 5.4). PURE.
//!
//! Invariant: any single piece of evidence makes it an agent's; its absence proves nothing, and only
//! the strongest piece is named. Pushers are not among the facts: the pull request does not tell them.

mod table;

use std::collections::BTreeSet;

use crate::config::repo::Agents;
use crate::model::{Author, AuthorKind, Person, Sha};

use table::{AGENT_BOTS, AGENTS, Agent, NOT_AGENTS};

/// An account of the forge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    pub login: String,
    pub id: u64,
    pub is_bot: bool,
}

/// Author or committer of a commit: what the commit says, and the account that the forge finds for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
    pub account: Option<Account>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitFacts {
    /// `None` where nobody asks for it.
    pub sha: Option<Sha>,
    pub is_merge: bool,
    pub author: Identity,
    pub committer: Identity,
    pub message: String,
}

/// Everything that is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullFacts {
    pub author: Option<Account>,
    pub branch: String,
    pub labels: Vec<String>,
    pub body: String,
    pub commits: Vec<CommitFacts>,
    /// Every commit of the pull request is in `commits`.
    pub all_commits: bool,
    /// What a maintainer has lifted, as [`liftable`] names it.
    pub lifted: BTreeSet<String>,
}

/// How much a piece of evidence proves. Ordered: a greater one is stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// Anybody can write it: a branch name, a label, a body.
    Hint,
    /// A commit's e-mail address or trailer: written on purpose, though not proven.
    Strong,
    /// The forge vouches for it: the account that opened the pull request.
    Certain,
    /// The repository says so in its configuration.
    Configured,
}

impl Strength {
    fn name(self) -> &'static str {
        match self {
            Self::Hint => "hint",
            Self::Strong => "strong",
            Self::Certain => "certain",
            Self::Configured => "configured",
        }
    }
}

type Evidence = (Strength, String);

/// Nobody can say what these would show.
const MORE_COMMITS: &str = "it has more commits than are looked at";

/// Decides the kind of a pull request.
pub fn recognise(facts: &PullFacts, config: &Agents) -> Author {
    let login = facts.author.as_ref().map(|account| account.login.clone());
    let author = |kind, evidence| Author {
        kind,
        login: login.clone(),
        evidence,
    };
    if let Some(name) = excluded(facts, config) {
        return author(
            AuthorKind::Person,
            format!("author and every commit are {name}, which is no coding agent"),
        );
    }
    // `max_by_key` would take the last of equals; the first is the one that people look for first.
    let strongest = evidence(facts, config)
        .into_iter()
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    match strongest {
        Some((strength, text)) => {
            author(AuthorKind::Agent, format!("{text} ({})", strength.name()))
        }
        None => author(
            AuthorKind::Person,
            "nothing names a coding agent".to_owned(),
        ),
    }
}

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// The one excluded account that is author of the pull request and author of every commit.
fn excluded<'a>(facts: &'a PullFacts, config: &Agents) -> Option<&'a str> {
    let author = facts.author.as_ref()?;
    let alone = facts.all_commits
        && !facts.commits.is_empty()
        && facts.commits.iter().all(|commit| {
            commit.author.account.as_ref().is_some_and(|account| {
                account.id == author.id && same(&account.login, &author.login)
            })
        });
    (alone && is_no_agent(author, config)).then_some(author.login.as_str())
}

fn is_no_agent(account: &Account, config: &Agents) -> bool {
    let built_in = account.is_bot
        && NOT_AGENTS
            .iter()
            .any(|(id, login)| id.map_or(same(login, &account.login), |id| id == account.id));
    built_in
        || config
            .exclude_logins
            .iter()
            .any(|l| same(l, &account.login))
}

/// Everything that speaks for an agent, in the order in which people would look for it.
fn evidence(facts: &PullFacts, config: &Agents) -> Vec<Evidence> {
    let mut found = Vec::new();
    if let Some(author) = &facts.author {
        found.extend(account_evidence(
            "author",
            author,
            Strength::Certain,
            config,
        ));
        if author.is_bot && is_no_agent(author, config) {
            // Not excluded as a whole: somebody else's commit is in a bot's pull request.
            found.push((
                Strength::Hint,
                format!(
                    "{} opened it, but not every commit is its own",
                    author.login
                ),
            ));
        }
    }
    let is_lifted = |commit: &&CommitFacts| {
        let sha = commit.sha.as_ref();
        sha.is_some_and(|sha| facts.lifted.contains(sha.as_str()))
    };
    for commit in facts.commits.iter().filter(|commit| !is_lifted(commit)) {
        commit_evidence(commit, config, &mut found);
    }
    if !facts.all_commits {
        found.push((Strength::Hint, MORE_COMMITS.to_owned()));
    }
    labels_and_branch(facts, config, &mut found);
    let body = facts.body.to_ascii_lowercase();
    for agent in AGENTS {
        if let Some(mark) = agent.bodies.iter().find(|mark| body.contains(**mark)) {
            found.push((
                Strength::Hint,
                format!("the body names {}: {mark:?}", agent.name),
            ));
        }
    }
    found.retain(|(_, text)| !facts.lifted.contains(text));
    found
}

/// Names of the evidence that there is: the text of each piece, but for commits their ids, so that a later
/// commit of the same agent is evidence again.
pub fn liftable(facts: &PullFacts, config: &Agents) -> BTreeSet<String> {
    let without = PullFacts {
        commits: Vec::new(),
        ..facts.clone()
    };
    let texts = evidence(&without, config).into_iter().map(|(_, text)| text);
    let mut names: BTreeSet<String> = texts.filter(|text| text != MORE_COMMITS).collect();
    for commit in &facts.commits {
        let mut found = Vec::new();
        commit_evidence(commit, config, &mut found);
        if let (false, Some(sha)) = (found.is_empty(), &commit.sha) {
            names.insert(sha.as_str().to_owned());
        }
    }
    names
}

/// Of this App's own pull request whose head is its own commit: it counts as theirs at whose command it was
/// made (protocol 5.5).
pub fn proposed_by(author: Option<Account>, people: &[Person]) -> Author {
    let logins: Vec<&str> = people.iter().map(|person| person.login.as_str()).collect();
    Author {
        kind: AuthorKind::Person,
        login: author.map(|account| account.login),
        evidence: format!(
            "this App made it at the command of {}",
            logins.join(" and ")
        ),
    }
}

/// The evidence that a pull request is a person's after all.
pub fn lifted_by(login: &str) -> String {
    format!("{login} lifted the evidence that it is an agent's")
}

fn labels_and_branch(facts: &PullFacts, config: &Agents, found: &mut Vec<Evidence>) {
    for label in &facts.labels {
        if config.labels.iter().any(|l| same(l, label)) {
            found.push((Strength::Configured, format!("label {label}")));
        }
    }
    if let Some(pattern) = config
        .branches
        .iter()
        .find(|p| branch_matches(p, &facts.branch))
    {
        found.push((
            Strength::Configured,
            format!("branch {} matches {pattern}", facts.branch),
        ));
    }
    for agent in AGENTS {
        if let Some(label) = facts
            .labels
            .iter()
            .find(|label| agent.labels.iter().any(|l| same(l, label)))
        {
            found.push((
                Strength::Hint,
                format!("label {label} names {}", agent.name),
            ));
        }
        if let Some(prefix) = agent
            .branches
            .iter()
            .find(|p| facts.branch.starts_with(**p))
        {
            found.push((
                Strength::Hint,
                format!(
                    "the branch begins with {prefix}, as those of {} do",
                    agent.name
                ),
            ));
        }
    }
}

/// A configured branch is a beginning, or a glob where it holds `*` or `?`.
fn branch_matches(pattern: &str, branch: &str) -> bool {
    if pattern.contains(['*', '?']) {
        globset::GlobBuilder::new(pattern)
            .literal_separator(false)
            .build()
            .is_ok_and(|glob| glob.compile_matcher().is_match(branch))
    } else {
        branch.starts_with(pattern)
    }
}

fn account_evidence(
    role: &str,
    account: &Account,
    strength: Strength,
    config: &Agents,
) -> Option<Evidence> {
    if let Some(login) = config.logins.iter().find(|l| same(l, &account.login)) {
        return Some((
            Strength::Configured,
            format!("{role}'s login matches {login}"),
        ));
    }
    if let Some(agent) = agent_by_id(account.id) {
        return Some((
            strength,
            format!(
                "{role} {} (id {}) is {}",
                account.login, account.id, agent.name
            ),
        ));
    }
    if !account.is_bot || is_no_agent(account, config) {
        return None;
    }
    let text = match AGENT_BOTS
        .iter()
        .find(|(login, _)| same(login, &account.login))
    {
        Some((login, name)) => format!("{role} {login} is {name}"),
        None => format!("{role} {} is a bot that is not known", account.login),
    };
    Some((strength, text))
}

/// An account of the table of agents, or one that the configuration adds to it, or an unknown bot.
pub fn is_agent_account(account: &Account, config: &Agents) -> bool {
    account_evidence("account", account, Strength::Certain, config).is_some()
}

fn agent_by_id(id: u64) -> Option<&'static Agent> {
    AGENTS
        .iter()
        .find(|agent| agent.accounts.iter().any(|(known, _)| *known == id))
}

fn commit_evidence(commit: &CommitFacts, config: &Agents, found: &mut Vec<Evidence>) {
    let identities = [
        ("a commit's author", &commit.author),
        ("a commit's committer", &commit.committer),
    ];
    for (role, identity) in identities {
        if let Some(account) = &identity.account {
            found.extend(account_evidence(role, account, Strength::Strong, config));
        }
        found.extend(identity_evidence(role, identity));
    }
    for line in commit.message.lines() {
        found.extend(trailer_evidence(line, config));
    }
}

fn identity_evidence(role: &str, identity: &Identity) -> Option<Evidence> {
    let agent = agent_by_email(&identity.email, Side::Identity).or_else(|| {
        AGENTS
            .iter()
            .find(|agent| agent.names.iter().any(|n| identity.name.ends_with(n)))
    })?;
    Some((
        Strength::Strong,
        format!("{role} {} is {}", identity.email, agent.name),
    ))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Identity,
    Trailer,
}

/// The account id in `198982749+Copilot@users.noreply.github.com`.
pub fn noreply_id(email: &str) -> Option<u64> {
    let (local, host) = email.split_once('@')?;
    let (id, _) = local.split_once('+')?;
    (host.starts_with("users.noreply.")).then(|| id.parse().ok())?
}

/// By the whole address, never by a name: Claude, Devin and Jules are people too.
fn agent_by_email(email: &str, side: Side) -> Option<&'static Agent> {
    let email = email.trim().to_ascii_lowercase();
    let host = email.rsplit_once('@').map_or("", |(_, host)| host);
    let id = noreply_id(&email);
    AGENTS
        .iter()
        .filter(|agent| side == Side::Identity || !agent.review_only)
        .find(|agent| {
            agent.emails.contains(&email.as_str())
                || (side == Side::Trailer && agent.trailer_domains.contains(&host))
                || id.is_some_and(|id| agent.accounts.iter().any(|(known, _)| *known == id))
        })
}

/// The address in `Co-authored-by: Name <address>`, and in any other trailer ending in `-by`.
fn credited(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.len() > 3
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && key.to_ascii_lowercase().ends_with("-by");
    let (_, address) = value.rsplit_once('<')?;
    let (address, _) = address.split_once('>')?;
    is_key.then_some(address)
}

fn starts_with(line: &str, start: &str) -> bool {
    line.get(..start.len())
        .is_some_and(|head| same(head, start))
}

fn trailer_evidence(line: &str, config: &Agents) -> Option<Evidence> {
    let address = credited(line);
    let configured = config.trailers.iter().find(|entry| {
        if entry.contains(':') || !entry.contains('@') {
            starts_with(line, entry)
        } else {
            address.is_some_and(|address| email_matches(entry, address))
        }
    });
    if let Some(entry) = configured {
        return Some((
            Strength::Configured,
            format!("a commit's trailer matches {entry}"),
        ));
    }
    if let Some(address) = address {
        if let Some(agent) = agent_by_email(address, Side::Trailer) {
            return Some((
                Strength::Strong,
                format!(
                    "a commit's trailer names {address}, which is {}",
                    agent.name
                ),
            ));
        }
        if let Some(login) = unknown_bot(address, config) {
            return Some((
                Strength::Hint,
                format!("a commit's trailer names {login}, a bot that is not known"),
            ));
        }
    }
    AGENTS
        .iter()
        .find(|agent| agent.trailers.iter().any(|start| starts_with(line, start)))
        .map(|agent| {
            (
                Strength::Strong,
                format!("a line of a commit's message is {}'s", agent.name),
            )
        })
}

/// `name[bot]` of a bot's no-reply address, unless it is known and no agent.
fn unknown_bot<'a>(address: &'a str, config: &Agents) -> Option<&'a str> {
    let (local, host) = address.split_once('@')?;
    let login = local.split_once('+').map_or(local, |(_, login)| login);
    let account = Account {
        login: login.to_owned(),
        id: noreply_id(address).unwrap_or_default(),
        is_bot: true,
    };
    let review_only = agent_by_id(account.id).is_some_and(|agent| agent.review_only);
    (host.starts_with("users.noreply.")
        && login.ends_with("[bot]")
        && !review_only
        && !is_no_agent(&account, config))
    .then_some(login)
}

/// A whole address, or `*@host`.
fn email_matches(pattern: &str, address: &str) -> bool {
    match pattern.strip_prefix("*@") {
        Some(host) => address.rsplit_once('@').is_some_and(|(_, h)| same(h, host)),
        None => same(pattern, address),
    }
}

#[cfg(test)]
mod tests;
