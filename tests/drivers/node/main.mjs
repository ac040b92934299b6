// The checks of expected.json through mysql2.
import fs from "node:fs";
import crypto from "node:crypto";
import mysql from "mysql2/promise";

const { columns, errors } = JSON.parse(fs.readFileSync(process.env.EXPECTED, "utf8"));
const { DB_HOST: host, DB_PORT: port, DB_USER: user, DB_PASSWORD: password, DB_PLUGINS: plugins } = process.env;

const connect = (options = {}) =>
  mysql.createConnection({
    host, port, user, database: "drivers", supportBigNumbers: true, bigNumberStrings: true, dateStrings: true, charset: "utf8mb4", ...options,
  });

async function check(name, body) {
  try {
    await body();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`FAILED ${name}: ${error.message}`.replaceAll("\n", " "));
  }
}

function equal(seen, expected, what = "") {
  if (seen !== expected) throw new Error(`${what} expected ${JSON.stringify(expected)}, saw ${JSON.stringify(seen)}`);
}

async function fails(code, state, action) {
  try {
    await action();
  } catch (error) {
    equal(`${error.errno} ${error.sqlState}`, `${code} ${state}`, error.message);
    return;
  }
  throw new Error(`no error ${code}`);
}

function parameter({ kind }, text) {
  if (text === null) return null;
  if (kind === "binary") return Buffer.from(text, "hex");
  if (kind === "double") return Number(text);
  return text;
}

function show({ kind }, value) {
  if (value === null) return null;
  if (kind === "binary") return value.toString("hex");
  if (kind === "time" && value.includes(".")) return value.padEnd(value.indexOf(".") + 7, "0"); // the driver drops zeros at the end
  return String(value);
}

async function types(connection, table, method) {
  await connection.query("SET time_zone = '+00:00'");
  await connection.query(`CREATE TABLE ${table} (id INT PRIMARY KEY, ${columns.map((c) => `${c.name} ${c.type}`).join(", ")})`);
  const marks = ["?", ...columns.map(() => "?")].join(", ");
  for (let number = 0; number < 3; number++) {
    await connection[method](`INSERT INTO ${table} VALUES (${marks})`, [number, ...columns.map((c) => parameter(c, c.values[number]))]);
  }
  const [rows] = await connection[method](`SELECT * FROM ${table} WHERE id >= ? ORDER BY id`, [0]);
  equal(rows.length, 3);
  for (const [number, row] of rows.entries()) {
    for (const column of columns) equal(show(column, row[column.name]), column.values[number], `${column.name} of row ${number}:`);
  }
}

async function large(connection) {
  const value = Buffer.concat(Array(20).fill(crypto.randomBytes(1 << 20)));
  await connection.query("CREATE TABLE large_node (id INT PRIMARY KEY, b LONGBLOB)");
  await connection.execute("INSERT INTO large_node VALUES (?, ?)", [1, value]);
  for (const method of ["query", "execute"]) {
    const [[row]] = await connection[method]("SELECT b FROM large_node WHERE id = ?", [1]);
    if (!value.equals(row.b)) throw new Error(`the value came back changed by ${method}`);
  }
}

async function transactions(connection) {
  const other = await connect();
  const balance = async (c) => (await c.query("SELECT balance FROM accounts WHERE id = 1"))[0][0].balance;
  await connection.beginTransaction();
  await connection.execute("UPDATE accounts SET balance = ? WHERE id = ?", [150, 1]);
  equal(await balance(other), 100, "uncommitted:");
  await connection.rollback();
  equal(await balance(connection), 100, "rolled back:");
  await connection.beginTransaction();
  await connection.execute("UPDATE accounts SET balance = ? WHERE id = ?", [150, 1]);
  await connection.commit();
  equal(await balance(other), 150, "committed:");
  await connection.execute("UPDATE accounts SET balance = ? WHERE id = ?", [100, 1]);
  await other.end();
}

async function lockTimeout(connection) {
  const other = await connect();
  await connection.beginTransaction();
  await connection.query("UPDATE accounts SET balance = 1 WHERE id = 1");
  await other.query("SET innodb_lock_wait_timeout = 1");
  await fails(1205, "HY000", () => other.query("UPDATE accounts SET balance = 2 WHERE id = 1"));
  await connection.rollback();
  await other.end();
}

async function deadlock(connection) {
  const other = await connect();
  await connection.beginTransaction();
  await other.beginTransaction();
  await connection.query("INSERT INTO accounts VALUES (50, 0), (51, 0), (52, 0)");
  await connection.query("UPDATE accounts SET balance = balance + 1 WHERE id = 1");
  await other.query("UPDATE accounts SET balance = balance + 1 WHERE id = 2");
  const waiting = connection.query("UPDATE accounts SET balance = balance + 1 WHERE id = 2");
  await new Promise((resolve) => setTimeout(resolve, 500));
  await fails(1213, "40001", () => other.query("UPDATE accounts SET balance = balance + 1 WHERE id = 1"));
  await waiting;
  await connection.rollback();
  await other.end();
}

async function multi() {
  const many = await connect({ multipleStatements: true });
  const [results] = await many.query("SELECT 1 AS a; UPDATE accounts SET balance = balance; SELECT 'last' AS b");
  equal(String(results[0][0].a), "1");
  equal(results[1].changedRows, 0);
  equal(results[2][0].b, "last");
  await many.end();
}

async function ids(connection) {
  await connection.query("CREATE TABLE ids_node (id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
  const steps = [
    ["INSERT INTO ids_node (v) VALUES (?), (2), (3)", 3, 1],
    ["INSERT INTO ids_node (v) VALUES (?)", 1, 4],
    ["DELETE FROM ids_node WHERE id < 3 AND ? = 1", 2, 0],
  ];
  for (const [sql, rows, id] of steps) {
    const [result] = await connection.execute(sql, [1]);
    equal(`${result.affectedRows} ${result.insertId}`, `${rows} ${id}`, sql);
  }
  const [updated] = await connection.query("UPDATE ids_node SET v = 3 WHERE id >= 3");
  equal(`${updated.affectedRows} ${updated.changedRows}`, "2 1", updated.info);
}

async function pool() {
  const pool = mysql.createPool({ host, port, user, database: "drivers", connectionLimit: 4 });
  const answers = await Promise.all([...Array(40).keys()].map(async (n) => (await pool.execute("SELECT ? + 0 AS n", [n]))[0][0].n));
  equal(answers.join(), [...Array(40).keys()].join());
  await pool.end();
}

for (const plugin of plugins.split(" ").filter(Boolean)) {
  const account = `drv_${plugin.split("_")[0]}`;
  await check(`connect_${plugin}`, async () => {
    for (let time = 0; time < 2; time++) {
      const connection = await connect({ user: account, password });
      const [[row]] = await connection.query("SELECT CURRENT_USER() AS who");
      equal(row.who, `${account}@%`);
      await connection.end();
    }
  });
  await check(`wrong_password_${plugin}`, () => fails(1045, "28000", () => connect({ user: account, password: "wrong" })));
}
if (plugins) {
  await check("change_user", async () => {
    const account = `drv_${plugins.split(" ")[0].split("_")[0]}`;
    const connection = await connect();
    await connection.changeUser({ user: account, password, database: "drivers" });
    const [[row]] = await connection.query("SELECT CURRENT_USER() AS who, DATABASE() AS db");
    equal(`${row.who} ${row.db}`, `${account}@% drivers`);
    await connection.end();
  });
}
const connection = await connect();
await check("types_text", () => types(connection, "types_node_text", "query"));
await check("types_binary", () => types(connection, "types_node_binary", "execute"));
await check("large_value", () => large(connection));
await check("transactions", () => transactions(connection));
for (const error of errors) await check(`error_${error.name}`, () => fails(error.code, error.state, () => connection.query(error.sql)));
await check("error_lock_timeout", () => lockTimeout(connection));
await check("error_deadlock", () => deadlock(connection));
await check("multi_statements", multi);
await check("affected_rows_and_ids", () => ids(connection));
await check("pool", pool);
process.exit(0);
