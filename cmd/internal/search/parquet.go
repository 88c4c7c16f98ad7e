package search

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"atlas/internal/durable"
)

// parquetFile converts the NDJSON of an export to Parquet. A Parquet file cannot be
// continued after a kill, so the export runs in NDJSON, and the conversion is its last
// step.
type parquetFile struct {
	columns []string     // in order; none: all
	record  reflect.Type // of the rows, a type of the client
}

// rowGroup is the number of rows in memory. Readers skip whole groups.
const rowGroup = 50_000

// write replaces the file at path with the rows.
func (p parquetFile) write(path string, rows io.ReadSeeker, written func(rows int)) error {
	from, to := io.Pipe()
	go func() { to.CloseWithError(p.print(to, rows, written)) }()
	err := durable.ReplaceFrom(path, from)
	_ = from.CloseWithError(err) // nil ends the encoder
	return err
}

// print writes the rows. It reads them twice: once for members that this version does not
// know, which become columns of JSON.
func (p parquetFile) print(to io.Writer, rows io.ReadSeeker, written func(rows int)) error {
	columns, err := p.choose(rows)
	if err != nil {
		return err
	}
	if _, err := rows.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return p.encode(to, rows, columns, written)
}

// choose returns the columns: those given, or all known members in the order of the
// record and then the others in the order of their names.
func (p parquetFile) choose(rows io.Reader) ([]string, error) {
	if len(p.columns) > 0 {
		return p.columns, nil
	}
	known := members(p.record)
	others := map[string]bool{}
	err := eachRow(rows, func(line []byte) error {
		record, err := membersOf(line)
		for name := range record {
			if !slices.Contains(known, name) {
				others[name] = true
			}
		}
		return err
	})
	return append(known, slices.Sorted(maps.Keys(others))...), err
}

func (p parquetFile) encode(to io.Writer, rows io.Reader, columns []string, written func(int)) error {
	row := p.row(columns)
	out := parquet.NewWriter(
		to, parquet.SchemaOf(reflect.New(row).Interface()), parquet.Compression(&zstd.Codec{}),
		parquet.MaxRowsPerRowGroup(rowGroup), parquet.CreatedBy("atlas", "", ""),
	)
	n := 0
	err := eachRow(rows, func(line []byte) error {
		record := reflect.New(row)
		if err := json.Unmarshal(line, record.Interface()); err != nil {
			return fmt.Errorf("row %d: %w", n+1, err)
		}
		if n++; n%1000 == 0 {
			written(n)
		}
		return out.Write(record.Interface())
	})
	if err != nil {
		return err
	}
	return out.Close()
}

// row returns the type of a row: a struct with a field for each column, into which JSON is
// decoded. Its field names mean nothing, the tags name the columns.
func (p parquetFile) row(columns []string) reflect.Type {
	types := map[string]reflect.Type{}
	for field := range p.record.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		types[name] = field.Type
	}
	fields := make([]reflect.StructField, len(columns))
	for i, name := range columns {
		column, options := columnOf(types[name])
		fields[i] = reflect.StructField{
			Name: fmt.Sprintf("C%d", i), Type: column,
			Tag: reflect.StructTag(fmt.Sprintf(`json:%q parquet:%q`, name, name+options)),
		}
	}
	return reflect.StructOf(fields)
}

// columnOf returns the type of a column of values of type t, and its Parquet options.
// Unknown values are null, unknown lists empty. Other types than those of records,
// including nil, are written as JSON.
func columnOf(t reflect.Type) (reflect.Type, string) {
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
	case t == reflect.TypeFor[time.Time]():
		return reflect.PointerTo(t), ",optional,timestamp(millisecond)"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return reflect.TypeFor[[]string](), ",list"
	case t.Kind() == reflect.String:
		return reflect.TypeFor[*string](), ",optional"
	case t.Kind() == reflect.Bool:
		return reflect.TypeFor[*bool](), ",optional"
	case t.Kind() == reflect.Float64:
		return reflect.TypeFor[*float64](), ",optional"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return reflect.TypeFor[*int64](), ",optional"
	}
	return reflect.TypeFor[json.RawMessage](), ",optional,json"
}

// eachRow calls a function with each line of NDJSON.
func eachRow(from io.Reader, do func([]byte) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := do(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// spoolOf is the temporary file with the rows of a Parquet file.
func spoolOf(out string) string { return out + ".ndjson" }

// mayReplace returns an error if the file exists and no export wrote it.
func (c *Export) mayReplace() error {
	_, err := os.Stat(c.Out)
	_, known := os.Stat(c.CursorFile)
	if known == nil {
		return nil
	}
	if err == nil && !c.Restart {
		return fmt.Errorf("%s is there already, and no cursor file %s that belongs to it; --restart replaces it", c.Out, c.CursorFile)
	}
	if spool, err := os.Stat(spoolOf(c.Out)); err == nil && spool.Size() > 0 {
		return fmt.Errorf("%s is there already, and no cursor file %s that belongs to it: the export needs this name for its rows", spoolOf(c.Out), c.CursorFile)
	}
	return nil
}

// convert ends an export to a Parquet file: it writes the file, and removes the rows. After
// a kill it is repeated until the cursor file records it.
func (c *Export) convert(e *exporting) error {
	state := e.file.state
	if state.Converted {
		if _, err := os.Stat(c.Out); err != nil {
			return fmt.Errorf("%s should be complete by %s: %w; --restart exports anew", c.Out, c.CursorFile, err)
		}
	} else {
		if _, err := e.file.out.Seek(0, io.SeekStart); err != nil {
			return err
		}
		file := parquetFile{columns: c.columns(), record: e.target.record}
		if err := file.write(c.Out, e.file.out, func(rows int) { e.shown.converted(rows, state.Rows) }); err != nil {
			return err
		}
		state.Converted, state.Bytes = true, 0
		if err := e.file.writeState(state); err != nil {
			return err
		}
	}
	return os.Remove(spoolOf(c.Out))
}
