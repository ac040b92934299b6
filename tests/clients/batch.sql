-- A script as one would feed to the command line client.
CREATE DATABASE shop;
USE shop;
CREATE TABLE goods (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL, price DECIMAL(8,2), note TEXT, UNIQUE KEY (name));
INSERT INTO goods (name, price) VALUES ('tea', 3.50), ('Kaffee für zwei', 4.20), ('nothing', NULL);
/* a comment; with a semicolon */
UPDATE goods SET note = 'it''s "quoted"; really' WHERE name = 'tea';
delimiter //
SELECT COUNT(*) AS n FROM goods//
delimiter ;
SELECT id, name, price, note FROM goods ORDER BY id;
SELECT * FROM goods WHERE id = 1\G
BEGIN; DELETE FROM goods; ROLLBACK;
SELECT COUNT(*) FROM goods;
