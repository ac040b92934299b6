-- Two tables that refer to each other, a view and rows.
CREATE TABLE customer (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(80) NOT NULL,
    joined TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    UNIQUE KEY one_name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE purchase (
    id BIGINT NOT NULL AUTO_INCREMENT,
    customer_id INT UNSIGNED NOT NULL,
    total DECIMAL(10,2) NOT NULL DEFAULT '0.00',
    note TEXT,
    PRIMARY KEY (id),
    CONSTRAINT purchase_of FOREIGN KEY (customer_id) REFERENCES customer (id) ON DELETE CASCADE
);

/* a comment; with a semicolon */
INSERT INTO customer (name) VALUES ('Ada; and co'), ('Bob''s');
INSERT INTO purchase (customer_id, total) SELECT id, 12.50 FROM customer;
CREATE VIEW spent AS SELECT c.name, SUM(p.total) AS total FROM customer c JOIN purchase p ON p.customer_id = c.id GROUP BY c.name;
