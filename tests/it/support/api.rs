//! A bare-bones client of the fake forge, for tests of the forge itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use frostline::demo::forge::{AppKey, Forge};
use reqwest::Method;
use serde_json::{Value, json};

use super::forge::TestForge;

/// One key for all tests: making one takes a while.
pub fn app_key() -> AppKey {
    static KEY: std::sync::OnceLock<AppKey> = std::sync::OnceLock::new();
    KEY.get_or_init(|| AppKey::generate().unwrap()).clone()
}

/// A forge whose requests and answers are compared with GitHub's descriptions in the end.
pub async fn start_forge() -> TestForge {
    TestForge::watching(Forge::start_with(app_key()).await.unwrap())
}

/// A token as an App signs it, valid from `from` to `to` seconds from now.
pub fn app_token(forge: &Forge, pem: &str, from: i64, to: i64) -> String {
    let now = chrono::Utc::now().timestamp();
    let claims = json!({ "iss": forge.app_id().to_string(), "iat": now + from, "exp": now + to });
    let key = jsonwebtoken::EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap();
    let header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS256);
    jsonwebtoken::encode(&header, &claims, &key).unwrap()
}

pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
}

impl Answer {
    pub fn link(&self) -> &str {
        self.headers
            .get("link")
            .map_or("", |link| link.to_str().unwrap())
    }
}

pub async fn call(forge: &Forge, token: &str, method: Method, path: &str, body: Value) -> Answer {
    let request = reqwest::Client::new()
        .request(method, format!("{}{path}", forge.url()))
        .bearer_auth(token);
    let request = if body.is_null() {
        request
    } else {
        request.json(&body)
    };
    let response = request.send().await.unwrap();
    Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body: response.json().await.unwrap_or(Value::Null),
    }
}

pub async fn get(forge: &Forge, token: &str, path: &str) -> Answer {
    call(forge, token, Method::GET, path, Value::Null).await
}

pub async fn post(forge: &Forge, token: &str, path: &str, body: Value) -> Answer {
    call(forge, token, Method::POST, path, body).await
}

pub async fn patch(forge: &Forge, token: &str, path: &str, body: Value) -> Answer {
    call(forge, token, Method::PATCH, path, body).await
}

/// An installation's token with all of its rights.
pub async fn token(forge: &Forge, repo: &str) -> String {
    let id = forge.installation_id(repo).unwrap();
    let app = app_token(forge, forge.private_key_pem(), -30, 300);
    let path = format!("/app/installations/{id}/access_tokens");
    let answer = post(forge, &app, &path, Value::Null).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["token"].as_str().unwrap().to_owned()
}
