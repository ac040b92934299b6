//! Reading dates and times from text and numbers.
