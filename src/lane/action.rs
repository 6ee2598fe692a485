//! What one property with one pinned seed asks for (protocol 6.1). PURE.
//!
//! Invariant: only a green by report is a PASS, and only red, green, green with the same fixtures, and red
//! on the base tip too, is noise. Everything else blocks.

use super::model::Colour;
use crate::model::{Action, ScopeChange};

/// What is known so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub digest: ScopeChange,
    pub first: Option<Colour>,
    pub replay: Option<Colour>,
    /// The counterexample is smaller than the recorded one, by all the conditions of
    /// [`super::example::shrunk`].
    pub smaller: bool,
    pub second: Option<Colour>,
    /// What the base tip's runs came to, all of them together: red when one of them is.
    pub base: Option<Colour>,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    RunFirst,
    /// The same seed, in a fresh process.
    Replay,
    /// The same seed, on another worker.
    RunSecond,
    /// The same seed on the base tip, which shows who made a flake.
    RunBase,
    Done(Action),
}

/// The table of protocol 6.1.
///
/// | digest | first | replay | smaller | second | base | |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | changed without its lock | | | | | | BLOCK_HASH |
/// | | errored | | | | | BLOCK_ERRORED |
/// | | green | | | | | PASS |
/// | | red | errored | | | | BLOCK_ERRORED |
/// | | red | red | yes, digest same | | | BLOCK_SHRINK |
/// | | red | red | no | | | BLOCK_INVARIANT |
/// | | red | green | | errored | | BLOCK_ERRORED |
/// | | red | green | | red | | BLOCK_INVARIANT |
/// | same | red | green | | green | red | PIN_SEED_NOISE |
/// | same | red | green | | green | green | BLOCK_NOISE: the patch made the flake |
/// | same | red | green | | green | errored | BLOCK_ERRORED |
/// | changed with its lock | red | green | | green | | BLOCK_INVARIANT: other bytes void what was recorded |
pub fn next(known: Known) -> Step {
    use Colour::{Errored, Green, Red};
    if known.digest == ScopeChange::Changed {
        return Step::Done(Action::BlockHash);
    }
    let action = match (known.first, known.replay, known.second) {
        (None, ..) => return Step::RunFirst,
        (Some(Errored), ..) => Action::BlockErrored,
        (Some(Green), ..) => Action::Pass,
        (Some(Red), None, _) => return Step::Replay,
        (Some(Red), Some(Errored), _) => Action::BlockErrored,
        (Some(Red), Some(Red), _) if known.smaller && known.digest == ScopeChange::Same => {
            Action::BlockShrink
        }
        (Some(Red), Some(Red), _) => Action::BlockInvariant,
        (Some(Red), Some(Green), None) => return Step::RunSecond,
        (Some(Red), Some(Green), Some(Errored)) => Action::BlockErrored,
        (Some(Red), Some(Green), Some(Red)) => Action::BlockInvariant,
        (Some(Red), Some(Green), Some(Green)) if known.digest == ScopeChange::Same => {
            match known.base {
                None => return Step::RunBase,
                Some(Red) => Action::PinSeedNoise,
                Some(Green) => Action::BlockNoise,
                Some(Errored) => Action::BlockErrored,
            }
        }
        (Some(Red), Some(Green), Some(Green)) => Action::BlockInvariant,
    };
    Step::Done(action)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use Colour::{Errored, Green, Red};

    fn known(
        digest: ScopeChange,
        first: Option<Colour>,
        replay: Option<Colour>,
        smaller: bool,
        second: Option<Colour>,
    ) -> Known {
        Known {
            digest,
            first,
            replay,
            smaller,
            second,
            base: None,
        }
    }

    fn mixed(base: Option<Colour>) -> Known {
        Known {
            base,
            ..known(
                ScopeChange::Same,
                Some(Red),
                Some(Green),
                false,
                Some(Green),
            )
        }
    }

    /// Protocol 6.1, row by row.
    #[test]
    fn each_row_of_the_table() {
        let same = ScopeChange::Same;
        let table = [
            (
                known(ScopeChange::Changed, None, None, false, None),
                Step::Done(Action::BlockHash),
            ),
            (known(same, None, None, false, None), Step::RunFirst),
            (
                known(same, Some(Green), None, false, None),
                Step::Done(Action::Pass),
            ),
            (
                known(ScopeChange::ChangedWithLock, Some(Green), None, false, None),
                Step::Done(Action::Pass),
            ),
            (known(same, Some(Red), None, false, None), Step::Replay),
            (
                known(same, Some(Red), Some(Red), true, None),
                Step::Done(Action::BlockShrink),
            ),
            (
                known(same, Some(Red), Some(Red), false, None),
                Step::Done(Action::BlockInvariant),
            ),
            (
                known(same, Some(Red), Some(Green), false, None),
                Step::RunSecond,
            ),
            (
                known(same, Some(Red), Some(Green), false, Some(Red)),
                Step::Done(Action::BlockInvariant),
            ),
            (mixed(None), Step::RunBase),
            (mixed(Some(Red)), Step::Done(Action::PinSeedNoise)),
            (mixed(Some(Green)), Step::Done(Action::BlockNoise)),
            (mixed(Some(Errored)), Step::Done(Action::BlockErrored)),
            (
                known(same, Some(Errored), None, false, None),
                Step::Done(Action::BlockErrored),
            ),
            (
                known(same, Some(Red), Some(Errored), false, None),
                Step::Done(Action::BlockErrored),
            ),
            (
                known(same, Some(Red), Some(Green), false, Some(Errored)),
                Step::Done(Action::BlockErrored),
            ),
            (
                known(
                    ScopeChange::ChangedWithLock,
                    Some(Red),
                    Some(Green),
                    false,
                    Some(Green),
                ),
                Step::Done(Action::BlockInvariant),
            ),
            (
                known(
                    ScopeChange::ChangedWithLock,
                    Some(Red),
                    Some(Red),
                    true,
                    None,
                ),
                Step::Done(Action::BlockInvariant),
            ),
        ];
        for (known, expected) in table {
            assert_eq!(next(known), expected, "{known:?}");
        }
    }

    fn any_colour() -> impl Strategy<Value = Option<Colour>> {
        prop::option::of(prop_oneof![Just(Green), Just(Red), Just(Errored)])
    }

    fn any_known() -> impl Strategy<Value = Known> {
        let digest = prop_oneof![
            Just(ScopeChange::Same),
            Just(ScopeChange::ChangedWithLock),
            Just(ScopeChange::Changed)
        ];
        (
            digest,
            any_colour(),
            any_colour(),
            any::<bool>(),
            any_colour(),
            any_colour(),
        )
            .prop_map(|(digest, first, replay, smaller, second, base)| Known {
                base,
                ..known(digest, first, replay, smaller, second)
            })
    }

    proptest! {
        #[test]
        fn a_pass_needs_a_green_first_run(known in any_known()) {
            if next(known) == Step::Done(Action::Pass) {
                prop_assert_eq!(known.first, Some(Green));
                prop_assert_ne!(known.digest, ScopeChange::Changed);
            }
        }

        #[test]
        fn noise_needs_red_green_green_on_the_same_bytes_and_red_before_the_patch(known in any_known()) {
            let noise = next(known) == Step::Done(Action::PinSeedNoise);
            let expected = known.digest == ScopeChange::Same
                && known.first == Some(Red)
                && known.replay == Some(Green)
                && known.second == Some(Green)
                && known.base == Some(Red);
            prop_assert_eq!(noise, expected);
        }

        #[test]
        fn shrink_needs_two_reds_and_a_smaller_example(known in any_known()) {
            if next(known) == Step::Done(Action::BlockShrink) {
                prop_assert!(known.smaller);
                prop_assert_eq!((known.first, known.replay), (Some(Red), Some(Red)));
            }
        }

        #[test]
        fn a_run_that_came_to_nothing_is_never_a_pass_nor_noise(known in any_known()) {
            if let Step::Done(action) = next(known) {
                let used = match known.first {
                    Some(Red) => vec![known.first, known.replay, known.second],
                    _ => vec![known.first],
                };
                if used.contains(&Some(Errored)) {
                    prop_assert!(action.blocks());
                }
            }
        }

        #[test]
        fn each_step_leads_to_a_decision(known in any_known(), colours in proptest::collection::vec(0u8..3, 4)) {
            let mut known = known;
            for colour in colours {
                let colour = [Green, Red, Errored][usize::from(colour)];
                match next(known) {
                    Step::RunFirst => known.first = Some(colour),
                    Step::Replay => known.replay = Some(colour),
                    Step::RunSecond => known.second = Some(colour),
                    Step::RunBase => known.base = Some(colour),
                    Step::Done(_) => break,
                }
            }
            prop_assert!(matches!(next(known), Step::Done(_)));
        }
    }
}
