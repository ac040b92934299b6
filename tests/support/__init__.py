"""What the end-to-end suites share: a server under test (`server`), a count of checks (`report`), addresses (`address`)."""
