package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/cmd/internal/operator"
	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

func TestJobsCommands(t *testing.T) {
	t.Parallel()
	d := pgtest.New(t)
	o := operatorCLI{t, d.System}
	var ws operator.WorkspaceReport
	o.json(&ws, "workspace", "create", "One")
	system := d.OpenSystem(t, postgres.Options{MaxConns: 1})
	now := time.Now()
	j := jobs.New{
		ID: jobs.NewID(), Workspace: ws.ID, Kind: "webhook", Lane: uuid.New(),
		Payload: json.RawMessage(`{"secret": 1}`), RunAt: now.Add(time.Hour),
	}
	if err := system.AddJobs(t.Context(), []jobs.New{j}, now); err != nil {
		t.Fatal(err)
	}
	var counts []postgres.JobCount
	if o.json(&counts, "jobs"); len(counts) != 1 || counts[0].Count != 1 || counts[0].Due != 0 {
		t.Errorf("counts: %+v", counts)
	}
	var list []operator.JobReport
	if o.json(&list, "jobs", "list", "--kind=webhook", "--state=pending"); len(list) != 1 || list[0].ID != j.ID || list[0].NextAttempt == nil {
		t.Errorf("list: %+v", list)
	}
	if out, _ := o.run(0, "jobs", "list"); !strings.Contains(out, j.ID.String()) || strings.Contains(out, "secret") {
		t.Errorf("list:\n%s", out)
	}
	o.run(1, "jobs", "retry")
	if out, _ := o.run(0, "jobs", "retry", "--id="+j.ID.String()); out != "1 jobs are due now\n" {
		t.Errorf("retry: %s", out)
	}
	if out, _ := o.run(0, "jobs", "count", "--kind=webhook"); !strings.Contains(out, "webhook  pending  1      1") {
		t.Errorf("due:\n%s", out)
	}
	if o.json(&counts, "jobs", "count", "--state=failed"); len(counts) != 0 {
		t.Errorf("failed: %+v", counts)
	}
}
