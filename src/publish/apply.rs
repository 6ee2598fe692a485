//! Carries a plan out.
//!
//! Invariants: the evaluation's row is in the store before its check-run is asked for, and its id is
//! the run's `external_id`; what an earlier attempt may have left is looked up before anything is made.
//! The forge is the judge of how far an earlier attempt came: it knows whether the run is completed and
//! how many annotations are on it.

mod comment;
mod runs;

use chrono::{DateTime, Utc};

use crate::forge::ForgeError;
use crate::forge::github::{CheckRunRequest, CheckStatus, Client};
use crate::render::{self, Annotation, CheckOutput};
use crate::store::{EndedEvaluation, RunKey, Store, StoreError};

use super::plan::{Action, Conclusion, PostedComment, Published, Run, text_digest};

pub use runs::cancel_evaluations;
use runs::{MOST_HALVES, annotate, end_cancelled, find_run, request};

/// Annotations in one request.
const BATCH: usize = 50;

#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is kept of a decision beside its texts, as JSON.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    pub decision: &'a str,
    pub snapshot: Option<&'a str>,
}

/// The open run of one head under one name.
#[derive(Debug, Clone)]
struct OpenRun {
    evaluation: String,
    /// `None`: its creation was noted, but the forge has no such run.
    run: Option<u64>,
}

/// Publishes for one head under one check name, and writes one pull request's comment.
pub struct Publisher<'a> {
    client: &'a Client,
    store: &'a Store,
    key: RunKey,
    /// Where the check-run's details are.
    details: Option<String>,
    open: Option<OpenRun>,
    published: Published,
    has_ended: bool,
    /// When the run that this publisher wrote last ended, by the forge's clock.
    ended_at: Option<DateTime<Utc>>,
}

impl<'a> Publisher<'a> {
    /// Finds out what is on the forge already.
    pub async fn resume(
        client: &'a Client,
        store: &'a Store,
        key: RunKey,
    ) -> Result<Self, PublishError> {
        let comment = store.comment(&key.repo, key.pull).await?;
        let mut publisher = Self {
            client,
            store,
            details: None,
            open: None,
            ended_at: None,
            has_ended: false,
            published: Published {
                run: Run::None,
                comment: comment.map(|comment| PostedComment {
                    body: comment.body,
                    minimized: comment.minimized,
                }),
            },
            key,
        };
        publisher.find_open().await?;
        if publisher.published.run == Run::None {
            publisher.find_ended().await?;
        }
        Ok(publisher)
    }

    /// New check-runs link to `details`.
    pub fn with_details(self, details: Option<String>) -> Self {
        Self { details, ..self }
    }

    /// What is on the forge, as far as this publisher knows.
    pub fn published(&self) -> &Published {
        &self.published
    }

    /// A run of this head and name has ended before, whether or not it counts still.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    async fn find_open(&mut self) -> Result<(), PublishError> {
        let Some(evaluation) = self.store.evaluation_at(&self.key).await? else {
            return Ok(());
        };
        let run = find_run(self.client, self.store, &evaluation).await?;
        match &run {
            Some(run) if run.status == "completed" => {
                let conclusion = run.conclusion.as_deref().unwrap_or("unknown");
                let at = run.completed_at;
                self.store.end_shown(&evaluation.id, conclusion, at).await?;
                return Ok(());
            }
            Some(run) => {
                self.published.run = Run::Open {
                    fingerprint: evaluation.fingerprint,
                    sent: usize::try_from(run.output.annotations_count).unwrap_or(usize::MAX),
                };
            }
            None => {}
        }
        self.open = Some(OpenRun {
            evaluation: evaluation.id,
            run: run.map(|run| run.id),
        });
        Ok(())
    }

    async fn find_ended(&mut self) -> Result<(), PublishError> {
        let ended = self.store.ended_evaluation(&self.key).await?;
        self.has_ended = ended.is_some();
        let counts = |ended: &EndedEvaluation| {
            ended.conclusion != Conclusion::Cancelled.name() && !ended.set_back
        };
        if let Some(ended) = ended.filter(counts) {
            self.published.run = Run::Completed {
                fingerprint: ended.fingerprint.unwrap_or_default(),
            };
        }
        Ok(())
    }

    /// Shows that the evaluation has begun, unless a run is open already.
    pub async fn start(&mut self) -> Result<(), PublishError> {
        if matches!(self.published.run, Run::Open { .. }) {
            return Ok(());
        }
        let open = self.note().await?;
        let request = CheckRunRequest {
            name: Some(self.key.check_name.clone()),
            head_sha: Some(self.key.head.clone()),
            external_id: Some(open.evaluation.clone()),
            details_url: self.details.clone(),
            status: CheckStatus::InProgress,
            conclusion: None,
            output: None,
            actions: Vec::new(),
        };
        self.create(open, &request).await?;
        self.published.run = Run::Open {
            fingerprint: None,
            sent: 0,
        };
        Ok(())
    }

    /// The evaluation's row: the open one, or a new one.
    async fn note(&self) -> Result<OpenRun, PublishError> {
        if let Some(open) = &self.open {
            return Ok(open.clone());
        }
        let id = hex::encode(rand::random::<[u8; 16]>());
        let evaluation = self.store.open_evaluation(&self.key, &id).await?;
        Ok(OpenRun {
            evaluation: evaluation.id,
            run: evaluation.run_id,
        })
    }

    async fn create(
        &mut self,
        mut open: OpenRun,
        request: &CheckRunRequest,
    ) -> Result<u64, PublishError> {
        self.open = Some(open.clone());
        let run = self.client.create_check_run(request).await?;
        self.ended_at = run.completed_at;
        self.store.set_run_id(&open.evaluation, run.id).await?;
        open.run = Some(run.id);
        self.open = Some(open);
        Ok(run.id)
    }

    /// Carries out one action.
    pub async fn apply(
        &mut self,
        action: &Action,
        record: Option<Record<'_>>,
    ) -> Result<(), PublishError> {
        match action {
            Action::Abandon => {
                let why = "Superseded by a newer evaluation of the same head.";
                self.cancel(why).await?;
            }
            Action::Conclude {
                conclusion,
                output,
                skip,
                fingerprint,
            } => {
                self.conclude(*conclusion, output, *skip, fingerprint, record)
                    .await?;
            }
            Action::CreateComment { .. }
            | Action::EditComment { .. }
            | Action::ReplaceComment { .. }
            | Action::MinimizeComment => match self.comment(action).await {
                // A locked conversation, or comments that are switched off: the check says it all.
                Err(PublishError::Forge(
                    error @ (ForgeError::Forbidden(_)
                    | ForgeError::Gone(_)
                    | ForgeError::NotFound(_)
                    | ForgeError::Validation(_)),
                )) => {
                    tracing::warn!(%error, "the comment could not be written");
                    return Ok(());
                }
                result => result?,
            },
        }
        self.published = std::mem::take(&mut self.published).after(action);
        Ok(())
    }

    /// Ends the run of an evaluation that could not be made. `reason` is for people.
    pub async fn fail(&mut self, reason: &str) -> Result<(), PublishError> {
        let fingerprint = format!("could-not-evaluate:{}", text_digest(reason));
        if matches!(&self.published.run, Run::Completed { fingerprint: shown } if *shown == fingerprint)
        {
            return Ok(());
        }
        let action = Action::Conclude {
            conclusion: Conclusion::Failure,
            output: render::could_not_evaluate(reason),
            skip: 0,
            fingerprint,
        };
        self.apply(&action, None).await
    }

    /// Gives the open run up; nothing happens when there is none.
    pub async fn cancel(&mut self, why: &str) -> Result<(), PublishError> {
        if let Some(open) = self.open.take() {
            end_cancelled(self.client, self.store, &open.evaluation, open.run, why).await?;
        }
        self.published.run = Run::None;
        Ok(())
    }

    async fn conclude(
        &mut self,
        conclusion: Conclusion,
        output: &CheckOutput,
        skip: usize,
        fingerprint: &str,
        record: Option<Record<'_>>,
    ) -> Result<(), PublishError> {
        let open = self.note().await?;
        let decision = record.map(|record| record.decision);
        let snapshot = record.and_then(|record| record.snapshot);
        self.store
            .begin_publishing(
                &open.evaluation,
                fingerprint,
                conclusion.name(),
                (decision, snapshot),
            )
            .await?;
        let rest = output.annotations.get(skip..).unwrap_or_default();
        let evaluation = open.evaluation.clone();
        self.send(open, output, rest, conclusion).await?;
        self.store
            .end_shown(&evaluation, conclusion.name(), self.ended_at)
            .await?;
        self.open = None;
        Ok(())
    }

    /// Ends the run with the annotations that it has not yet, in batches. A run that was not created yet is
    /// complete from the start when one request holds it all.
    async fn send(
        &mut self,
        open: OpenRun,
        output: &CheckOutput,
        annotations: &[Annotation],
        conclusion: Conclusion,
    ) -> Result<(), PublishError> {
        let mut batches: Vec<&[Annotation]> = annotations.chunks(BATCH).collect();
        let last = batches.pop().unwrap_or_default();
        let done = request(output, last, Some(conclusion));
        let run = match open.run {
            Some(run) => run,
            None if batches.is_empty() => {
                let whole = self.named(&open, done.clone());
                match self.create(open.clone(), &whole).await {
                    Err(PublishError::Forge(ForgeError::Validation(_))) if !last.is_empty() => {
                        let bare = self.named(&open, request(output, &[], None));
                        self.create(open, &bare).await?
                    }
                    created => return created.map(drop),
                }
            }
            None => {
                let bare = self.named(&open, request(output, &[], None));
                self.create(open, &bare).await?
            }
        };
        let (mut refused, mut halves) = (0, MOST_HALVES);
        for batch in batches {
            refused += annotate(self.client, run, output, batch, &mut halves).await?;
        }
        if refused == 0 {
            match self.client.update_check_run(run, &done).await {
                Err(ForgeError::Validation(_)) if !last.is_empty() => {}
                ended => {
                    self.ended_at = ended?.completed_at;
                    return Ok(());
                }
            }
        }
        refused += annotate(self.client, run, output, last, &mut halves).await?;
        let mut output = output.clone();
        if refused > 0 {
            render::note_refused(&mut output, refused);
        }
        let done = request(&output, &[], Some(conclusion));
        self.ended_at = self.client.update_check_run(run, &done).await?.completed_at;
        Ok(())
    }

    /// The request that creates the run of this publisher's key.
    fn named(&self, open: &OpenRun, request: CheckRunRequest) -> CheckRunRequest {
        CheckRunRequest {
            name: Some(self.key.check_name.clone()),
            head_sha: Some(self.key.head.clone()),
            external_id: Some(open.evaluation.clone()),
            details_url: self.details.clone(),
            ..request
        }
    }
}
