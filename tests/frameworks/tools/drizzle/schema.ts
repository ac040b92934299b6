import { relations } from "drizzle-orm";
import { bigint, boolean, datetime, decimal, index, int, json, mysqlEnum, mysqlTable, primaryKey, text, timestamp, unique, varchar } from "drizzle-orm/mysql-core";

export const customer = mysqlTable("customer", {
  id: int().autoincrement().primaryKey(),
  name: varchar({ length: 80 }).notNull(),
  kind: mysqlEnum(["new", "old"]).default("new"),
  joined: timestamp().defaultNow().notNull(),
  extra: json(),
}, (table) => [unique("one_name").on(table.name)]);

export const purchase = mysqlTable("purchase", {
  id: bigint({ mode: "number", unsigned: true }).autoincrement().primaryKey(),
  customerId: int("customer_id").notNull().references(() => customer.id, { onDelete: "cascade" }),
  total: decimal({ precision: 10, scale: 2 }).default("0.00"),
  paid: boolean().default(false).notNull(),
  at: datetime({ fsp: 3 }),
  note: text(),
}, (table) => [index("by_total").on(table.paid, table.total)]);

export const tag = mysqlTable("tag", { purchaseId: bigint("purchase_id", { mode: "number", unsigned: true }), word: varchar({ length: 30 }) },
  (table) => [primaryKey({ columns: [table.purchaseId, table.word] })]);

export const customerRelations = relations(customer, ({ many }) => ({ purchases: many(purchase) }));
export const purchaseRelations = relations(purchase, ({ one, many }) => ({ customer: one(customer, { fields: [purchase.customerId], references: [customer.id] }) }));
