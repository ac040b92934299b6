-- oltp_read_write with fewer writes: of so many transactions one writes, the others only read.
--   --ratio=N   one transaction in N writes (1: each does)
--   --psel=on   ten point selects take the place of all the reads
-- The workloads of the 2015 study of isolation levels, OLTP_RW and p_sel10, at read:write ratios from 128 to 1.
require("oltp_common")

sysbench.cmdline.options.ratio = {"one transaction in so many writes", 1}
sysbench.cmdline.options.psel = {"point selects only", false}

function prepare_statements()
   prepare_begin()
   prepare_commit()
   prepare_point_selects()
   if not sysbench.opt.psel then
      prepare_simple_ranges()
      prepare_sum_ranges()
      prepare_order_ranges()
      prepare_distinct_ranges()
   end
   prepare_index_updates()
   prepare_non_index_updates()
   prepare_delete_inserts()
end

function event()
   begin()
   execute_point_selects()
   if not sysbench.opt.psel then
      execute_simple_ranges()
      execute_sum_ranges()
      execute_order_ranges()
      execute_distinct_ranges()
   end
   if sysbench.rand.uniform(1, sysbench.opt.ratio) == 1 then
      execute_index_updates()
      execute_non_index_updates()
      execute_delete_inserts()
   end
   commit()
end
