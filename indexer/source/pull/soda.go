package pull

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/indexer/source"
)

// soda is Socrata's SODA, version 2: the rows of a data set as JSON, in pages by offset.
// Its order by :id is stable.
type soda struct {
	client *client
	of     source.Pull
}

const (
	sodaPage    = 5000
	sodaChanged = ":updated_at"
)

func (s *soda) page(ctx context.Context, offset int64, since string) (page, error) {
	size := sodaPage
	if s.of.Page > 0 {
		size = s.of.Page
	}
	changed := cmp.Or(s.of.Changed, sodaChanged)
	query := url.Values{"$select": {":*,*"}, "$order": {":id"}, "$limit": {strconv.Itoa(size)}, "$offset": {strconv.FormatInt(offset, 10)}}
	s.where(query, since)
	var found page
	err := s.client.get(ctx, s.path(), query, func(body []byte) error {
		found = page{}
		if err := json.Unmarshal(body, &found.rows, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			return err // cut off: it is retried
		}
		for i, row := range found.rows {
			found.rows[i] = compacted(row)
			found.newest = max(found.newest, member(row, changed))
		}
		found.more = len(found.rows) == size
		return nil
	})
	return found, err
}

// where adds the condition of the rows to a query.
func (s *soda) where(query url.Values, since string) {
	var conditions []string
	if s.of.Where != "" {
		conditions = append(conditions, "("+s.of.Where+")")
	}
	if since != "" {
		conditions = append(conditions, cmp.Or(s.of.Changed, sodaChanged)+" >= '"+strings.ReplaceAll(since, "'", "")+"'")
	}
	if conditions != nil {
		query.Set("$where", strings.Join(conditions, " AND "))
	}
}

func (s *soda) path() string {
	if strings.HasSuffix(s.client.base.Path, ".json") {
		return ""
	}
	return ".json"
}

func (s *soda) count(ctx context.Context, since string) (n int64, err error) {
	query := url.Values{"$select": {"count(*) AS rows"}}
	s.where(query, since)
	err = s.client.once(ctx, s.client.address(s.path(), query), func(body []byte) error {
		var answer []struct {
			Rows int64 `json:"rows,string"`
		}
		if err := json.Unmarshal(body, &answer); err != nil || len(answer) != 1 {
			return err
		}
		n = answer[0].Rows
		return nil
	})
	return n, err
}

// member is a text member of an object, "" if it has none.
func member(object jsontext.Value, name string) string {
	var members map[string]jsontext.Value
	if json.Unmarshal(object, &members, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(members[name], &text) != nil {
		return ""
	}
	return text
}

// compacted is a value on one line.
func compacted(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	_ = v.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // it was already parsed
	return v
}
