//! Node ids: what parses is itself again, and its parts lie inside it.
#![no_main]

use frostline_fuzz::model::NodeId;
use frostline_fuzz::source;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(id) = text.parse::<NodeId>() else {
        return;
    };
    assert_eq!(id.as_str(), text);
    assert!(text.starts_with(id.function()) && id.function().starts_with(id.path()));
    assert!(id.enclosing().all(|outer| text.starts_with(outer)));
    assert_eq!(id.enclosing().last(), Some(text));
    let (names, param) = source::names_of(&id);
    assert_eq!(names.is_empty(), !text.contains("::"));
    assert!(names.iter().map(String::len).sum::<usize>() <= text.len());
    assert!(param.is_none_or(|param| text.ends_with(&format!("{param}]"))));
});
