use super::*;
use crate::model::Generator;

const GO: Language = Language::Go;

/// A test file with `code` in it.
fn file(code: &str) -> String {
    format!("package p\n\nimport \"testing\"\n\n{code}\n")
}

fn files(codes: &[&str]) -> Vec<String> {
    codes.iter().map(|code| file(code)).collect()
}

fn refs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[test]
fn test_functions_and_literal_subtests_run() {
    let texts = files(&[
        "func TestA(t *testing.T) { check(t) }",
        "func TestA(tt *testing.T) { if testing.Short() { tt.Skip() }; check(tt) }",
        "func TestA(t *testing.T) { reader.Skip(4) }",
        "func TestA(t *testing.T) { for _, c := range cs { if c.x { t.Skip() } } }",
        "func TestMain(m *testing.M) { os.Exit(m.Run()) }\nfunc TestA(t *testing.T) {}",
    ]);
    all_run(GO, "TestA", &refs(&texts));
    let texts = files(&[
        "func TestA(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Run(`in ner`, func(t *testing.T) {}) }) }",
        "func TestA(t *testing.T) { ok := t.Run(\"sub\", func(u *testing.T) { u.Run(\"in ner\", inner) }) }",
    ]);
    all_run(GO, "TestA::sub::in_ner", &refs(&texts));
}

#[test]
fn what_skips_a_test_disables_it() {
    let texts = files(&[
        "func TestA(t *testing.T) { t.Skip(\"x\") }",
        "func TestA(tt *testing.T) { tt.Parallel(); tt.Skipf(\"x\") }",
        "func TestA(t *testing.T) { check(t); t.SkipNow() }",
        "func TestA(t *testing.T) { if runtime.GOOS == \"x\" { t.Skip() }; check(t) }",
        "func TestA(t *testing.T) { return; check(t) }",
        "func TestMain(m *testing.M) { os.Exit(0) }\nfunc TestA(t *testing.T) {}",
    ]);
    all_disabled(GO, "TestA", &refs(&texts));
    let texts = files(&[
        "func TestA(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Skip() }) }",
        "func TestA(t *testing.T) { t.Skip(); t.Run(\"sub\", func(t *testing.T) {}) }",
        "func TestA(t *testing.T) { if x { t.Run(\"sub\", func(t *testing.T) {}) } }",
        "func TestA(t *testing.T) { for range x { t.Run(\"sub\", func(t *testing.T) {}) } }",
        "func TestA(t *testing.T) { f := func() { t.Run(\"sub\", func(t *testing.T) {}) } }",
    ]);
    all_disabled(GO, "TestA::sub", &refs(&texts));
    let test = file("func TestA(t *testing.T) {}");
    for constraint in [
        "//go:build ignore",
        "//go:build linux && !race",
        "// +build linux",
    ] {
        all_disabled(
            GO,
            "TestA",
            &[&format!("// About.\n\n{constraint}\n\n{test}")],
        );
    }
}

#[test]
fn what_is_no_test_is_no_item() {
    for code in [
        "func Testify(t *testing.T) {}",
        "func TestA(b *testing.B) {}",
        "func TestA() {}",
        "func (s *S) TestA(t *testing.T) {}",
        "func f() { _ = func(t *testing.T) {} }",
        "// func TestA(t *testing.T) {}",
        "func TestA[T any](t *testing.T) {}",
    ] {
        assert_eq!(state(GO, &file(code), "TestA"), "nothing", "{code}");
    }
    for code in [
        "func TestA(t *testing.T) { for _, c := range cs { t.Run(c.name, func(t *testing.T) {}) } }",
        "func TestA(t *testing.T) { suite.Run(t, new(S)) }",
    ] {
        assert_eq!(state(GO, &file(code), "TestA::sub"), "computed", "{code}");
        assert_eq!(state(GO, &file(code), "TestA"), "runs", "{code}");
    }
}

#[test]
fn a_files_name_can_keep_it_from_being_built() {
    for path in [
        "p/x_linux_test.go",
        "x_amd64_test.go",
        "x_windows_arm64_test.go",
        "p/x.go",
        "testdata/x_test.go",
        "_x_test.go",
    ] {
        assert!(conditional_by_name(path).is_some(), "{path}");
    }
    for path in [
        "p/x_test.go",
        "linux_test.go",
        "x_linux_y_test.go",
        "x_linux.py",
    ] {
        assert_eq!(conditional_by_name(path), None, "{path}");
    }
}

#[test]
fn generators_and_seeds_are_seen() {
    for (code, name, generator, seed) in [
        (
            "func TestA(t *testing.T) { rapid.Check(t, prop) }",
            "TestA",
            Some(Generator::Rapid),
            None,
        ),
        (
            "func TestA(t *testing.T) { t.Run(\"sub\", rapid.MakeCheck(prop)) }",
            "TestA::sub",
            Some(Generator::Rapid),
            None,
        ),
        (
            "func TestA(t *testing.T) { quick.Check(f, nil) }",
            "TestA",
            Some(Generator::Quickcheck),
            None,
        ),
        (
            "func FuzzA(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) {}) }",
            "FuzzA",
            Some(Generator::GoFuzz),
            None,
        ),
        (
            "func TestA(t *testing.T) {\n\tr := rand.New(rand.NewSource(42))\n}",
            "TestA",
            None,
            Some(6),
        ),
        (
            "func TestA(t *testing.T) {\n\tr := rand.New(rand.NewSource(seed))\n}",
            "TestA",
            None,
            None,
        ),
    ] {
        let found = item(GO, &file(code), name);
        assert_eq!((found.generator, found.seed), (generator, seed), "{code}");
    }
}

#[test]
fn a_test_keeps_its_context_when_another_is_added_changed_or_taken_away() {
    let text = file(
        "func helper() int { return 3 }\n\nfunc TestA(t *testing.T) { helper() }\n\n// TestB checks.\nfunc TestB(t *testing.T) {}",
    );
    let before = item(GO, &text, "TestA");
    for changed in [
        text.replace("// TestB checks.\nfunc TestB(t *testing.T) {}", ""),
        text.replace(
            "func TestB(t *testing.T) {}",
            "func TestB(t *testing.T) { x() }",
        ),
        text.replace(
            "func TestA",
            "\n\n// TestC checks.\nfunc TestC(t *testing.T) {}\n\nfunc TestA",
        ),
    ] {
        let after = item(GO, &changed, "TestA");
        assert_eq!(
            (&before.text, &before.context),
            (&after.text, &after.context),
            "{changed}"
        );
    }
    let changed = text.replace("return 3", "return 4");
    assert_ne!(before.context, item(GO, &changed, "TestA").context);
    let called = text.replace("helper() }", "helper(); TestB(t) }");
    let changed = called.replace("TestB(t *testing.T) {}", "TestB(t *testing.T) { x() }");
    assert_ne!(
        item(GO, &called, "TestA").context,
        item(GO, &changed, "TestA").context
    );
    let renamed = text.replace("TestA", "TestRenamed");
    assert_eq!(before.shape, item(GO, &renamed, "TestRenamed").shape);
}
