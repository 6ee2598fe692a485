//! The forge: own types and errors; octocrab stays in `github`.
