CREATE OR REPLACE VIEW report AS SELECT paid, COUNT(*) AS purchases FROM purchase GROUP BY paid;
