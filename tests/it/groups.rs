//! Merge groups: each member is judged on the group's tree, and the strongest verdict is the group's.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use chrono::TimeDelta;
use frostline::demo::forge::{Answer, CheckRun, Fault, FileChange, GroupPart, NewPull};
use frostline::model::{MergeGroup, Sha};
use tokio::sync::oneshot;

use crate::support::app::TestApp;
use crate::support::world::{AGENT, PERSON, REPO, contract, two_fixtures};

const WRITER: &str = "wendy";
const COVERED: (&str, &str) = ("src/parse.py", "def parse(x):\n    return x + 1\n");
const HOLE: (&str, &str) = ("app/new.py", "x = 1\n");
const PROPERTY: (&str, &str) = (
    "tests/properties/test_parse.py",
    "def test_roundtrip():\n    assert 1\n",
);

struct Queue {
    app: TestApp,
}

impl Queue {
    async fn new() -> Self {
        Self::with(contract(&two_fixtures())).await
    }

    async fn with(files: Vec<FileChange>) -> Self {
        let app = TestApp::start().await;
        app.forge.create_repo(REPO, files).unwrap();
        app.forge.set_role(REPO, WRITER, Some("write")).unwrap();
        Self { app }
    }

    async fn configured(config: &str) -> Self {
        let mut files = contract(&two_fixtures());
        files.push((".github/frostline.yml", format!("version: 1\n{config}")).into());
        Self::with(files).await
    }

    /// A pull request that was judged already.
    async fn pull(&self, branch: &str, file: (&str, &str), author: &str) -> u64 {
        self.pull_into("main", branch, file, author).await
    }

    async fn pull_into(&self, base: &str, branch: &str, file: (&str, &str), author: &str) -> u64 {
        let forge = &self.app.forge;
        let start = forge.branch(REPO, base).unwrap();
        forge.reset_branch(REPO, branch, &start).unwrap();
        forge.push(REPO, branch, [file], author).unwrap();
        let mut new = NewPull::new(branch, author, "Change it");
        new.base = base;
        let number = self.app.open_pull(REPO, new).await;
        self.settle().await;
        number
    }

    async fn settle(&self) {
        loop {
            self.app.drain().await;
            let counts = self.app.store.queue_counts().await.unwrap();
            if counts.queued + counts.running == 0 {
                return;
            }
            self.app.advance(TimeDelta::minutes(31));
        }
    }

    fn group(&self, parts: &[GroupPart]) -> MergeGroup {
        self.app.forge.queue(REPO, "main", parts).unwrap()
    }

    async fn ask(&self, group: &MergeGroup) {
        let hook = self.app.forge.group_webhook(REPO, group).unwrap();
        assert_eq!(self.app.deliver(&hook).await, 202);
    }

    /// The only run on a group that was just made of `parts`.
    async fn judge(&self, parts: &[GroupPart]) -> CheckRun {
        let group = self.group(parts);
        self.judge_group(&group).await
    }

    async fn judge_group(&self, group: &MergeGroup) -> CheckRun {
        self.ask(group).await;
        self.settle().await;
        let runs = self.runs(&group.head);
        assert_eq!(runs.len(), 1, "{runs:#?}");
        runs[0].clone()
    }

    /// Those of this App among [`Queue::runs`]; others' may go on.
    fn runs_of_ours(&self, head: &Sha) -> Vec<CheckRun> {
        let mut runs = self.app.forge.check_runs(REPO, head);
        runs.retain(|run| run.app == self.app.forge.app_id());
        runs
    }

    /// All of a commit, the oldest first; each is completed.
    fn runs(&self, head: &Sha) -> Vec<CheckRun> {
        let runs = self.app.forge.check_runs(REPO, head);
        assert!(
            runs.iter().all(|run| run.status == "completed"),
            "{runs:#?}"
        );
        runs
    }
}

fn ends(run: &CheckRun, conclusion: &str, name: &str, says: &[&str]) {
    assert_eq!(run.conclusion.as_deref(), Some(conclusion), "{run:#?}");
    assert_eq!(run.name, name);
    let summary = run.summary.as_deref().unwrap();
    for text in says {
        assert!(summary.contains(text), "no {text:?} in:\n{summary}");
    }
}

#[tokio::test]
async fn a_member_that_passes_is_a_group_that_passes_however_it_is_merged() {
    let queue = Queue::new().await;
    let number = queue.pull("fix", COVERED, AGENT).await;
    queue
        .app
        .forge
        .push(REPO, "fix", [("README.md", "Two\n")], AGENT)
        .unwrap();
    for part in [GroupPart::Merge, GroupPart::Squash, GroupPart::Rebase] {
        let run = queue.judge(&[part(number)]).await;
        let row = format!("| {number} | Passed");
        ends(&run, "success", "frostline", &[&row, "agent"]);
    }
    queue.app.finish().await;
}

#[tokio::test]
async fn the_run_is_open_before_anything_is_looked_at() {
    let queue = Queue::new().await;
    let number = queue.pull("fix", COVERED, AGENT).await;
    let group = queue.group(&[GroupPart::Squash(number)]);
    queue.ask(&group).await;
    let before = queue.app.forge.requests().len();
    queue.settle().await;
    let first = &queue.app.forge.requests()[before];
    assert_eq!(
        (first.method.as_str(), first.path.as_str()),
        ("POST", &*format!("/repos/{REPO}/check-runs"))
    );
    queue.app.finish().await;
}

#[tokio::test]
async fn the_strongest_verdict_of_the_members_is_the_groups() {
    let queue = Queue::new().await;
    let fine = queue.pull("fine", COVERED, AGENT).await;
    let hole = queue.pull("hole", HOLE, AGENT).await;
    let review = queue.pull("review", PROPERTY, AGENT).await;
    let parts = [fine, hole].map(GroupPart::Merge);
    let says = [
        format!("| {fine} | Passed"),
        format!("| {hole} | Refused"),
        "app/new.py".to_owned(),
    ];
    let says = says.each_ref().map(String::as_str);
    let run = queue.judge(&parts).await;
    ends(&run, "failure", "frostline", &says);
    assert_eq!(run.title.as_deref(), Some("Refused: 1 of 2 pull requests"));
    let parts = [hole, fine].map(GroupPart::Squash);
    ends(&queue.judge(&parts).await, "failure", "frostline", &says);
    let parts = [fine, review].map(GroupPart::Squash);
    let says = [format!("| {review} | Needs human review")];
    ends(
        &queue.judge(&parts).await,
        "action_required",
        "frostline",
        &[&says[0]],
    );
    queue.app.finish().await;
}

#[tokio::test]
async fn a_member_that_awaits_review_holds_the_group_until_it_is_approved() {
    let queue = Queue::new().await;
    let number = queue.pull("fix", PROPERTY, AGENT).await;
    let run = queue.judge(&[GroupPart::Squash(number)]).await;
    ends(
        &run,
        "action_required",
        "frostline",
        &["Needs human review"],
    );
    queue
        .app
        .forge
        .review(REPO, number, WRITER, "APPROVED")
        .unwrap();
    // Others were merged meanwhile: the approval is of the same changes.
    queue
        .app
        .forge
        .push(REPO, "main", [("README.md", "Newer\n")], PERSON)
        .unwrap();
    let run = queue.judge(&[GroupPart::Merge(number)]).await;
    ends(&run, "success", "frostline", &["Approved by a person"]);
    // Not of what another member makes of them.
    let other = (
        "tests/properties/test_more.py",
        "def test_more():\n    pass\n",
    );
    let other = queue.pull("other", other, AGENT).await;
    let run = queue.judge(&[number, other].map(GroupPart::Merge)).await;
    ends(&run, "action_required", "frostline", &[]);
    queue.app.finish().await;
}

#[tokio::test]
async fn what_no_member_brings_is_failure() {
    let queue = Queue::new().await;
    let number = queue.pull("fix", COVERED, AGENT).await;
    let smuggled = |message, path: &str| GroupPart::Commit {
        message,
        changes: vec![(path, "x = 2\n").into()],
    };
    let nobodys = smuggled("Nobody's", "README.md");
    let run = queue
        .judge(&[nobodys.clone(), GroupPart::Squash(number)])
        .await;
    ends(
        &run,
        "failure",
        "frostline",
        &["belongs to no pull request"],
    );
    // The head is the member's by the queue's branch, and what is below it is nobody's.
    let run = queue
        .judge(&[GroupPart::Rebase(number), smuggled("More", "docs/x.md")])
        .await;
    let says = "belongs to no pull request";
    ends(&run, "failure", "frostline", &[says]);
    // Anybody can write that.
    let claims = smuggled("Change it (#1)", "docs/x.md");
    assert_eq!(number, 1);
    let run = queue.judge(&[claims, GroupPart::Squash(number)]).await;
    ends(&run, "failure", "frostline", &["does not vouch for it"]);
    // The head is the member's, which brings that path no longer.
    let group = queue.group(&[GroupPart::Squash(number)]);
    let forge = &queue.app.forge;
    let main = forge.branch(REPO, "main").unwrap();
    forge.reset_branch(REPO, "fix", &main).unwrap();
    forge
        .push(REPO, "fix", [("README.md", "Other\n")], AGENT)
        .unwrap();
    let run = queue.judge_group(&group).await;
    ends(&run, "failure", "frostline", &[COVERED.0]);
    queue.app.finish().await;
}

#[tokio::test]
async fn a_member_that_cannot_be_resolved_is_failure() {
    let queue = Queue::new().await;
    let number = queue.pull("fix", COVERED, AGENT).await;
    let forge = &queue.app.forge;
    let merged = queue.group(&[GroupPart::Merge(number)]);
    forge
        .push(REPO, "fix", [("README.md", "More\n")], AGENT)
        .unwrap();
    ends(
        &queue.judge_group(&merged).await,
        "failure",
        "frostline",
        &["does not merge the head"],
    );
    let unnamed = MergeGroup {
        queue_branch: "gh-readonly-queue/main/other".to_owned(),
        ..queue.group(&[GroupPart::Squash(number)])
    };
    ends(
        &queue.judge_group(&unnamed).await,
        "failure",
        "frostline",
        &["names no pull request"],
    );
    let gone = queue.pull("gone", ("docs/gone.md", "x\n"), AGENT).await;
    let group = queue.group(&[gone, number].map(GroupPart::Squash));
    let path = format!("/pulls/{gone}");
    forge.fault(Fault::next("GET", &path, Answer::Status(404)).times(9));
    let says = format!("there is no pull request {gone}");
    ends(
        &queue.judge_group(&group).await,
        "failure",
        "frostline",
        &[&says],
    );
    forge.clear_faults();
    let main = forge.branch(REPO, "main").unwrap();
    forge.reset_branch(REPO, "next", &main).unwrap();
    let other = queue.pull_into("next", "other", HOLE, AGENT).await;
    ends(
        &queue.judge(&[GroupPart::Squash(other)]).await,
        "failure",
        "frostline",
        &["another branch"],
    );
    forge
        .edit_pull(REPO, number, |pull| pull.open = false)
        .unwrap();
    ends(
        &queue.judge(&[GroupPart::Rebase(number)]).await,
        "failure",
        "frostline",
        &["not open"],
    );
    let empty = MergeGroup {
        head: main.clone(),
        base: main.clone(),
        ..unnamed
    };
    ends(
        &queue.judge_group(&empty).await,
        "failure",
        "frostline",
        &["brings no commit"],
    );
    queue.app.finish().await;
}

#[tokio::test]
async fn the_contract_is_the_one_at_the_groups_base() {
    let queue = Queue::new().await;
    let number = queue.pull("fix", HOLE, AGENT).await;
    let group = queue.group(&[GroupPart::Squash(number)]);
    // The map guards the path from now on, but not at the group's base.
    let map = queue
        .app
        .forge
        .file(REPO, "main", "test/contract/hunk-map.json");
    let map = String::from_utf8(map.unwrap().unwrap()).unwrap();
    let map = map
        .replace("\"src/\"", "\"\"")
        .replace("\"path_prefix\":\"\"", "\"path_prefix\":\"app/\"");
    let change = [("test/contract/hunk-map.json", map.as_str())];
    queue.app.forge.push(REPO, "main", change, PERSON).unwrap();
    ends(
        &queue.judge_group(&group).await,
        "failure",
        "frostline",
        &["app/new.py"],
    );
    let run = queue.judge(&[GroupPart::Squash(number)]).await;
    ends(&run, "success", "frostline", &["Passed"]);
    queue.app.finish().await;
}

#[tokio::test]
async fn a_repository_that_has_not_opted_in_gets_a_neutral_run() {
    let queue = Queue::with(vec![("src/a.py", "a = 1\n").into()]).await;
    let number = queue.pull("fix", HOLE, PERSON).await;
    let run = queue.judge(&[GroupPart::Squash(number)]).await;
    ends(&run, "neutral", "frostline", &["frostline init"]);
    queue.app.finish().await;
}

#[tokio::test]
async fn a_group_that_observes_is_neutral_and_says_what_it_would_be() {
    let queue = Queue::configured("mode: observe\n").await;
    let number = queue.pull("fix", HOLE, AGENT).await;
    let run = queue.judge(&[GroupPart::Squash(number)]).await;
    ends(&run, "neutral", "frostline", &["would refuse"]);
    let smuggled = GroupPart::Commit {
        message: "More",
        changes: vec![("docs/x.md", "x\n").into()],
    };
    let run = queue.judge(&[GroupPart::Squash(number), smuggled]).await;
    ends(&run, "neutral", "frostline", &["docs/x.md"]);
    assert!(run.title.unwrap().starts_with("would refuse"));
    queue.app.finish().await;
}

#[tokio::test]
async fn each_guarded_branch_has_its_own_check_and_an_unguarded_one_none_that_passes() {
    let queue = Queue::configured("branches: [release]\n").await;
    let forge = &queue.app.forge;
    let main = forge.branch(REPO, "main").unwrap();
    for (branch, name, end) in [
        ("release", "frostline (release)", "success"),
        ("wild", "frostline", "failure"),
    ] {
        forge.reset_branch(REPO, branch, &main).unwrap();
        let head = format!("to-{branch}");
        let number = queue.pull_into(branch, &head, COVERED, AGENT).await;
        let group = forge
            .queue(REPO, branch, &[GroupPart::Squash(number)])
            .unwrap();
        ends(&queue.judge_group(&group).await, end, name, &[]);
    }
    queue.app.finish().await;
}

#[tokio::test]
async fn a_group_is_judged_again_when_it_is_asked_for_and_repeats_nothing() {
    let queue = Queue::new().await;
    let number = queue.pull("fix", COVERED, AGENT).await;
    let forge = &queue.app.forge;
    forge
        .edit_pull(REPO, number, |pull| pull.open = false)
        .unwrap();
    let group = queue.group(&[GroupPart::Squash(number)]);
    ends(
        &queue.judge_group(&group).await,
        "failure",
        "frostline",
        &[],
    );
    let again = |action, button| {
        let run = (&group.head, "frostline");
        forge
            .run_webhook(REPO, run, action, (WRITER, button))
            .unwrap()
    };
    assert_eq!(queue.app.deliver(&again("rerequested", None)).await, 202);
    queue.settle().await;
    assert_eq!(queue.runs(&group.head).len(), 2);
    let press = || again("requested_action", Some("recheck"));
    assert_eq!(queue.app.deliver(&press()).await, 202);
    queue.settle().await;
    assert_eq!(queue.runs(&group.head).len(), 2);
    forge
        .edit_pull(REPO, number, |pull| pull.open = true)
        .unwrap();
    assert_eq!(queue.app.deliver(&press()).await, 202);
    queue.settle().await;
    let runs = queue.runs(&group.head);
    assert_eq!(runs.len(), 3);
    ends(&runs[2], "success", "frostline", &["Passed"]);
    queue.app.finish().await;
}

#[tokio::test]
async fn a_group_that_cannot_be_read_ends_as_failure() {
    let queue = Queue::new().await;
    let number = queue.pull("fix", COVERED, AGENT).await;
    let group = queue.group(&[GroupPart::Squash(number)]);
    queue.ask(&group).await;
    queue
        .app
        .forge
        .fault(Fault::next("GET", "/compare/", Answer::Status(502)).times(1_000));
    queue.settle().await;
    let runs = queue.runs(&group.head);
    assert_eq!(runs.len(), 1);
    ends(
        &runs[0],
        "failure",
        "frostline",
        &["never passes by accident"],
    );
    let counts = queue.app.store.queue_counts().await.unwrap();
    assert_eq!((counts.queued, counts.dead), (0, 1));
}

/// The attempt is dropped while it waits for the answer to any of its requests, as if the process died.
#[tokio::test]
async fn broken_off_at_any_request_the_group_ends_with_one_run() {
    let queue = Queue::new().await;
    let member = queue.pull("fix", PROPERTY, AGENT).await;
    let mut broken = 0;
    for at in 0..60 {
        let part = [GroupPart::Merge, GroupPart::Squash][at % 2](member);
        queue
            .app
            .forge
            .push(REPO, "main", [("README.md", format!("{at}\n"))], PERSON)
            .unwrap();
        let group = queue.group(&[part]);
        queue.ask(&group).await;
        let (tell, told) = oneshot::channel();
        let fault = Fault::next("", "", Answer::HangUp).skip(at).after();
        queue.app.forge.fault(fault.calling(move || {
            let _ = tell.send(());
        }));
        let struck = tokio::select! {
            biased;
            struck = told => struck.is_ok(),
            _ = queue.app.drain() => false,
        };
        queue.app.forge.clear_faults();
        queue.app.advance(TimeDelta::minutes(31));
        queue.settle().await;
        let runs = queue.runs(&group.head);
        assert_eq!(runs.len(), 1, "request {at}: {runs:#?}");
        ends(&runs[0], "action_required", "frostline", &[]);
        if !struck {
            break;
        }
        broken += 1;
    }
    assert!((8..60).contains(&broken), "{broken}");
    queue.app.finish().await;
}

#[tokio::test]
async fn a_commit_that_names_another_pull_request_is_not_taken_for_its() {
    let queue = Queue::new().await;
    let honest = queue.pull("honest", COVERED, AGENT).await;
    let forge = &queue.app.forge;
    // The same path, under the other one's number; put on the group one by one.
    let main = forge.branch(REPO, "main").unwrap();
    forge.reset_branch(REPO, "evil", &main).unwrap();
    let message = format!("Change it (#{honest})");
    let evil = [("src/parse.py", "def parse(x):\n    return evil(x)\n")];
    let commit = forge.push_with_message(REPO, "evil", evil, AGENT, &message);
    let commit = commit.unwrap();
    queue
        .app
        .open_pull(REPO, NewPull::new("evil", AGENT, "Evil"))
        .await;
    queue.settle().await;
    let plain = queue.pull("plain", ("README.md", "Plain\n"), AGENT).await;
    for signed in [false, true] {
        // Signed by the forge, as what is written in a browser is.
        if signed {
            forge.sign(REPO, &commit).unwrap();
        }
        let group = forge.queue_on(REPO, ("main", &commit), &[GroupPart::Squash(plain)]);
        let run = queue.judge_group(&group.unwrap()).await;
        let says =
            ["does not vouch for it", "is one of pull request 2 itself"][usize::from(signed)];
        ends(&run, "failure", "frostline", &[says]);
        forge
            .push(REPO, "plain", [("README.md", "Plainer\n")], AGENT)
            .unwrap();
    }
    queue.app.finish().await;
}

#[tokio::test]
async fn a_run_of_another_app_under_our_name_fails_the_group() {
    let queue = Queue::new().await;
    let number = queue.pull("fix", COVERED, AGENT).await;
    let group = queue.group(&[GroupPart::Squash(number)]);
    ends(
        &queue.judge_group(&group).await,
        "success",
        "frostline",
        &["`unpinned`: no rule of `main` requires this check"],
    );
    let forge = &queue.app.forge;
    let run = (&group.head, "frostline");
    forge.run_by(REPO, 15_368, run).unwrap();
    let hook = forge.run_webhook(REPO, run, "created", (PERSON, None));
    assert_eq!(queue.app.deliver(&hook.unwrap()).await, 202);
    queue.settle().await;
    let mut runs = queue.runs_of_ours(&group.head);
    assert_eq!(runs.len(), 2);
    let last = runs.remove(1);
    let says = ["`foreign-check`", "app-15368"];
    ends(&last, "failure", "frostline", &says);
    let title = "Refused: 1 check-run of another App under our name";
    assert_eq!(last.title.as_deref(), Some(title));
    queue.app.finish().await;
}

#[tokio::test]
async fn an_approval_of_a_member_and_its_dismissal_have_the_group_judged_again() {
    let queue = Queue::new().await;
    let number = queue.pull("fix", PROPERTY, AGENT).await;
    let forge = &queue.app.forge;
    let group = queue.group(&[GroupPart::Squash(number)]);
    queue.judge_group(&group).await;
    let id = forge.review(REPO, number, WRITER, "APPROVED").unwrap();
    let hook = forge.review_webhook(REPO, id, "submitted").unwrap();
    assert_eq!(queue.app.deliver(&hook).await, 202);
    queue.settle().await;
    forge.dismiss_review(REPO, id).unwrap();
    let hook = forge.review_webhook(REPO, id, "dismissed").unwrap();
    assert_eq!(queue.app.deliver(&hook).await, 202);
    queue.settle().await;
    let runs = queue.runs(&group.head);
    let ends: Vec<_> = runs.iter().map(|run| run.conclusion.as_deref()).collect();
    let [waits, passes] = ["action_required", "success"].map(Some);
    assert_eq!(ends, [waits, passes, waits]);
    queue.app.finish().await;
}

#[tokio::test]
async fn a_group_that_was_merged_or_dropped_is_left_as_it_is() {
    for merged in [false, true] {
        let queue = Queue::new().await;
        let number = queue.pull("fix", PROPERTY, AGENT).await;
        let forge = &queue.app.forge;
        let group = queue.group(&[GroupPart::Squash(number)]);
        queue.judge_group(&group).await;
        if merged {
            forge.reset_branch(REPO, "main", &group.head).unwrap();
            forge
                .edit_pull(REPO, number, |pull| pull.open = false)
                .unwrap();
        }
        forge.delete_branch(REPO, &group.queue_branch).unwrap();
        let run = (&group.head, "frostline");
        let hook = forge.run_webhook(REPO, run, "rerequested", (WRITER, None));
        assert_eq!(queue.app.deliver(&hook.unwrap()).await, 202);
        queue.settle().await;
        assert_eq!(queue.runs(&group.head).len(), 1);
        queue.app.finish().await;
    }
}
