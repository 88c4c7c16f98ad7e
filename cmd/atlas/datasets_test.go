package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer/generate"
	"atlas/indexer/ndjson"
	"atlas/indexer/permits"
)

func TestGenerateCommand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "world")
	var stdout, stderr bytes.Buffer
	if code := run(
		t.Context(),
		[]string{"generate", "--records", "1000", "--seed", "7", "--out", dir, "--compress", "gz", "--json"}, &stdout,
		&stderr,
	); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var report generate.Report
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%s: %v", stdout.String(), err)
	}
	want := generate.Report{Records: ndjson.Counts{Accounts: 120, Contacts: 220, Projects: 260, Signals: 400}, Total: 1000, Seed: 7}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Error(diff)
	}
	for _, dataset := range ndjson.Datasets {
		if _, err := os.Stat(filepath.Join(dir, dataset+".ndjson.gz")); err != nil {
			t.Error(err)
		}
	}
	stdout.Reset()
	stderr.Reset()
	// The folder has the same datasets with another compression.
	if code := run(t.Context(), []string{"generate", "--records", "10", "--out", dir}, &stdout, &stderr); code == 0 ||
		!strings.Contains(stderr.String(), "accounts.ndjson.gz") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}

func TestPermitsCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "permits.csv")
	text := "permitnum,statuscurrent,applieddate,issueddate,completeddate,permitclass,permitclassgroup,description,applicantname,contractorname,housingunits,estprojectcost,totalsqft,originaladdress,latitude,longitude\n" +
		"1,Lost,2024-05-02T00:00:00.000,,,1106 - House,Single Family,,Acme,,1,2.5,,1 A ST,51,-114\n" +
		"2,New,yesterday,,,1106 - House,Single Family,,Acme,,1,2.5,,1 A ST,51,-114\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"index", "permits", file, "--out", out, "--json"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var report permits.Report
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%s: %v", stdout.String(), err)
	}
	type brief struct {
		Source        string
		Rows, Permits int64
		Records       ndjson.Counts
		Unknown       map[string]int64
		Refused       []permits.Refusal
	}
	want := brief{"calgary", 2, 1, ndjson.Counts{Accounts: 1, Projects: 1, Signals: 1}, map[string]int64{"Lost": 1},
		[]permits.Refusal{{Line: 3, Field: "applieddate", Reason: `"yesterday" is not a date`}}}
	if diff := cmp.Diff(want, brief{
		report.Source, report.Rows, report.Permits, report.Records, report.UnknownStatuses, report.Refused,
	}); diff != "" {
		t.Error(diff)
	}
	stdout.Reset()
	if code := run(t.Context(), []string{"index", "permits", file, "--out", out, "--sample"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	if said := stderr.String(); !strings.Contains(said, `permits.csv:3: left out: applieddate`) ||
		!strings.Contains(said, `unknown status "Lost"`) {
		t.Errorf("said %s", said)
	}
	if !strings.Contains(stdout.String(), "rows read 2, left out 1") {
		t.Errorf("printed %s", stdout.String())
	}
}
