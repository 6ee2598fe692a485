//! A real browser: Debian's chromium, driven through its pipe.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// One page of a browser of its own. Killed when it is dropped.
pub struct Browser {
    child: Child,
    pipe: ChildStdin,
    messages: UnboundedReceiver<Value>,
    session: String,
    sent: u64,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `None`, loudly, when there is no browser.
///
/// # Panics
/// When there is none and `CI` is set.
fn program() -> Option<&'static str> {
    let runs = |name: &&str| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| runs(name));
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "there is no chromium");
        eprintln!(
            "SKIPPED, no page was opened: there is no chromium; install the package chromium"
        );
    }
    found
}

impl Browser {
    /// `None`, loudly, when there is no browser; a failure where `CI` is set.
    pub async fn open() -> Option<Self> {
        let program = program()?;
        let profile = tempfile::tempdir().unwrap();
        // The pipe is at the descriptors 3 and 4.
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#)
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pipe = child.stdin.take().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = unbounded_channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while said.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else {
                    return;
                };
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            pipe,
            messages,
            session: String::new(),
            sent: 0,
            _profile: profile,
        };
        let page = json!({"url": "about:blank"});
        let target = browser.call("Target.createTarget", page).await["targetId"].clone();
        let attach = json!({"targetId": target, "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach).await;
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        browser.call("Page.enable", json!({})).await;
        Some(browser)
    }

    async fn next(&mut self, what: &str) -> Value {
        let next = tokio::time::timeout(Duration::from_secs(60), self.messages.recv()).await;
        next.ok()
            .flatten()
            .unwrap_or_else(|| panic!("the browser said nothing more; waited for {what}"))
    }

    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.pipe.write_all(message.to_string().as_bytes()).unwrap();
        self.pipe.write_all(&[0]).unwrap();
        self.sent
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        loop {
            let message = self.next(method).await;
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    async fn loaded(&mut self) {
        while self.next("a page").await["method"] != "Page.loadEventFired" {}
    }

    /// Goes to an address and waits until its page is there.
    pub async fn go(&mut self, address: &str) {
        self.send("Page.navigate", json!({"url": address}));
        self.loaded().await;
    }

    /// What an expression of the page is worth.
    pub async fn ask(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", params).await;
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// The text that a person reads.
    pub async fn text(&mut self) -> String {
        let text = self.ask("document.body.innerText").await;
        text.as_str().unwrap().to_owned()
    }

    /// Presses the mouse on what `selector` finds, and waits for the page that comes of it.
    pub async fn press(&mut self, selector: &str) {
        let at = self
            .ask(&format!(
                "(() => {{ const r = document.querySelector({selector:?}).getBoundingClientRect(); \
                 return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
            ))
            .await;
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({
                "type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1,
            });
            self.send("Input.dispatchMouseEvent", params);
        }
        self.loaded().await;
    }
}
