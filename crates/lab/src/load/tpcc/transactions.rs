//! The statements of the five transactions, clauses 2.4 to 2.8.
//!
//! Amounts are cents here and DECIMAL there, so that no rounding stands in the way of the consistency conditions.

use crate::client::{Client, Error, Row};
use crate::load::tpcc::DISTRICTS;
use crate::load::tpcc::schema::Size;
use crate::load::tpcc::values::Customer;

/// A line of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) item: u32,
    pub(super) supplier: u32,
    pub(super) quantity: u32,
}

/// A transaction with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Transaction {
    NewOrder {
        warehouse: u32,
        district: u32,
        customer: u32,
        lines: Vec<Wanted>,
        /// Its last item does not exist, and it is rolled back.
        is_wrong: bool,
    },
    Payment {
        warehouse: u32,
        district: u32,
        of_warehouse: u32,
        of_district: u32,
        customer: Customer,
        cents: i64,
    },
    OrderStatus {
        warehouse: u32,
        district: u32,
        customer: Customer,
    },
    Delivery {
        warehouse: u32,
        carrier: u32,
    },
    StockLevel {
        warehouse: u32,
        district: u32,
        threshold: u32,
    },
}

impl Transaction {
    /// Runs it, from BEGIN to COMMIT.
    pub(super) fn run(&self, client: &mut Client, size: Size) -> Result<(), Error> {
        client.run(b"BEGIN")?;
        let is_kept = match self {
            Transaction::NewOrder { .. } => self.new_order(client, size)?,
            Transaction::Payment { .. } => self.payment(client)?,
            Transaction::OrderStatus {
                warehouse,
                district,
                customer,
            } => order_status(client, *warehouse, *district, customer)?,
            Transaction::Delivery { warehouse, carrier } => delivery(client, *warehouse, *carrier)?,
            Transaction::StockLevel {
                warehouse,
                district,
                threshold,
            } => stock_level(client, *warehouse, *district, *threshold)?,
        };
        client.run(if is_kept { b"COMMIT" } else { b"ROLLBACK" })?;
        Ok(())
    }

    fn new_order(&self, client: &mut Client, size: Size) -> Result<bool, Error> {
        let Transaction::NewOrder {
            warehouse,
            district,
            customer,
            lines,
            is_wrong,
        } = self
        else {
            return Ok(true);
        };
        let of_district = format!("WHERE d_w_id = {warehouse} AND d_id = {district}");
        client.run(format!("SELECT w_tax FROM tpcc_warehouse WHERE w_id = {warehouse}").as_bytes())?;
        client.run(
            format!(
                "SELECT c_discount, c_last, c_credit FROM tpcc_customer WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_id = {customer}"
            )
            .as_bytes(),
        )?;
        let rows = client.query(&format!(
            "SELECT d_next_o_id, d_tax FROM tpcc_district {of_district} FOR UPDATE"
        ))?;
        let order = number(&rows, 0)?;
        client.run(
            format!("UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 {of_district}").as_bytes(),
        )?;
        let all_local = u32::from(lines.iter().all(|line| line.supplier == *warehouse));
        client.run(
            format!(
                "INSERT INTO tpcc_orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
                 VALUES ({order}, {district}, {warehouse}, {customer}, CURRENT_TIMESTAMP, {}, {all_local})",
                lines.len()
            )
            .as_bytes(),
        )?;
        client.run(
            format!("INSERT INTO tpcc_new_orders (no_o_id, no_d_id, no_w_id) VALUES ({order}, {district}, {warehouse})").as_bytes(),
        )?;
        for (at, line) in lines.iter().enumerate() {
            let item = match *is_wrong && at + 1 == lines.len() {
                true => size.items + 1,
                false => line.item,
            };
            let rows = client.query(&format!(
                "SELECT i_price, i_name, i_data FROM tpcc_item WHERE i_id = {item}"
            ))?;
            if rows.is_empty() {
                return Ok(false);
            }
            let price = cents(&rows, 0)?;
            let of_stock = format!("WHERE s_i_id = {item} AND s_w_id = {}", line.supplier);
            let rows = client.query(&format!(
                "SELECT s_quantity, s_data, s_dist_{district:02} FROM tpcc_stock {of_stock} FOR UPDATE"
            ))?;
            let (there, dist) = (number(&rows, 0)?, text(&rows, 2)?);
            let quantity = i64::from(line.quantity);
            let left = match there - quantity {
                left if left >= 10 => left,
                left => left + 91,
            };
            let is_remote = u32::from(line.supplier != *warehouse);
            client.run(
                format!(
                    "UPDATE tpcc_stock SET s_quantity = {left}, s_ytd = s_ytd + {quantity}, s_order_cnt = s_order_cnt + 1, \
                     s_remote_cnt = s_remote_cnt + {is_remote} {of_stock}"
                )
                .as_bytes(),
            )?;
            client.run(
                format!(
                    "INSERT INTO tpcc_order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) \
                     VALUES ({order}, {district}, {warehouse}, {}, {item}, {}, {quantity}, {}, '{dist}')",
                    at + 1,
                    line.supplier,
                    decimal(price * quantity)
                )
                .as_bytes(),
            )?;
        }
        Ok(true)
    }

    fn payment(&self, client: &mut Client) -> Result<bool, Error> {
        let Transaction::Payment {
            warehouse,
            district,
            of_warehouse,
            of_district,
            customer,
            cents,
        } = self
        else {
            return Ok(true);
        };
        let amount = decimal(*cents);
        let district_is = format!("WHERE d_w_id = {warehouse} AND d_id = {district}");
        client.run(
            format!("UPDATE tpcc_warehouse SET w_ytd = w_ytd + {amount} WHERE w_id = {warehouse}").as_bytes(),
        )?;
        client.run(format!("SELECT w_name, w_street_1, w_city, w_state, w_zip FROM tpcc_warehouse WHERE w_id = {warehouse}").as_bytes())?;
        client.run(format!("UPDATE tpcc_district SET d_ytd = d_ytd + {amount} {district_is}").as_bytes())?;
        client.run(
            format!("SELECT d_name, d_street_1, d_city, d_state, d_zip FROM tpcc_district {district_is}")
                .as_bytes(),
        )?;
        let Some(number) = find(client, *of_warehouse, *of_district, customer)? else {
            return Ok(true);
        };
        let customer_is =
            format!("WHERE c_w_id = {of_warehouse} AND c_d_id = {of_district} AND c_id = {number}");
        let rows = client.query(&format!(
            "SELECT c_credit, c_last, c_balance FROM tpcc_customer {customer_is} FOR UPDATE"
        ))?;
        // A bad credit has its history written down with the customer.
        let data = match text(&rows, 0)?.as_str() {
            "BC" => format!(
                ", c_data = LEFT(CONCAT('{number} {of_district} {of_warehouse} {district} {warehouse} {amount} | ', c_data), 500)"
            ),
            _ => String::new(),
        };
        client.run(
            format!(
                "UPDATE tpcc_customer SET c_balance = c_balance - {amount}, c_ytd_payment = c_ytd_payment + {amount}, \
                 c_payment_cnt = c_payment_cnt + 1{data} {customer_is}"
            )
            .as_bytes(),
        )?;
        client.run(
            format!(
                "INSERT INTO tpcc_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
                 VALUES ({number}, {of_district}, {of_warehouse}, {district}, {warehouse}, CURRENT_TIMESTAMP, {amount}, 'payment')"
            )
            .as_bytes(),
        )?;
        Ok(true)
    }
}

/// The customer's number; `None` if nobody has the name.
fn find(
    client: &mut Client,
    warehouse: u32,
    district: u32,
    customer: &Customer,
) -> Result<Option<i64>, Error> {
    let name = match customer {
        Customer::Number(number) => return Ok(Some(i64::from(*number))),
        Customer::Named(name) => name,
    };
    let rows = client.query(&format!(
        "SELECT c_id FROM tpcc_customer WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_last = '{name}' ORDER BY c_first"
    ))?;
    match rows.len() {
        0 => Ok(None),
        len => number(&rows[(len - 1) / 2..], 0).map(Some),
    }
}

fn order_status(
    client: &mut Client,
    warehouse: u32,
    district: u32,
    customer: &Customer,
) -> Result<bool, Error> {
    let Some(customer) = find(client, warehouse, district, customer)? else {
        return Ok(true);
    };
    client.run(
        format!("SELECT c_balance, c_first, c_middle, c_last FROM tpcc_customer WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_id = {customer}")
            .as_bytes(),
    )?;
    let rows = client.query(&format!(
        "SELECT o_id, o_carrier_id, o_entry_d FROM tpcc_orders WHERE o_w_id = {warehouse} AND o_d_id = {district} AND o_c_id = {customer} \
         ORDER BY o_id DESC LIMIT 1"
    ))?;
    if !rows.is_empty() {
        let order = number(&rows, 0)?;
        client.run(
            format!(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM tpcc_order_line \
                 WHERE ol_w_id = {warehouse} AND ol_d_id = {district} AND ol_o_id = {order}"
            )
            .as_bytes(),
        )?;
    }
    Ok(true)
}

fn delivery(client: &mut Client, warehouse: u32, carrier: u32) -> Result<bool, Error> {
    for district in 1..=DISTRICTS {
        let oldest = client.query(&format!(
            "SELECT no_o_id FROM tpcc_new_orders WHERE no_w_id = {warehouse} AND no_d_id = {district} ORDER BY no_o_id LIMIT 1 FOR UPDATE"
        ))?;
        if oldest.is_empty() {
            continue;
        }
        let order = number(&oldest, 0)?;
        client.run(
            format!("DELETE FROM tpcc_new_orders WHERE no_w_id = {warehouse} AND no_d_id = {district} AND no_o_id = {order}").as_bytes(),
        )?;
        let order_is = format!("WHERE o_w_id = {warehouse} AND o_d_id = {district} AND o_id = {order}");
        let rows = client.query(&format!("SELECT o_c_id FROM tpcc_orders {order_is} FOR UPDATE"))?;
        let customer = number(&rows, 0)?;
        client.run(format!("UPDATE tpcc_orders SET o_carrier_id = {carrier} {order_is}").as_bytes())?;
        let lines_are = format!("WHERE ol_w_id = {warehouse} AND ol_d_id = {district} AND ol_o_id = {order}");
        client.run(
            format!("UPDATE tpcc_order_line SET ol_delivery_d = CURRENT_TIMESTAMP {lines_are}").as_bytes(),
        )?;
        // They are this transaction's own by now, so a plain read has them.
        let rows = client.query(&format!("SELECT SUM(ol_amount) FROM tpcc_order_line {lines_are}"))?;
        let sum = decimal(cents(&rows, 0)?);
        client.run(
            format!(
                "UPDATE tpcc_customer SET c_balance = c_balance + {sum}, c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_id = {customer}"
            )
            .as_bytes(),
        )?;
    }
    Ok(true)
}

fn stock_level(client: &mut Client, warehouse: u32, district: u32, threshold: u32) -> Result<bool, Error> {
    let rows = client.query(&format!(
        "SELECT d_next_o_id FROM tpcc_district WHERE d_w_id = {warehouse} AND d_id = {district}"
    ))?;
    let next = number(&rows, 0)?;
    client.run(
        format!(
            "SELECT COUNT(DISTINCT s_i_id) FROM tpcc_order_line JOIN tpcc_stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
             WHERE ol_w_id = {warehouse} AND ol_d_id = {district} AND ol_o_id < {next} AND ol_o_id >= {} AND s_quantity < {threshold}",
            next - 20
        )
        .as_bytes(),
    )?;
    Ok(true)
}

/// A value of the first row. TPC-C never has a row that is read by its key not there.
fn text(rows: &[Row], column: usize) -> Result<String, Error> {
    let value = rows.first().and_then(|row| row.get(column)?.as_deref());
    let value = value.ok_or(Error::Malformed("a row of TPC-C is not there"))?;
    Ok(String::from_utf8_lossy(value).into_owned())
}

fn number(rows: &[Row], column: usize) -> Result<i64, Error> {
    let text = text(rows, column)?;
    text.parse().map_err(|_| Error::Malformed("a number of TPC-C"))
}

fn cents(rows: &[Row], column: usize) -> Result<i64, Error> {
    cents_of(&text(rows, column)?).ok_or(Error::Malformed("an amount of TPC-C"))
}

/// Of a decimal with two digits behind the point.
fn cents_of(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "00"));
    let is_amount = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_digit());
    is_amount.then(|| format!("{whole}{part}").parse().ok()).flatten()
}

fn decimal(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        for (text, cents) in [
            ("12.34", 1234),
            ("0.05", 5),
            ("-0.05", -5),
            ("7", 700),
            ("-12.00", -1200),
        ] {
            assert_eq!(cents_of(text), Some(cents), "{text}");
        }
        assert_eq!(cents_of("1.5"), None);
        assert_eq!(
            [1234, 5, -5, -1200].map(decimal),
            ["12.34", "0.05", "-0.05", "-12.00"]
        );
    }
}
