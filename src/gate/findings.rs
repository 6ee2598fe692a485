//! Collects findings, and gives each the effect that the configuration and the kind leave it. PURE.

use super::case::Case;
use crate::model::{Effect, Finding, Rule};

/// A finding before its effect is settled.
#[derive(Debug, Clone)]
pub struct Draft {
    rule: Rule,
    effect: Effect,
    path: Option<String>,
    line: Option<u32>,
    nodeid: Option<String>,
    owner: Option<String>,
    message: String,
    fix: String,
}

impl Draft {
    /// A finding with the rule's own effect.
    pub fn new(rule: Rule, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            rule,
            effect: rule.default_effect(),
            path: None,
            line: None,
            nodeid: None,
            owner: None,
            message: message.into(),
            fix: fix.into(),
        }
    }

    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    pub fn line(mut self, line: Option<u32>) -> Self {
        self.line = line;
        self
    }

    pub fn node(mut self, nodeid: impl Into<String>) -> Self {
        self.nodeid = Some(nodeid.into());
        self
    }

    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Another effect than the rule's own, where the protocol says so.
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }
}

/// All findings of one evaluation.
pub struct Findings<'a> {
    case: &'a Case<'a>,
    list: Vec<Finding>,
}

impl<'a> Findings<'a> {
    pub fn new(case: &'a Case<'a>) -> Self {
        Self {
            case,
            list: Vec::new(),
        }
    }

    pub fn add(&mut self, draft: Draft) {
        let effect = self.settle(draft.rule, draft.effect);
        self.list.push(Finding {
            rule: draft.rule,
            effect,
            path: draft.path,
            line: draft.line,
            nodeid: draft.nodeid,
            owner: draft.owner,
            message: draft.message,
            fix: draft.fix,
        });
    }

    /// Adds what there is of an optional finding.
    pub fn add_each(&mut self, drafts: impl IntoIterator<Item = Draft>) {
        for draft in drafts {
            self.add(draft);
        }
    }

    /// `rules:` replaces a rule's own effect, never one that the protocol set for a special case;
    /// what does not bind a person is a notice.
    fn settle(&self, rule: Rule, effect: Effect) -> Effect {
        let configured = if effect == rule.default_effect() {
            self.case.reading.config.rules.get(&rule).copied()
        } else {
            None
        };
        if self.case.binds(rule) {
            configured.unwrap_or(effect)
        } else {
            Effect::Notice
        }
    }

    /// Sorted by path, then rule, then node id; equal ones once.
    pub fn into_sorted(self) -> Vec<Finding> {
        let mut list = self.list;
        list.sort_by(|a, b| {
            let key = |f: &Finding| (f.path.clone(), f.rule.name(), f.nodeid.clone(), f.line);
            key(a).cmp(&key(b)).then_with(|| a.cmp(b))
        });
        list.dedup();
        list
    }
}
