use super::*;

fn row(nodeid: &str, state: FreezeState) -> FreezeRow {
    FreezeRow {
        nodeid: nodeid.to_owned(),
        source: "tests/seed_freeze.json".to_owned(),
        line: 1,
        state,
        reason: "CLOCK".to_owned(),
        why: String::new(),
        recorded_digest: None,
        current_digest: None,
        owner: None,
        opened_at: None,
        expires_at: None,
        touches_patch: false,
    }
}

fn day(day: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(day)
}

fn state(at: i64, rows: &[FreezeRow], corpus: Option<u64>) -> State {
    State {
        at: day(at),
        rows: rows.to_vec(),
        corpus,
        shrink_blocks: BTreeSet::new(),
    }
}

#[test]
fn each_row_is_followed_from_state_to_state() {
    use FreezeState::{Open, Void};
    let moved = movement(
        &[
            state(0, &[row("a", Open), row("b", Open)], None),
            state(1, &[row("a", Void), row("b", Open)], Some(3)),
            state(2, &[row("a", Open), row("c", Void)], Some(3)),
            state(9, &[row("a", Void), row("c", Void)], Some(5)),
        ],
        true,
    );
    assert_eq!((moved.rows, moved.added, moved.closed), ((2, 2), 1, 1));
    assert_eq!(moved.voided, [day(1), day(2), day(9)]);
    assert_eq!(moved.reopened, 1);
    assert_eq!(
        moved.corpus,
        Some((0, 5)),
        "a corpus that began grew from nothing"
    );
    let void: Vec<(&str, DateTime<Utc>)> = moved
        .void
        .iter()
        .map(|void| (void.row.nodeid.as_str(), void.since))
        .collect();
    assert_eq!(void, [("c", day(2)), ("a", day(9))]);
}

#[test]
fn a_row_that_was_void_before_the_window_was_not_voided_in_it() {
    let states = [state(5, &[row("a", FreezeState::Void)], None)];
    for (whole, or_earlier) in [(false, true), (true, false)] {
        let moved = movement(&states, whole);
        assert!(moved.voided.is_empty());
        assert_eq!(
            (moved.void[0].since, moved.void[0].or_earlier),
            (day(5), or_earlier)
        );
        assert_eq!(moved.corpus, None);
    }
}

#[test]
fn an_expired_row_is_void_since_its_date() {
    let mut expired = row("a", FreezeState::Expired);
    expired.expires_at = Some("1970-01-03T00:00:00Z".to_owned());
    let open = row("a", FreezeState::Open);
    let moved = movement(
        &[state(0, &[open], None), state(30, &[expired], None)],
        false,
    );
    assert_eq!(
        (moved.void[0].since, moved.void[0].or_earlier),
        (day(2), false)
    );
    assert_eq!(moved.voided, [day(2)]);
}

#[test]
fn two_rows_of_one_node_are_two() {
    let (open, void) = (row("a", FreezeState::Open), row("a", FreezeState::Void));
    let moved = movement(
        &[
            state(0, &[open.clone(), open.clone()], None),
            state(1, &[open, void], None),
        ],
        true,
    );
    assert_eq!((moved.added, moved.closed, moved.voided.len()), (0, 0, 1));
}

#[test]
fn a_shrink_block_counts_once_and_also_when_its_row_went_again() {
    let block = |nodeid: &str| ShrinkBlock {
        nodeid: nodeid.to_owned(),
        seed: Some("7".to_owned()),
        fixture_digest: None,
        opened_at: None,
    };
    let state = |at, blocks: &[&str]| State {
        shrink_blocks: blocks.iter().map(|id| block(id)).collect(),
        ..state(at, &[], None)
    };
    let states = [
        state(0, &["a"]),
        state(1, &["a", "b"]),
        state(2, &["b"]),
        state(3, &["c"]),
    ];
    let moved = movement(&states, false);
    assert_eq!((moved.shrink_blocks, moved.records_shrinks), (2, true));
    let moved = movement(&states[2..], true);
    assert_eq!((moved.shrink_blocks, moved.records_shrinks), (1, true));
    assert_eq!(movement(&[state(0, &[])], true).shrink_blocks, 0);
}

#[test]
fn a_rate_of_no_patches_is_no_rate() {
    assert_eq!(per_100(0, 0), None);
    assert_eq!(per_100(1, 50), Some(2.0));
}
