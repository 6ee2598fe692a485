//! Sources: the first byte chooses the language; any text is read to its end, and the same text says the
//! same twice.
#![no_main]

use frostline_fuzz::source::{Found, Language, find, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, text)) = bytes.split_first() else {
        return;
    };
    let language = Language::ALL[usize::from(*first) % Language::ALL.len()];
    let facts = read(language, text);
    assert_eq!(facts, read(language, text));
    assert!(facts.broken.is_none_or(|line| line >= 1));
    for item in &facts.items {
        assert!(item.line >= 1 && item.line <= item.end_line);
        let names: Vec<&str> = item.names.iter().map(String::as_str).collect();
        assert!(!matches!(find(&facts, &names), Found::Nothing), "{names:?}");
    }
});
