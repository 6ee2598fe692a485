//! No bytes make a parser panic, and the same bytes always give the same answer.

use proptest::prelude::*;

use super::GOOD;
use super::refusals::{CATALOG, CONFIG, EVIDENCE, FREEZES, Kind, LEDGER, LOCK, MAP, SEEDS};

const KINDS: [Kind; 8] = [CONFIG, LOCK, FREEZES, MAP, LEDGER, CATALOG, EVIDENCE, SEEDS];

fn answers(bytes: &[u8]) -> Vec<Result<(), String>> {
    KINDS
        .iter()
        .map(|kind| (kind.parse)(bytes).map_err(|error| error.to_string()))
        .collect()
}

/// A refusal points into the text.
fn place_is_in(bytes: &[u8]) -> bool {
    let lines = bytes.split(|b| matches!(b, b'\n' | b'\r')).count();
    KINDS.iter().all(|kind| match (kind.parse)(bytes) {
        Ok(()) => true,
        Err(error) => error.line >= 1 && error.column >= 1 && error.line as usize <= lines + 1,
    })
}

/// A good file with bytes of it taken out, doubled or replaced by what matters to a parser.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let pieces: &[&str] = &[
        "{", "}", "[", "]", "\"", "'", ":", ",", "- ", "? ", "\n", "  ", "\t", "#", "&a ", "*a",
        "!!x ", "<<: ", "---\n", "...\n", "|", ">", "\\", "\\u", "\\ud800", "\0", "\u{FEFF}", "é",
        "1e9", "-0", "%", "yes", "null", "@", "`", "\r",
    ];
    let edit = (
        any::<prop::sample::Index>(),
        0..6_usize,
        prop::sample::select(pieces),
    );
    (
        prop::sample::select(GOOD),
        prop::collection::vec(edit, 1..6),
    )
        .prop_map(|(good, edits)| {
            let mut bytes = good.text.as_bytes().to_vec();
            for (at, take, piece) in edits {
                let at = at.index(bytes.len() + 1);
                let end = (at + take).min(bytes.len());
                bytes.splice(at..end, piece.bytes());
            }
            bytes
        })
}

/// JSON-like texts, most of them not quite JSON.
fn json_like() -> impl Strategy<Value = String> {
    let token = prop::sample::select(
        &[
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            " ",
            "\n",
            "\"a\"",
            "\"\\u0061\"",
            "\"\\ud83e\\uddca\"",
            "\"\\ud83e\"",
            "\"\\n\"",
            "\"\u{7f}\"",
            "0",
            "-0",
            "1.5",
            "1e5",
            "-1E-2",
            "01",
            "1.",
            "-",
            "true",
            "false",
            "null",
            "nul",
            "\"",
            "\\",
            "é",
            "\u{2028}",
            "/**/",
            "'a'",
        ][..],
    );
    prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(answers(&bytes), answers(&bytes));
    }

    #[test]
    fn arbitrary_text_never_panics(text in "[-\\[\\]{}:,&*!|>'\"%@`#?~ \na-c0-9]{0,60}") {
        prop_assert_eq!(answers(text.as_bytes()), answers(text.as_bytes()));
        prop_assert!(place_is_in(text.as_bytes()));
    }

    #[test]
    fn mutated_files_never_panic(bytes in mutated()) {
        prop_assert_eq!(answers(&bytes), answers(&bytes));
        prop_assert!(place_is_in(&bytes));
    }

    /// `serde_json` is the oracle of what is JSON: whatever it refuses is refused here for its syntax,
    /// and whatever it accepts is not.
    #[test]
    fn json_is_what_serde_json_takes_for_json(text in json_like()) {
        // The message of a text that is JSON is about types or keys, and these are not.
        let syntax = ["expected a value", "after the value", "after the key", "after `,`", "in double quotes",
            "closing quote", "control character in", "escapes", "hex digits after", "surrogate", "is empty",
            "end of the file"];
        let refused = match (MAP.parse)(text.as_bytes()) {
            Ok(()) => false,
            Err(error) => syntax.iter().any(|words| error.message.contains(words)),
        };
        let oracle = serde_json::from_str::<serde_json::Value>(&text);
        // At a number that no f64 holds, which is JSON all the same, the oracle gives up.
        let gave_up = oracle.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
        prop_assume!(!gave_up);
        let is_json = oracle.is_ok();
        let has_duplicates = (MAP.parse)(text.as_bytes())
            .is_err_and(|error| error.message.contains("duplicate key"));
        prop_assert!(has_duplicates || refused != is_json, "{text:?}: refused {refused}, is JSON {is_json}");
    }
}
