import { defineConfig } from "drizzle-kit";

export default defineConfig({ dialect: "mysql", schema: "./schema.ts", out: "./migrations", dbCredentials: { url: process.env.DB_URL! } });
