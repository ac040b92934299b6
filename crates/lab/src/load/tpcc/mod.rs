//! TPC-C's five transactions on its nine tables (TPC Benchmark C, revision 5.11), as DBT-2 runs them: no think times, no terminals.
//!
//! ```text
//!  45 %  new order      a customer orders 5 to 15 items, 1 % of the lines from another warehouse; 1 % are rolled back
//!  43 %  payment        15 % of the customers belong to another warehouse, 60 % are found by their name
//!   4 %  order status   a customer's last order
//!   4 %  delivery       the oldest new order of each of ten districts
//!   4 %  stock level    items of the last 20 orders of which little is left
//! ```
//!
//! A client has a warehouse and draws a district for each transaction. One that ends in a deadlock or a lock wait timeout is begun
//! anew with the same values, else long transactions would become rarer the more of them fail. Statements are sent as texts.
//!
//! **What is read to be changed is read by a locking read**, as in DBT-2. So all of the consistency conditions hold at every level, if the
//! server keeps what levels promise. That goes for the rows that follow from a locked one, too: at REPEATABLE READ a plain read may not
//! find the order of the new order that a locking read has just found, since its snapshot may be older.
//!
//! - [`schema`]: the tables; [`fill`]: what they hold at first.
//! - [`values`]: the random values of clause 2.1.6 and 4.3.
//! - [`transactions`]: the statements.

mod fill;
pub mod schema;
mod transactions;
mod values;

use crate::client::{Client, Error};
use crate::load::Worker;
use crate::load::random::Random;
use schema::Size;
use transactions::{Transaction, Wanted};
use values::Values;

/// Districts of a warehouse.
const DISTRICTS: u32 = 10;
/// Of a new order.
const LINES_MIN: u32 = 5;
const LINES_MAX: u32 = 15;

/// One client.
pub(super) struct TpccWorker {
    size: Size,
    warehouse: u32,
    values: Values,
    /// What has not been done yet: a transaction that failed is tried again.
    pending: Option<Transaction>,
}

impl TpccWorker {
    pub(super) fn new(size: Size, number: usize, random: Random) -> TpccWorker {
        TpccWorker {
            size,
            warehouse: number as u32 % size.warehouses + 1,
            values: Values::new(random),
            pending: None,
        }
    }

    fn draw(&mut self) -> Transaction {
        let (size, values) = (self.size, &mut self.values);
        let warehouse = self.warehouse;
        let district = values.between(1, DISTRICTS);
        match values.between(1, 100) {
            1..=45 => {
                let lines = values.between(LINES_MIN, LINES_MAX);
                let lines: Vec<Wanted> = (0..lines)
                    .map(|_| Wanted {
                        item: values.item(size.items),
                        supplier: match values.between(1, 100) {
                            1 => values.other(warehouse, size.warehouses),
                            _ => warehouse,
                        },
                        quantity: values.between(1, 10),
                    })
                    .collect();
                Transaction::NewOrder {
                    warehouse,
                    district,
                    customer: values.customer(size.customers),
                    lines,
                    is_wrong: values.between(1, 100) == 1,
                }
            }
            46..=88 => {
                let (of_warehouse, of_district) = match values.between(1, 100) {
                    1..=15 => (
                        values.other(warehouse, size.warehouses),
                        values.between(1, DISTRICTS),
                    ),
                    _ => (warehouse, district),
                };
                Transaction::Payment {
                    warehouse,
                    district,
                    of_warehouse,
                    of_district,
                    customer: values.named_customer(size.customers),
                    cents: i64::from(values.between(100, 500_000)),
                }
            }
            89..=92 => Transaction::OrderStatus {
                warehouse,
                district,
                customer: values.named_customer(size.customers),
            },
            93..=96 => Transaction::Delivery {
                warehouse,
                carrier: values.between(1, 10),
            },
            _ => Transaction::StockLevel {
                warehouse,
                district,
                threshold: values.between(10, 20),
            },
        }
    }
}

impl Worker for TpccWorker {
    fn event(&mut self, client: &mut Client) -> Result<bool, Error> {
        let transaction = match self.pending.take() {
            Some(transaction) => transaction,
            None => self.draw(),
        };
        let done = transaction.run(client, self.size);
        if done.is_err() {
            self.pending = Some(transaction);
        }
        done.map(|()| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::References;

    #[test]
    fn the_mix_is_that_of_the_specification() {
        let size = Size {
            warehouses: 3,
            items: 1000,
            customers: 60,
            references: References::Untold,
        };
        let mut worker = TpccWorker::new(size, 4, Random::new(7));
        assert_eq!(worker.warehouse, 2);
        let (mut of, mut remote, mut lines) = ([0_i32; 5], 0, 0);
        for _ in 0..20_000 {
            let at = match worker.draw() {
                Transaction::NewOrder { lines: wanted, .. } => {
                    lines += wanted.len();
                    remote += wanted.iter().filter(|line| line.supplier != 2).count();
                    assert!(
                        wanted
                            .iter()
                            .all(|line| (1..=1000).contains(&line.item) && (1..=3).contains(&line.supplier))
                    );
                    0
                }
                Transaction::Payment { .. } => 1,
                Transaction::OrderStatus { .. } => 2,
                Transaction::Delivery { .. } => 3,
                Transaction::StockLevel { .. } => 4,
            };
            of[at] += 1;
        }
        for (seen, expected) in of.into_iter().zip([9000, 8600, 800, 800, 800]) {
            assert!((seen - expected).abs() < 300, "{of:?}");
        }
        assert!((0.005..0.015).contains(&(remote as f64 / lines as f64)));
    }
}
