package search

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"atlas/client"
)

// parquetRows writes records to a file, and reads it back as JSON lines.
func parquetRows(t *testing.T, p parquetFile, records string) (schema, rows string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.parquet")
	if err := p.write(path, strings.NewReader(records), func(int) {}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	read := parquet.NewReader(file)
	var b strings.Builder
	for range file.NumRows() {
		row := map[string]any{}
		if err := read.Read(&row); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return file.Schema().String(), b.String()
}

func TestParquet(t *testing.T) {
	t.Parallel()
	full := `{"id":"1","name":"Näme","account_types":["a","b"],"latitude":-114.0712345678901,"cost":0,"residential_units":9007199254740993,"created_at":"2026-01-02T03:04:05.678Z","new":{"a":[1]}}`
	empty := `{"id":"2","name":null,"account_types":[],"latitude":null,"cost":null,"residential_units":null,"created_at":null}`
	project := reflect.TypeFor[client.Project]()
	schema, rows := parquetRows(t, parquetFile{record: project}, full+"\n"+empty+"\n")
	for _, want := range []string{
		"optional binary id (STRING)", "optional double cost", "optional int64 residential_units (INT(64,true))",
		"optional int64 created_at (TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS))", "required group account_ids (LIST)",
		"optional binary account_types (JSON)", "optional binary new (JSON)",
	} {
		if !strings.Contains(schema, want) {
			t.Errorf("no %q in %s", want, schema)
		}
	}
	if strings.Index(schema, " id ") > strings.Index(schema, " name ") ||
		strings.Index(schema, " updated_at ") > strings.Index(schema, " new ") {
		t.Errorf("the columns are not in the order of the record: %s", schema)
	}
	if strings.Count(rows, "\n") != 2 || !strings.Contains(rows, `"new":{"a":[1]}`) || !strings.Contains(rows, `"new":null`) {
		t.Error(rows)
	}

	columns := []string{"name", "cost", "id", "residential_units", "latitude", "created_at", "account_ids"}
	_, rows = parquetRows(t, parquetFile{record: project, columns: columns}, full+"\n"+empty+"\n")
	want := `{"account_ids":[],"cost":0,"created_at":1767323045678,"id":"1","latitude":-114.0712345678901,"name":"Näme","residential_units":9007199254740993}
{"account_ids":[],"cost":null,"created_at":null,"id":"2","latitude":null,"name":null,"residential_units":null}
`
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}

	schema, rows = parquetRows(t, parquetFile{record: project}, "")
	if !strings.Contains(schema, "id") || rows != "" {
		t.Errorf("without rows: %s %s", schema, rows)
	}
	path := filepath.Join(t.TempDir(), "bad.parquet")
	err := parquetFile{record: project}.write(path, strings.NewReader(full+"\n"+`{"cost":"much"}`+"\n"), func(int) {})
	if _, is := os.Stat(path); err == nil || !strings.Contains(err.Error(), "row 2") || is == nil {
		t.Errorf("a value of another type: %v, %v", err, is)
	}
}

// TestParquetOfAllRecords: no known member of any type of record is written as JSON.
func TestParquetOfAllRecords(t *testing.T) {
	t.Parallel()
	for _, all := range []map[string]reflect.Type{dataRecords, bookRecords, viewRecords} {
		for name, record := range all {
			schema, _ := parquetRows(t, parquetFile{record: record}, `{"id":"1"}`)
			if strings.Contains(schema, "(JSON)") {
				t.Errorf("%s: %s", name, schema)
			}
		}
	}
}
