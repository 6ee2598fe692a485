use proptest::prelude::*;

use super::*;
use crate::model::{
    DECISION_SCHEMA, DecidedBy, DecisionAuthor, Effect, Finding, Sha, Step, StepResult, Subject,
};

fn sha(n: u8) -> Sha {
    format!("{n:040x}").parse().expect("an id")
}

fn decision(verdict: Verdict) -> Decision {
    Decision {
        schema: DECISION_SCHEMA.to_owned(),
        verdict,
        observe: false,
        decided_by: DecidedBy {
            step: 7,
            rule: None,
        },
        repository: "acme/parser".to_owned(),
        branch: "main".to_owned(),
        subject: Subject::Patch,
        into_unguarded: None,
        required: None,
        decision_key: None,
        review: None,
        base: sha(1),
        merge_base: Some(sha(1)),
        head: sha(2),
        author: DecisionAuthor {
            kind: AuthorKind::Agent,
            login: Some("acme-coder[bot]".to_owned()),
            evidence: "login".to_owned(),
        },
        bound: true,
        comments: CommentPolicy::Holes,
        write_set: Vec::new(),
        table: vec![Step {
            step: 7,
            name: "verdict".to_owned(),
            result: StepResult::Pass,
            detail: String::new(),
        }],
        findings: Vec::new(),
        coverage: Vec::new(),
        fixtures: Vec::new(),
        freezes: Some(Vec::new()),
        stats: Stats::default(),
    }
}

fn finding(rule: Rule, effect: Effect) -> Finding {
    Finding {
        rule,
        effect,
        path: Some("src/a.py".to_owned()),
        line: Some(1),
        nodeid: None,
        owner: None,
        message: "It is so.".to_owned(),
        fix: "Mend it.".to_owned(),
    }
}

fn with_hole() -> Decision {
    let mut decision = decision(Verdict::Refuse);
    decision
        .findings
        .push(finding(Rule::CoverageHole, Effect::Refuse));
    decision
}

fn open(sent: usize, fingerprint: Option<String>) -> Published {
    Published {
        run: Run::Open { fingerprint, sent },
        comment: None,
    }
}

fn carry_out(previous: &Published, actions: &[Action]) -> Published {
    actions.iter().fold(previous.clone(), |published, action| {
        published.after(action)
    })
}

#[test]
fn every_verdict_has_its_conclusion() {
    for (verdict, wanted) in [
        (Verdict::Pass, "success"),
        (Verdict::AllowRecheck, "success"),
        (Verdict::Refuse, "failure"),
        (Verdict::HumanReview, "action_required"),
        (Verdict::NotApplicable, "neutral"),
    ] {
        let mut decision = decision(verdict);
        assert_eq!(conclusion(&decision).name(), wanted);
        decision.observe = true;
        assert_eq!(conclusion(&decision).name(), "neutral");
    }
}

#[test]
fn another_guarded_branch_has_a_check_of_its_own() {
    assert_eq!(check_name("main", "main"), "frostline");
    assert_eq!(check_name("release/1", "main"), "frostline (release/1)");
}

#[test]
fn an_equal_decision_is_not_published_again_whatever_it_cost() {
    let first = with_hole();
    let published = carry_out(&open(0, None), &plan(&open(0, None), &first, false));
    let mut again = first.clone();
    again.stats.forge_requests = 99;
    assert_eq!(plan(&published, &again, false), []);
    again.base = sha(9);
    assert!(matches!(
        plan(&published, &again, false)[..],
        [Action::Conclude { .. }]
    ));
}

#[test]
fn a_repository_that_has_not_opted_in_gets_one_check_on_an_agents_head_and_none_on_a_persons() {
    let mut decision = decision(Verdict::NotApplicable);
    let actions = plan(&Published::default(), &decision, false);
    assert!(matches!(actions[..], [Action::Conclude { .. }]));
    let published = carry_out(&Published::default(), &actions);
    decision.base = sha(7);
    assert_eq!(plan(&published, &decision, false), []);
    decision.author.kind = AuthorKind::Person;
    assert_eq!(plan(&Published::default(), &decision, false), []);
    // Opened while it was still opted in: it must not stay open.
    assert_eq!(plan(&open(0, None), &decision, false).len(), 1);
}

#[test]
fn annotations_are_neither_sent_twice_nor_mixed() {
    let decision = with_hole();
    let same = open(50, Some(fingerprint(&decision)));
    assert!(matches!(
        plan(&same, &decision, true)[..],
        [Action::Conclude { skip: 50, .. }]
    ));
    let other = open(50, Some("another decision".to_owned()));
    assert!(matches!(
        plan(&other, &decision, true)[..],
        [Action::Abandon, Action::Conclude { skip: 0, .. }]
    ));
}

#[test]
fn a_drafts_comment_waits_and_an_existing_one_does_not() {
    let decision = with_hole();
    let published = open(0, None);
    let comments = |actions: Vec<Action>| {
        actions
            .into_iter()
            .filter(|action| !matches!(action, Action::Conclude { .. }))
            .collect::<Vec<_>>()
    };
    assert_eq!(comments(plan(&published, &decision, true)), []);
    assert!(matches!(
        comments(plan(&published, &decision, false))[..],
        [Action::CreateComment { .. }]
    ));
    let stale = Published {
        comment: Some(PostedComment {
            body: "old".to_owned(),
            minimized: false,
        }),
        ..published
    };
    assert!(matches!(
        comments(plan(&stale, &decision, true))[..],
        [Action::EditComment { .. }]
    ));
}

#[test]
fn a_comment_is_folded_when_resolved_and_unfolded_when_there_is_something_to_name_again() {
    let hole = with_hole();
    let start = carry_out(&open(0, None), &plan(&open(0, None), &hole, false));
    let pass = decision(Verdict::Pass);
    let actions = plan(&start, &pass, false);
    assert!(matches!(
        actions[1],
        Action::ReplaceComment {
            minimized: true,
            ..
        }
    ));
    let resolved = carry_out(&start, &actions);
    let mut later = pass.clone();
    later.head = sha(5);
    assert_eq!(plan(&resolved, &later, false).len(), 1, "the run only");
    assert!(matches!(
        plan(&resolved, &hole, false)[1],
        Action::ReplaceComment {
            minimized: false,
            ..
        }
    ));
}

#[test]
fn what_could_not_be_judged_resolves_nothing() {
    let hole = with_hole();
    let start = carry_out(&open(0, None), &plan(&open(0, None), &hole, false));
    for rule in [Rule::Undetermined, Rule::ContractUnreadable] {
        let mut unknown = decision(Verdict::Refuse);
        unknown.findings.push(finding(rule, Effect::Refuse));
        assert!(matches!(
            plan(&start, &unknown, false)[..],
            [Action::Conclude { .. }]
        ));
    }
}

#[test]
fn comments_never_folds_the_old_one_and_claims_nothing() {
    let hole = with_hole();
    let start = carry_out(&open(0, None), &plan(&open(0, None), &hole, false));
    let mut silent = hole;
    silent.comments = CommentPolicy::Never;
    let actions = plan(&start, &silent, false);
    assert_eq!(actions.last(), Some(&Action::MinimizeComment));
    let published = carry_out(&start, &actions);
    assert_eq!(plan(&published, &silent, false), []);
}

fn any_decision() -> impl Strategy<Value = Decision> {
    (
        prop::sample::select(Verdict::ALL),
        prop::collection::vec(
            (
                prop::sample::select(Rule::ALL),
                prop::sample::select(Effect::ALL),
            ),
            0..4,
        ),
        any::<(bool, bool, bool)>(),
        0..3_u8,
        prop::sample::select(vec![
            CommentPolicy::Holes,
            CommentPolicy::Always,
            CommentPolicy::Never,
        ]),
    )
        .prop_map(
            |(verdict, findings, (observe, bound, person), base, comments)| {
                let mut decision = decision(verdict);
                decision.findings = findings
                    .into_iter()
                    .map(|(rule, effect)| finding(rule, effect))
                    .collect();
                decision.observe = observe;
                decision.bound = bound;
                decision.base = sha(base);
                decision.comments = comments;
                if person {
                    decision.author.kind = AuthorKind::Person;
                }
                decision
            },
        )
}

fn any_published() -> impl Strategy<Value = Published> {
    let run = prop_oneof![
        Just(Run::None),
        (0..120_usize, prop::option::of(any_decision())).prop_map(|(sent, of)| Run::Open {
            fingerprint: of.as_ref().map(fingerprint),
            sent
        }),
        any_decision().prop_map(|of| Run::Completed {
            fingerprint: fingerprint(&of)
        }),
    ];
    let comment = prop::option::of(("[a-c]{0,2}", any::<bool>()).prop_map(|(body, minimized)| {
        PostedComment {
            body: text_digest(&body),
            minimized,
        }
    }));
    (run, comment).prop_map(|(run, comment)| Published { run, comment })
}

proptest! {
    #[test]
    fn a_plan_on_its_own_result_is_empty(
        previous in any_published(), decision in any_decision(), draft: bool,
    ) {
        let actions = plan(&previous, &decision, draft);
        let published = carry_out(&previous, &actions);
        prop_assert_eq!(plan(&published, &decision, draft), vec![]);
    }

    #[test]
    fn there_is_never_a_second_comment_and_never_an_open_run(
        decisions in prop::collection::vec((any_decision(), any::<bool>()), 1..6),
        start in any_published(),
    ) {
        let mut published = start;
        let mut comments = usize::from(published.comment.is_some());
        for (decision, draft) in decisions {
            let actions = plan(&published, &decision, draft);
            comments += actions
                .iter()
                .filter(|action| matches!(action, Action::CreateComment { .. }))
                .count();
            published = carry_out(&published, &actions);
            let open = matches!(published.run, Run::Open { .. });
            prop_assert!(!open, "{:?}", published.run);
        }
        prop_assert!(comments <= 1);
    }

    #[test]
    fn a_run_concludes_as_success_only_for_a_verdict_that_lets_the_patch_in(decision in any_decision()) {
        if conclusion(&decision) == Conclusion::Success {
            prop_assert!(matches!(decision.verdict, Verdict::Pass | Verdict::AllowRecheck));
        }
    }
}
