//! What a first property looks like.

use std::collections::BTreeMap;

use super::Parts;
use crate::source::Language;

/// What a first property looks like in the language that most production files have.
pub(super) fn example(parts: &Parts<'_>) -> String {
    let mut counts: BTreeMap<Language, usize> = BTreeMap::new();
    for path in parts.production {
        if let Some(language) = Language::of_path(path) {
            *counts.entry(language).or_default() += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let (file, code) = match most.map(|(language, _)| language) {
        Some(Language::Rust) => (
            "tests/properties/main.rs, with proptest",
            "  proptest::proptest! {\n      #[test]\n      fn what_is_written_is_read_back(value in \".*\") {\n          assert_eq!(read(&write(&value)), value);\n      }\n  }",
        ),
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => (
            "tests/properties/roundtrip.test.ts, with fast-check",
            "  test(\"what is written is read back\", () => {\n    fc.assert(fc.property(fc.string(), (value) => {\n      expect(read(write(value))).toBe(value);\n    }));\n  });",
        ),
        Some(Language::Go) => (
            "a file such as parse_fuzz_test.go, listed under paths.properties",
            "  func FuzzRoundTrip(f *testing.F) {\n      f.Fuzz(func(t *testing.T, value string) {\n          if got := Read(Write(value)); got != value {\n              t.Fatalf(\"%q became %q\", value, got)\n          }\n      })\n  }",
        ),
        _ => (
            "tests/properties/test_roundtrip.py, with Hypothesis",
            "  @given(st.text())\n  def test_what_is_written_is_read_back(value):\n      assert read(write(value)) == value",
        ),
    };
    format!(
        "There is no property yet, so nothing can pass once you enforce. A first one, in\n{file}:\n\n{code}\n\nThen `git add` it and run `frostline init` again: it proposes a rule for it."
    )
}
