//! What every answer has in common: errors in the API's form, pages with their `Link` header.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde_json::{Value, json};

/// A call that is not carried out.
#[derive(Debug)]
pub struct Refusal {
    status: u16,
    message: String,
    errors: Vec<Value>,
}

impl Refusal {
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            errors: Vec::new(),
        }
    }

    pub fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    /// 422 about one field of the request.
    pub fn invalid(resource: &str, field: &str, message: impl Into<String>) -> Self {
        Self {
            status: 422,
            message: "Validation Failed".to_owned(),
            errors: vec![json!({
                "resource": resource, "field": field, "code": "custom", "message": message.into(),
            })],
        }
    }
}

impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Self {
        Self::new(500, format!("the fake forge failed: {error:#}"))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut body = json!({
            "message": self.message,
            "documentation_url": "https://docs.github.com/rest",
            "status": self.status.to_string(),
        });
        if !self.errors.is_empty() {
            body["errors"] = json!(self.errors);
        }
        (status, Json(body)).into_response()
    }
}

/// A page of a list, as the query asks for it.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(default)]
pub struct Page {
    pub per_page: usize,
    pub page: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            per_page: 30,
            page: 1,
        }
    }
}

impl Page {
    fn size(self) -> usize {
        self.per_page.clamp(1, 100)
    }

    /// The items of this page.
    pub fn cut<T: Clone>(self, items: &[T]) -> Vec<T> {
        let size = self.size();
        let skip = self.page.max(1).saturating_sub(1).saturating_mul(size);
        items.iter().skip(skip).take(size).cloned().collect()
    }

    /// `Link`, with the pages before and after this one; none when there is one page only.
    /// `url` is the call's own address without its page.
    pub fn link(self, url: &str, total: usize) -> Option<HeaderValue> {
        let last = total.div_ceil(self.size()).max(1);
        let page = self.page.max(1);
        let mut rels = Vec::new();
        if page > 1 {
            rels.push((page - 1, "prev"));
            rels.push((1, "first"));
        }
        if page < last {
            rels.push((page + 1, "next"));
            rels.push((last, "last"));
        }
        if rels.is_empty() {
            return None;
        }
        let join = if url.contains('?') { '&' } else { '?' };
        let text: Vec<String> = rels
            .into_iter()
            .map(|(page, rel)| format!("<{url}{join}page={page}>; rel=\"{rel}\""))
            .collect();
        HeaderValue::from_str(&text.join(", ")).ok()
    }
}

/// A JSON answer with its `Link` header.
pub fn paged(body: Value, link: Option<HeaderValue>) -> Response {
    let mut response = Json(body).into_response();
    if let Some(link) = link {
        response.headers_mut().insert(header::LINK, link);
    }
    response
}

/// Leads to another address.
pub fn redirect(status: StatusCode, to: &str) -> Response {
    let body = json!({
        "message": "Moved Permanently", "url": to,
        "documentation_url": "https://docs.github.com/rest",
    });
    let mut response = (status, Json(body)).into_response();
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, to);
    }
    response
}

/// An answer that begins and does not go on.
pub fn trickle() -> Response {
    Response::new(Body::new(Trickle { begun: false }))
}

struct Trickle {
    begun: bool,
}

impl hyper::body::Body for Trickle {
    type Data = bytes::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if std::mem::replace(&mut self.begun, true) {
            return Poll::Pending;
        }
        let first = bytes::Bytes::from_static(b"{");
        Poll::Ready(Some(Ok(Frame::data(first))))
    }
}

/// An answer that can't be written: the connection breaks before its first byte.
pub fn broken_off() -> Response {
    let whole = http_body_util::Full::new(bytes::Bytes::from_static(b"{}"));
    Response::new(Body::new(http_body_util::Limited::new(whole, 1)))
}
