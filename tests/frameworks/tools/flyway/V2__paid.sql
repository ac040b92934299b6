ALTER TABLE purchase ADD COLUMN paid TINYINT(1) NOT NULL DEFAULT 0 AFTER total, ADD KEY by_paid (paid, total);
UPDATE purchase SET paid = 1 WHERE total > 10;
