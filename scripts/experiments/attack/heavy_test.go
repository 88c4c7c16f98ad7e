//go:build attack

package attack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"atlas/scripts/experiments/rig"
)

const (
	// heavyContacts have a project each, so that a Dynamic View shows all of them. A
	// workspace holds heavyHeld more.
	heavyContacts = 10_300
	heavyHeld     = 300
	// heavyRecords is the number of records of the other datasets, which have the
	// maximum size.
	heavyRecords = 120
)

// heavyID is the id of a heavy record.
func heavyID(dataset string, n int) string {
	return fmt.Sprintf("0197a1b2-0000-7000-8%03d-%012d", len(dataset)*10+int(dataset[0]%10), n)
}

// loadHeavy loads records with the longest texts, and enough contacts for an offset of
// 10,000.
func loadHeavy(t *testing.T, r *rig.Rig) {
	t.Helper()
	dir := filepath.Join(r.Dir, "heavy")
	rig.Check(t, os.MkdirAll(dir, 0o755))
	text, name := strings.Repeat("heavy text ", 1_800), strings.Repeat("Heavy ", 160)
	write := func(dataset string, n int, of func(i int) object) {
		var b bytes.Buffer
		lines := json.NewEncoder(&b)
		for i := range n {
			o := of(i)
			o["id"] = heavyID(dataset, i)
			rig.Check(t, lines.Encode(o))
		}
		rig.Check(t, os.WriteFile(filepath.Join(dir, dataset+".ndjson"), b.Bytes(), 0o644))
	}
	write("accounts", heavyRecords, func(i int) object {
		return object{"name": fmt.Sprintf("%s %d", name, i), "description": text, "domains": []string{"heavy.example"}}
	})
	write("contacts", heavyContacts, func(i int) object {
		return object{"name": fmt.Sprintf("Heavy %d", i), "title": name[:900], "account_id": heavyID("accounts", i%heavyRecords)}
	})
	write("projects", heavyRecords, func(i int) object {
		var contacts []string
		for n := i; n < heavyContacts-100; n += heavyRecords { // the last ones have none
			contacts = append(contacts, heavyID("contacts", n))
		}
		return object{
			"name": fmt.Sprintf("%s %d", name, i), "description": text, "contact_ids": contacts,
			"account_ids": []string{heavyID("accounts", i)},
		}
	})
	write("signals", heavyRecords, func(i int) object {
		return object{
			"title": fmt.Sprintf("%s %d", name, i), "summary": text, "signal_type": "permit_filed",
			"occurred_at": "2026-01-01T00:00:00Z", "project_id": heavyID("projects", i),
			"account_ids": []string{heavyID("accounts", i)},
		}
	})
	r.Load(dir)
}

// countRows returns the address of a proxy before Elasticsearch that counts the rows
// and documents of its answers.
func countRows(t *testing.T, elasticsearch string, rows *atomic.Int64) string {
	t.Helper()
	return rig.Tap(t, elasticsearch, nil, func(e rig.Exchange) {
		path, _, _ := strings.Cut(e.Target, "?")
		switch {
		case e.Status != http.StatusOK:
		case strings.Contains(path, "/_source/"):
			rows.Add(1)
		case strings.HasSuffix(path, "search"), strings.HasSuffix(path, "/_mget"):
			rows.Add(rowsIn(e.Answer))
		}
	})
}

// rowsIn counts the rows of an answer to _search, _msearch or _mget.
func rowsIn(body []byte) int64 {
	type result struct {
		Hits struct{ Hits []json.RawMessage }
	}
	var answer struct {
		result
		Responses []result
		Docs      []struct{ Found bool }
	}
	if json.Unmarshal(body, &answer) != nil {
		return 0
	}
	n := len(answer.Hits.Hits)
	for _, r := range answer.Responses {
		n += len(r.Hits.Hits)
	}
	for _, d := range answer.Docs {
		if d.Found {
			n++
		}
	}
	return int64(n)
}
