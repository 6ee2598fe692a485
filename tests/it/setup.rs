//! Registering the App: the whole way over loopback, by hand and in a real browser, and who may not.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use frostline::demo::forge::{Answer, Fault, Forge, NewPull};
use reqwest::redirect::Policy;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::support::browser::Browser;
use crate::support::logs;
use crate::support::world::{REPO, World};

/// `frostline setup` or `frostline serve`, with what it says line by line. Killed when it is dropped.
struct Program {
    child: Child,
    lines: UnboundedReceiver<String>,
    told: String,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(folder: &Path, arguments: &[&str], forge: &Forge) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("FROSTLINE_GITHUB__API_URL", forge.url())
        .env("FROSTLINE_GITHUB__ALLOW_HTTP_LOOPBACK", "true")
        .env("RUST_LOG", "trace")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Program {
    fn start(folder: &Path, arguments: &[&str], forge: &Forge) -> Self {
        let mut child = command(folder, arguments, forge).spawn().unwrap();
        let (sender, lines) = unbounded_channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        let err = BufReader::new(child.stderr.take().unwrap());
        let also = sender.clone();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        std::thread::spawn(move || {
            for line in err.lines().map_while(Result::ok) {
                let _ = also.send(line);
            }
        });
        Self {
            child,
            lines,
            told: String::new(),
        }
    }

    async fn until(&mut self, text: &str) -> String {
        self.until_both(text, "").await
    }

    /// A pull request was judged. Every start begins with a sweep, which may be the one that saw it.
    async fn judged(&mut self) {
        self.until_both("job done", "kind=\"pull\"").await;
    }

    async fn until_both(&mut self, text: &str, also: &str) -> String {
        loop {
            let line = tokio::time::timeout(Duration::from_secs(60), self.lines.recv()).await;
            let Ok(Some(line)) = line else {
                panic!("no line with {text:?} after:\n{}", self.told);
            };
            self.told.push_str(&line);
            self.told.push('\n');
            if line.contains(text) && line.contains(also) {
                return line;
            }
        }
    }

    /// What is left of it, and its exit status.
    async fn end(&mut self) -> Option<i32> {
        while let Some(line) = self.lines.recv().await {
            self.told.push_str(&line);
            self.told.push('\n');
        }
        self.child.wait().unwrap().code()
    }

    async fn link(&mut self) -> String {
        self.until("/setup?token=").await.trim().to_owned()
    }
}

const SETUP: &[&str] = &["setup", "--public-url", "https://frostline.example.com"];

fn client() -> reqwest::Client {
    let none = Policy::none();
    reqwest::Client::builder().redirect(none).build().unwrap()
}

async fn get(url: &str) -> (u16, String) {
    let answer = client().get(url).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// The value of an attribute, as a browser reads it.
fn attribute(page: &str, before: &str) -> String {
    let from = page.find(before).unwrap_or_else(|| panic!("{page}")) + before.len();
    let value = page[from..].split('"').next().unwrap();
    value
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// The forge's pages for people.
fn site(forge: &Forge) -> &str {
    forge.url().trim_end_matches("/api/v3")
}

/// What a person does at the forge: posts the form, confirms. Gives where the browser is sent back to.
async fn confirm(page: &str, forge: &Forge) -> String {
    let action = attribute(page, "method=\"post\" action=\"");
    assert!(
        action.starts_with(&format!("{}/settings/", site(forge))),
        "{action}"
    );
    let manifest = attribute(page, "name=\"manifest\" value=\"");
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("manifest", &manifest)
        .finish();
    let asked = client()
        .post(action)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form)
        .send()
        .await
        .unwrap();
    assert_eq!(asked.status().as_u16(), 200);
    let asked = asked.text().await.unwrap();
    let action = attribute(&asked, "method=\"post\" action=\"");
    let back = client()
        .post(format!("{}{action}", site(forge)))
        .send()
        .await
        .unwrap();
    assert_eq!(back.status().as_u16(), 302);
    back.headers()["location"].to_str().unwrap().to_owned()
}

fn conversions(forge: &Forge) -> usize {
    let requests = forge.requests();
    let bought = requests.iter().filter(|r| r.path.ends_with("/conversions"));
    bought.count()
}

fn written(folder: &Path) -> (PathBuf, String) {
    let file = folder.join("frostline-app.toml");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).unwrap();
    (file, text)
}

#[tokio::test]
async fn an_app_is_registered_and_then_served() {
    goes_the_whole_way(World::new().await).await;
}

#[tokio::test]
async fn an_app_of_an_enterprise_server_is_registered_and_then_served() {
    goes_the_whole_way(World::enterprise().await).await;
}

async fn goes_the_whole_way(world: World) {
    let forge = &world.forge;
    let folder = tempfile::tempdir().unwrap();
    let mut setup = Program::start(folder.path(), SETUP, forge);
    let link = setup.link().await;
    assert!(link.starts_with("http://127.0.0.1:"), "{link}");
    let (status, page) = get(&link).await;
    assert_eq!(status, 200);
    let manifest: Value =
        serde_json::from_str(&attribute(&page, "name=\"manifest\" value=\"")).unwrap();
    assert_eq!(manifest["url"], "https://frostline.example.com");
    assert_eq!(
        manifest["hook_attributes"]["url"],
        "https://frostline.example.com/webhooks/github"
    );
    assert_eq!(manifest["public"], false);
    for (name, level) in frostline::forge::github::PERMISSIONS {
        assert_eq!(manifest["default_permissions"][name], *level, "{name}");
    }
    let events = manifest["default_events"].as_array().unwrap();
    assert!(events.contains(&"pull_request".into()), "{events:?}");

    let back = confirm(&page, forge).await;
    let (status, page) = get(&back).await;
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("/installations/new"), "{page}");
    assert_eq!(setup.end().await, Some(0), "{}", setup.told);
    assert!(setup.told.contains("frostline-app.toml"), "{}", setup.told);

    let (_, text) = written(folder.path());
    for secret in logs::secrets(forge) {
        assert!(text.contains(&secret));
        assert!(!page.contains(&secret) && !setup.told.contains(&secret));
    }
    let mut requests = forge.requests();
    requests.retain(|request| request.path.ends_with("/conversions"));
    assert_eq!(requests.len(), 1);

    // The server finds the file.
    let serve = ["serve", "--bind", "127.0.0.1:0"];
    let mut serving = Program::start(folder.path(), &serve, forge);
    let base = serving.until("frostline listens on ").await;
    let base = base.trim_start_matches("frostline listens on ");
    let number = world.pull("work", &[("README.md", "Another parser\n")]);
    let hook = forge.pull_webhook(REPO, number, "opened").unwrap();
    let sent = hook.send(&format!("{base}/webhooks/github")).await.unwrap();
    assert_eq!(sent, 202);
    serving.judged().await;
    assert_eq!(world.conclusion(number), "success");
}

#[tokio::test]
async fn a_real_browser_goes_the_whole_way() {
    let Some(mut browser) = Browser::open().await else {
        return;
    };
    let world = World::new().await;
    let forge = &world.forge;
    let folder = tempfile::tempdir().unwrap();
    let mut setup = Program::start(folder.path(), SETUP, forge);
    let link = setup.link().await;
    browser.go(&link).await;
    let text = browser.text().await;
    assert!(text.contains("Register Frostline as an App"), "{text}");

    // An organisation, and the form for it.
    browser
        .ask("document.querySelector('input[name=organization]').value = 'acme'")
        .await;
    browser.press("#change button").await;
    let text = browser.text().await;
    assert!(text.contains("the organisation acme"), "{text}");

    browser.press("#register button").await;
    let place = browser.ask("location.href").await;
    let place = place.as_str().unwrap();
    let expected = format!(
        "{}/organizations/acme/settings/apps/new?state=",
        forge.url()
    );
    assert!(place.starts_with(&expected), "{place}");
    let came_from = browser.ask("document.referrer").await;
    assert_eq!(came_from, "", "the token is not told to the forge");

    browser.press("#confirm").await;
    let text = browser.text().await;
    assert!(text.contains("The App is registered"), "{text}");
    assert_eq!(setup.end().await, Some(0), "{}", setup.told);
    written(folder.path());
}

#[tokio::test]
async fn a_file_of_credentials_is_never_overwritten() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("frostline-app.toml");
    std::fs::write(&file, "another App\n").unwrap();
    let refused = command(folder.path(), SETUP, &world.forge)
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("is there already"), "{told}");
    assert!(refused.stdout.is_empty());

    // Nor one that came while the page was open.
    std::fs::remove_file(&file).unwrap();
    let mut setup = Program::start(folder.path(), SETUP, &world.forge);
    let (_, page) = get(&setup.link().await).await;
    std::fs::write(&file, "another App\n").unwrap();
    let (status, page) = get(&confirm(&page, &world.forge).await).await;
    assert_eq!(status, 502, "{page}");
    assert!(page.contains("delete it at the forge"), "{page}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "another App\n");
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "nothing else is left behind");
}

#[tokio::test]
async fn without_the_token_or_a_state_of_ours_there_is_nothing() {
    let world = World::new().await;
    let forge = &world.forge;
    let folder = tempfile::tempdir().unwrap();
    let mut setup = Program::start(folder.path(), SETUP, forge);
    let link = setup.link().await;
    let (base, token) = link.split_once("/setup?token=").unwrap();
    assert_eq!(token.len(), 64);
    let wrong = "0".repeat(64);
    for path in [
        "/setup".to_owned(),
        "/setup?token=".to_owned(),
        format!("/setup?token={wrong}"),
        format!("/setup?token={}", &token[..63]),
        "/setup/done".to_owned(),
        "/setup/done?code=abc&state=".to_owned(),
        format!("/setup/done?code=abc&state={token}"),
        "/metrics".to_owned(),
    ] {
        assert_eq!(get(&format!("{base}{path}")).await.0, 404, "{path}");
    }
    assert_eq!(conversions(forge), 0);

    let hostile = format!("{link}&organization=..%2Fevil&name=x");
    assert_eq!(get(&hostile).await.0, 400);
    let hostile = format!("{link}&name=%22%3E%3Cscript%3Ealert(1)%3C/script%3E");
    let (status, page) = get(&hostile).await;
    assert_eq!(status, 200);
    assert!(!page.contains("<script"), "{page}");

    // A state is good once, also when the forge gives nothing for the code.
    let (_, page) = get(&link).await;
    let back = confirm(&page, forge).await;
    forge.fault(Fault::next("POST", "/conversions", Answer::Status(404)));
    let (status, page) = get(&back).await;
    assert_eq!(status, 502);
    assert!(page.contains("Begin again"), "{page}");
    assert!(
        !page.contains(
            back.split("code=")
                .nth(1)
                .unwrap()
                .split('&')
                .next()
                .unwrap()
        )
    );
    assert_eq!(get(&back).await.0, 404);
    assert_eq!(conversions(forge), 1);

    // The next try goes through, and the address that was good is not any more.
    let (_, page) = get(&link).await;
    let back = confirm(&page, forge).await;
    assert_eq!(get(&back).await.0, 200);
    assert_eq!(setup.end().await, Some(0), "{}", setup.told);
    assert!(client().get(&link).send().await.is_err());
}

#[tokio::test]
async fn a_server_without_an_app_offers_the_pages_and_then_works() {
    let world = World::new().await;
    let forge = &world.forge;
    let folder = tempfile::tempdir().unwrap();
    let arguments = [
        "serve",
        "--bind",
        "127.0.0.1:0",
        "--public-url",
        "http://frostline.example.com",
    ];
    let mut serving = Program::start(folder.path(), &arguments, forge);
    let base = serving.until("frostline waits on ").await;
    let base = base.trim_start_matches("frostline waits on ").to_owned();
    let link = serving.link().await;
    let here = |url: &str| url.replace("http://frostline.example.com", &base);
    assert_ne!(here(&link), link);
    assert_eq!(get(&format!("{base}/healthz")).await.0, 200);
    assert_eq!(get(&format!("{base}/readyz")).await.0, 503);
    let number = forge
        .open_pull(REPO, {
            forge
                .push(
                    REPO,
                    "work",
                    [("README.md", "Another\n")],
                    "acme-coder[bot]",
                )
                .unwrap();
            NewPull::new("work", "acme-coder[bot]", "Change the parser")
        })
        .unwrap();
    let hook = forge.pull_webhook(REPO, number, "opened").unwrap();
    let sent = hook.send(&format!("{base}/webhooks/github")).await.unwrap();
    assert_eq!(sent, 503, "the forge keeps it for later");

    let (_, page) = get(&here(&link)).await;
    let back = confirm(&page, forge).await;
    assert_eq!(get(&here(&back)).await.0, 200);
    let base = serving.until("frostline listens on ").await;
    let base = base.trim_start_matches("frostline listens on ");
    let base = base.split(' ').next().unwrap().to_owned();
    written(folder.path());
    let token = link.split_once("?token=").unwrap().1;
    let again = get(&format!("{base}/setup?token={token}")).await;
    assert_eq!(again.0, 404, "only while there is no App");
    let sent = hook.send(&format!("{base}/webhooks/github")).await.unwrap();
    assert_eq!(sent, 202);
    serving.judged().await;
    assert_eq!(world.conclusion(number), "success");
    for secret in logs::secrets(forge) {
        assert!(!serving.told.contains(&secret), "{}", serving.told);
    }
}
