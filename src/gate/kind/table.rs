//! The built-in table of coding agents.
//!
//! Numeric account ids first: logins are renamed, and names (Claude, Devin, Cursor) belong to people too.

/// What is known of one agent. Every list may be empty.
#[derive(Debug)]
pub(super) struct Agent {
    pub name: &'static str,
    /// Numeric account id and the login it had when it was entered.
    pub accounts: &'static [(u64, &'static str)],
    /// Beginnings of branch names.
    pub branches: &'static [&'static str],
    /// Whole e-mail addresses of authors, committers and trailers.
    pub emails: &'static [&'static str],
    /// Domains whose addresses count in trailers only: people there write commits too.
    pub trailer_domains: &'static [&'static str],
    /// Beginnings of lines in a commit message.
    pub trailers: &'static [&'static str],
    /// Endings of an author's or committer's name.
    pub names: &'static [&'static str],
    pub labels: &'static [&'static str],
    /// Texts inside a pull request's body, lower case.
    pub bodies: &'static [&'static str],
    /// It comments on people's patches: its trailer on an accepted suggestion makes no patch its own.
    pub review_only: bool,
}

const NONE: Agent = Agent {
    name: "",
    accounts: &[],
    branches: &[],
    emails: &[],
    trailer_domains: &[],
    trailers: &[],
    names: &[],
    labels: &[],
    bodies: &[],
    review_only: false,
};

pub(super) const AGENTS: &[Agent] = &[
    Agent {
        name: "GitHub Copilot",
        accounts: &[
            (198_982_749, "Copilot"),
            (223_556_219, "Copilot"),
            (175_728_472, "Copilot"),
        ],
        branches: &["copilot/"],
        trailers: &["Agent-Logs-Url:"],
        bodies: &["start copilot coding agent"],
        ..NONE
    },
    Agent {
        name: "Devin",
        accounts: &[(158_243_242, "devin-ai-integration[bot]")],
        branches: &["devin/"],
        bodies: &["app.devin.ai/sessions"],
        ..NONE
    },
    Agent {
        name: "OpenAI Codex",
        accounts: &[
            (199_175_422, "chatgpt-codex-connector[bot]"),
            (215_057_067, "openai-codex[bot]"),
        ],
        branches: &["codex/"],
        emails: &["noreply@openai.com", "codex@openai.com"],
        labels: &["codex"],
        bodies: &["chatgpt.com/codex/tasks/task_"],
        ..NONE
    },
    Agent {
        name: "Claude Code",
        accounts: &[
            (209_825_114, "claude[bot]"),
            (215_619_710, "anthropic-claude[bot]"),
            (208_546_643, "claude-code-action[bot]"),
        ],
        branches: &["claude/"],
        emails: &["noreply@anthropic.com"],
        trailer_domains: &["anthropic.com"],
        trailers: &["Claude-Session:"],
        bodies: &[
            "generated with [claude code](https://claude.ai/code",
            "generated with [claude code](https://claude.com/claude-code",
        ],
        ..NONE
    },
    Agent {
        name: "Cursor",
        accounts: &[
            (206_951_365, "cursor[bot]"),
            (199_161_495, "cursoragent"),
            (201_670_782, "cursoragent[bot]"),
        ],
        branches: &["cursor/"],
        emails: &["cursoragent@cursor.com"],
        trailers: &["Made-with: Cursor"],
        bodies: &["cursor.com/agents", "cursor.com/background-agent"],
        ..NONE
    },
    Agent {
        name: "Google Jules",
        accounts: &[(161_369_871, "google-labs-jules[bot]")],
        bodies: &["jules.google.com/task/"],
        ..NONE
    },
    Agent {
        name: "Gemini Code Assist",
        accounts: &[(176_961_590, "gemini-code-assist[bot]")],
        review_only: true,
        ..NONE
    },
    Agent {
        name: "Amazon Q",
        accounts: &[(208_079_219, "amazon-q-developer[bot]")],
        branches: &["q/"],
        ..NONE
    },
    Agent {
        name: "Kiro",
        accounts: &[(245_459_735, "kiro-agent[bot]")],
        ..NONE
    },
    Agent {
        name: "OpenHands",
        accounts: &[(175_740_463, "openhands-agent")],
        emails: &["openhands@all-hands.dev"],
        bodies: &["this pull request was created by openhands"],
        ..NONE
    },
    Agent {
        name: "Factory Droid",
        accounts: &[(138_933_559, "factory-droid[bot]")],
        ..NONE
    },
    Agent {
        name: "Sweep",
        accounts: &[
            (128_439_645, "sweep-ai[bot]"),
            (131_841_235, "sweep-nightly[bot]"),
        ],
        branches: &["sweep/"],
        ..NONE
    },
    Agent {
        name: "Cosine",
        branches: &["cosine/"],
        ..NONE
    },
    Agent {
        name: "opencode",
        emails: &["noreply@opencode.ai"],
        ..NONE
    },
    Agent {
        name: "Cline",
        accounts: &[(205_137_888, "cline[bot]")],
        ..NONE
    },
    Agent {
        name: "Continue",
        accounts: &[(230_936_708, "continue[bot]")],
        ..NONE
    },
    Agent {
        name: "Amp",
        emails: &["amp@ampcode.com"],
        trailers: &["Amp-Thread-ID:"],
        ..NONE
    },
    Agent {
        name: "aider",
        branches: &["aider/"],
        trailer_domains: &["aider.chat"],
        trailers: &["aider:"],
        names: &["(aider)"],
        ..NONE
    },
    Agent {
        name: "Replit Agent",
        trailers: &["Replit-Commit-Author: Agent", "Replit-Commit-Session-Id:"],
        ..NONE
    },
];

/// Bots that are agents by their login alone, because their id is not known.
pub(super) const AGENT_BOTS: &[(&str, &str)] = &[
    ("codegen-sh[bot]", "Codegen"),
    ("jetbrains-junie[bot]", "JetBrains Junie"),
    ("opencode-agent[bot]", "opencode"),
];

/// Update and review bots: no agents, as long as nobody else's commit is in their pull request.
pub(super) const NOT_AGENTS: &[(Option<u64>, &str)] = &[
    (Some(49_699_333), "dependabot[bot]"),
    (None, "renovate[bot]"),
    (Some(41_898_282), "github-actions[bot]"),
    (Some(66_853_113), "pre-commit-ci[bot]"),
    (Some(136_622_811), "coderabbitai[bot]"),
    (Some(165_735_046), "greptile-apps[bot]"),
    (Some(65_095_814), "ellipsis-dev[bot]"),
    (Some(58_596_630), "sourcery-ai[bot]"),
];
