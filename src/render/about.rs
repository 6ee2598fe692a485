//! What each rule is about, in words that hold nothing from a repository. PURE.
//!
//! One table for SARIF's rule metadata, for `--for-agent`, and for `docs/rules.md`, which a test compares
//! with it.

use crate::model::Rule;

/// A rule in general. Each text is one sentence without its full stop; backticks are Markdown's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// When the rule finds something.
    pub when: &'static str,
    /// Why it is a rule.
    pub why: &'static str,
    /// The way out.
    pub fix: &'static str,
}

macro_rules! table {
    ($($rule:ident { $when:literal, $why:literal, $fix:literal $(,)? })+) => {
        /// What a rule is about.
        pub fn about(rule: Rule) -> About {
            match rule {
                $(Rule::$rule => About { when: $when, why: $why, fix: $fix }),+
            }
        }
    };
}

table! {
    ContractUnreadable {
        "a contract file is no regular file, cannot be parsed, is of an unknown version or has an unknown key",
        "a rule that is misread protects nothing, so what cannot be read exactly judges nothing",
        "mend the file, or ask a maintainer to; `frostline ledger validate` names file, line and column",
    }
    Undetermined {
        "the write-set, a contract file, the merged tree or a digest could not be had whole",
        "what was not seen may hold anything, so it never counts as nothing",
        "remove the cause (merge the base branch, fetch what is missing), then evaluate again",
    }
    ForeignCheck {
        "another App has a check-run under our name on this head",
        "a branch rule that names the check alone takes either for ours, so that anybody's green run could stand in for a refusal",
        "give the other App's check another name, require ours with this App as its source, and push a new commit",
    }
    OwnProposal {
        "this App made the head commit at a person's command",
        "whoever asks for a change of the contract is not the one who confirms it",
        "somebody else with write access reads it, and approves it",
    }
    LaneBlock {
        "the lane ran a property on the merged tree, and it blocks: BLOCK_INVARIANT, BLOCK_SHRINK, BLOCK_NOISE, BLOCK_HASH or BLOCK_ERRORED",
        "an invariant that fails again with the same seed is broken, one that became flaky was broken by the patch, and one that did not run says nothing",
        "mend the code (or what keeps the test from running), and run the lane on the new tree; a failure on this tree stays",
    }
    LaneNoise {
        "the lane ran a property on the merged tree, and it is noise: PIN_SEED_NOISE",
        "it failed once and passed with the same seed and bytes, as it does without the patch, and nobody but a person can say that this is harmless",
        "a person reads the runs and approves; a row for the seed ledger goes into a pull request of its own",
    }
    ContractWithProduction {
        "a contract file and a production path change together",
        "a patch that rewrites the rules it is judged by would judge itself",
        "propose the contract change in a pull request of its own, to be landed by a person first",
    }
    TestsWithProduction {
        "a property or a fixture and a production path change together",
        "a test that changes with the code it guards is no witness of that code",
        "move properties, and fixtures with their lock, to a pull request of their own, to be reviewed first",
    }
    LedgerInWriteSet {
        "an agent's patch touches the seed ledger, the evidence ledger, the seed corpus or the list of frozen tests",
        "these files take votes away, and only people and the lane write them",
        "take the file out of the patch",
    }
    ContractChanged {
        "a contract file changes, and no production path; the freeze list alone, by a person, with every row kept, is `allow_recheck`",
        "each later patch is judged by it, so a person answers for it",
        "a maintainer reads and approves the change",
    }
    FixtureChanged {
        "a fixture changes, and no production path",
        "other input is another question, and the old answers say nothing about it",
        "a maintainer reads the new bytes and approves",
    }
    PropertyChanged {
        "a property's file changes, and no production path",
        "a weaker invariant stays green for ever",
        "a maintainer checks that the invariant is no weaker, and approves",
    }
    MissingFixture {
        "the lock lists a fixture that the merged tree does not have",
        "a property whose input is gone checks less than it says",
        "restore the file; or, when the change is meant, stage it with `git add`, run `frostline lock write`, and land fixture and lock together, in a pull request without production code",
    }
    DigestMismatch {
        "a fixture's bytes are not those that the lock holds",
        "rewriting the expected data is the shortest way to a green test",
        "restore the pinned bytes; or, when the change is meant, stage it with `git add`, run `frostline lock write`, and land fixture and lock together, in a pull request without production code",
    }
    UnlockedFixture {
        "a file under a fixtures root is not in the lock",
        "a fixture that nobody pinned can change without being noticed",
        "take the file out of the patch; or, when the change is meant, stage it with `git add`, run `frostline lock write`, and land fixture and lock together, in a pull request without production code",
    }
    OpaqueFixture {
        "a fixture whose bytes, as a test reads them, may differ from those that were hashed: a link, a submodule, a filter",
        "a digest of other bytes than those that a test reads pins nothing",
        "make it a plain file under plain attributes, or move it out of the fixtures root",
    }
    CatalogBroken {
        "a glob of the catalog matches no file of the merged tree",
        "a property whose fixtures are gone asserts nothing about them",
        "restore the fixture, or correct the catalog in a pull request of its own",
    }
    FixtureNoteMissing {
        "a fixture changes, and no behavior note of the merged tree names its path and its new digest",
        "new expected bytes that nobody explains are a change of behavior that nobody decided",
        "a person writes a note under `docs/behavior` that says why, with the fixture's path and its SHA-256 (`frostline digest --files` prints it)",
    }
    UnmappedPath {
        "a production path changes and no rule of the map matches it",
        "nobody has said which property guards it, so nothing is known to",
        "add a rule for the path to the hunk map, in a pull request of its own",
    }
    CoverageHole {
        "a production path changes, and too few of the properties that the map lists for it are live",
        "a frozen, missing or changed test is silence, and silence is no coverage",
        "make a listed property live again, or list another live property in the map, in a pull request of its own",
    }
    SpecificRuleDark {
        "covered by a broader rule only: those with the longest matching prefix have no live property",
        "the test that knows this code best says nothing, and a general one answers in its place",
        "make a property of the most specific rule live again, or a maintainer approves",
    }
    SensitiveFreeze {
        "a path under `paths.sensitive` changes, and a freeze covers it or blocks a property that the map lists for it",
        "where a mistake costs most, a test that was switched off is no reason to go on",
        "close the freeze first, in a pull request of its own",
    }
    VoidFreeze {
        "a freeze whose fixtures, or whose test's file, are not those that it records, or whose time has come; its test votes again and gives no coverage",
        "a freeze is a statement about one input, and about another one it says nothing",
        "its owner writes `/frostline reopen NODEID`, with evidence on the new digest, or `/frostline close NODEID`, on the pull request; or restore the bytes",
    }
    InvalidFreeze {
        "a row that lacks what a freeze needs; its test votes and gives no coverage, and it refuses when this patch adds it",
        "a row that nobody can replay is a skip with extra keys",
        "complete the row, or remove it, in a pull request of its own",
    }
    DanglingFreeze {
        "a freeze names no test of the merged tree; it denies coverage to all that it could mean, and refuses when this patch adds it",
        "a row that has lost its test may mean one that was renamed",
        "correct the node id, or remove the row",
    }
    GhostProperty {
        "a property that the map lists is not in the merged tree, or is no property",
        "a test that is not there guards nothing, whatever the map says",
        "correct the node id in the map, or restore the test",
    }
    DisabledProperty {
        "a property that the map lists is in the merged tree and does not run: skipped, ignored, or in a file that is no valid source",
        "a test that never runs cannot fail, so it guards nothing",
        "enable the test, freeze it with a reason, or list another property in the map",
    }
    SelfRewritingTest {
        "a test changes together with the golden file that it reads",
        "a test that brings its own answer is always right",
        "change the expected output in a pull request of its own, or a maintainer approves",
    }
    GoldenChanged {
        "an agent changes a golden file or a snapshot",
        "an expected output that the author of the change wrote expects the change",
        "a maintainer reads the new output and approves, or take it out of the patch",
    }
    SupportChanged {
        "a file that tests rely on, itself no test, changes with production",
        "helpers and strategies decide what a property asserts, and on which input",
        "move it to a pull request of its own, or a maintainer approves",
    }
    TestsRemoved {
        "a test file, or a test in one, goes away or is renamed, with production",
        "a test that is gone cannot fail",
        "a maintainer confirms that nothing it checked is lost, or restore it",
    }
    HarnessChanged {
        "an agent changes what decides how or whether tests run",
        "a runner that skips, retries or swallows failures makes every test green",
        "a maintainer reads the change and approves, or take it out of the patch",
    }
    NoProduction {
        "no file of the merged tree is of class production",
        "a gate that guards nothing would pass everything",
        "set `paths.production` in the configuration, or map the code in the hunk map",
    }
    TestChanged {
        "an agent changes a test",
        "a plain test that the patch wrote proves nothing about the patch",
        "nothing to do",
    }
    UnclassifiedCode {
        "an agent changes code that belongs to no class; in an audit: code that no class but *other* holds",
        "code outside every class passes unseen",
        "map it in the hunk map, add its place to `paths.production`, or list it under `paths.ignored`",
    }
    PathCollision {
        "a path differs from another one, or from a contract file or a fixtures root, only in case or spelling",
        "some file systems take both for one file, and a test may read the wrong one",
        "give it another name",
    }
    LinkInPlace {
        "a link or a submodule where production, properties, harness or goldens live",
        "the bytes that it stands for are not in the patch",
        "put the file itself there, or a maintainer approves",
    }
    LiveSetShrank {
        "still covered, but some of the listed properties are frozen",
        "fewer witnesses see less than the map promises",
        "read the change for what the frozen properties would have caught",
    }
    LoosePrefix {
        "a new production path is covered only by a prefix that ends inside a path component",
        "a new file can slip under a neighbour's properties by its name alone",
        "add a rule for the path to the hunk map, in a pull request of its own",
    }
    UnboundFreeze {
        "a freeze without a digest: it does not say which input it is about",
        "a freeze is a statement about one input, and without a digest nobody can tell when that input has changed",
        "add `fixture_digest` to the row (`frostline digest` prints it), or set `frozen: false`",
    }
    UnusedRule {
        "a rule of the map matches no file",
        "the code has moved, and its properties guard an empty place",
        "correct the prefix, or remove the rule",
    }
    DeadPrefix {
        "a rule of the map none of whose properties is live",
        "each patch below it will be refused, or rests on a broader rule",
        "close the freezes, restore or enable the tests, or list a property that is live",
    }
    LockShrank {
        "rows leave the lock",
        "a fixture that is not pinned any more may change unseen",
        "make sure that no test needs the fixture any more",
    }
    SeedInSource {
        "a test of the patch fixes the seed of its generator in its source",
        "the same seed tries the same inputs each time, so the property looks for nothing new",
        "take the seed out of the source; seeds that must be replayed belong in the seed corpus",
    }
}
