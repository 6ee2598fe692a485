//! The fake forge of a test. When the test is over, every request that it got and every answer that it gave is
//! compared with GitHub's own descriptions.

use std::ops::Deref;

use frostline::demo::forge::{Forge, Recorded};

use super::graphql::Schema;
use super::openapi::Description;

pub struct TestForge(Forge);

impl TestForge {
    pub fn watching(forge: Forge) -> Self {
        Self(forge)
    }
}

impl Deref for TestForge {
    type Target = Forge;

    fn deref(&self) -> &Forge {
        &self.0
    }
}

impl Drop for TestForge {
    fn drop(&mut self) {
        // One failure is enough.
        if std::thread::panicking() {
            return;
        }
        assert_described(&self.0.requests());
    }
}

/// Fails where a request or an answer is not as GitHub describes it.
pub fn assert_described(requests: &[Recorded]) {
    let rest = Description::load().map(|it| it.departures(requests));
    let graphql = Schema::load().map(|it| it.departures(requests));
    let found: Vec<String> = rest.into_iter().chain(graphql).flatten().collect();
    assert!(found.is_empty(), "not as GitHub describes it: {found:#?}");
}
