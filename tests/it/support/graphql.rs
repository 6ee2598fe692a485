//! GitHub's GraphQL schema (npm package `@octokit/graphql-schema`), and what of a request does not fit it. The
//! npm package `graphql` judges, in a process of its own that lives as long as the tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use frostline::demo::forge::Recorded;
use serde_json::Value;

use super::third_party::third_party;

pub struct Schema {
    judge: Mutex<Judge>,
}

struct Judge {
    /// Ends when its input does.
    _process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Requests that were found good.
    good: BTreeSet<String>,
}

impl Schema {
    /// `None`, loudly, when the packages or node could not be had; a failure where `CI` is set.
    pub fn load() -> Option<&'static Self> {
        static ONCE: OnceLock<Option<Schema>> = OnceLock::new();
        ONCE.get_or_init(Self::start).as_ref()
    }

    fn start() -> Option<Self> {
        let (library, schema) = (third_party("graphql")?, third_party("graphql-schema")?);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/support/graphql.mjs");
        let started = Command::new("node")
            .arg(script)
            .arg(library)
            .arg(schema.join("schema.graphql"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut process) = started else {
            assert!(std::env::var_os("CI").is_none(), "there is no node");
            eprintln!("SKIPPED, no GraphQL text was compared: there is no node");
            return None;
        };
        let judge = Judge {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()),
            _process: process,
            good: BTreeSet::new(),
        };
        Some(Self {
            judge: Mutex::new(judge),
        })
    }

    /// What is wrong with the GraphQL requests among these; empty when nothing is.
    pub fn departures(&self, requests: &[Recorded]) -> Vec<String> {
        let asked = requests.iter().filter(|it| it.path.ends_with("/graphql"));
        let mut judge = self.judge.lock().unwrap_or_else(PoisonError::into_inner);
        asked.flat_map(|it| judge.judge(&it.body)).collect()
    }
}

impl Judge {
    fn judge(&mut self, request: &Value) -> Vec<String> {
        let mut line = request.to_string();
        if self.good.contains(&line) {
            return Vec::new();
        }
        line.push('\n');
        self.input.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        let complaints: Vec<String> = serde_json::from_str(&answer).unwrap();
        line.pop();
        let all = complaints
            .iter()
            .map(|it| format!("{it}: {line}"))
            .collect();
        if complaints.is_empty() {
            self.good.insert(line);
        }
        all
    }
}

#[test]
fn a_text_that_the_schema_does_not_know_is_seen() {
    let Some(schema) = Schema::load() else {
        return;
    };
    let asked = |query: &str, variables: Value| Recorded {
        method: "POST".to_owned(),
        path: "/graphql".to_owned(),
        query: String::new(),
        body: serde_json::json!({"query": query, "variables": variables}),
        status: 200,
        answer: Value::Null,
        faulty: false,
    };
    let by_name = "query($name: String!) { repository(owner: \"a\", name: $name) { id } }";
    let departures = |query, variables| schema.departures(&[asked(query, variables)]);
    let name = serde_json::json!({"name": "b"});
    assert_eq!(departures(by_name, name), [""; 0]);
    for (query, variables, complaint) in [
        (by_name, Value::Null, "was not provided"),
        (
            "{ repository(owner: \"a\") { id } }",
            Value::Null,
            "\"name\"",
        ),
        ("{ nobody { id } }", Value::Null, "Cannot query field"),
        ("{ viewer { login ", Value::Null, "Syntax Error"),
    ] {
        let found = departures(query, variables);
        assert!(found.iter().any(|it| it.contains(complaint)), "{found:#?}");
    }
}
