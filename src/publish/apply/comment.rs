//! The one comment: found again by its id, else by its marker and author.

use crate::forge::ForgeError;
use crate::forge::github::Comment;
use crate::render::COMMENT_MARKER;
use crate::store::StoredComment;

use super::{Action, PublishError, Publisher, text_digest};

impl Publisher<'_> {
    /// Carries out an action on the comment.
    pub(super) async fn comment(&mut self, action: &Action) -> Result<(), PublishError> {
        let stored = self.store.comment(&self.key.repo, self.key.pull).await?;
        let changed = match (action, &stored) {
            (Action::CreateComment { body } | Action::EditComment { body }, None) => {
                return self.create_comment(body).await;
            }
            (Action::CreateComment { body } | Action::EditComment { body }, Some(comment)) => {
                let edited = self.client.edit_comment(comment.id, body).await;
                edited.map(|_| (text_digest(body), false))
            }
            (Action::ReplaceComment { body, minimized }, Some(comment)) => self
                .client
                .set_minimized(&comment.node_id, Some(body), *minimized)
                .await
                .map(|()| (text_digest(body), *minimized)),
            (Action::MinimizeComment, Some(comment)) => self
                .client
                .set_minimized(&comment.node_id, None, true)
                .await
                .map(|()| (comment.body.clone(), true)),
            _ => return Ok(()),
        };
        let Some(comment) = stored else {
            return Ok(());
        };
        match changed {
            Ok((body, minimized)) => {
                let comment = StoredComment {
                    body,
                    minimized,
                    ..comment
                };
                self.keep(Some(&comment)).await
            }
            // Somebody deleted it. What is still to be said gets a new one.
            Err(ForgeError::NotFound(_) | ForgeError::Gone(_)) => {
                self.keep(None).await?;
                match action {
                    Action::EditComment { body }
                    | Action::CreateComment { body }
                    | Action::ReplaceComment {
                        body,
                        minimized: false,
                    } => self.create_comment(body).await,
                    _ => Ok(()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn keep(&self, comment: Option<&StoredComment>) -> Result<(), PublishError> {
        self.store
            .put_comment(&self.key.repo, self.key.pull, comment)
            .await?;
        Ok(())
    }

    /// Makes the comment, unless an earlier attempt did whose answer was lost.
    async fn create_comment(&self, body: &str) -> Result<(), PublishError> {
        let bot = self.client.bot_login().await?;
        let found = self
            .client
            .find_comment(self.key.pull, None, |comment| is_ours(comment, bot))
            .await?;
        let comment = match found {
            Some(comment) if comment.body.as_deref() == Some(body) => comment,
            Some(comment) => self.client.edit_comment(comment.id, body).await?,
            None => self.client.create_comment(self.key.pull, body).await?,
        };
        let stored = StoredComment {
            id: comment.id,
            node_id: comment.node_id,
            body: text_digest(body),
            minimized: false,
        };
        self.keep(Some(&stored)).await
    }
}

/// Written by this App's own bot and marked. Anybody can write the marker.
fn is_ours(comment: &Comment, bot: &str) -> bool {
    comment
        .user
        .as_ref()
        .is_some_and(|user| user.kind == "Bot" && user.login.eq_ignore_ascii_case(bot))
        && comment
            .body
            .as_deref()
            .is_some_and(|body| body.starts_with(COMMENT_MARKER))
}
