-- A queue in a table: the first `--producers` threads add at one end, all others take from the other and delete what they
-- took. `--skip-locked=on` lets consumers pass over what others are taking. `prepare` makes the table with `--backlog` rows.
require("oltp_common")

sysbench.cmdline.options = {
   producers = {"Threads that add", 8},
   skip_locked = {"Consumers pass over locked rows", false},
   backlog = {"Messages that are there at the beginning", 5000},
}

local function execute(...)
   local con = sysbench.sql.driver():connect()
   for _, statement in ipairs({...}) do
      con:query(statement)
   end
   con:disconnect()
end

sysbench.cmdline.commands = {
   prepare = {function ()
      execute("CREATE TABLE queue (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, body VARCHAR(200) NOT NULL)",
              "INSERT INTO queue (body) VALUES (REPEAT('q', 100))")
      local there = 1
      while there < sysbench.opt.backlog do
         local more = math.min(there, sysbench.opt.backlog - there)
         execute("INSERT INTO queue (body) SELECT body FROM queue LIMIT " .. more)
         there = there + more
      end
   end},
   cleanup = {function ()
      execute("DROP TABLE IF EXISTS queue")
   end},
}

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   is_producer = sysbench.tid < sysbench.opt.producers
   take = "SELECT id, body FROM queue ORDER BY id LIMIT 1 FOR UPDATE" .. (sysbench.opt.skip_locked and " SKIP LOCKED" or "")
end

function thread_done()
   con:disconnect()
end

function event()
   if is_producer then
      con:query("INSERT INTO queue (body) VALUES (REPEAT('q', 100))")
   else
      con:query("BEGIN")
      local row = con:query(take):fetch_row()
      if row then
         con:query("DELETE FROM queue WHERE id = " .. row[1])
      end
      con:query("COMMIT")
   end
end
