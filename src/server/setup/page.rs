//! What the person sees while the App is being registered. No script, nothing from elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::Registered;

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{margin:0 auto;max-width:44rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;overflow-wrap:break-word}\
form{margin:1.5rem 0}label{display:block;margin:.5rem 0}\
input,button{font:inherit;padding:.3rem .6rem}button{cursor:pointer}";

/// What a Content-Security-Policy calls the style.
pub(super) fn style_hash() -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(STYLE)))
}

/// Harmless in HTML text and in attributes in double quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// `title` needs no escaping, and `body` is HTML.
pub(super) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} · Frostline</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )
}

/// The page with the two forms: whose App it will be, and the way to the forge.
pub(super) struct Ask<'a> {
    pub token: &'a str,
    pub name: &'a str,
    /// Empty for the person's own account.
    pub organization: &'a str,
    pub action: &'a str,
    pub manifest: &'a str,
    pub webhooks: &'a str,
}

impl Ask<'_> {
    pub fn page(&self) -> String {
        let [token, name, organization, action, manifest, webhooks] = [
            self.token,
            self.name,
            self.organization,
            self.action,
            self.manifest,
            self.webhooks,
        ]
        .map(escaped);
        let owner = match self.organization {
            "" => "your own account".to_owned(),
            _ => format!("the organisation <strong>{organization}</strong>"),
        };
        let body = format!(
            "<p>The forge will ask you to confirm a new App <strong>{name}</strong> of {owner}, and send you \
             back here. Webhooks will go to <code>{webhooks}</code>.</p>\n\
             <form id=\"register\" method=\"post\" action=\"{action}\">\n\
             <input type=\"hidden\" name=\"manifest\" value=\"{manifest}\">\n\
             <button type=\"submit\">Register the App</button>\n</form>\n\
             <form id=\"change\" method=\"get\" action=\"/setup\">\n\
             <input type=\"hidden\" name=\"token\" value=\"{token}\">\n\
             <label>Name <input name=\"name\" value=\"{name}\" maxlength=\"34\"></label>\n\
             <label>Organisation, or empty for your own account \
             <input name=\"organization\" value=\"{organization}\"></label>\n\
             <button type=\"submit\">Change</button>\n</form>"
        );
        page("Register Frostline as an App", &body)
    }
}

pub(super) fn registered(registered: &Registered) -> String {
    let body = format!(
        "<p>The App <strong>{}</strong> has the id {}. Its key and its webhook secret are in <code>{}</code> on \
         the server, which only its owner can read.</p>\n\
         <p><a href=\"{}\" rel=\"noreferrer\">Install it on your repositories</a></p>",
        escaped(&registered.name),
        registered.app_id,
        escaped(&registered.file.display().to_string()),
        escaped(&registered.install),
    );
    page("The App is registered", &body)
}
