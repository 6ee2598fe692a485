//! Texts: nothing from a repository comes alive, nothing outgrows the forge's limits.

mod formats;

use frostline::model::*;
use frostline::render::{self, AnnotationLevel, COMMENT_MARKER, TextStyle};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, TextMergeStream};

const PLAIN: TextStyle = TextStyle {
    width: 100,
    colour: false,
};

/// The texts that a repository brings into a decision.
#[derive(Debug, Clone)]
struct Texts {
    path: String,
    nodeid: String,
    message: String,
    owner: String,
}

impl Texts {
    /// Words only. An empty message has no fix to show, so it stays empty.
    fn harmless_like(other: &Self) -> Self {
        let mut texts = Self::harmless();
        if other.message.is_empty() {
            texts.message.clear();
        }
        texts
    }

    fn harmless() -> Self {
        Self {
            path: "src/a.rs".to_owned(),
            nodeid: "tests/p.rs::t".to_owned(),
            message: "words".to_owned(),
            owner: "team".to_owned(),
        }
    }
}

fn sha(digit: char) -> Sha {
    digit.to_string().repeat(40).parse().expect("a valid id")
}

fn finding(rule: Rule, effect: Effect, texts: &Texts) -> Finding {
    Finding {
        rule,
        effect,
        path: Some(texts.path.clone()),
        line: Some(7),
        nodeid: Some(texts.nodeid.clone()),
        owner: Some(texts.owner.clone()),
        message: texts.message.clone(),
        fix: texts.message.clone(),
    }
}

fn change(path: &str, class: Class) -> ClassifiedChange {
    ClassifiedChange {
        path: path.to_owned(),
        old_path: Some(path.to_owned()),
        status: ChangeStatus::Modified,
        class,
        hunks: vec![
            Hunk {
                old_start: 10,
                old_lines: 2,
                new_start: 10,
                new_lines: 4,
            },
            Hunk {
                old_start: 40,
                old_lines: 1,
                new_start: 42,
                new_lines: 0,
            },
        ],
    }
}

fn coverage(texts: &Texts) -> Coverage {
    Coverage {
        path: texts.path.clone(),
        rules: vec![texts.path.clone(), texts.owner.clone()],
        min_live: 1,
        live: 0,
        properties: vec![ListedProperty {
            nodeid: texts.nodeid.clone(),
            state: PropertyState::Frozen,
            why: texts.message.clone(),
        }],
    }
}

fn step(step: u8, name: &str, result: StepResult, detail: &str) -> Step {
    Step {
        step,
        name: name.to_owned(),
        result,
        detail: detail.to_owned(),
    }
}

/// A refused decision with one of everything that is shown.
fn refused(texts: &Texts) -> Decision {
    Decision {
        schema: DECISION_SCHEMA.to_owned(),
        subject: Subject::Patch,
        verdict: Verdict::Refuse,
        observe: false,
        decided_by: DecidedBy {
            step: 3,
            rule: Some(Rule::DigestMismatch),
        },
        repository: texts.path.clone(),
        branch: texts.owner.clone(),
        into_unguarded: Some(texts.owner.clone()),
        required: None,
        decision_key: None,
        review: None,
        base: sha('a'),
        merge_base: Some(sha('b')),
        head: sha('c'),
        author: DecisionAuthor {
            kind: AuthorKind::Agent,
            login: Some(texts.owner.clone()),
            evidence: texts.message.clone(),
        },
        bound: true,
        comments: CommentPolicy::Holes,
        write_set: vec![change(&texts.path, Class::Production)],
        table: vec![
            step(3, "fixture digests", StepResult::Refuse, &texts.message),
            step(5, "hunk map", StepResult::Refuse, &texts.message),
        ],
        findings: vec![
            finding(Rule::DigestMismatch, Effect::Refuse, texts),
            finding(Rule::CoverageHole, Effect::Refuse, texts),
            finding(Rule::LiveSetShrank, Effect::Notice, texts),
            finding(Rule::SensitiveFreeze, Effect::Refuse, texts),
        ],
        coverage: vec![coverage(texts)],
        fixtures: Vec::new(),
        freezes: Some(vec![FreezeRow {
            nodeid: texts.nodeid.clone(),
            source: texts.path.clone(),
            line: 1,
            state: FreezeState::Unbound,
            reason: texts.message.clone(),
            why: texts.message.clone(),
            recorded_digest: Some(texts.nodeid.clone()),
            current_digest: Some(texts.owner.clone()),
            owner: Some(texts.owner.clone()),
            opened_at: Some(texts.owner.clone()),
            expires_at: Some("2031-01-01T00:00:00Z".to_owned()),
            touches_patch: true,
        }]),
        stats: Stats::default(),
    }
}

/// What a hostile repository would try, alone and glued together.
fn hostile() -> impl Strategy<Value = String> {
    let trick = prop::sample::select(vec![
        "@user",
        "@org/team",
        "#12",
        "GH-12",
        "acme/x#1",
        "deadbeef",
        "0123456789abcdef",
        "`",
        "``",
        "```",
        "|",
        "\\|",
        "\\",
        "\n",
        "\r\n",
        "\n\n",
        "<b>",
        "</details>",
        "<!--",
        "-->",
        "<img src=x>",
        "[x](http://e.org)",
        "![i](u)",
        "[x]: u",
        "[^1]",
        "https://e.org",
        "www.e.org",
        "a@b.org",
        ":smile:",
        ":",
        "~~~",
        "~",
        "# h",
        "- i",
        "1. ",
        "2)",
        "***",
        "_a_",
        "*",
        "\u{202e}",
        "\u{1b}[31m",
        "\u{0}",
        "$",
        "$`x`$",
        "&lt;",
        "&#64;user",
        "ABC-12",
        " ",
        "   ",
        "\t",
        "é",
        "word",
        ".",
        ",",
        "(",
        ")",
        "\"",
        "'",
        "?",
        "===",
        "---",
        "> q",
        "%",
        "+ x",
        "\u{2028}",
        "\u{feff}",
        "- [ ] x",
        "javascript:x",
        "mailto:a@b.c",
        "xmpp:a@b.c",
        "http",
        "://",
        "www",
        "www.",
        "\u{200b}",
    ]);
    prop_oneof![
        3 => prop::collection::vec(trick, 0..8).prop_map(|parts| parts.concat()),
        1 => any::<String>(),
        1 => "`{0,100}",
        1 => "[a-z`|\\\\ ]{0,1200}",
    ]
}

fn texts() -> impl Strategy<Value = Texts> {
    (hostile(), hostile(), hostile(), hostile()).prop_map(|(path, nodeid, message, owner)| Texts {
        path,
        nodeid,
        message,
        owner,
    })
}

fn events(markdown: &str) -> Vec<Event<'_>> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM
        | Options::ENABLE_MATH;
    TextMergeStream::new(Parser::new_ext(markdown, options)).collect()
}

/// Block structure: every start and end that is no inline markup.
fn blocks(markdown: &str) -> Vec<String> {
    let inline = |event: &Event<'_>| {
        matches!(
            event,
            Event::Start(Tag::Emphasis | Tag::Strong)
                | Event::End(TagEnd::Emphasis | TagEnd::Strong)
        )
    };
    events(markdown)
        .iter()
        .filter(|event| matches!(event, Event::Start(_) | Event::End(_)) && !inline(event))
        .map(|event| format!("{event:?}"))
        .collect()
}

/// What a forge brings to life in rendered text that is not code.
fn alive(text: &str) -> Option<&'static str> {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .collect();
    let follows = |mark: char, next: fn(char) -> bool| {
        text.match_indices(mark)
            .any(|(at, m)| text[at + m.len()..].chars().next().is_some_and(next))
    };
    if follows('@', char::is_alphanumeric) {
        return Some("a mention or an address");
    }
    if follows('#', |c| c.is_ascii_digit()) {
        return Some("an issue reference");
    }
    if text.contains("://") || text.to_lowercase().contains("www.") {
        return Some("a link");
    }
    if follows(':', |c| c.is_alphanumeric() || c == '+' || c == '_') {
        return Some("an emoji or a scheme");
    }
    if words
        .iter()
        .any(|w| w.len() >= 7 && w.bytes().all(|b| b.is_ascii_hexdigit()))
    {
        return Some("a commit");
    }
    let abbreviation = |word: &&str| {
        word.split_once('-').is_some_and(|(name, number)| {
            !name.is_empty() && number.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    if words.iter().any(abbreviation) {
        return Some("an issue abbreviation");
    }
    text.contains('$').then_some("a formula")
}

fn is_our_html(html: &str) -> bool {
    html.lines().all(|line| {
        let summary = line
            .strip_prefix("<summary>")
            .and_then(|rest| rest.strip_suffix("</summary>"));
        match summary {
            Some(text) => text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || " ,:-".contains(c)),
            None => matches!(line, "" | "<details>" | "</details>") || line == COMMENT_MARKER,
        }
    })
}

fn assert_nothing_lives(markdown: &str) {
    for event in events(markdown) {
        match &event {
            Event::Html(html) | Event::InlineHtml(html) => {
                assert!(is_our_html(html), "HTML {html:?} in\n{markdown}");
            }
            Event::Text(text) => {
                assert_eq!(alive(text), None, "in {text:?} of\n{markdown}");
            }
            Event::Start(tag) => assert!(
                matches!(
                    tag,
                    Tag::Paragraph
                        | Tag::Heading { .. }
                        | Tag::List(_)
                        | Tag::Item
                        | Tag::Table(_)
                        | Tag::TableHead
                        | Tag::TableRow
                        | Tag::TableCell
                        | Tag::Emphasis
                        | Tag::Strong
                        | Tag::HtmlBlock
                ),
                "{tag:?} in\n{markdown}"
            ),
            Event::Code(_) | Event::End(_) | Event::SoftBreak => {}
            other => panic!("{other:?} in\n{markdown}"),
        }
    }
}

fn codes(markdown: &str) -> Vec<String> {
    events(markdown)
        .into_iter()
        .filter_map(|event| match event {
            Event::Code(code) => Some(code.to_string()),
            _ => None,
        })
        .collect()
}

/// Texts that a code span shows to the letter.
fn shown_whole(text: &str) -> bool {
    !text.trim_matches(' ').is_empty()
        && render::visible(text).chars().count() <= 512
        && !text.contains("\\|")
        && !text.contains(&"`".repeat(9))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn nothing_from_a_repository_comes_alive(texts in texts()) {
        let (hostile, harmless) = (refused(&texts), refused(&Texts::harmless_like(&texts)));
        let comment = |decision| render::comment(decision).expect("there are holes");
        let documents: [fn(&Decision) -> String; 2] =
            [|d| render::check_run(d).summary, render::markdown];
        for document in documents {
            let text = document(&hostile);
            assert_nothing_lives(&text);
            prop_assert_eq!(blocks(&text), blocks(&document(&harmless)), "in\n{}", text);
        }
        assert_nothing_lives(&comment(&hostile));
        prop_assert_eq!(blocks(&comment(&hostile)), blocks(&comment(&harmless)));
        assert_nothing_lives(&render::comment_resolved(&hostile));
        assert_nothing_lives(&render::could_not_evaluate(&texts.message).summary);
        prop_assert_eq!(render::headline(&hostile), render::headline(&harmless));
    }

    #[test]
    fn code_spans_show_what_the_repository_holds(texts in texts()) {
        let decision = refused(&texts);
        let comment = render::comment(&decision).expect("there are holes");
        for markdown in [render::markdown(&decision), comment] {
            let codes = codes(&markdown);
            for text in [&texts.path, &texts.nodeid] {
                if shown_whole(text) {
                    prop_assert!(
                        codes.contains(&render::visible(text)),
                        "{:?} is not among {:?} of\n{}", text, codes, markdown
                    );
                }
            }
        }
    }

    #[test]
    fn terminal_text_holds_everything_and_controls_nothing(texts in texts()) {
        let text = render::text(&refused(&texts), PLAIN);
        prop_assert!(!text.chars().any(|c| c != '\n' && c.is_control()), "{:?}", text);
        prop_assert!(!text.contains(['\u{202e}', '\u{2028}', '\u{200b}']), "{:?}", text);
        let squeeze = |text: &str| text.replace([' ', '\n'], "");
        let all = squeeze(&text);
        for part in [&texts.path, &texts.nodeid, &texts.message, &texts.owner] {
            prop_assert!(all.contains(&squeeze(&render::visible(part))), "{:?} not in\n{}", part, text);
        }
    }

    #[test]
    fn json_comes_back_as_the_same_decision(texts in texts()) {
        let decision = refused(&texts);
        let json = render::json(&decision);
        prop_assert_eq!(&serde_json::from_str::<Decision>(&json).expect("it parses"), &decision);
        prop_assert_eq!(render::json(&decision), json);
    }

    #[test]
    fn annotations_keep_the_forges_limits(texts in texts(), long in 0_usize..30_000) {
        let mut texts = texts;
        texts.message.push_str(&"é\n".repeat(long));
        for annotation in render::check_run(&refused(&texts)).annotations {
            prop_assert!(annotation.message.len() <= 64 * 1024);
            prop_assert!(annotation.title.chars().count() <= 255);
            prop_assert!(1 <= annotation.start_line && annotation.start_line <= annotation.end_line);
            let escape = annotation.message.contains('\u{1b}');
            prop_assert!(!escape);
        }
    }
}

/// A decision with `n` holes and as many paths, findings and freezes, all with long names.
fn large(n: usize, name: &str) -> Decision {
    let mut decision = refused(&Texts::harmless());
    let texts = |i: usize| Texts {
        path: format!("src/{name}{i}"),
        nodeid: format!("tests/{name}{i}::t"),
        message: format!("{name}{i} has no live property"),
        owner: "team".to_owned(),
    };
    let covered = Coverage {
        live: 1,
        ..coverage(&Texts::harmless())
    };
    decision.coverage = (0..n)
        .map(|_| covered.clone())
        .chain((0..n).map(|i| coverage(&texts(i))))
        .collect();
    decision.findings = (0..n)
        .flat_map(|i| {
            [
                finding(Rule::CoverageHole, Effect::Refuse, &texts(i)),
                finding(Rule::UnusedRule, Effect::Notice, &texts(i)),
                finding(Rule::LiveSetShrank, Effect::Notice, &texts(i)),
            ]
        })
        .collect();
    decision.write_set = (0..n)
        .map(|i| change(&texts(i).path, Class::Production))
        .collect();
    let row = decision
        .freezes
        .iter()
        .flatten()
        .next()
        .expect("a row")
        .clone();
    decision.freezes = Some(vec![row; n]);
    decision
}

#[test]
fn summary_and_comment_stay_under_the_limit_and_count_what_they_leave_out() {
    for name in [
        "x".repeat(40),
        "日".repeat(2000),
        "`|".repeat(300),
        "\u{10ffff}".repeat(900),
    ] {
        let decision = large(3000, &name);
        let summary = render::check_run(&decision).summary;
        let comment = render::comment(&decision).expect("there are holes");
        for text in [&summary, &comment] {
            assert!(text.len() <= 65_535, "{} bytes", text.len());
            assert!(text.contains("not shown here"), "nothing is counted");
            assert_nothing_lives(text);
        }
        assert_eq!(summary.matches("<details>").count(), 2);
        assert_eq!(summary.matches("</details>").count(), 2);
        let first_row = summary
            .lines()
            .skip_while(|line| !line.starts_with("| path |"))
            .nth(2)
            .expect("a row of coverage");
        assert!(first_row.contains("0 / 1"), "holes come first: {first_row}");
    }
}

#[test]
fn the_markdown_of_the_command_line_leaves_nothing_out() {
    let text = render::markdown(&large(3000, "x"));
    assert!(text.contains("`src/x2999`"));
    assert!(!text.contains("not shown here"));
}

#[test]
fn the_terminal_lists_hundreds_of_findings_under_one_count() {
    let text = render::text(&large(300, "x"), PLAIN);
    assert!(
        text.contains("coverage-hole (300 coverage holes)"),
        "{text}"
    );
    for i in 0..300 {
        assert!(text.contains(&format!("src/x{i}:7")), "{i}");
    }
}

#[test]
fn the_summary_keeps_its_order() {
    let summary = render::check_run(&refused(&Texts::harmless())).summary;
    let parts = [
        "This must not be merged as it is: step 3 (fixture digests) decided",
        "| ➤ | 3. fixture digests | `refuse` |",
        "### Coverage by production path",
        "| `src/a.rs` | `src/a.rs`, `team` | 0 / 1 | 1 live property: `tests/p.rs::t` · frozen: words |",
        "### Findings",
        "### Freezes that touch this patch",
        "<summary>Write-set: 1 production file</summary>",
        "<summary>Commits and versions</summary>",
    ];
    let mut from = 0;
    for part in parts {
        let at = summary[from..].find(part);
        from += at.unwrap_or_else(|| panic!("{part:?} is missing or out of order in\n{summary}"));
    }
    assert!(!summary.contains("| ➤ | 5."), "one row decided");
}

#[test]
fn one_path_and_several_paths_of_a_class_are_counted_in_words() {
    let counted = |class: Class| (class.counted(1), class.counted(2));
    let words = |one: &str, many: &str| (one.to_owned(), many.to_owned());
    assert_eq!(counted(Class::Fixture), words("1 fixture", "2 fixtures"));
    assert_eq!(counted(Class::Test), words("1 test file", "2 test files"));
    assert_eq!(
        counted(Class::Property),
        words("1 property file", "2 property files")
    );
}

#[test]
fn the_title_counts_what_decided() {
    let mut decision = refused(&Texts::harmless());
    let title = |decision: &Decision| render::check_run(decision).title;
    assert_eq!(
        title(&decision),
        "Refused: 1 coverage hole, 1 digest mismatch, 1 sensitive freeze"
    );
    let hole = decision.findings[1].clone();
    decision.findings.push(hole);
    decision.observe = true;
    assert_eq!(
        title(&decision),
        "would refuse: 2 coverage holes, 1 digest mismatch, 1 sensitive freeze"
    );
    decision.observe = false;
    decision.verdict = Verdict::Pass;
    decision.findings.clear();
    assert_eq!(title(&decision), "Passed: 1 production path covered");
    decision.bound = false;
    assert_eq!(
        title(&decision),
        "Passed: not bound, a person's pull request"
    );
    decision.verdict = Verdict::NotApplicable;
    assert_eq!(
        title(&decision),
        "Not opted in: Frostline judges nothing here yet"
    );
    decision.verdict = Verdict::HumanReview;
    decision.findings = Rule::ALL
        .iter()
        .map(|rule| finding(*rule, Effect::HumanReview, &Texts::harmless()))
        .collect();
    assert_eq!(
        title(&decision),
        "Needs human review: 1 unreadable contract file, 1 fact that could not be had, \
         1 coverage hole, 1 unmapped path, 40 other findings"
    );
}

#[test]
fn annotations_stand_on_the_hunks_of_holes_and_on_mismatches() {
    let mut decision = refused(&Texts::harmless());
    let annotations = render::check_run(&decision).annotations;
    let places: Vec<_> = annotations
        .iter()
        .map(|a| (a.title.as_str(), a.start_line, a.end_line, a.level))
        .collect();
    assert_eq!(
        places,
        [
            ("Coverage hole", 10, 13, AnnotationLevel::Failure),
            ("Digest mismatch", 7, 7, AnnotationLevel::Failure),
        ]
    );
    decision.observe = true;
    let annotations = render::check_run(&decision).annotations;
    assert!(
        annotations
            .iter()
            .all(|a| a.level == AnnotationLevel::Warning)
    );
    decision.bound = false;
    assert_eq!(render::check_run(&decision).annotations, []);
}

#[test]
fn the_comment_exists_only_when_there_is_something_to_name() {
    let mut decision = refused(&Texts::harmless());
    let comment = render::comment(&decision).expect("there are holes");
    assert!(
        comment.starts_with(&format!("{COMMENT_MARKER}\n")),
        "{comment}"
    );
    assert!(
        comment.contains("- `src/a.rs`, lines 10–13, after line 42: words\n"),
        "{comment}"
    );
    assert!(
        comment.contains("  - `tests/p.rs::t` · frozen: words\n"),
        "{comment}"
    );
    decision.comments = CommentPolicy::Never;
    assert_eq!(render::comment(&decision), None);
    decision.comments = CommentPolicy::Holes;
    decision.bound = false;
    decision.verdict = Verdict::Pass;
    assert_eq!(
        render::comment(&decision),
        None,
        "holes do not bind a person"
    );
    decision.verdict = Verdict::AllowRecheck;
    assert!(
        render::comment(&decision).is_some(),
        "a freeze list opens holes"
    );
    decision.bound = true;
    decision.findings.retain(|f| f.rule == Rule::DigestMismatch);
    assert_eq!(render::comment(&decision), None);
    decision.comments = CommentPolicy::Always;
    assert!(render::comment(&decision).is_some());
}
