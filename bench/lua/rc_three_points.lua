-- Short transactions: BEGIN, three rows by primary key from tables picked at random, COMMIT.
-- The workload of MySQL bug #79005, where READ COMMITTED made three read views per transaction and their mutex was
-- what everybody waited for. Wants the tables of oltp_common (`sysbench oltp_read_write prepare`).
require("oltp_common")

function prepare_statements()
end

function event()
   con:query("BEGIN")
   for _ = 1, 3 do
      local number = sysbench.rand.uniform(1, sysbench.opt.tables)
      local id = sysbench.rand.uniform(1, sysbench.opt.table_size)
      con:query(string.format("SELECT * FROM sbtest%d WHERE id=%d", number, id))
   end
   con:query("COMMIT")
end
