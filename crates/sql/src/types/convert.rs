//! A value seen as another type.
