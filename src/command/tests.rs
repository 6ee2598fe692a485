use super::{
    Actor, Barred, COMMANDS, Command, MOST_LINES, Owner, Row, Ties, Who, authorize, find, read,
};
use crate::model::{Fact, NodeId, Permission, PrNumber, Tie};

fn all(body: &str) -> Vec<String> {
    find(body)
        .iter()
        .enumerate()
        .map(|(place, line)| match read(line, place) {
            Ok(command) => format!("{command:?}"),
            Err(mistake) => format!("mistake: {mistake}"),
        })
        .collect()
}

#[test]
fn the_first_line_that_is_not_blank_is_the_command() {
    assert_eq!(all("/frostline recheck"), ["Recheck"]);
    assert_eq!(all("\r\n \r\n  /frostline\tstatus \r\nthanks"), ["Status"]);
    assert_eq!(all("/frostline"), ["Help"]);
    assert_eq!(
        all("/frostline explain src/a b.rs "),
        ["Explain(\"src/a b.rs\")"]
    );
    assert_eq!(
        all("/frostline explain `tests/a.py::test_a[x]`"),
        ["Explain(\"tests/a.py::test_a[x]\")"]
    );
    for none in [
        "",
        "please /frostline recheck",
        "Hello\n/frostline recheck",
        "/frostlines recheck",
        "/frostline: recheck",
        "/FROSTLINE recheck",
        "@frostline recheck",
    ] {
        assert_eq!(find(none), [""; 0], "{none}");
    }
}

#[test]
fn code_quotes_and_html_comments_are_no_commands() {
    for none in [
        "```\n/frostline recheck\n```",
        "~~~\n/frostline recheck\n~~~",
        "    /frostline recheck",
        "\t/frostline recheck",
        "> /frostline recheck",
        "<!--\n/frostline recheck\n-->",
        "<!-- /frostline recheck -->",
        "`/frostline recheck`",
        "- /frostline recheck",
        "<details>\n/frostline recheck\n</details>",
    ] {
        assert_eq!(find(none), [""; 0], "{none}");
    }
    // What opens on a command's line ends the commands.
    assert_eq!(
        all("/frostline status <!--\n/frostline recheck\n-->"),
        ["Status"]
    );
    assert_eq!(
        all("/frostline status\n```\n/frostline recheck\n```"),
        ["Status"]
    );
}

#[test]
fn up_to_five_lines_are_commands_and_a_sixth_is_told() {
    let body = "/frostline status\n\n/frostline recheck\nand\n/frostline help";
    assert_eq!(all(body), ["Status", "Recheck"]);
    let many = "/frostline status\n".repeat(9);
    let read = all(&many);
    assert_eq!(read.len(), MOST_LINES + 1);
    assert!(read[..MOST_LINES].iter().all(|line| line == "Status"));
    assert!(read[MOST_LINES].contains("at most 5"), "{read:?}");
}

#[test]
fn a_mistake_says_what_was_meant() {
    let told = |body: &str| all(body).remove(0);
    assert!(told("/frostline rechek").contains("did you mean `recheck`?"));
    assert!(told("/frostline HELP").contains("did you mean `help`?"));
    assert!(told("/frostline dance").contains("`status`"));
    assert!(told("/frostline recheck now").contains("write `/frostline recheck`"));
    assert!(told("/frostline explain").contains("write `/frostline explain PATH|NODEID`"));
    let long = format!("/frostline explain {}", "x".repeat(5_000));
    assert!(find(&long)[0].len() < 1_100);
    assert!(told(&long).contains("at most 1000 characters"));
}

/// A row's usage with arguments that could be.
fn usage(row: &Row) -> String {
    row.usage()
        .replace("PATH|NODEID", "src/a.rs")
        .replace(
            "[NODEID] [reason=ORDER|CLOCK|IO] [seed=N]",
            "NODEID seed=0x1f",
        )
        .replace("seed=N reason=ORDER|CLOCK|IO", "seed=7 reason=IO")
        .replace("@OWNER [replay=\"LINE\"]", "@acme/parse replay=\"a b\"")
        .replace("NODEID…", "NODEID")
        .replace("NODEID", "tests/test_a.py::test_a")
        .replace("FIXTURE", "tests/fixtures/a.json")
        .replace("PATH", "src/a.rs")
}

#[test]
fn arguments_are_words_and_what_is_between_marks_is_one() {
    let line =
        "/frostline map `src/my file.py` \"tests/test_a.py::test[a b]\" tests/test_b.py::test_b";
    let Ok(Command::Map { path, properties }) = read(line, 0) else {
        panic!("a command");
    };
    assert_eq!(path, "src/my file.py");
    let ids: Vec<&str> = properties.iter().map(NodeId::as_str).collect();
    assert_eq!(
        ids,
        ["tests/test_a.py::test[a b]", "tests/test_b.py::test_b"]
    );
    for (line, why) in [
        ("map src/a.py", "write `/frostline map PATH NODEID…`"),
        (
            "map ../a.py tests/test_a.py::test_a",
            "component `.` or `..`",
        ),
        ("map src/a.py /etc/x::y", "a canonical repository path"),
        ("map `src/a.py tests/test_a.py::test_a", "is not closed"),
        (
            "map `src/a.py`x tests/test_a.py::test_a",
            "a space is missing",
        ),
        (
            "note tests/fixtures/a.json",
            "write `/frostline note FIXTURE \"TEXT\"`",
        ),
        (
            "note tests/fixtures/a.json two words",
            "between double quotes",
        ),
        ("note tests/fixtures/a.json \" \"", "write `/frostline note"),
    ] {
        let mistake = read(&format!("/frostline {line}"), 0).expect_err(line);
        assert!(mistake.to_string().contains(why), "{line}: {mistake}");
    }
}

#[test]
fn every_row_builds_the_command_that_it_describes() {
    for row in COMMANDS {
        let line = usage(row);
        let command = read(&line, 0).expect(row.name);
        assert_eq!(command.row().name, row.name);
    }
}

fn actor(permission: Fact<Permission>) -> Actor {
    Actor {
        login: "ann".to_owned(),
        id: 7,
        is_bot: false,
        permission,
        ties: Ties {
            is_agent: false,
            tie: Fact::Known(None),
            concerned: Fact::Known(None),
            owners: vec!["@ann".to_owned()],
            owns: Fact::Known(false),
            author_may_accept: false,
        },
    }
}

#[test]
fn a_command_is_for_those_whom_the_table_names() {
    for row in COMMANDS {
        let line = usage(row);
        let may = |actor: &Actor| authorize(read(&line, 0).expect(row.name), actor).is_ok();
        let least = match row.who {
            Who::Anyone => Permission::None,
            Who::Reader => Permission::Read,
            Who::Writer => Permission::Write,
            // Nobody here owns the row.
            Who::Owner => Permission::Maintain,
            Who::Maintainer => Permission::Maintain,
        };
        for permission in [
            Permission::None,
            Permission::Read,
            Permission::Write,
            Permission::Maintain,
            Permission::Admin,
        ] {
            let actor = actor(Fact::Known(permission));
            assert_eq!(
                may(&actor),
                permission >= least,
                "{} {permission:?}",
                row.name
            );
        }
        let unknown = actor(Fact::Unavailable("403".to_owned()));
        assert_eq!(may(&unknown), row.who == Who::Anyone, "{}", row.name);
        let bot = Actor {
            is_bot: true,
            ..actor(Fact::Known(Permission::Admin))
        };
        assert!(!may(&bot), "{}", row.name);
    }
}

#[test]
fn who_is_refused_is_told_for_whom_the_command_is() {
    let denied = authorize(Command::Recheck, &actor(Fact::Known(Permission::None)));
    let denied = denied.map(|_| ()).expect_err("no right").to_string();
    assert_eq!(denied, "`recheck` is for people with read access");
}

#[test]
fn accept_is_never_for_who_brings_the_patch_or_for_an_agent() {
    let may = |ties: Ties| {
        let actor = Actor {
            ties,
            ..actor(Fact::Known(Permission::Admin))
        };
        authorize(Command::Accept(None), &actor).is_ok()
    };
    let ties = |tie: Fact<Option<Tie>>, is_agent, author_may_accept| Ties {
        is_agent,
        tie,
        concerned: Fact::Known(Some(PrNumber(9))),
        owners: Vec::new(),
        owns: Fact::Known(true),
        author_may_accept,
    };
    assert!(may(ties(Fact::Known(None), false, false)));
    assert!(!may(ties(Fact::Known(None), true, true)));
    assert!(!may(Ties::unknown()));
    for tie in [Tie::Author, Tie::Pusher, Tie::CommitAuthor] {
        assert!(!may(ties(Fact::Known(Some(tie)), false, false)), "{tie:?}");
        assert!(may(ties(Fact::Known(Some(tie)), false, true)), "{tie:?}");
        assert!(!may(ties(Fact::Known(Some(tie)), true, true)), "{tie:?}");
    }
}

#[test]
fn a_contract_command_is_never_for_whom_it_concerns_or_for_an_agent() {
    let rows = COMMANDS
        .iter()
        .filter(|row| row.barred == Barred::Concerned);
    let mut seen = 0;
    for row in rows {
        seen += 1;
        let may = |concerned, is_agent| {
            let actor = actor(Fact::Known(Permission::Admin));
            let ties = Ties {
                is_agent,
                concerned,
                author_may_accept: true,
                ..actor.ties.clone()
            };
            let line = usage(row);
            let command = read(&line, 0).expect(row.name);
            authorize(command, &Actor { ties, ..actor })
                .map(|_| ())
                .map_err(|d| d.to_string())
        };
        assert_eq!(may(Fact::Known(None), false), Ok(()));
        assert!(may(Fact::Known(None), true).is_err());
        assert!(may(Fact::Unavailable("403".to_owned()), false).is_err());
        let denied = may(Fact::Known(Some(PrNumber(9))), false).expect_err("concerned");
        assert!(denied.contains("pull request 9"), "{denied}");
    }
    assert!(seen > 0);
}

#[test]
fn a_row_is_its_owners_and_the_maintainers_and_a_refusal_says_who_could() {
    let ask = |permission, owns: Fact<bool>| {
        let actor = actor(Fact::Known(permission));
        let ties = Ties {
            owners: vec!["@acme/parse".to_owned()],
            owns,
            ..actor.ties.clone()
        };
        let command = read("/frostline close tests/test_a.py::test_a", 0).expect("a command");
        let actor = Actor { ties, ..actor };
        authorize(command, &actor)
            .map(|_| ())
            .map_err(|denied| denied.to_string())
    };
    assert_eq!(ask(Permission::Write, Fact::Known(true)), Ok(()));
    assert_eq!(ask(Permission::Maintain, Fact::Known(false)), Ok(()));
    assert!(
        ask(Permission::Read, Fact::Known(true)).is_err(),
        "an owner without write access"
    );
    let denied = ask(Permission::Write, Fact::Known(false)).expect_err("no owner");
    assert!(denied.contains("@acme/parse"), "{denied}");
    let unknown = Fact::Unavailable("403".to_owned());
    let denied = ask(Permission::Write, unknown).expect_err("unknown");
    assert!(denied.contains("could not be told"), "{denied}");
}

#[test]
fn an_owner_is_a_login_or_a_team_and_nothing_else() {
    assert_eq!(Owner::of("@ann"), Some(Owner::Login("ann".to_owned())));
    let team = Owner::Team("acme".to_owned(), "parse".to_owned());
    assert_eq!(Owner::of("@acme/parse"), Some(team));
    for text in [
        "ann", "@", "@a/b/c", "@a b", "@/x", "@a/", "@a\n", "@<b>", "",
    ] {
        assert_eq!(Owner::of(text), None, "{text:?}");
    }
}

#[test]
fn what_a_row_says_is_checked_when_it_is_asked_for() {
    for (line, why) in [
        (
            "freeze a.py::t seed=x reason=IO owner=@a",
            "neither an integer",
        ),
        (
            "freeze a.py::t seed=1 reason=HASH owner=@a",
            "freezes nothing",
        ),
        (
            "freeze a.py::t seed=1 reason=IO owner=ann",
            "neither @login nor @org/team",
        ),
        ("freeze a.py::t seed=1 reason=IO", "`owner=` is missing"),
        (
            "freeze a.py::t seed=1 seed=2 reason=IO owner=@a",
            "wants one value",
        ),
        ("freeze a.py::t speed=1", "is none of its arguments"),
        ("close", "write `/frostline close NODEID`"),
        ("reopen a.py::t because", "is none of its arguments"),
    ] {
        let mistake = read(&format!("/frostline {line}"), 0).expect_err(line);
        assert!(mistake.to_string().contains(why), "{line}: {mistake}");
    }
    let Ok(Command::Freeze(new)) = read(
        "/frostline freeze a.js::t seed=5 reason=IO owner=@a replay=\"FC_SEED=5 npx vitest\"",
        0,
    ) else {
        panic!("a command");
    };
    assert_eq!(new.replay.as_deref(), Some("FC_SEED=5 npx vitest"));
    let Ok(Command::Reopen(bare)) = read("/frostline reopen", 0) else {
        panic!("a command");
    };
    assert_eq!(bare.nodeid, None);
}

/// Kinds of actors, each by what is known of it.
fn actors() -> Vec<(&'static str, Actor)> {
    use Permission::{Maintain, None as Nothing, Read, Write};
    let of = |permission, change: fn(&mut Actor)| {
        let mut actor = actor(Fact::Known(permission));
        change(&mut actor);
        actor
    };
    vec![
        // An account with every right is an agent's or a bot's all the same.
        ("agent", of(Maintain, |a| a.ties.is_agent = true)),
        ("bot", of(Maintain, |a| a.is_bot = true)),
        (
            "author",
            of(Maintain, |a| {
                a.ties.tie = Fact::Known(Some(Tie::Author));
                a.ties.concerned = Fact::Known(Some(PrNumber(9)));
            }),
        ),
        (
            "pusher",
            of(Maintain, |a| {
                a.ties.tie = Fact::Known(Some(Tie::Pusher));
                a.ties.concerned = Fact::Known(Some(PrNumber(9)));
            }),
        ),
        ("reader", of(Read, |_| {})),
        ("writer", of(Write, |_| {})),
        // By login or as a member of a team: the row is theirs.
        ("owner", of(Write, |a| a.ties.owns = Fact::Known(true))),
        (
            "member",
            of(Write, |a| {
                a.ties.owners = vec!["@acme/parse".to_owned()];
                a.ties.owns = Fact::Known(true);
            }),
        ),
        // Owns the row, and lost the right to write.
        ("former", of(Read, |a| a.ties.owns = Fact::Known(true))),
        ("maintainer", of(Maintain, |_| {})),
        // Comments on a public repository; on a fork their rights are others.
        ("outsider", of(Nothing, |a| a.ties.owns = Fact::Known(true))),
    ]
}

/// Interfaces section 7: one row a command, and who of [`actors`] may give it.
const RIGHTS: &[(&[&str], &str)] = &[
    (
        &["help", "status", "explain"],
        "agent author pusher reader writer owner member former maintainer outsider",
    ),
    (
        &["recheck"],
        "agent author pusher reader writer owner member former maintainer",
    ),
    (&["accept"], "maintainer"),
    (&["human"], "author pusher maintainer"),
    (
        &["lock", "map", "note", "freeze"],
        "writer owner member maintainer",
    ),
    (&["reopen", "close"], "owner member maintainer"),
];

#[test]
fn each_command_is_for_the_actors_of_its_row_and_for_no_other() {
    let mut seen = std::collections::BTreeSet::new();
    for (commands, allowed) in RIGHTS {
        for name in *commands {
            let row = COMMANDS.iter().find(|row| row.name == *name).expect(name);
            seen.insert(row.name);
            let line = usage(row);
            let may: Vec<&str> = actors()
                .into_iter()
                .filter(|(_, actor)| authorize(read(&line, 0).expect(name), actor).is_ok())
                .map(|(kind, _)| kind)
                .collect();
            assert_eq!(may.join(" "), *allowed, "{name}");
        }
    }
    let all: std::collections::BTreeSet<&str> = COMMANDS.iter().map(|row| row.name).collect();
    assert_eq!(seen, all, "every command has its row");
}
