package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// counted counts matches up to Atlas's limit.
const counted = `SELECT count(*)::text FROM (SELECT FROM %s LIMIT ` + capText + `) matches`

const (
	capText  = "1000" // TotalCap
	pageText = "25"   // PageSize

	textMatches    = `projects, plainto_tsquery('folded', plain($1)) q WHERE words @@ q`
	filterMatches  = `projects WHERE stage = $1 AND primary_use = $2 AND cost >= $3`
	relatedMatches = `accounts a WHERE EXISTS (SELECT FROM accounts_projects l JOIN projects p ON p.id = l.child
	WHERE l.parent = a.id AND p.stage = $1 AND p.primary_use = $2 AND p.cost >= $3)`

	byOccurred = ` ORDER BY occurred_at DESC NULLS LAST, id LIMIT ` + pageText
)

// statement is one of a question. A page has one column, the record.
type statement struct {
	sql  string
	args []any
}

// Call returns the statements of a question, which are sent together: the number of
// matches, where Atlas reports it too, and the page.
func (p Postgres) Call(ctx context.Context, q Question) (Call, error) {
	like := []any{q.Stage, q.PrimaryUse, q.MinCost}
	both := func(matches, page string, args ...any) Call {
		return p.send(
			statement{fmt.Sprintf(counted, matches), args},
			statement{"SELECT record FROM " + matches + page + " LIMIT " + pageText, args},
		)
	}
	switch q.Task {
	case Text:
		return both(textMatches, " ORDER BY ts_rank(words, q) DESC, id", q.Words), nil
	case Filter:
		return both(filterMatches, " ORDER BY cost DESC NULLS LAST, id", like...), nil
	case Related:
		return both(relatedMatches, " ORDER BY a.name, a.id", like...), nil
	case Offset:
		return p.send(
			statement{fmt.Sprintf(counted, "signals"), nil},
			statement{"SELECT record FROM signals" + byOccurred + " OFFSET $1", []any{q.Row}},
		), nil
	case Cursor:
		// The row before the page, as an earlier page showed it.
		var at, id string
		if err := p.QueryRow(ctx, `SELECT occurred_at::text, id::text FROM signals ORDER BY occurred_at DESC NULLS LAST, id LIMIT 1 OFFSET $1`, q.Row-1).Scan(&at, &id); err != nil {
			return Call{}, err
		}
		return p.send(statement{fmt.Sprintf(counted, "signals"), nil}, statement{
			`SELECT record FROM signals WHERE occurred_at <= $1::text::timestamptz AND (occurred_at < $1::text::timestamptz OR id > $2::text::uuid)` + byOccurred, []any{at, id},
		}), nil
	default: // Facets
		return p.send(statement{`SELECT CASE WHEN grouping(stage) = 0 THEN 'stage' WHEN grouping(primary_use) = 0 THEN 'primary_use' ELSE 'city' END,
	coalesce(stage, primary_use, city), count(*)::text
	FROM projects WHERE cost >= $1 GROUP BY GROUPING SETS ((stage), (primary_use), (city)) ORDER BY 1, 2`, []any{q.MinCost}}), nil
	}
}

// Separators of an answer's bytes.
const (
	valueEnd  = '\x1f'
	rowEnd    = '\x1e'
	resultEnd = '\x1d'
)

// send returns a call whose answer has the values of the statements' rows as they
// arrive.
func (p Postgres) send(statements ...statement) Call {
	return Call{Read: readPostgres, Send: func(ctx context.Context, buf []byte) ([]byte, error) {
		buf = buf[:0]
		var batch pgx.Batch
		for _, s := range statements {
			batch.Queue(s.sql, s.args...).Query(func(rows pgx.Rows) error {
				for rows.Next() {
					for _, value := range rows.RawValues() {
						buf = append(append(buf, value...), valueEnd)
					}
					buf = append(buf, rowEnd)
				}
				buf = append(buf, resultEnd)
				return rows.Err()
			})
		}
		err := p.SendBatch(ctx, &batch).Close()
		return buf, err
	}}
}

func readPostgres(raw []byte) (a Answer, err error) {
	for _, result := range bytes.Split(raw, []byte{resultEnd}) {
		for _, row := range bytes.Split(result, []byte{rowEnd}) {
			values := bytes.Split(row, []byte{valueEnd})
			switch {
			case len(values) == 4: // of a facet
				n, err := strconv.Atoi(string(values[2]))
				if err != nil {
					return a, err
				}
				if a.Facets == nil {
					a.Facets = map[string]map[string]int{}
				}
				field := string(values[0])
				if a.Facets[field] == nil {
					a.Facets[field] = map[string]int{}
				}
				if len(values[1]) > 0 { // null is no value
					a.Facets[field][string(values[1])] = n
				}
			case len(values) == 2 && values[0][0] == '{':
				var record struct{ ID string }
				if err := json.Unmarshal(values[0], &record); err != nil {
					return a, err
				}
				a.IDs = append(a.IDs, record.ID)
			case len(values) == 2:
				if a.Total, err = strconv.Atoi(string(values[0])); err != nil {
					return a, err
				}
			}
		}
	}
	return a, nil
}
