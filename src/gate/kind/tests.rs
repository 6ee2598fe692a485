//! Every row of the table, and what must not be taken for one.

use super::*;

fn account(login: &str, id: u64, is_bot: bool) -> Account {
    Account {
        login: login.to_owned(),
        id,
        is_bot,
    }
}

fn human() -> Account {
    account("alice", 7, false)
}

fn commit_by(name: &str, email: &str, account: Option<Account>) -> CommitFacts {
    let identity = Identity {
        name: name.to_owned(),
        email: email.to_owned(),
        account,
    };
    CommitFacts {
        sha: None,
        is_merge: false,
        author: identity.clone(),
        committer: identity,
        message: "Fix it".to_owned(),
    }
}

fn humans() -> PullFacts {
    PullFacts {
        author: Some(human()),
        branch: "fix/parser".to_owned(),
        labels: vec!["bug".to_owned()],
        body: "Fixes a thing.".to_owned(),
        commits: vec![commit_by("Alice", "alice@example.org", Some(human()))],
        all_commits: true,
        lifted: Default::default(),
    }
}

fn with_message(message: &str) -> PullFacts {
    let mut facts = humans();
    facts.commits[0].message = message.to_owned();
    facts
}

fn kind(facts: &PullFacts) -> AuthorKind {
    recognise(facts, &Agents::default()).kind
}

fn evidence_of(facts: &PullFacts) -> String {
    let author = recognise(facts, &Agents::default());
    assert_eq!(author.kind, AuthorKind::Agent, "{}", author.evidence);
    author.evidence
}

#[test]
fn a_person_is_a_person() {
    let author = recognise(&humans(), &Agents::default());
    assert_eq!(author.kind, AuthorKind::Person);
    assert_eq!(author.login.as_deref(), Some("alice"));
}

#[test]
fn every_account_of_the_table_is_certain_by_its_number_whatever_its_login() {
    let mut seen = 0;
    for agent in AGENTS {
        for (id, login) in agent.accounts {
            let bot = login.ends_with("[bot]") || *login == "Copilot";
            for login in [*login, "renamed-since"] {
                let mut facts = humans();
                facts.author = Some(account(login, *id, bot));
                let evidence = evidence_of(&facts);
                assert!(evidence.contains(agent.name), "{evidence}");
                assert!(evidence.ends_with("(certain)"), "{evidence}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 40, "{seen}");
}

#[test]
fn every_account_of_the_table_counts_as_a_commits_author() {
    for agent in AGENTS {
        for (id, login) in agent.accounts {
            let mut facts = humans();
            let other = account(login, *id, true);
            facts
                .commits
                .push(commit_by(login, "x@example.org", Some(other)));
            assert!(evidence_of(&facts).ends_with("(strong)"), "{login}");
            let mut facts = humans();
            let noreply = format!("{id}+{login}@users.noreply.github.com");
            facts.commits.push(commit_by(login, &noreply, None));
            assert!(evidence_of(&facts).ends_with("(strong)"), "{noreply}");
        }
    }
}

#[test]
fn every_email_branch_body_label_trailer_and_name_of_the_table_is_evidence() {
    for agent in AGENTS {
        for email in agent.emails {
            let facts = with_message(&format!("Fix\n\nCo-Authored-By: Some Model <{email}>"));
            assert!(evidence_of(&facts).contains(agent.name), "{email}");
            let mut facts = humans();
            facts.commits.push(commit_by("Bob", email, None));
            assert!(evidence_of(&facts).contains(agent.name), "{email}");
        }
        for domain in agent.trailer_domains {
            let facts = with_message(&format!("Fix\n\nCo-authored-by: M <any@{domain}>"));
            assert!(evidence_of(&facts).contains(agent.name), "{domain}");
            let mut facts = humans();
            facts.commits = vec![commit_by("Bob", &format!("bob@{domain}"), None)];
            assert_eq!(kind(&facts), AuthorKind::Person, "people work at {domain}");
        }
        for trailer in agent.trailers {
            let facts = with_message(&format!("Fix\n\n{trailer} x"));
            assert!(evidence_of(&facts).contains(agent.name), "{trailer}");
        }
        for name in agent.names {
            let mut facts = humans();
            facts
                .commits
                .push(commit_by(&format!("Bob {name}"), "bob@x.org", None));
            assert!(evidence_of(&facts).contains(agent.name), "{name}");
        }
        for label in agent.labels {
            let mut facts = humans();
            facts.labels.push(label.to_uppercase());
            assert!(evidence_of(&facts).ends_with("(hint)"), "{label}");
        }
        for prefix in agent.branches {
            let mut facts = humans();
            facts.branch = format!("{prefix}task-1");
            assert!(evidence_of(&facts).ends_with("(hint)"), "{prefix}");
        }
        for body in agent.bodies {
            let mut facts = humans();
            facts.body = format!("Summary\n{}", body.to_uppercase());
            assert!(evidence_of(&facts).contains(agent.name), "{body}");
        }
    }
    for (login, name) in AGENT_BOTS {
        let mut facts = humans();
        facts.author = Some(account(login, 1, true));
        assert!(evidence_of(&facts).contains(name), "{login}");
    }
}

#[test]
fn names_that_people_have_are_no_evidence() {
    for message in [
        "Co-authored-by: Claude Monet <claude@example.org>",
        "Co-authored-by: Devin Booker <devin@example.org>",
        "Thanks, Co-authored-by: Claude <noreply@anthropic.com>",
        " Co-authored-by: indented <noreply@anthropic.com>",
        "Move the cursor: amp, codex and continue",
        "Co-authored-by: Bob <12345+bob@users.noreply.github.com>",
    ] {
        assert_eq!(
            kind(&with_message(message)),
            AuthorKind::Person,
            "{message}"
        );
    }
    let mut facts = humans();
    facts.branch = "feature/codex/x".to_owned();
    assert_eq!(kind(&facts), AuthorKind::Person);
}

#[test]
fn an_accepted_review_suggestion_is_no_evidence_but_a_commit_is() {
    let line = "Co-authored-by: gemini-code-assist[bot] <176961590+gemini-code-assist[bot]@users.noreply.github.com>";
    assert_eq!(kind(&with_message(line)), AuthorKind::Person);
    let mut facts = humans();
    facts.commits[0].author.account = Some(account("gemini-code-assist[bot]", 176_961_590, true));
    assert_eq!(kind(&facts), AuthorKind::Agent);
}

#[test]
fn unknown_bots_are_agents() {
    let mut facts = humans();
    facts.author = Some(account("brand-new[bot]", 999_999_999, true));
    assert!(evidence_of(&facts).contains("not known"));
    let mut facts = humans();
    facts.commits[0].committer.account = Some(account("brand-new[bot]", 999_999_999, true));
    assert!(evidence_of(&facts).contains("not known"));
    let line = "Co-authored-by: new[bot] <9+new[bot]@users.noreply.github.com>";
    assert!(evidence_of(&with_message(line)).contains("new[bot]"));
}

#[test]
fn an_update_bot_is_no_agent_only_while_every_commit_is_its_own() {
    for (id, login) in NOT_AGENTS {
        let bot = account(login, id.unwrap_or(29_139_614), true);
        let mut facts = humans();
        facts.author = Some(bot.clone());
        facts.branch = "codex/looks-like-one".to_owned();
        facts.body =
            "Release notes: Generated with [Claude Code](https://claude.ai/code)".to_owned();
        facts.commits = vec![commit_by(login, "bot@example.org", Some(bot.clone()))];
        assert_eq!(kind(&facts), AuthorKind::Person, "{login}");

        let mut mixed = facts.clone();
        mixed
            .commits
            .push(commit_by("Alice", "alice@example.org", Some(human())));
        assert_eq!(kind(&mixed), AuthorKind::Agent, "{login}");
        let mut unknown = facts.clone();
        unknown.commits.push(commit_by("x", "x@example.org", None));
        assert_eq!(kind(&unknown), AuthorKind::Agent, "{login}");
        let mut cut = facts.clone();
        cut.all_commits = false;
        assert_eq!(kind(&cut), AuthorKind::Agent, "{login}");
        let mut none = facts.clone();
        none.commits.clear();
        assert_eq!(kind(&none), AuthorKind::Agent, "{login}");

        let mut persons = humans();
        persons
            .commits
            .push(commit_by(login, "bot@example.org", Some(bot)));
        assert_eq!(
            kind(&persons),
            AuthorKind::Person,
            "a {login} commit in a person's patch"
        );
    }
    let mut impostor = humans();
    impostor.author = Some(account("dependabot[bot]", 5, true));
    impostor.commits = vec![commit_by("x", "x@y", impostor.author.clone())];
    assert_eq!(kind(&impostor), AuthorKind::Agent, "the number decides");
}

#[test]
fn commits_beyond_the_limit_are_taken_for_an_agents() {
    let mut facts = humans();
    facts.all_commits = false;
    assert!(evidence_of(&facts).contains("more commits"));
}

#[test]
fn configuration_adds_and_excludes() {
    let config = Agents {
        logins: vec!["Acme-Coder[bot]".to_owned()],
        branches: vec!["auto/".to_owned(), "*-generated".to_owned()],
        labels: vec!["ai".to_owned()],
        trailers: vec![
            "Written-with:".to_owned(),
            "*@agents.acme.dev".to_owned(),
            "bot@acme.dev".to_owned(),
        ],
        exclude_logins: vec!["acme-updater[bot]".to_owned()],
    };
    let agent = |facts: &PullFacts| {
        let author = recognise(facts, &config);
        (author.kind == AuthorKind::Agent && author.evidence.ends_with("(configured)"))
            || panic!("{author:?}")
    };
    let mut facts = humans();
    facts.author = Some(account("acme-coder[bot]", 1, true));
    assert!(agent(&facts));
    for branch in ["auto/x", "parser-generated"] {
        let mut facts = humans();
        facts.branch = branch.to_owned();
        assert!(agent(&facts));
    }
    let mut facts = humans();
    facts.labels.push("AI".to_owned());
    assert!(agent(&facts));
    for line in [
        "written-with: x",
        "Co-authored-by: x <any@agents.acme.dev>",
        "Signed-off-by: x <bot@acme.dev>",
    ] {
        assert!(agent(&with_message(line)));
    }
    let mut facts = humans();
    let updater = account("acme-updater[bot]", 2, true);
    facts.author = Some(updater.clone());
    facts.commits = vec![commit_by("u", "u@x", Some(updater))];
    assert_eq!(recognise(&facts, &config).kind, AuthorKind::Person);
    facts
        .commits
        .push(commit_by("Alice", "alice@example.org", Some(human())));
    assert_eq!(recognise(&facts, &config).kind, AuthorKind::Agent);
}

#[test]
fn the_strongest_evidence_is_the_one_that_is_named() {
    let mut facts = with_message("Fix\n\nCo-Authored-By: Claude <noreply@anthropic.com>");
    facts.branch = "claude/fix".to_owned();
    let evidence = evidence_of(&facts);
    assert!(
        evidence.contains("trailer") && evidence.ends_with("(strong)"),
        "{evidence}"
    );
}

#[test]
fn what_was_lifted_stays_lifted_and_what_is_new_is_evidence_again() {
    let commit = |letter: &str, message: &str| CommitFacts {
        sha: Some(letter.repeat(40).parse().expect("an id")),
        message: message.to_owned(),
        ..CommitFacts::default()
    };
    const AGENTS: &str = "Fix\n\nCo-authored-by: Cursor <cursoragent@cursor.com>";
    let mut facts = PullFacts {
        branch: "codex/fix".to_owned(),
        labels: vec!["robot".to_owned()],
        commits: vec![commit("a", AGENTS), commit("b", "Fix")],
        all_commits: true,
        ..PullFacts::default()
    };
    let config = Agents {
        labels: vec!["robot".to_owned(), "droid".to_owned()],
        ..Agents::default()
    };
    assert_eq!(recognise(&facts, &config).kind, AuthorKind::Agent);
    facts.lifted = liftable(&facts, &config);
    assert_eq!(recognise(&facts, &config).kind, AuthorKind::Person);
    facts.commits.push(commit("c", "By a person"));
    assert_eq!(recognise(&facts, &config).kind, AuthorKind::Person);
    facts.commits.push(commit("d", AGENTS));
    assert_eq!(recognise(&facts, &config).kind, AuthorKind::Agent);
    facts.commits.pop();
    facts.labels.push("droid".to_owned());
    assert_eq!(recognise(&facts, &config).kind, AuthorKind::Agent);
    // What nobody looked at, nobody can lift.
    facts.all_commits = false;
    facts.lifted.extend(liftable(&facts, &config));
    assert_eq!(recognise(&facts, &config).kind, AuthorKind::Agent);
}
