//! Carries a plan out.
