//! The queue and the jobs it runs.
