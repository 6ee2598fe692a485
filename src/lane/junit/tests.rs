use proptest::prelude::*;

use super::*;

fn one(attributes: &str, inside: &str) -> Result<Vec<Case>, String> {
    read(&format!(
        "<testsuites><testsuite name='s'><testcase {attributes}>{inside}</testcase></testsuite></testsuites>"
    ))
}

fn state(inside: &str) -> State {
    let mut cases = one("name='t'", inside).expect("a report");
    cases.remove(0).state
}

#[test]
fn what_became_of_a_case_is_told_by_what_is_in_it() {
    assert_eq!(state(""), State::Passed);
    assert_eq!(state("<system-out>failure</system-out>"), State::Passed);
    assert_eq!(state("<skipped message='no'/>"), State::Skipped);
    let failed = State::Failed(Failed {
        kind: "E".to_owned(),
        message: "a\nb".to_owned(),
        text: "x <y> & z".to_owned(),
    });
    let element =
        "<failure type='E' message='a&#10;b'><![CDATA[x <y>]]> &amp; z<!-- n --></failure>";
    assert_eq!(state(element), failed);
    assert_eq!(state(&element.replace("failure", "error")), failed);
    // A case that is both counts as what is worse, and the first failure is told.
    assert_eq!(state(&format!("<skipped/>{element}<failure/>")), failed);
    assert_eq!(state(&format!("{element}<skipped/>")), failed);
}

#[test]
fn a_case_that_was_run_again_is_no_pass() {
    for name in ["flakyFailure", "flakyError", "rerunFailure", "rerunError"] {
        assert_eq!(state(&format!("<{name}/>")), State::Repeated, "{name}");
        assert_eq!(
            state(&format!("<failure/><{name}/>")),
            State::Repeated,
            "{name}"
        );
    }
}

#[test]
fn suites_lie_in_suites_and_name_the_file_of_their_cases() {
    let text = "<?xml version='1.0' encoding='UTF-8'?><testsuite file='a.js'><testcase name='x'/>\
                <testsuite file='b.js'><testcase name='y'/><testcase name='z' file='c.js' classname='k'/></testsuite></testsuite>";
    let cases = read(text).expect("a report");
    let files: Vec<_> = cases
        .iter()
        .map(|c| (c.name.as_str(), c.file.as_deref()))
        .collect();
    assert_eq!(
        files,
        [
            ("x", Some("a.js")),
            ("y", Some("b.js")),
            ("z", Some("c.js"))
        ]
    );
}

#[test]
fn what_is_no_report_is_refused() {
    let deep = format!("{}{}", "<testsuite>".repeat(40), "</testsuite>".repeat(40));
    let deeper = format!("{}{}", "<a>".repeat(200_000), "</a>".repeat(200_000));
    let many = format!("<testsuites>{}</testsuites>", "<p/>".repeat(500_001));
    for (text, why) in [
        ("", "no XML"),
        ("\u{0}", "no XML"),
        ("<testsuites>", "no XML"),
        ("<testsuites/><testsuites/>", "no XML"),
        ("<html/>", "its root is \"html\""),
        ("<testsuites><testcase/></testsuites>", "has no name"),
        (
            "<!DOCTYPE t [<!ENTITY a 'b'>]><testsuites/>",
            "no XML that can be read",
        ),
        ("<testsuites>&a;</testsuites>", "no XML"),
        ("<testsuites><t a='1' a='2'/></testsuites>", "no XML"),
        (
            "<testsuite failures='1'><testcase name='t'/></testsuite>",
            "no test case has",
        ),
        (
            "<testsuites errors='many'><testcase name='t'/></testsuites>",
            "no test case has",
        ),
        (
            "<testsuites><testsuite errors='1'/><testsuite><testcase name='t'><failure/></testcase></testsuite></testsuites>",
            "no test case has",
        ),
        (&deep, "deep"),
        (&deeper, "its root is"),
        (&many, "no XML"),
    ] {
        let said = read(text).expect_err(why);
        assert!(said.contains(why), "{why}: {said}");
    }
    assert_eq!(
        read("<testsuites failures='0' errors='0'/>"),
        Ok(Vec::new())
    );
}

#[test]
fn a_case_is_the_test_by_its_whole_id_only() {
    let case = |name: &str, class: &str, file: &str| Case {
        name: name.to_owned(),
        classname: (!class.is_empty()).then(|| class.to_owned()),
        file: (!file.is_empty()).then(|| file.to_owned()),
        state: State::Passed,
    };
    let python = "tests/p/test_a.py::TestX::test_y[a::b]";
    let web = r"web/sum.test.ts::outer::adds \:\: up";
    for (name, class, file, id) in [
        (python, "", "", python),
        ("test_y[a::b]", "tests.p.test_a.TestX", "", python),
        (
            "test_y[a::b]",
            "tests.p.test_a.TestX",
            "tests/p/test_a.py",
            python,
        ),
        ("TestX::test_y[a::b]", "", "/tree/tests/p/test_a.py", python),
        ("TestX::test_y[a::b]", "x", "./tests/p/test_a.py", python),
        ("test_y[a::b]", "TestX", "tests/p/test_a.py", python),
        (r"outer::adds \:\: up", "", "web/sum.test.ts", web),
        (r"adds \:\: up", "web/sum.test.ts::outer", "", web),
        ("t", "tests.t", "", "tests/t.py::t"),
    ] {
        let id = id.parse().expect("a node id");
        assert!(
            case(name, class, file).is(&id, "/tree"),
            "{name} {class} {file}"
        );
    }
    for (name, class, file, id) in [
        ("test_y", "tests.p.test_a.TestX", "", python),
        ("test_y[a::b]", "tests.p.test_a", "", python),
        ("test_y[a::b]", "TestX", "", python),
        ("test_y[a::b]", "", "", python),
        ("test_y[a::b]", "TestX", "tests/p/test_b.py", python),
        (
            "test_y[a::b]",
            "tests.p.test_a.TestX",
            "tests/p.test_a.py",
            python,
        ),
        ("test_y[a::b]", "TestX", "/other/tests/p/test_a.py", python),
        ("adds :: up", "outer", "web/sum.test.ts", web),
        ("t", "tests.t", "", "tests/tt.py::t"),
        ("", "", "", "tests"),
    ] {
        let id = id.parse().expect("a node id");
        assert!(
            !case(name, class, file).is(&id, "/tree"),
            "{name} {class} {file}"
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(<testsuites>)?(<testcase name='[a-z]'>)?\\PC{0,80}(</testcase>)?(</testsuites>)?") {
        let _ = read(&text);
    }

    #[test]
    fn a_name_comes_out_as_it_was_meant(name in "[ -~é]{1,30}") {
        let escaped: String = name.chars().map(|c| format!("&#{};", u32::from(c))).collect();
        let cases = one(&format!("name='{escaped}'"), "").expect("a report");
        prop_assert_eq!(&cases[0].name, &name);
    }
}
