//! From a decision to what is published. PURE.
