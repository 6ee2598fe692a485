//! What lies in `deploy/` and `docs/operations.md` names only what exists.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use frostline::config::server::ServerConfig;
use frostline::metrics::Metrics;
use frostline::server::{AppState, HttpServer};
use frostline::store::Store;
use frostline::webhook::Secrets;
use frostline::work::Pulse;
use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The documents of a YAML file; every scalar is a text.
fn documents(path: &str) -> Vec<Value> {
    let text = read(path);
    let mut documents = Vec::new();
    // What is being read: a list, or an object with the key that waits for its value.
    let mut open: Vec<(Value, Option<String>)> = Vec::new();
    fn put(open: &mut [(Value, Option<String>)], documents: &mut Vec<Value>, value: Value) {
        match open.last_mut() {
            None => documents.push(value),
            Some((Value::Array(list), _)) => list.push(value),
            Some((Value::Object(object), key)) => match key.take() {
                None => *key = Some(value.as_str().unwrap().to_owned()),
                Some(key) => assert_eq!(object.insert(key, value), None, "a key twice"),
            },
            Some(_) => unreachable!("only lists and objects are open"),
        }
    }
    let mut parser = Parser::new_from_str(&text);
    while let Some(event) = parser.next_event() {
        match event.unwrap_or_else(|error| panic!("{path}: {error}")).0 {
            Event::Scalar(text, ..) => {
                put(&mut open, &mut documents, text.into_owned().into());
            }
            Event::SequenceStart(..) => open.push((Value::Array(Vec::new()), None)),
            Event::MappingStart(..) => open.push((Value::Object(Map::new()), None)),
            Event::SequenceEnd | Event::MappingEnd => {
                let (value, _) = open.pop().unwrap();
                put(&mut open, &mut documents, value);
            }
            Event::Alias(_) => panic!("{path}: an alias"),
            _ => {}
        }
    }
    documents
}

fn texts(value: &Value) -> Vec<&str> {
    let list = value.as_array().unwrap();
    list.iter().map(|item| item.as_str().unwrap()).collect()
}

/// The arguments are those of a command, and their values such as the configuration takes.
fn assert_arguments(words: &[&str]) {
    let help = Command::new(env!("CARGO_BIN_EXE_frostline"))
        .args([words[0], "--help"])
        .output()
        .unwrap();
    assert!(help.status.success(), "{words:?}");
    let help = String::from_utf8(help.stdout).unwrap();
    for flag in words.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(&format!("{flag} ")), "no flag {flag}");
    }
}

/// The variables are settings, with values that can be used; gives the configuration that comes out.
fn configuration(env: &[(&str, &str)]) -> ServerConfig {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("frostline-app.toml");
    let app = "app_id = 1\napi_url = 'https://api.github.com'\n\
               private_key = '-----BEGIN X-----'\nwebhook_secrets = ['s']\n";
    std::fs::write(&file, app).unwrap();
    let mut env: BTreeMap<String, String> = env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let path = file.display().to_string();
    env.insert("FROSTLINE_GITHUB__CREDENTIALS_FILE".to_owned(), path);
    ServerConfig::from_layers(None, &env, Vec::new()).unwrap()
}

#[test]
fn the_image_is_built_from_what_is_there() {
    let dockerfile = read("deploy/Dockerfile");
    let manifest = read("Cargo.toml");
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "))
        .unwrap()
        .trim_matches('"');
    assert!(dockerfile.contains(&format!("FROM rust:{version}-")));
    assert!(dockerfile.contains("--profile dist") && manifest.contains("[profile.dist]"));
    assert!(dockerfile.contains("/src/target/dist/frostline"));
    let words = dockerfile
        .lines()
        .find_map(|line| line.strip_prefix("CMD "))
        .unwrap();
    let words: Value = serde_json::from_str(words).unwrap();
    assert_arguments(&texts(&words));
    // What the program is built from is not left out, and secrets are.
    let ignored: Vec<String> = read(".dockerignore").lines().map(str::to_owned).collect();
    assert!(ignored.contains(&"**/frostline-app.toml".to_owned()));
    for needed in ["src", "tests", "benches", "Cargo.lock", "app-manifest.yml"] {
        assert!(root().join(needed).exists(), "{needed}");
        assert!(!ignored.contains(&needed.to_owned()), "{needed}");
    }
}

#[test]
fn the_compose_file_names_what_exists() {
    let files = documents("deploy/compose.yml");
    let service = &files[0]["services"]["frostline"];
    let folder = root().join("deploy");
    let context = folder.join(service["build"]["context"].as_str().unwrap());
    let dockerfile = service["build"]["dockerfile"].as_str().unwrap();
    assert!(context.join(dockerfile).exists());
    assert_arguments(&texts(&service["command"]));
    let environment = service["environment"].as_object().unwrap();
    let env: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| match value.as_str().unwrap() {
            asked if asked.starts_with("${") => (name.as_str(), "https://frostline.example.com"),
            value => (name.as_str(), value),
        })
        .collect();
    assert!(configuration(&env).public_url.is_some());
    let volume = texts(&service["volumes"])[0].split(':').collect::<Vec<_>>();
    assert!(files[0]["volumes"].get(volume[0]).is_some());
    assert!(read("deploy/Dockerfile").contains(&format!("WORKDIR {}", volume[1])));
}

#[tokio::test]
async fn the_kubernetes_manifests_name_what_exists() {
    let files = documents("deploy/kubernetes.yml");
    let kinds: Vec<&str> = files.iter().map(|f| f["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["StatefulSet", "Service", "Service"]);
    let set = &files[0]["spec"];
    assert_eq!(set["replicas"], "1", "the database is one process's");
    let labels = &set["template"]["metadata"]["labels"];
    assert_eq!(&set["selector"]["matchLabels"], labels);
    let pod = &set["template"]["spec"];
    let container = &pod["containers"][0];
    let arguments = texts(&container["args"]);
    assert_arguments(&arguments);
    let env: Vec<(&str, &str)> = container["env"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                one["value"].as_str().unwrap(),
            )
        })
        .collect();
    configuration(&env);

    // Ports: bound, declared, and led to.
    let mut ports = BTreeMap::new();
    for port in container["ports"].as_array().unwrap() {
        let number = port["containerPort"].as_str().unwrap();
        let bound = format!("0.0.0.0:{number}");
        assert!(arguments.contains(&bound.as_str()), "{bound}");
        ports.insert(port["name"].as_str().unwrap(), number);
    }
    for service in &files[1..] {
        assert_eq!(&service["spec"]["selector"], labels);
        for port in service["spec"]["ports"].as_array().unwrap() {
            assert!(ports.contains_key(port["targetPort"].as_str().unwrap()));
        }
    }

    // Volumes: mounted and declared; the credentials are where the variable says.
    let named = |list: &Value| -> BTreeSet<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|one| {
            let name = one.get("name").unwrap_or(&one["metadata"]["name"]);
            name.as_str().unwrap().to_owned()
        })
        .collect()
    };
    let mut volumes = named(&pod["volumes"]);
    volumes.extend(named(&set["volumeClaimTemplates"]));
    assert_eq!(named(&container["volumeMounts"]), volumes);
    let mounts: Vec<PathBuf> = container["volumeMounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mount| mount["mountPath"].as_str().unwrap().into())
        .collect();
    for used in [
        env.iter()
            .find(|(name, _)| *name == "FROSTLINE_GITHUB__CREDENTIALS_FILE")
            .unwrap()
            .1,
        container["workingDir"].as_str().unwrap(),
    ] {
        let path = Path::new(used);
        assert!(mounts.iter().any(|mount| path.starts_with(mount)), "{used}");
    }
    let grace = pod["terminationGracePeriodSeconds"].as_str().unwrap();
    let runner = frostline::work::RunnerSettings::default().grace.as_secs();
    assert!(grace.parse::<u64>().unwrap() > runner);

    // Probes: real routes.
    let address = serve().await;
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let get = &container[probe]["httpGet"];
        assert_eq!(get["port"], "http");
        let path = get["path"].as_str().unwrap();
        let url = format!("http://{address}{path}");
        let status = reqwest::get(url).await.unwrap().status().as_u16();
        assert!(matches!(status, 200 | 503), "{path}: {status}");
    }
}

async fn serve() -> std::net::SocketAddr {
    let folder = tempfile::tempdir().unwrap().keep();
    let url = format!("sqlite://{}/frostline.db", folder.display());
    let store = Store::open(&url).await.unwrap();
    let secrets = Secrets::new(["s"]).unwrap();
    let state = AppState::new(store, secrets, Pulse::default());
    let bind = ([127, 0, 0, 1], 0).into();
    let server = HttpServer::bind(bind, state).await.unwrap();
    let address = server.address();
    tokio::spawn(server.run(tokio_util::sync::CancellationToken::new()));
    address
}

#[test]
fn the_unit_starts_the_program_as_it_is() {
    let unit = read("deploy/frostline.service");
    let start = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/frostline "))
        .unwrap();
    assert_arguments(&start.split(' ').collect::<Vec<_>>());
    let grace = frostline::work::RunnerSettings::default().grace.as_secs();
    let stop = unit
        .lines()
        .find_map(|line| line.strip_prefix("TimeoutStopSec="))
        .unwrap();
    assert!(stop.parse::<u64>().unwrap() > grace);
}

#[test]
fn operations_md_lists_every_metric() {
    let page = read("docs/operations.md");
    let metrics = Metrics::default();
    // Families whose labels are not known before the first event.
    let took = std::time::Duration::from_secs(1);
    metrics.job("pull", "done", took);
    metrics.forge_request("ok", took);
    let text = metrics.text(None, None).unwrap();
    let families: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    let listed: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| name.starts_with("frostline_"))
        .collect();
    assert_eq!(listed, families);
}

#[test]
fn operations_md_gives_the_reason_of_every_permission() {
    let page = read("docs/operations.md");
    let wanted = frostline::server::wanted();
    assert!(!wanted.permissions.is_empty());
    for (name, level) in wanted.permissions {
        let row = format!("| {name} | {level} | ");
        assert!(page.contains(&row), "no row {row:?}");
    }
}
