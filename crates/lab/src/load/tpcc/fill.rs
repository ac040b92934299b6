//! What TPC-C's tables hold at first, clause 4.3.3: the items, then warehouse by warehouse everything that belongs to it, some at the same time.

use crate::client::Client;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::load::random::Random;
use crate::load::tables::Inserts;
use crate::load::tpcc::schema::Size;
use crate::load::tpcc::values::{Values, last_name};
use crate::load::tpcc::{DISTRICTS, LINES_MAX, LINES_MIN};

/// The items, of which all warehouses have the same.
pub(super) fn fill_items(size: Size, client: &mut Client, interrupt: &Interrupt) -> Result<(), Failure> {
    let mut values = Values::new(Random::new(0));
    let mut items = Inserts::new(
        client,
        "tpcc_item (i_id, i_im_id, i_name, i_price, i_data)",
        interrupt,
    );
    for item in 1..=size.items {
        items.add(&format!(
            "({item},{},'{}',{}.{:02},'{}')",
            values.between(1, 10_000),
            values.text(14, 24),
            values.between(1, 99),
            values.between(0, 99),
            original(&mut values)
        ))?;
    }
    items.finish()
}

/// A warehouse that is being filled.
pub(super) struct Filling<'a> {
    size: Size,
    warehouse: u32,
    client: Client,
    values: Values,
    interrupt: &'a Interrupt,
}

impl<'a> Filling<'a> {
    /// One with nothing in it yet.
    pub(super) fn new(size: Size, warehouse: u32, client: Client, interrupt: &'a Interrupt) -> Filling<'a> {
        Filling {
            size,
            warehouse,
            client,
            values: Values::new(Random::new(u64::from(warehouse))),
            interrupt,
        }
    }

    /// Fills it.
    pub(super) fn fill(mut self) -> Result<(), Failure> {
        self.fill_districts()?;
        self.fill_stock()?;
        for district in 1..=DISTRICTS {
            self.fill_customers(district)?;
            self.fill_orders(district)?;
        }
        Ok(())
    }

    fn fill_districts(&mut self) -> Result<(), Failure> {
        let Filling {
            size,
            warehouse,
            client,
            values,
            interrupt,
        } = self;
        let paid = u64::from(size.customers) * 10;
        let mut rows = Inserts::new(
            client,
            "tpcc_warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd)",
            interrupt,
        );
        rows.add(&format!(
            "({warehouse},{},{}.00)",
            place(values),
            paid * u64::from(DISTRICTS)
        ))?;
        rows.finish()?;
        let mut rows = Inserts::new(
            client,
            "tpcc_district (d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, d_next_o_id)",
            interrupt,
        );
        for district in 1..=DISTRICTS {
            rows.add(&format!(
                "({district},{warehouse},{},{paid}.00,{})",
                place(values),
                size.customers + 1
            ))?;
        }
        rows.finish()
    }

    fn fill_stock(&mut self) -> Result<(), Failure> {
        let Filling {
            size,
            warehouse,
            client,
            values,
            interrupt,
        } = self;
        let mut rows = Inserts::new(
            client,
            "tpcc_stock (s_i_id, s_w_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, \
             s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data)",
            interrupt,
        );
        for item in 1..=size.items {
            let dists: Vec<String> = (0..DISTRICTS)
                .map(|_| format!("'{}'", values.text(24, 24)))
                .collect();
            rows.add(&format!(
                "({item},{warehouse},{},{},0,0,0,'{}')",
                values.between(10, 100),
                dists.join(","),
                original(values)
            ))?;
        }
        rows.finish()
    }

    fn fill_customers(&mut self, district: u32) -> Result<(), Failure> {
        let Filling {
            size,
            warehouse,
            client,
            values,
            interrupt,
        } = self;
        let mut rows = Inserts::new(
            client,
            "tpcc_customer (c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, \
             c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data)",
            interrupt,
        );
        for customer in 1..=size.customers {
            // The first thousand have each name once, so that every name is somebody's.
            let last = match customer {
                1..=1000 => last_name(customer - 1),
                _ => values.name(size.customers),
            };
            let credit = if values.between(1, 10) == 1 { "BC" } else { "GC" };
            rows.add(&format!(
                "({customer},{district},{warehouse},'{}','OE','{last}','{}','{}','{}','{}','{}11111','{}',CURRENT_TIMESTAMP,'{credit}',50000.00,\
                 0.{:04},-10.00,10.00,1,0,'{}')",
                values.text(8, 16),
                values.text(10, 20),
                values.text(10, 20),
                values.text(10, 20),
                values.text(2, 2),
                values.between(1000, 9999),
                values.text(16, 16),
                values.between(0, 5000),
                values.text(300, 500)
            ))?;
        }
        rows.finish()?;
        let mut rows = Inserts::new(
            client,
            "tpcc_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)",
            interrupt,
        );
        for customer in 1..=size.customers {
            rows.add(&format!(
                "({customer},{district},{warehouse},{district},{warehouse},CURRENT_TIMESTAMP,10.00,'{}')",
                values.text(12, 24)
            ))?;
        }
        rows.finish()
    }

    fn fill_orders(&mut self, district: u32) -> Result<(), Failure> {
        let Filling {
            size,
            warehouse,
            client,
            values,
            interrupt,
        } = self;
        let customers = values.permutation(size.customers);
        let lines: Vec<u32> = customers
            .iter()
            .map(|_| values.between(LINES_MIN, LINES_MAX))
            .collect();
        let mut rows = Inserts::new(
            client,
            "tpcc_orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)",
            interrupt,
        );
        for ((order, customer), lines) in (1..).zip(&customers).zip(&lines) {
            let carrier = match order <= size.delivered() {
                true => values.between(1, 10).to_string(),
                false => "NULL".to_owned(),
            };
            rows.add(&format!(
                "({order},{district},{warehouse},{customer},CURRENT_TIMESTAMP,{carrier},{lines},1)"
            ))?;
        }
        rows.finish()?;
        let mut rows = Inserts::new(
            client,
            "tpcc_order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)",
            interrupt,
        );
        for (order, lines) in (1..).zip(&lines) {
            for line in 1..=*lines {
                let (delivered, amount) = match order <= size.delivered() {
                    true => ("CURRENT_TIMESTAMP", "0.00".to_owned()),
                    false => (
                        "NULL",
                        format!("{}.{:02}", values.between(0, 9998), values.between(1, 99)),
                    ),
                };
                rows.add(&format!(
                    "({order},{district},{warehouse},{line},{},{warehouse},{delivered},5,{amount},'{}')",
                    values.between(1, size.items),
                    values.text(24, 24)
                ))?;
            }
        }
        rows.finish()?;
        let mut rows = Inserts::new(client, "tpcc_new_orders (no_o_id, no_d_id, no_w_id)", interrupt);
        for order in size.delivered() + 1..=size.customers {
            rows.add(&format!("({order},{district},{warehouse})"))?;
        }
        rows.finish()
    }
}

/// Name, street, city, state, zip and tax.
fn place(values: &mut Values) -> String {
    format!(
        "'{}','{}','{}','{}','{}','{}11111',0.{:04}",
        values.text(6, 10),
        values.text(10, 20),
        values.text(10, 20),
        values.text(10, 20),
        values.text(2, 2),
        values.between(1000, 9999),
        values.between(0, 2000)
    )
}

/// One in ten is an original.
fn original(values: &mut Values) -> String {
    match values.between(1, 10) {
        1 => format!("{}ORIGINAL{}", values.text(9, 21), values.text(9, 21)),
        _ => values.text(26, 50),
    }
}
