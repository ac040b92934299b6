ALTER TABLE purchase DROP KEY by_paid, DROP COLUMN paid;
