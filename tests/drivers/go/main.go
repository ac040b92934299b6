// The checks of expected.json through database/sql and go-sql-driver/mysql.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

type column struct {
	Name, Type, Kind string
	Values           []*string
}

type expectation struct {
	Columns []column
	Errors  []struct {
		Name, Sql, State string
		Code             uint16
	}
}

var expected expectation

func check(name string, body func() error) {
	if err := body(); err != nil {
		fmt.Printf("FAILED %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Println("ok", name)
}

func open(user, password, options string) *sql.DB {
	db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s:%s)/drivers?%s", user, password, os.Getenv("DB_HOST"), os.Getenv("DB_PORT"), options))
	if err != nil {
		panic(err)
	}
	return db
}

func fails(code uint16, state string, err error) error {
	var seen *mysql.MySQLError
	if !errors.As(err, &seen) {
		return fmt.Errorf("expected error %d, saw %v", code, err)
	}
	if seen.Number != code || string(seen.SQLState[:]) != state {
		return fmt.Errorf("expected %d (%s), saw %d (%s)", code, state, seen.Number, seen.SQLState)
	}
	return nil
}

func accounts() {
	for _, plugin := range strings.Fields(os.Getenv("DB_PLUGINS")) {
		user := "drv_" + strings.Split(plugin, "_")[0]
		check("connect_"+plugin, func() error {
			for i := 0; i < 2; i++ {
				db := open(user, os.Getenv("DB_PASSWORD"), "")
				var who string
				if err := db.QueryRow("SELECT CURRENT_USER()").Scan(&who); err != nil {
					return err
				}
				if who != user+"@%" {
					return fmt.Errorf("connected as %s", who)
				}
				db.Close()
			}
			return nil
		})
		check("wrong_password_"+plugin, func() error { return fails(1045, "28000", open(user, "wrong", "").Ping()) })
	}
}

// parameter is a value to bind, of the Go type the column asks for.
func parameter(c column, text *string) any {
	if text == nil {
		return nil
	}
	switch c.Kind {
	case "int", "year":
		v, err := strconv.ParseInt(*text, 10, 64)
		if err != nil {
			panic(err)
		}
		return v
	case "uint":
		v, err := strconv.ParseUint(*text, 10, 64)
		if err != nil {
			panic(err)
		}
		return v
	case "double":
		v, err := strconv.ParseFloat(*text, 64)
		if err != nil {
			panic(err)
		}
		return v
	case "date", "datetime":
		layout := "2006-01-02 15:04:05.999999"
		if c.Kind == "date" {
			layout = "2006-01-02"
		}
		v, err := time.ParseInLocation(layout, *text, time.UTC)
		if err != nil {
			panic(err)
		}
		return v
	case "binary":
		v, err := hex.DecodeString(*text)
		if err != nil {
			panic(err)
		}
		return v
	}
	return *text
}

// compare scans one row into typed destinations and holds each against the expected text.
func compare(rows *sql.Rows, number int) error {
	var id int
	targets := []any{&id}
	for _, c := range expected.Columns {
		switch c.Kind {
		case "int", "year":
			targets = append(targets, new(sql.NullInt64))
		case "uint":
			targets = append(targets, new(*uint64))
		case "double":
			targets = append(targets, new(sql.NullFloat64))
		case "date", "datetime":
			targets = append(targets, new(sql.NullTime))
		case "binary":
			targets = append(targets, new([]byte))
		default:
			targets = append(targets, new(sql.NullString))
		}
	}
	if err := rows.Scan(targets...); err != nil {
		return err
	}
	for i, c := range expected.Columns {
		var seen *string
		put := func(text string) { seen = &text }
		switch v := targets[i+1].(type) {
		case *sql.NullInt64:
			if v.Valid {
				put(strconv.FormatInt(v.Int64, 10))
			}
		case **uint64:
			if *v != nil {
				put(strconv.FormatUint(**v, 10))
			}
		case *sql.NullFloat64:
			if v.Valid {
				put(strconv.FormatFloat(v.Float64, 'g', -1, 64))
			}
		case *sql.NullTime:
			if v.Valid && c.Values[number] != nil {
				layout := "2006-01-02 15:04:05.000000"
				put(v.Time.UTC().Format(layout[:len(*c.Values[number])]))
			}
		case *[]byte:
			if *v != nil {
				put(hex.EncodeToString(*v))
			}
		case *sql.NullString:
			if v.Valid {
				put(v.String)
			}
		}
		want := c.Values[number]
		if (seen == nil) != (want == nil) || (seen != nil && *seen != *want) {
			show := func(s *string) string {
				if s == nil {
					return "NULL"
				}
				return *s
			}
			return fmt.Errorf("%s of row %d: expected %q, saw %q", c.Name, number, show(want), show(seen))
		}
	}
	return nil
}

func types(db *sql.DB, table string, prepared bool) error {
	definitions := []string{"id INT PRIMARY KEY"}
	for _, c := range expected.Columns {
		definitions = append(definitions, c.Name+" "+c.Type)
	}
	if _, err := db.Exec("CREATE TABLE " + table + " (" + strings.Join(definitions, ", ") + ")"); err != nil {
		return err
	}
	insert := "INSERT INTO " + table + " VALUES (?" + strings.Repeat(", ?", len(expected.Columns)) + ")"
	for number := 0; number < 3; number++ {
		values := []any{number}
		for _, c := range expected.Columns {
			values = append(values, parameter(c, c.Values[number]))
		}
		if _, err := db.Exec(insert, values...); err != nil {
			return err
		}
	}
	query, arguments := "SELECT * FROM "+table+" ORDER BY id", []any{}
	if prepared {
		query, arguments = "SELECT * FROM "+table+" WHERE id >= ? ORDER BY id", []any{0}
	}
	rows, err := db.Query(query, arguments...)
	if err != nil {
		return err
	}
	defer rows.Close()
	number := 0
	for ; rows.Next(); number++ {
		if err := compare(rows, number); err != nil {
			return err
		}
	}
	if number != 3 {
		return fmt.Errorf("%d rows", number)
	}
	return rows.Err()
}

func large(db *sql.DB) error {
	value := make([]byte, 20<<20)
	rand.New(rand.NewSource(1)).Read(value)
	if _, err := db.Exec("CREATE TABLE large_go (id INT PRIMARY KEY, b LONGBLOB)"); err != nil {
		return err
	}
	if _, err := db.Exec("INSERT INTO large_go VALUES (?, ?)", 1, value); err != nil {
		return err
	}
	for _, query := range []string{"SELECT b FROM large_go WHERE id = ?", "SELECT b FROM large_go WHERE id <> ? - 1 - 1 + 3"} {
		var seen []byte
		if err := db.QueryRow(query, 1).Scan(&seen); err != nil {
			return err
		}
		if !bytes.Equal(seen, value) {
			return errors.New("the value came back changed")
		}
	}
	return nil
}

func transactions(db *sql.DB) error {
	balance := func() (v int) { db.QueryRow("SELECT balance FROM accounts WHERE id = 1").Scan(&v); return }
	for _, step := range []struct{ commit, after, amount int }{{0, 100, 150}, {1, 150, 150}, {1, 100, 100}} {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		if err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE accounts SET balance = ? WHERE id = ?", step.amount, 1); err != nil {
			return err
		}
		if step.commit == 1 {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			return err
		}
		if balance() != step.after {
			return fmt.Errorf("balance %d, expected %d", balance(), step.after)
		}
	}
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	_, err = tx.Exec("UPDATE accounts SET balance = 0")
	return fails(1792, "25006", err)
}

func lockTimeout(db *sql.DB) error {
	holder, err := db.Begin()
	if err != nil {
		return err
	}
	defer holder.Rollback()
	if _, err := holder.Exec("UPDATE accounts SET balance = 1 WHERE id = 1"); err != nil {
		return err
	}
	waiter, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer waiter.Close()
	if _, err := waiter.ExecContext(context.Background(), "SET innodb_lock_wait_timeout = 1"); err != nil {
		return err
	}
	_, err = waiter.ExecContext(context.Background(), "UPDATE accounts SET balance = 2 WHERE id = 1")
	return fails(1205, "HY000", err)
}

func deadlock(db *sql.DB) error {
	heavy, err := db.Begin()
	if err != nil {
		return err
	}
	defer heavy.Rollback()
	light, err := db.Begin()
	if err != nil {
		return err
	}
	defer light.Rollback()
	for _, statement := range []string{"INSERT INTO accounts VALUES (50, 0), (51, 0), (52, 0)", "UPDATE accounts SET balance = balance + 1 WHERE id = 1"} {
		if _, err := heavy.Exec(statement); err != nil {
			return err
		}
	}
	if _, err := light.Exec("UPDATE accounts SET balance = balance + 1 WHERE id = 2"); err != nil {
		return err
	}
	woken := make(chan error, 1)
	go func() {
		_, err := heavy.Exec("UPDATE accounts SET balance = balance + 1 WHERE id = 2")
		woken <- err
	}()
	time.Sleep(500 * time.Millisecond)
	_, err = light.Exec("UPDATE accounts SET balance = balance + 1 WHERE id = 1")
	if err := fails(1213, "40001", err); err != nil {
		return err
	}
	select {
	case err := <-woken:
		return err
	case <-time.After(10 * time.Second):
		return errors.New("the survivor still waits")
	}
}

func multi() error {
	db := open(os.Getenv("DB_USER"), "", "multiStatements=true")
	defer db.Close()
	rows, err := db.Query("SELECT 1; SELECT 'last'")
	if err != nil {
		return err
	}
	defer rows.Close()
	var first int
	var last string
	if !rows.Next() || rows.Scan(&first) != nil || first != 1 {
		return fmt.Errorf("first result %d", first)
	}
	if !rows.NextResultSet() || !rows.Next() || rows.Scan(&last) != nil || last != "last" {
		return fmt.Errorf("second result %q", last)
	}
	return nil
}

func ids(db *sql.DB) error {
	if _, err := db.Exec("CREATE TABLE ids_go (id INT AUTO_INCREMENT PRIMARY KEY, v INT)"); err != nil {
		return err
	}
	for _, step := range []struct {
		sql      string
		rows, id int64
	}{
		{"INSERT INTO ids_go (v) VALUES (?), (2), (3)", 3, 1},
		{"INSERT INTO ids_go (v) VALUES (?)", 1, 4},
		{"UPDATE ids_go SET v = 3 WHERE id >= 3 AND ? = 1", 1, 0},
		{"DELETE FROM ids_go WHERE id < 3 AND ? = 1", 2, 0},
	} {
		result, err := db.Exec(step.sql, 1)
		if err != nil {
			return err
		}
		rows, _ := result.RowsAffected()
		id, _ := result.LastInsertId()
		if rows != step.rows || id != step.id {
			return fmt.Errorf("%s: %d rows, id %d", step.sql, rows, id)
		}
	}
	return nil
}

func statements(db *sql.DB) error {
	statement, err := db.Prepare("SELECT ? + 1, ?, ?")
	if err != nil {
		return err
	}
	defer statement.Close()
	for i := int64(0); i < 100; i++ {
		var number int64
		var text string
		var nothing sql.NullString
		if err := statement.QueryRow(i, fmt.Sprint("text ", i), nil).Scan(&number, &text, &nothing); err != nil {
			return err
		}
		if number != i+1 || text != fmt.Sprint("text ", i) || nothing.Valid {
			return fmt.Errorf("saw %d %q %v", number, text, nothing)
		}
	}
	return nil
}

func main() {
	text, err := os.ReadFile(os.Getenv("EXPECTED"))
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(text, &expected); err != nil {
		panic(err)
	}
	accounts()
	zone := "parseTime=true&time_zone=%27%2B00%3A00%27&maxAllowedPacket=0"
	db := open(os.Getenv("DB_USER"), "", zone)
	check("types_text", func() error { return types(db, "types_go_text", false) })
	check("types_binary", func() error { return types(db, "types_go_binary", true) })
	interpolated := open(os.Getenv("DB_USER"), "", zone+"&interpolateParams=true")
	check("types_interpolated", func() error { return types(interpolated, "types_go_interpolated", true) })
	check("large_value", func() error { return large(db) })
	check("prepared_again_and_again", func() error { return statements(db) })
	check("transactions", func() error { return transactions(db) })
	for _, e := range expected.Errors {
		e := e
		check("error_"+e.Name, func() error { _, err := db.Exec(e.Sql); return fails(e.Code, e.State, err) })
	}
	check("error_lock_timeout", func() error { return lockTimeout(db) })
	check("error_deadlock", func() error { return deadlock(db) })
	check("multi_statements", multi)
	check("affected_rows_and_ids", func() error { return ids(db) })
}
