//! SARIF and workflow commands: whatever a repository holds, it is only text.

use super::*;

/// A workflow command as the runner reads it.
struct Command {
    level: String,
    properties: Vec<(String, String)>,
    message: String,
}

fn workflow_command(line: &str) -> Option<Command> {
    let (head, message) = line.strip_prefix("::")?.split_once("::")?;
    let (level, properties) = head.split_once(' ').unwrap_or((head, ""));
    let data = |text: &str| {
        text.replace("%0D", "\r")
            .replace("%0A", "\n")
            .replace("%25", "%")
    };
    let property = |text: &str| data(&text.replace("%3A", ":").replace("%2C", ","));
    let properties = properties
        .split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), property(value)))
        .collect();
    Some(Command {
        level: level.to_owned(),
        properties,
        message: data(message),
    })
}

proptest! {
    #[test]
    fn a_repository_starts_no_workflow_command(texts in texts()) {
        let decision = refused(&texts);
        let page = render::github(&decision);
        let lines: Vec<&str> = page.lines().collect();
        let (last, commands) = lines.split_last().expect("a summary");
        prop_assert_eq!(*last, render::headline(&decision));
        prop_assert_eq!(commands.len(), decision.findings.len());
        prop_assert_eq!(page.matches(['\n', '\r']).count(), lines.len());
        for command in commands {
            let Command { level, properties, message } =
                workflow_command(command).expect("a command");
            prop_assert!(["error", "warning", "notice"].contains(&level.as_str()));
            let keys: Vec<&str> = properties.iter().map(|(key, _)| key.as_str()).collect();
            prop_assert_eq!(keys, ["file", "line", "endLine", "title"]);
            prop_assert_eq!(&properties[0].1, &render::visible(&texts.path));
            prop_assert!(message.starts_with(&render::visible(&texts.message)));
        }
    }

    #[test]
    fn sarif_holds_no_link_and_no_foreign_uri(texts in texts()) {
        let sarif: serde_json::Value =
            serde_json::from_str(&render::sarif(&refused(&texts))).expect("JSON");
        for result in sarif["runs"][0]["results"].as_array().expect("results") {
            let message = result["message"]["text"].as_str().expect("a text");
            let bare = message.replace("\\\\", "").replace("\\[", "").replace("\\]", "");
            prop_assert!(!bare.contains(['[', ']']), "{message}");
            let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
            let uri = uri.as_str().expect("a URI");
            prop_assert!(uri.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~/%".contains(&b)), "{uri}");
        }
    }
}

#[test]
fn workflow_commands_are_ten_of_a_level_and_the_rest_is_counted() {
    let mut decision = refused(&Texts::harmless());
    let hole = finding(Rule::CoverageHole, Effect::Refuse, &Texts::harmless());
    decision.findings = vec![hole; 25];
    let page = render::github(&decision);
    assert_eq!(page.matches("::error ").count(), 10);
    assert!(
        page.ends_with("(15 more findings not annotated; --format text prints all)\n"),
        "{page}"
    );
}
