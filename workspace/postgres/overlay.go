package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
)

// written are the overlay fields that are stored in a column of the same name.
var written = catalog.WrittenFields()

// column maps a field's type to the SQL type and the scan target of its column.
var column = map[catalog.Type]struct {
	sql  string
	scan func() any
}{
	catalog.String:  {"text", func() any { return new(pgtype.Text) }},
	catalog.Strings: {"text[]", func() any { return new([]string) }},
	catalog.Integer: {"bigint", func() any { return new(pgtype.Int8) }},
	catalog.Double:  {"double precision", func() any { return new(pgtype.Float8) }},
	catalog.Time:    {"timestamptz", func() any { return new(pgtype.Timestamptz) }},
}

// columns joins the written fields with commas, each formatted with its name and SQL
// type.
func columns(format string) string {
	list := make([]string, len(written))
	for i, f := range written {
		list[i] = fmt.Sprintf(format, f.Name, column[f.Type].sql)
	}
	return strings.Join(list, ", ")
}

// overlayColumns are the columns of a table named o. Only accounts have a score, a
// trend and their time.
var overlayColumns = `o.record_id, ` + columns(`o.%[1]s`) + `, coalesce(o.atlas_score, 0), coalesce(o.atlas_trend, ''),
	coalesce(o.scored_at, 'epoch'), o.created_at, o.updated_at, o.updated_by`

// overlayScan scans overlayColumns, row after row.
type overlayScan struct {
	overlay          book.Overlay
	record           *uuid.UUID
	values           []any // of the written fields
	created, updated *time.Time
	author           *uuid.UUID
}

func newOverlayScan() *overlayScan {
	s := &overlayScan{values: make([]any, len(written))}
	for i, f := range written {
		s.values[i] = column[f.Type].scan()
	}
	return s
}

// targets returns the scan targets of overlayColumns, after those of the preceding
// columns.
func (s *overlayScan) targets(before ...any) []any {
	return slices.Concat(before, []any{&s.record}, s.values,
		[]any{&s.overlay.Score, &s.overlay.Trend, &s.overlay.ScoredAt, &s.created, &s.updated, &s.author})
}

// scanned returns the overlay of the last scanned row, nil if it has none.
func (s *overlayScan) scanned() *book.Overlay {
	if s.record == nil {
		return nil
	}
	o := s.overlay
	o.Record, o.CreatedAt, o.UpdatedAt, o.UpdatedBy = *s.record, *s.created, *s.updated, userOrZero(s.author)
	o.Values = make(book.Values, len(written))
	for i, f := range written {
		if value := scannedValue(s.values[i]); value != nil {
			o.Values[f.Name] = value
		}
	}
	return &o
}

// scannedValue converts a scanned value to one of book.Values.
func scannedValue(target any) any {
	switch v := target.(type) {
	case *pgtype.Text:
		if v.Valid {
			return v.String
		}
	case *[]string:
		if len(*v) > 0 {
			return *v
		}
	case *pgtype.Int8:
		if v.Valid {
			return v.Int64
		}
	case *pgtype.Float8:
		if v.Valid {
			return v.Float64
		}
	case *pgtype.Timestamptz:
		if v.Valid {
			return v.Time.UnixMilli()
		}
	}
	return nil
}

var selectOverlays = `SELECT ` + overlayColumns + ` FROM overlays o
	WHERE o.workspace_id = $1 AND o.dataset = $2 AND o.record_id = ANY($3)`

func collectOverlays(rows pgx.Rows) (map[uuid.UUID]book.Overlay, error) {
	overlays := map[uuid.UUID]book.Overlay{}
	s := newOverlayScan()
	_, err := pgx.ForEachRow(rows, s.targets(), func() error {
		o := s.scanned()
		for _, f := range written {
			if list, ok := o.Values[f.Name].([]string); ok {
				// Older tags may differ only in case or Unicode normalization.
				o.Values[f.Name] = book.DistinctTags(list)
			}
		}
		overlays[o.Record] = *o
		return nil
	})
	return overlays, err
}

// insertOverlays takes a JSON array of the objects that appendOverlay writes.
var insertOverlays = `
	INSERT INTO overlays AS o (workspace_id, dataset, record_id, ` + columns(`%[1]s`) + `, atlas_score, atlas_trend, scored_at,
	                           created_at, updated_at, updated_by)
	SELECT $1, $2, record_id, ` + columns(`%[1]s`) + `, atlas_score, atlas_trend, scored_at, created_at, updated_at, updated_by
	FROM jsonb_to_recordset($3) AS r(record_id uuid, ` + columns(`%[1]s %[2]s`) + `,
	     atlas_score integer, atlas_trend text, scored_at timestamptz, created_at timestamptz, updated_at timestamptz, updated_by uuid)
	ON CONFLICT ON CONSTRAINT overlays_pkey DO UPDATE
	SET ` + columns(`%[1]s = excluded.%[1]s`) + `, updated_at = excluded.updated_at, updated_by = excluded.updated_by`

func writeOverlays(ctx context.Context, tx pgx.Tx, in workspace.ID, d catalog.Dataset, overlays []book.Overlay) error {
	if len(overlays) == 0 {
		return nil
	}
	rows := make([]byte, 0, 256*len(overlays))
	for i := range overlays {
		rows = appendOverlay(append(rows, "[,"[min(i, 1)]), d, &overlays[i])
	}
	_, err := tx.Exec(ctx, insertOverlays, arg(in), string(d), string(append(rows, ']')))
	return err
}

// appendOverlay appends an overlay as JSON. encoding/json would allocate several
// times as much.
func appendOverlay(b []byte, d catalog.Dataset, o *book.Overlay) []byte {
	b = append(append(b, `{"record_id":"`...), o.Record.String()...)
	if d == catalog.Accounts {
		b = strconv.AppendInt(append(b, `","atlas_score":`...), int64(o.Score), 10)
		b = append(append(b, `,"atlas_trend":"`...), o.Trend...)
		b = o.ScoredAt.AppendFormat(append(b, `","scored_at":"`...), time.RFC3339Nano)
	}
	b = o.CreatedAt.AppendFormat(append(b, `","created_at":"`...), time.RFC3339Nano)
	b = o.UpdatedAt.AppendFormat(append(b, `","updated_at":"`...), time.RFC3339Nano)
	b = append(b, '"')
	if !o.UpdatedBy.IsZero() {
		b = append(append(append(b, `,"updated_by":"`...), o.UpdatedBy.String()...), '"')
	}
	for i := range written {
		f := &written[i]
		b = append(append(append(b, `,"`...), f.Name...), `":`...)
		b = catalog.AppendValue(b, f, o.Values[f.Name])
	}
	return append(b, '}')
}
