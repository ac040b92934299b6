-- One row, updated by everybody as fast as it goes, each update a transaction. `prepare` makes the row's table, `hot`.
-- Beside it, hold a snapshot open (START TRANSACTION WITH CONSISTENT SNAPSHOT) and see whether the rate falls.
require("oltp_common")

local function execute(...)
   local con = sysbench.sql.driver():connect()
   for _, statement in ipairs({...}) do
      con:query(statement)
   end
   con:disconnect()
end

sysbench.cmdline.commands = {
   prepare = {function ()
      execute("CREATE TABLE hot (id INT PRIMARY KEY, c BIGINT NOT NULL)", "INSERT INTO hot VALUES (1, 0)")
   end},
   cleanup = {function ()
      execute("DROP TABLE IF EXISTS hot")
   end},
}

function prepare_statements()
end

function event()
   con:query("UPDATE hot SET c = c + 1 WHERE id = 1")
end
