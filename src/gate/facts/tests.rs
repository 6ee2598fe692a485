use super::*;
use crate::model::FileBytes;

fn config(text: &str) -> BlobFact {
    BlobFact::Content {
        id: "a".repeat(40).parse().expect("an id"),
        bytes: FileBytes(text.as_bytes().to_vec()),
    }
}

fn folded(path: &str) -> String {
    let mut folded = "left over".to_owned();
    fold_into(&mut folded, path);
    folded
}

#[test]
fn any_of_configuration_lock_freezes_map_and_ledger_opts_in() {
    assert!(!is_opted_in(&BlobFact::Absent, |_| false));
    assert!(is_opted_in(&config("mode: observe\n"), |_| false));
    assert!(is_opted_in(
        &BlobFact::Unavailable("cut off".to_owned()),
        |_| false
    ));
    for layer in Layer::ALL {
        let expected = matches!(
            layer,
            Layer::Lock | Layer::Freezes | Layer::Map | Layer::Ledger
        );
        let found = is_opted_in(&BlobFact::Absent, |path| path == layer.default_path());
        assert_eq!(found, expected, "{}", layer.title());
    }
}

#[test]
fn a_moved_layer_is_looked_up_where_it_is_and_an_off_one_at_its_default() {
    let layers = layers(&config(
        "contract:\n  map: contract/map.json\n  lock: off\n",
    ));
    assert_eq!(layers[&Layer::Map], "contract/map.json");
    assert_eq!(layers[&Layer::Lock], Layer::Lock.default_path());
    assert_eq!(layers.len(), Layer::ALL.len());
}

#[test]
fn an_unreadable_configuration_leaves_the_defaults() {
    let layers = layers(&config("contract: {map: [1]}"));
    assert_eq!(layers[&Layer::Map], Layer::Map.default_path());
}

#[test]
fn spellings_fold_by_component() {
    for (a, b) in [
        ("SRC/A.py", "src/a.PY"),
        ("a./b ", "a/b"),
        (r"a\b", "a/b"),
        ("ﬁle", "FILE"),
        ("e\u{301}", "É"),
    ] {
        assert_eq!(folded(a), folded(b), "{a} {b}");
    }
    assert_ne!(folded("a/b"), folded("ab"));
}
