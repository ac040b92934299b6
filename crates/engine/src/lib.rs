//! A floor of Tidemark.
