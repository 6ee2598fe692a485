//! How far the forge's clock is from this machine's, as its answers tell.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderMap, header};

/// Shared by what sends and what signs.
#[derive(Debug, Clone, Default)]
pub(super) struct ForgeClock {
    /// Seconds; of the newest answer.
    ahead: Arc<AtomicI64>,
}

impl ForgeClock {
    /// Notes the `Date` of an answer that came at `now`.
    pub fn note(&self, headers: &HeaderMap, now: DateTime<Utc>) {
        let date = headers.get(header::DATE).and_then(|it| it.to_str().ok());
        let date = date.and_then(|it| DateTime::parse_from_rfc2822(it).ok());
        if let Some(date) = date {
            let ahead = date.with_timezone(&Utc) - now;
            self.ahead.store(ahead.num_seconds(), Ordering::Relaxed);
        }
    }

    /// Negative if the forge's clock is behind.
    pub fn ahead(&self) -> TimeDelta {
        TimeDelta::seconds(self.ahead.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_an_answer_tells_how_far_the_forges_clock_is_off() {
        let clock = ForgeClock::default();
        let now = DateTime::from_timestamp(784_111_777, 0).expect("a time");
        let date = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::DATE, text.parse().expect("a value"));
            headers
        };
        clock.note(&date("Sun, 06 Nov 1994 08:59:37 GMT"), now);
        assert_eq!(clock.ahead(), TimeDelta::minutes(10));
        for unknown in [date("yesterday"), HeaderMap::new()] {
            clock.note(&unknown, now);
            assert_eq!(clock.ahead(), TimeDelta::minutes(10));
        }
        clock.note(&date("Sun, 06 Nov 1994 08:49:30 GMT"), now);
        assert_eq!(clock.ahead(), TimeDelta::seconds(-7));
    }
}
