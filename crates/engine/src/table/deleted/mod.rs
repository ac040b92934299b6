//! Deleted entries: how they are marked, what a reader can tell from them, and where they go when purge takes them out.
//!
//! A deletion first only *marks* an entry: views older than the deletion still need it, and locks on its gap are kept
//! under its key. Purge removes it when no view sees it any more. If old views hold that back, purge moves it to the
//! *graveyard* of its index instead, a tree beside the index that only those views read (Alhomssi and Leis, *Scalable
//! and Robust Snapshot Isolation for High-Performance Storage Engines*, VLDB 2023). If it were left in place, every
//! scan would have to step over it: a queue whose head is deleted row by row would become slower with each of them.
//!
//! ```text
//!             DELETE marks                 purge: no view needs it
//!   entry ───────────────► marked entry ──────────────────────────► gone
//!                                │                                   ▲
//!                                │ purge: only old views need it     │ purge: the last of those views is closed
//!                                ▼                                   │
//!                            graveyard ──────────────────────────────┘
//! ```
//!
//! **What a secondary entry tells by itself.** It has the id of its last writer and two flags. *Fresh insert* means that the
//! writer put the entry where the index had none of its key. When a fresh entry is marked deleted with no change in between,
//! it keeps its inserter's id beside the deleter's, so both ends of its life are known. For a reader that has written
//! nothing itself:
//!
//! | writer visible | deleted | fresh insert | the entry is |
//! |---|---|---|---|
//! | yes | no | any | visible |
//! | yes | yes | any | hidden |
//! | no | no | yes | hidden: inserted after the view |
//! | no | yes | yes, inserter visible | visible: deleted after the view |
//! | no | yes | yes, inserter not visible | hidden: came and went after the view |
//! | no | any | no | a candidate that needs a row check |
//! | in the graveyard, deleter visible | | | hidden |
//! | in the graveyard, deleter not visible | | | visible within its *validity interval*, else needs a row check |
//!
//! A transaction that has written sees its own version of a row above all others, so for it whatever would be decided by
//! "not visible" needs a row check; so does an entry that it marked deleted itself, because undoing an insert leaves that
//! behind, too.
//!
//! **Validity interval.** When an entry is buried, purge knows a version of its row that has the entry and that an old view
//! needs. `begin` wrote that version, `end` replaced it. A view that sees `begin` but not `end` sees exactly this version,
//! so the entry is visible to it, with the stored columns as in that version, and the row is not looked up.
//!
//! **A row that came back** under the key of a buried one begins a new chain, and the buried row's chain continues
//! behind the end of it: a reader whose view sees no version of the row in the index searches the graveyard. If the
//! index has a secondary entry of a key again, that *shadows* the graveyard's entries of the same key, unless it was
//! freshly inserted after the view.
//!
//! **No entry is seen twice, or missed.** Only purge moves an entry to the graveyard, and changes or removes it there,
//! holding the leaf that the key belongs to exclusively. Readers look into the graveyard with that leaf in hand. The
//! graveyard's `newest` is raised before the first entry leaves the index: a view that is not older can never need one, and
//! does not look.
//!
//! | file | idea |
//! |---|---|
//! | `store` | the graveyard: its tree, and stretches of entries copied out of it |
//! | `read` | reading index and graveyard as one; what an entry tells by itself; snapshot isolation and deleted rows |
//! | `purge` | which views need a deleted entry; taking it out, burying it, clearing the graveyard |

mod purge;
mod read;
mod store;

pub(crate) use purge::{AT_ONCE, HELD_MAX, relink};
pub(super) use read::{Candidate, STRETCH, STRETCH_MIN, Visibility};
pub(crate) use store::{Buried, Graveyard};
