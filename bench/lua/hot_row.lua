-- One row, updated by everybody as fast as it goes, each update a transaction.
-- Wants: CREATE TABLE hot (id INT PRIMARY KEY, c BIGINT NOT NULL); INSERT INTO hot VALUES (1, 0)
-- Beside it, hold a snapshot open (START TRANSACTION WITH CONSISTENT SNAPSHOT) and see whether the rate falls.
require("oltp_common")

function prepare_statements()
end

function event()
   con:query("UPDATE hot SET c = c + 1 WHERE id = 1")
end
