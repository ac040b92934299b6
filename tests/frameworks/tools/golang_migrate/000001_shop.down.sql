DROP VIEW spent;
DROP TABLE purchase;
DROP TABLE customer;
