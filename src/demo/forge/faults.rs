//! What goes wrong on purpose, and the record of every request.

use std::time::Duration;

use serde_json::Value;

/// A request as it came in and what was answered.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub query: String,
    /// JSON, or null.
    pub body: Value,
    pub status: u16,
    /// JSON, or null when the answer was something else.
    pub answer: Value,
    /// A fault gave the answer.
    pub faulty: bool,
}

/// When a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The request has no effect.
    Before,
    /// The request takes effect, and its answer is lost.
    After,
}

/// What the caller gets instead of the answer.
#[derive(Debug, Clone)]
pub enum Answer {
    Status(u16),
    /// 200 and a body that is not what was promised.
    Garbage(&'static str),
    /// The connection breaks.
    HangUp,
    /// What it would be without the fault: only [`Fault::calling`] happens.
    AsItIs,
    /// 302 to an address.
    Redirect(String),
    /// 403 with no requests remaining, until then.
    RateLimited(Duration),
    /// 403 with `Retry-After`.
    Secondary(Duration),
    /// 200 with the error that GraphQL has for a limit.
    GraphqlLimited(Duration),
    /// Nothing, for as long as the caller waits.
    Silence,
    /// The headers and a part of the body, and then nothing.
    Trickle,
    /// 200 and a body of so many bytes.
    Flood(usize),
}

pub(super) type Call = Box<dyn FnOnce() + Send>;

/// Strikes the next `times` requests that match.
pub struct Fault {
    pub(super) method: Option<String>,
    /// Part of the path; empty matches every path.
    pub(super) path: String,
    /// Matching requests that go through first.
    pub(super) skip: usize,
    pub(super) times: usize,
    pub(super) moment: Moment,
    pub(super) answer: Answer,
    pub(super) call: Option<Call>,
}

impl Fault {
    /// The next request of `method` (any, when empty) whose path holds `path` gets `answer`.
    pub fn next(method: &str, path: &str, answer: Answer) -> Self {
        Self {
            method: (!method.is_empty()).then(|| method.to_owned()),
            path: path.to_owned(),
            skip: 0,
            times: 1,
            moment: Moment::Before,
            answer,
            call: None,
        }
    }

    /// Lets `count` matching requests through before it strikes.
    pub fn skip(mut self, count: usize) -> Self {
        self.skip = count;
        self
    }

    pub fn times(mut self, count: usize) -> Self {
        self.times = count;
        self
    }

    /// Strikes once the request took effect.
    pub fn after(mut self) -> Self {
        self.moment = Moment::After;
        self
    }

    /// Also runs `call`, once, while the request is held.
    pub fn calling(mut self, call: impl FnOnce() + Send + 'static) -> Self {
        self.call = Some(Box::new(call));
        self
    }

    fn matches(&self, method: &str, path: &str) -> bool {
        self.times > 0
            && self
                .method
                .as_ref()
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
            && path.contains(&self.path)
    }
}

/// A fault that struck a request.
pub(super) struct Strike {
    pub(super) moment: Moment,
    pub(super) answer: Answer,
    pub(super) call: Option<Call>,
}

/// The first fault that matches and has its turn.
pub(super) fn strike(faults: &mut Vec<Fault>, method: &str, path: &str) -> Option<Strike> {
    for fault in faults.iter_mut() {
        if !fault.matches(method, path) {
            continue;
        }
        if fault.skip > 0 {
            fault.skip -= 1;
            continue;
        }
        fault.times -= 1;
        let strike = Strike {
            moment: fault.moment,
            answer: fault.answer.clone(),
            call: fault.call.take(),
        };
        faults.retain(|fault| fault.times > 0);
        return Some(strike);
    }
    None
}
