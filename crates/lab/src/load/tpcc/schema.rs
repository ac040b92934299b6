//! The nine tables of TPC-C, clause 1.3; `fill` has what they hold at first.
//!
//! ```text
//!  warehouse ─10─ district ─customers─ customer ─1─ history
//!      │                        └─ orders, as many as customers ─5…15─ order_line
//!      │                               └─ the last 30 % of them: new_orders
//!      └─items─ stock ── item
//! ```
//!
//! The specification's numbers are 100,000 items and 3,000 customers of a district; a quick run has fewer of both. All tables begin
//! with `tpcc_`. They are made when they are not there, or not as large; runs change them, and go on with what the runs before have left.
//!
//! DBT-2 leaves out the foreign keys of clause 1.3, and so do the experiments. A load may ask for them, as sysbench-tpcc has them, or for the
//! indexes alone that they need, so that the price of the checks can be told from that of the indexes.

use crate::client::Client;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::load::tables::{at_once, claim, list, own_list, settle};
use crate::load::tpcc::fill::{Filling, fill_items};
use crate::load::tpcc::{DISTRICTS, LINES_MAX};
use crate::server::Server;

/// Warehouses that are filled at the same time.
const FILLED_AT_ONCE: u32 = 4;

/// What is made of the columns by which a table refers to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum References {
    /// Nothing.
    Untold,
    /// The indexes that foreign keys need.
    Indexed,
    /// Foreign keys.
    Enforced,
}

/// How large the tables are at first, and what they have beside their primary keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Warehouses; clients are dealt out to them.
    pub warehouses: u32,
    /// Items, and a warehouse's stocks of them.
    pub items: u32,
    /// Customers of a district, and its orders.
    pub customers: u32,
    /// What refers to another table.
    pub references: References,
}

/// Name, columns and keys, and rows at first.
struct Table {
    name: &'static str,
    columns: &'static str,
    /// Behind the name of an index: its columns.
    index: Option<&'static str>,
    rows: fn(Size) -> u32,
}

const TABLES: [Table; 9] = [
    Table {
        name: "tpcc_warehouse",
        columns: "w_id INT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), \
                  w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2), PRIMARY KEY (w_id)",
        index: None,
        rows: |size| size.warehouses,
    },
    Table {
        name: "tpcc_district",
        columns: "d_id INT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), d_city VARCHAR(20), \
                  d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT NOT NULL, PRIMARY KEY (d_w_id, d_id)",
        index: None,
        rows: |size| size.warehouses * DISTRICTS,
    },
    Table {
        name: "tpcc_customer",
        columns: "c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), \
                  c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16), \
                  c_since TIMESTAMP NULL, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), \
                  c_ytd_payment DECIMAL(12,2), c_payment_cnt INT, c_delivery_cnt INT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id)",
        index: Some("(c_w_id, c_d_id, c_last, c_first)"),
        rows: |size| size.warehouses * DISTRICTS * size.customers,
    },
    Table {
        name: "tpcc_history",
        columns: "h_c_id INT, h_c_d_id INT, h_c_w_id INT, h_d_id INT, h_w_id INT, h_date TIMESTAMP NULL, h_amount DECIMAL(6,2), h_data VARCHAR(24)",
        index: None,
        rows: |size| size.warehouses * DISTRICTS * size.customers,
    },
    Table {
        name: "tpcc_orders",
        columns: "o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT, o_entry_d TIMESTAMP NULL, o_carrier_id INT, o_ol_cnt INT, \
                  o_all_local INT, PRIMARY KEY (o_w_id, o_d_id, o_id)",
        index: Some("(o_w_id, o_d_id, o_c_id, o_id)"),
        rows: |size| size.warehouses * DISTRICTS * size.customers,
    },
    Table {
        name: "tpcc_new_orders",
        columns: "no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
        index: None,
        rows: |size| size.warehouses * DISTRICTS * (size.customers - size.delivered()),
    },
    Table {
        name: "tpcc_order_line",
        columns: "ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL, ol_number INT NOT NULL, ol_i_id INT, ol_supply_w_id INT, \
                  ol_delivery_d TIMESTAMP NULL, ol_quantity INT, ol_amount DECIMAL(8,2), ol_dist_info CHAR(24), \
                  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
        index: None,
        // About: how many lines an order has is drawn.
        rows: |size| size.warehouses * DISTRICTS * size.customers * LINES_MAX,
    },
    Table {
        name: "tpcc_item",
        columns: "i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50), PRIMARY KEY (i_id)",
        index: None,
        rows: |size| size.items,
    },
    Table {
        name: "tpcc_stock",
        columns: "s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT, s_dist_01 CHAR(24), s_dist_02 CHAR(24), s_dist_03 CHAR(24), \
                  s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24), \
                  s_dist_10 CHAR(24), s_ytd DECIMAL(8,0), s_order_cnt INT, s_remote_cnt INT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)",
        index: None,
        rows: |size| size.warehouses * size.items,
    },
];

/// What the tables' list calls how they refer to each other.
const LISTED_AS: &str = "tpcc_references";

/// Columns that refer to the key of another table.
struct Reference {
    child: &'static str,
    columns: &'static str,
    /// No index begins with them.
    lacks_index: bool,
    parent: &'static str,
    key: &'static str,
}

const fn reference(
    (child, columns): (&'static str, &'static str),
    (parent, key): (&'static str, &'static str),
    lacks_index: bool,
) -> Reference {
    Reference {
        child,
        columns,
        lacks_index,
        parent,
        key,
    }
}

const REFERENCES: [Reference; 10] = [
    reference(("tpcc_district", "d_w_id"), ("tpcc_warehouse", "w_id"), false),
    reference(
        ("tpcc_customer", "c_w_id, c_d_id"),
        ("tpcc_district", "d_w_id, d_id"),
        false,
    ),
    reference(
        ("tpcc_history", "h_c_w_id, h_c_d_id, h_c_id"),
        ("tpcc_customer", "c_w_id, c_d_id, c_id"),
        true,
    ),
    reference(
        ("tpcc_history", "h_w_id, h_d_id"),
        ("tpcc_district", "d_w_id, d_id"),
        true,
    ),
    reference(
        ("tpcc_orders", "o_w_id, o_d_id, o_c_id"),
        ("tpcc_customer", "c_w_id, c_d_id, c_id"),
        false,
    ),
    reference(
        ("tpcc_new_orders", "no_w_id, no_d_id, no_o_id"),
        ("tpcc_orders", "o_w_id, o_d_id, o_id"),
        false,
    ),
    reference(
        ("tpcc_order_line", "ol_w_id, ol_d_id, ol_o_id"),
        ("tpcc_orders", "o_w_id, o_d_id, o_id"),
        false,
    ),
    reference(
        ("tpcc_order_line", "ol_supply_w_id, ol_i_id"),
        ("tpcc_stock", "s_w_id, s_i_id"),
        true,
    ),
    reference(("tpcc_stock", "s_w_id"), ("tpcc_warehouse", "w_id"), false),
    reference(("tpcc_stock", "s_i_id"), ("tpcc_item", "i_id"), true),
];

impl Size {
    /// As the specification has them.
    pub fn specified(warehouses: u32) -> Size {
        Size {
            warehouses,
            items: 100_000,
            customers: 3000,
            references: References::Untold,
        }
    }

    /// For a run of seconds.
    pub fn quick(warehouses: u32) -> Size {
        Size {
            items: 1000,
            customers: 60,
            ..Size::specified(warehouses)
        }
    }

    /// The orders of a district that are delivered at first: all but three of ten.
    pub fn delivered(self) -> u32 {
        self.customers - self.customers * 3 / 10
    }

    /// Has the tables be there.
    pub fn prepare(self, server: &Server, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut client = server.connect()?;
        own_list(&mut client)?;
        let mut is_missing = claim(&mut client, LISTED_AS, self.references as u32)?;
        for table in &TABLES {
            is_missing |= claim(&mut client, table.name, (table.rows)(self))?;
        }
        if !is_missing {
            return Ok(());
        }
        distrust(server)?;
        // At once, for they may refer to each other.
        let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        client.query(&format!("DROP TABLE IF EXISTS {}", names.join(", ")))?;
        for table in &TABLES {
            let Table { name, columns, .. } = table;
            client.query(&format!("CREATE TABLE {name} ({columns})"))?;
            if let Some(index) = table.index {
                client.query(&format!("CREATE INDEX {name}_more ON {name} {index}"))?;
            }
        }
        fill_items(self, &mut client, interrupt)?;
        let all: Vec<u32> = (1..=self.warehouses).collect();
        for some in all.chunks(FILLED_AT_ONCE as usize) {
            at_once(some, |warehouse| {
                Filling::new(self, warehouse, server.connect()?, interrupt).fill()
            })?;
        }
        self.refer(&mut client)?;
        for table in &TABLES {
            settle(&mut client, table.name)?;
            list(&mut client, table.name, i64::from((table.rows)(self)))?;
        }
        list(&mut client, LISTED_AS, self.references as i64)
    }

    fn refer(self, client: &mut Client) -> Result<(), Failure> {
        if self.references == References::Untold {
            return Ok(());
        }
        for (number, reference) in REFERENCES.iter().enumerate() {
            let Reference {
                child,
                columns,
                parent,
                key,
                ..
            } = reference;
            if reference.lacks_index {
                client.query(&format!(
                    "CREATE INDEX {child}_refers_{number} ON {child} ({columns})"
                ))?;
            }
            if self.references == References::Enforced {
                client.query(&format!(
                    "ALTER TABLE {child} ADD CONSTRAINT {child}_of_{number} FOREIGN KEY ({columns}) REFERENCES {parent} ({key})"
                ))?;
            }
        }
        Ok(())
    }
}

/// Has the next run make the tables anew.
pub fn distrust(server: &Server) -> Result<(), Failure> {
    let mut client = server.connect()?;
    TABLES
        .iter()
        .try_for_each(|table| list(&mut client, table.name, -1))
}
