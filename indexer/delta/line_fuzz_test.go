package delta

import (
	"bytes"
	"testing"

	"atlas/search/catalog"
	"atlas/search/document"
)

// FuzzLine: a line of a delta has problems, or its entry survives being written and read, and
// has the record that a load makes of the line.
func FuzzLine(f *testing.F) {
	const id = "0197a1b2-0000-7000-8000-000000000001"
	for _, line := range []string{
		`{"id":"` + id + `","deleted":true}`, `{"id":"` + id + `","deleted":true,"updated_at":"2025-01-02T03:04:05.678Z"}`,
		`{"id":"` + id + `","deleted":true,"updated_at":null,"name":"x"}`, `{"deleted":true}`, `{"deleted":1,"id":7}`,
		`{"id":"` + id + `","deleted":false,"name":"\"deleted\""}`, `{"id":"` + id + `","name":"Acme","domains":["a.example"],"deleted":false}`,
		`{"id":"` + id + `","title":"T","signal_type":"permit_filed","occurred_at":"2025-01-01"}`,
		`{"deleted":true,"deleted":true}`, `{"deleted":`, `["deleted"]`,
	} {
		for d := range catalog.Datasets {
			f.Add([]byte(line), uint8(d))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte, which uint8) {
		d := catalog.Datasets[int(which)%len(catalog.Datasets)]
		e, problems := parseLine(d, line)
		if len(problems) > 0 {
			for _, p := range problems {
				if p.Reason == "" {
					t.Errorf("%q: a problem of %q without a reason", line, p.Field)
				}
			}
			return
		}
		e.file, e.line = 3, 7
		decoded, err := decodeEntry(d, e.id, e.append(nil))
		if err != nil || decoded.deleted != e.deleted || decoded.updated != e.updated && e.deleted || decoded.file != 3 || decoded.line != 7 {
			t.Fatalf("%q: %+v is read back as %+v, %v", line, e, decoded, err)
		}
		if e.deleted {
			return
		}
		if e.id != recordID(document.IDBytes(e.record.ID())) || !bytes.Equal(decoded.record.AppendPublic(nil), e.record.AppendPublic(nil)) {
			t.Errorf("%q: record %s is read back as %s", line, e.record.AppendPublic(nil), decoded.record.AppendPublic(nil))
		}
	})
}

// FuzzLetter: a dead letter belongs to a dataset, or its problems are reported and nothing
// of the line is lost.
func FuzzLetter(f *testing.F) {
	for _, line := range []string{
		`{"dataset":"accounts","file":"a","line":1,"problems":[],"record":{"id":"x"}}`, `{"dataset":"signals","text":"{broken"}`,
		`{"dataset":"","record":{"dataset":"contacts","record":{}}}`, `{"dataset":"","text":"{\"dataset\":\"\"}"}`,
		`{"dataset":"none","record":1}`, `{}`, `null`, `[`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		d, corrected, known, problems := parseDeadLetter(line)
		switch {
		case len(problems) == 0 && (!known || !catalog.IsDataset(string(d)) || len(corrected) == 0):
			t.Errorf("%q is read as %q of %q, known %v", line, corrected, d, known)
		case len(problems) > 0 && (len(corrected) == 0 && len(line) > 0 || problems[0].Reason == ""):
			t.Errorf("%q: nothing is kept of it, %v", line, problems)
		}
	})
}
