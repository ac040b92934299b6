// Changes rows and reads them through relations; prints what the suite expects.
import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/mysql2";
import { migrate } from "drizzle-orm/mysql2/migrator";
import mysql from "mysql2/promise";
import * as schema from "./schema.ts";

const connection = await mysql.createConnection(process.env.DB_URL!);
const db = drizzle(connection, { schema, mode: "default" });
if (process.argv[2] === "migrate") await migrate(db, { migrationsFolder: "./migrations" });
const [{ id }] = await db.insert(schema.customer).values({ name: "Ada", extra: { colours: ["red"] } }).$returningId();
await db.transaction(async (tx) => {
  await tx.insert(schema.purchase).values([{ customerId: id, total: "12.50" }, { customerId: id, total: "3.00", paid: true }]);
  await tx.update(schema.purchase).set({ note: "thanks" }).where(eq(schema.purchase.paid, true));
});
await db.insert(schema.customer).values({ name: "Ada" }).onDuplicateKeyUpdate({ set: { kind: "old" } });
const found = await db.query.customer.findMany({ columns: { name: true, kind: true, extra: true }, with: { purchases: { columns: { total: true, paid: true, note: true }, orderBy: (p, { desc }) => [desc(p.total)] } } });
const sums = await db.select({ total: sql`sum(${schema.purchase.total})` }).from(schema.purchase).groupBy(schema.purchase.customerId);
console.log(JSON.stringify([found, sums]));
await connection.end();
