//! Check-runs as the forge has them: what an earlier attempt left, and requests that change one.

use crate::command::{Button, LOCK_BUTTON, RECHECK_BUTTON, REOPEN_BUTTON};
use crate::forge::ForgeError;
use crate::forge::github::{
    AnnotationRequest, ButtonRequest, CheckRun, CheckRunRequest, CheckStatus, Client, OutputRequest,
};
use crate::model::{PrNumber, RepoName};
use crate::render::{Annotation, AnnotationLevel, CheckOutput};
use crate::store::{OpenEvaluation, Store};

use super::{Conclusion, PublishError};

/// Requests that are made for one check-run to find out which annotations the forge refuses.
pub(super) const MOST_HALVES: usize = 120;

/// Ends every open evaluation of a pull request for which `why` has a reason, as cancelled.
pub async fn cancel_evaluations(
    client: &Client,
    store: &Store,
    key: (&RepoName, PrNumber),
    why: impl Fn(&OpenEvaluation) -> Option<String>,
) -> Result<(), PublishError> {
    for evaluation in store.open_evaluations(key.0, key.1).await? {
        if let Some(why) = why(&evaluation) {
            let run = find_run(client, store, &evaluation).await?;
            let open = run.filter(|run| run.status != "completed");
            end_cancelled(client, store, &evaluation.id, open.map(|run| run.id), &why).await?;
        }
    }
    Ok(())
}

/// The forge's run of an evaluation that an earlier attempt left open.
pub(super) async fn find_run(
    client: &Client,
    store: &Store,
    evaluation: &OpenEvaluation,
) -> Result<Option<CheckRun>, PublishError> {
    if let Some(id) = evaluation.run_id {
        return match client.check_run(id).await {
            Ok(run) => Ok(Some(run)),
            Err(ForgeError::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        };
    }
    let runs = client
        .check_runs(&evaluation.head, &evaluation.check_name)
        .await?;
    let found = runs
        .into_iter()
        .find(|run| run.external_id.as_ref() == Some(&evaluation.id));
    if let Some(run) = &found {
        store.set_run_id(&evaluation.id, run.id).await?;
    }
    Ok(found)
}

pub(super) async fn end_cancelled(
    client: &Client,
    store: &Store,
    evaluation: &str,
    run: Option<u64>,
    why: &str,
) -> Result<(), PublishError> {
    if let Some(run) = run {
        let output = CheckOutput {
            title: "Superseded".to_owned(),
            summary: why.to_owned(),
            annotations: Vec::new(),
            offers_lock: false,
            offers_reopen: false,
        };
        let request = request(&output, &[], Some(Conclusion::Cancelled));
        client.update_check_run(run, &request).await?;
    }
    store
        .end_evaluation(evaluation, Conclusion::Cancelled.name())
        .await?;
    Ok(())
}

/// Without a conclusion the run stays in progress.
pub(super) fn request(
    output: &CheckOutput,
    annotations: &[Annotation],
    conclusion: Option<Conclusion>,
) -> CheckRunRequest {
    CheckRunRequest {
        name: None,
        head_sha: None,
        external_id: None,
        details_url: None,
        status: match conclusion {
            Some(_) => CheckStatus::Completed,
            None => CheckStatus::InProgress,
        },
        conclusion: conclusion.map(Conclusion::name),
        output: Some(OutputRequest {
            title: output.title.clone(),
            summary: output.summary.clone(),
            annotations: annotations.iter().map(annotation).collect(),
        }),
        actions: buttons(output, conclusion),
    }
}

/// A run that ended offers to be made again, and what could mend it, unless another one took its place.
fn buttons(output: &CheckOutput, conclusion: Option<Conclusion>) -> Vec<ButtonRequest> {
    let button = |button: &Button| ButtonRequest {
        label: button.label,
        description: button.description,
        identifier: button.row.name,
    };
    match conclusion {
        None | Some(Conclusion::Cancelled) => Vec::new(),
        Some(_) => {
            let lock = output.offers_lock.then(|| button(&LOCK_BUTTON));
            let reopen = output.offers_reopen.then(|| button(&REOPEN_BUTTON));
            let further = reopen.into_iter().chain(lock);
            std::iter::once(button(&RECHECK_BUTTON))
                .chain(further)
                .collect()
        }
    }
}

fn annotation(annotation: &Annotation) -> AnnotationRequest {
    AnnotationRequest {
        path: annotation.path.clone(),
        start_line: annotation.start_line,
        end_line: annotation.end_line,
        annotation_level: match annotation.level {
            AnnotationLevel::Notice => "notice",
            AnnotationLevel::Warning => "warning",
            AnnotationLevel::Failure => "failure",
        },
        title: annotation.title.clone(),
        message: annotation.message.clone(),
    }
}

/// Adds annotations to an open run; gives how many of them the forge refuses. It refuses a whole request
/// for one of them and does not say which, so that halves are sent.
pub(super) async fn annotate(
    client: &Client,
    run: u64,
    output: &CheckOutput,
    annotations: &[Annotation],
    halves: &mut usize,
) -> Result<usize, ForgeError> {
    let mut rest = vec![annotations];
    let mut refused = 0;
    while let Some(part) = rest.pop() {
        if part.len() < annotations.len() {
            if *halves == 0 {
                refused += part.len();
                continue;
            }
            *halves -= 1;
        }
        match client
            .update_check_run(run, &request(output, part, None))
            .await
        {
            Ok(_) => {}
            Err(ForgeError::Validation(_)) if part.len() > 1 => {
                let (left, right) = part.split_at(part.len() / 2);
                rest.extend([right, left]);
            }
            Err(ForgeError::Validation(error)) => {
                tracing::debug!(error, "an annotation was refused");
                refused += part.len();
            }
            Err(error) => return Err(error),
        }
    }
    Ok(refused)
}
