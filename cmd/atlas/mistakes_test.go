package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"atlas/workspace"
)

// Mistakes on the command line: what is typed, the exit status, and what a good message
// contains. No message has more lines than its faults and two, shows a secret, or prints
// the list of options.
func TestMistakesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "list.csv")
	if err := os.WriteFile(list, []byte("Firm No,Firm\n1,Acme\n2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	workbook := filepath.Join(dir, "list.xlsx.csv")
	misnamed := filepath.Join(dir, "misnamed")
	for path, text := range map[string]string{
		workbook: "PK\x03\x04\x14\x00\x06\x00", filepath.Join(misnamed, "project.ndjson"): "{}\n",
		filepath.Join(misnamed, "index.ndjson"): "{}\n",
	} {
		if err := errors.Join(os.MkdirAll(misnamed, 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	headless, part := filepath.Join(dir, "headless.csv"), filepath.Join(dir, "above", "part")
	if err := errors.Join(
		os.MkdirAll(part, 0o700), os.WriteFile(filepath.Join(part, "accounts.ndjson"), []byte("{}\n"), 0o600),
		os.WriteFile(headless, []byte("Company^Town\nAcme^Calgary\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	const nowhere = "127.0.0.1:1"
	const secret = "verysecretvalue"
	service := []string{"ATLAS_URL=" + s.base, "ATLAS_API_KEY=" + s.key}
	away := []string{"ATLAS_URL=http://" + nowhere + "/api/v1", "ATLAS_API_KEY=" + s.key}
	database := []string{"ATLAS_POSTGRES_SYSTEM_URL=" + s.config.PostgresSystemURL}
	indexing := append([]string{"ATLAS_ELASTICSEARCH_URL=http://" + nowhere}, database...)
	for _, m := range []struct {
		typed  string
		env    []string
		status int
		want   []string
	}{
		{"serach accounts", nil, 2, []string{`no command "serach"`, `did you mean "search"?`}},
		{"index laod data", nil, 2, []string{`no command "laod"`, `did you mean "load"?`}},
		{"index", nil, 2, []string{"a command is missing: permits, sources, source, pull, load, apply"}},
		{"help serach", nil, 2, []string{`did you mean "search"?`}},
		{"dev", nil, 2, []string{"atlas-dev"}},
		{"completion ksh", nil, 2, []string{"must be one of bash, zsh, fish"}},
		{"version extra", nil, 2, []string{`"extra" is one argument too many`}},
		{"version --config /nowhere.yaml", nil, 2, []string{"/nowhere.yaml: no such file"}},

		{"-v", nil, 2, []string{"there is no option -v", "a command is missing"}},
		{"migrate --postgres-url postgres://" + nowhere + "/atlas", nil, 2, []string{
			"there is no option --postgres-url", "--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL) is required",
		}},
		{
			"migrate", []string{"ATLAS_POSTGRES_SYSTEM_URL=" + s.config.PostgresURL}, 2,
			[]string{"atlas migrate: --postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL): the connection acts as the role atlas_app", "it must act as atlas_system"},
		},
		{
			"workspace list", []string{"ATLAS_POSTGRES_SYSTEM_URL=" + s.config.PostgresURL}, 2,
			[]string{"--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL): the connection acts as the role atlas_app"},
		},
		{"search accounts --size 5", service, 2, []string{`did you mean "--limit"?`}},
		{"search accounts --where city=Calgary", service, 2, []string{`did you mean "--filter"?`}},
		{
			"search accounts", []string{"ATLAS_URL=" + s.base, "ATLAS_API_KEY=" + s.key + "\n"}, 2,
			[]string{"--api-key (ATLAS_API_KEY): not an API key", "line breaks"},
		},
		{
			"search accounts", []string{"ATLAS_URL=" + s.base, "ATLAS_APIKEY=" + secret}, 2,
			[]string{"ATLAS_APIKEY means nothing: did you mean ATLAS_API_KEY?", "give either --api-key"},
		},
		{
			"workspace list",
			append(
				[]string{"ATLAS_POSTGRES=" + secret, "ATLAS_SERVICE_HOST=10.0.0.1", "ATLAS_PORT_80_TCP=x"},
				"ATLAS_POSTGRES_SYSTEM_URL=postgres://"+nowhere+"/atlas",
			),
			1, []string{"ATLAS_POSTGRES means nothing: did you mean ATLAS_POSTGRES_URL?", "refused"},
		},
		{
			"serve --webhook-allow 10.0.0.1 --listen :99999 --metrics-listen 9090", nil, 2,
			[]string{
				"10.0.0.1 is an address, not a network: for this address alone write 10.0.0.1/32",
				"--listen (ATLAS_LISTEN) must be host:port, such as 127.0.0.1:8080",
				"--metrics-listen (ATLAS_METRICS_LISTEN) must be host:port", "--elasticsearch-url", "--postgres-url",
				"--postgres-system-url", "--redis-url", "--cursor-keys",
			},
		},
		{"serve --port 9000", completeSettings, 2, []string{`there is no option --port; did you mean "--listen"?`}},
		{"serve --webhook-allow local", nil, 2, []string{
			`"local" is no network, such as 10.1.0.0/16`, "--elasticsearch-url", "--postgres-url",
			"--postgres-system-url", "--redis-url", "--cursor-keys",
		}},
		{"search accounts --limti 5", service, 2, []string{"no option --limti", `did you mean "--limit"?`}},
		{"search acounts", service, 2, []string{"<dataset> must be one of accounts,", `did you mean "accounts"?`}},
		{"search", service, 2, []string{"say what to read: DATASET, such as accounts, or --book or --view"}},
		{"search accounts contacts", service, 2, []string{`"contacts" is one argument too many`}},
		{"search accounts --limit ten", service, 2, []string{`--limit "ten" is not a whole number, such as 25`}},
		{"search accounts --limit 0", service, 2, []string{"--limit must be 1 to 10000"}},
		{"search accounts --limit", service, 2, []string{"--limit needs a value, such as 25"}},
		{"search accounts --output jsn", service, 2, []string{"must be one of table, json, csv", `did you mean "json"?`}},
		{"search accounts --json --output csv", service, 2, []string{"exclude each other"}},
		{"search accounts --json --output parquet", service, 2, []string{"exclude each other"}},
		{"search accounts --sort nmae", service, 2, []string{"no field nmae", `did you mean "name"?`}},
		{"search accounts --columns nmae", service, 2, []string{`did you mean "name"?`}},
		{"search accounts --fields nmae", service, 2, []string{`did you mean "name"?`}},
		{"search accounts --filter nmae=x", service, 2, []string{"no key nmae", `did you mean "name"?`}},
		{"search accounts --filter has_projekt", service, 2, []string{"no relation has_projekt", `did you mean "has_project"?`}},
		{"search accounts --retry-for 5", service, 2, []string{`"5" is not a duration: a number with a unit, such as 1m`}},
		{"search accounts", []string{"ATLAS_URL=" + s.base}, 2, []string{"give either --api-key (ATLAS_API_KEY) or --token (ATLAS_TOKEN)"}},
		{"search accounts", []string{"ATLAS_URL=localhost:8080", "ATLAS_API_KEY=" + secret}, 2, []string{"--url (ATLAS_URL)", "http"}},
		{"search accounts --retry-for 0s", away, 1, []string{
			"no service answers at http://" + nowhere, "connection refused", "--url (ATLAS_URL)",
		}},
		{"search accounts --bogus --limit x --output y", service, 2, []string{"--bogus", "--limit", "--output", "3 things are wrong"}},

		{"export accounts", service, 2, []string{"--out is required"}},
		{"export accounts --out accounts.xlsx", service, 2, []string{"ends in .xlsx", ".ndjson", ".parquet"}},
		{"export accounts --out /nowhere/accounts.csv", service, 1, []string{"/nowhere/accounts.csv", "no such file or directory"}},
		{"export accounts --out " + file + "/a.csv", service, 1, []string{"not a directory"}},
		{"export accounts --out " + dir, service, 1, []string{dir, "is a directory"}},
		{"export accounts --format csv --out " + file, service, 1, []string{"is there already", "--restart"}},
		{"enrich", service, 2, []string{"<file> is missing", "--out is required"}},
		{"enrich /nowhere.csv --out -", service, 2, []string{"/nowhere.csv: no such file"}},
		{"enrich " + list + " --out " + list, service, 2, []string{"FILE, --out and --cursor-file must be three different files"}},
		{"enrich " + list + " --out - --json", service, 2, []string{"both write to the standard output"}},
		{"enrich " + list + " --out list.ndjson", service, 2, []string{"list.ndjson is not the name of a CSV file"}},
		{"enrich " + list + " --out - --min-confidence 80", service, 2, []string{"--min-confidence must be 0 to 1, not 80"}},
		{"enrich " + list + " --out - --min-confidence NaN", service, 2, []string{"--min-confidence must be 0 to 1, not NaN"}},
		{"enrich " + list + " --out - --dataset contcats", service, 2, []string{"must be one of accounts, contacts", `did you mean "contacts"?`}},
		{"enrich " + list + " --out - --column nmae=Firm", service, 2, []string{`did you mean "name"?`}},
		{"enrich " + list + " --out - --column Firm", service, 2, []string{"must be MEMBER=HEADER, such as name=Firm"}},
		{"enrich " + list + " --out - --column name=Frim", service, 2, []string{`no such column; did you mean "Firm"?`, "#1 Firm No, #2 Firm"}},
		{"enrich " + list + " --out - --column name=#3", service, 2, []string{"the columns #1 to #2"}},
		{"enrich " + list + " --out - --column name=", service, 2, []string{"no column is known as the name"}},
		{"enrich " + list + " --out - --fields nmae", service, 2, []string{"--fields: there is no field nmae", `did you mean "name"?`}},
		{"enrich " + list + " --out -", service, 1, []string{list + ", line 3: the row has 1 cells, the header 2"}},
		{"follow accounts", service, 2, []string{"give either --dir or --table"}},

		{"index load", indexing, 2, []string{"<dir> is missing: Folder with accounts"}},
		{"index load /nowhere", indexing, 2, []string{"<dir> /nowhere: no such file or directory"}},
		{"index load " + file, indexing, 2, []string{"not a directory"}},
		{"index duplicates projects", indexing, 2, []string{"<dataset> must be one of accounts, contacts"}},
		{"index duplicates --min-confidence 90 --workers 300", indexing, 2, []string{
			"--min-confidence must be 0 to 1, not 90", "--workers must be 0 to 256",
		}},
		{"index permits /nowhere.csv --out " + dir, nil, 2, []string{"/nowhere.csv", "no such file"}},

		{"key create", nil, 2, []string{
			"--postgres-system-url (ATLAS_POSTGRES_SYSTEM_URL) is required", "--workspace is required",
			"--name is required", "--scope is required",
		}},
		{"key create --name k --scope all --workspace acme", database, 2, []string{"--workspace"}},
		{"key revoke " + secret, database, 2, []string{"<id> must be the id of an API key"}},
		{"workspace create Acme --plan prof", database, 2, []string{"must be one of free, pro", `did you mean "pro"?`}},
		{
			"workspace list", []string{"ATLAS_POSTGRES_SYSTEM_URL=postgres://u:" + secret + "@" + nowhere + "/atlas"},
			1, []string{nowhere, "refused"},
		},
		{"audit export --workspace " + s.pro.ID.String() + " --since yesterday", database, 2, []string{"--since must be a day, 2026-01-31"}},
		{"token", nil, 2, []string{"--jwt-secret (ATLAS_JWT_SECRET) is required"}},
		{"ready --url nonsense", nil, 2, []string{"--url (ATLAS_READY_URL) must begin with http://", "such as http://127.0.0.1:8080"}},

		// A second list: those of 138 that were poor or silent.
		{"search projects --sort -cost", service, 2, []string{"--sort needs a value; one that begins with a hyphen is written --sort=-cost"}},
		{"search projects --sort=-cost", service, 2, []string{"--sort is FIELD or FIELD:desc, such as cost:desc"}},
		{"search projects --sort cost,desc", service, 2, []string{"such as cost:desc"}},
		{"search projects --sort cost:descending", service, 2, []string{`did you mean "desc"?`}},
		{"search projects --limit -1", service, 2, []string{"--limit=-1"}},
		{"search projects -f cost=1000-2000", service, 2, []string{"a range is written cost=1000..2000"}},
		{"search projects -f cost=[1,000;2,000]", service, 2, []string{"a range is written cost=1000..2000"}},
		{"search projects -f cost=$1,000", service, 2, []string{"such as 1000"}},
		{"search projects -f cost>1000", service, 2, []string{"write --filter cost=1000.."}},
		{"search projects -f cost<=1000", service, 2, []string{"write --filter cost=..1000"}},
		{"search projects -f stage!=permitted", service, 2, []string{"write --none stage=permitted"}},
		{"search projects -f stage:permitted", service, 2, []string{"write --filter stage=permitted"}},
		{"search projects -f stage=permitted,filed", service, 2, []string{"--filter stage=permitted --filter stage=filed"}},
		{"search projects -f {stage:1}", service, 2, []string{`unexpected "stage" at line 1, column 2`}},
		{"search projects -f stage=permitted cost=1..2", service, 2, []string{"one argument too many; conditions are given by --filter"}},
		{"search projects garage", service, 2, []string{"one argument too many; words to find are given by --query"}},
		{"export projects out.csv", service, 2, []string{"the file is given by --out", "--out is required"}},
		{"export projects --output out.csv", service, 2, []string{`did you mean "--out"?`, "--out is required"}},
		{"enrich contacts list.csv --out -", service, 2, []string{`"list.csv" is one argument too many; the dataset is given by --dataset`}},
		{"search projects --url http://127.0.0.1:9", service, 2, []string{`must end in /api/v1: write "http://127.0.0.1:9/api/v1"` + "\n"}},
		{"enrich " + workbook + " --out -", service, 1, []string{"a workbook, such as of Excel: save it as CSV in UTF-8"}},
		{"index permits " + workbook + " --out " + dir, nil, 1, []string{"is a damaged .zip"}},
		{
			"index load " + misnamed, append([]string{"ATLAS_ELASTICSEARCH_URL=http://" + nowhere}, database...), 1,
			[]string{`it has index.ndjson, project.ndjson (did you mean "projects"?)`},
		},
		{
			"index apply " + misnamed, append([]string{"ATLAS_ELASTICSEARCH_URL=http://" + nowhere}, database...), 1,
			[]string{"none of accounts, contacts, projects, signals", "it has index.ndjson"},
		},
		{"workspace set " + s.pro.ID.String(), database, 2, []string{"atlas workspace set: say what to change: --plan, --ceiling, --name or --time-zone"}},
		{
			"follow projects --dir " + misnamed,
			append([]string{"ATLAS_FOLLOW_POSTGRES_URL=postgres://u:" + secret + "@" + nowhere + "/x"}, service...), 2,
			[]string{"--postgres (ATLAS_FOLLOW_POSTGRES_URL) needs --table"},
		},
		{"key delete x", nil, 2, []string{`did you mean "revoke"?`}},
		{"serve --traces localhost", nil, 2, []string{
			"--traces (ATLAS_TRACES) must begin with http:// or https://, such as http://127.0.0.1:4318",
			"--elasticsearch-url", "--postgres-url", "--postgres-system-url", "--redis-url", "--cursor-keys",
		}},
		{
			"serve", []string{"ATLAS_TLS_CERT=" + secret}, 2,
			[]string{
				"the variable ATLAS_TLS_CERT means nothing", "--elasticsearch-url", "--postgres-url",
				"--postgres-system-url", "--redis-url", "--cursor-keys",
			},
		},
		// A third list.
		{"enrich " + list + " --out list.xlsx", service, 2, []string{"list.xlsx is not the name of a CSV file"}},
		{"enrich " + list + " --out list.xlsx.gz", service, 2, []string{"list.xlsx.gz is not the name of a CSV file"}},
		{"enrich " + headless + " --out -", service, 2, []string{
			"if this first row is data already, put a header before it, such as name,city",
			"separated by commas, semicolons, tabs or |",
		}},
		{"search accounts", append([]string{"ATLAS_TOKEN=" + secret}, service...), 2, []string{
			"--api-key (ATLAS_API_KEY) and --token (ATLAS_TOKEN) are both given, and exclude each other",
			"needs --workspace",
		}},
		{"search accounts", append([]string{"ATLAS_WORKSPACE=Acme"}, service...), 2, []string{
			"--workspace (ATLAS_WORKSPACE) must be the id of a workspace", "UUID",
		}},
		{"search --view Large", service, 2, []string{"--view must be the id of a View", "GET /workspace/views lists the ids"}},
		{"search book", service, 2, []string{"did you mean --book?"}},
		{"export accounts --out a.csv --limit 5", service, 2, []string{"--max-credits bounds how many records are read"}},
		{"search accounts --offset 5", service, 2, []string{"--limit takes up to 10000 records, and atlas export writes all to a file"}},
		{"search accounts --page=2", service, 2, []string{"--limit takes up to 10000 records"}},
		{"search accounts --out a.csv", service, 2, []string{"atlas export writes all to a file"}},
		{"search projects -f stage=", service, 2, []string{`a value is missing; records without one are found by --filter '{"stage":{"known":false}}'`}},
		{"search projects -f stage=null", service, 2, []string{`--filter '{"stage":{"known":false}}'`}},
		{"search projects -f stage=permitted|filed", service, 2, []string{"--filter stage=permitted --filter stage=filed"}},
		{"search projects -f filed_at=2020", service, 2, []string{
			"the service does not accept the request:", "--filter filed_at must be",
			"written filed_at=2020-01-01..2020-12-31",
		}},
		{"follow projects --postgres postgres://u@" + nowhere + "/x", service, 2, []string{"--table is missing"}},
		{"key create --name k --scope all --workspace Acme", database, 2, []string{
			"--workspace must be a UUID", "atlas workspace list shows the ids",
		}},
		{"member remove anna@example.com --workspace " + s.pro.ID.String(), database, 2, []string{
			"<user> must be a UUID", "atlas member list shows the ids",
		}},
		{"workspace inspect", database, 2, []string{
			`there is no command "inspect": create, set, list, delete`, "atlas workspace --help lists what there is",
		}},
		{"index load " + part, indexing, 1, []string{"only with --allow-missing; it has accounts.ndjson (nothing"}},
		{"index load " + filepath.Dir(part), indexing, 1, []string{"it has the folder " + part + " with such files"}},
		{"facets projects --facet stage,city", service, 2, []string{"--facet stage --facet city"}},
		{"serve --listen 127.0.0.1:99999", nil, 2, []string{
			"the port at most 65535", "--elasticsearch-url", "--postgres-url", "--postgres-system-url", "--redis-url",
			"--cursor-keys",
		}},
		{"ready --timeout 1h", nil, 2, []string{"--timeout must be 100ms to 1m, not 1h"}},
	} {
		got := atlasWith(t, m.env, strings.Fields(m.typed)...)
		if got.status != m.status || got.out != "" {
			t.Errorf("atlas %s: status %d, want %d; %s%s", m.typed, got.status, m.status, got.out, got.err)
		}
		for _, want := range m.want {
			if !strings.Contains(got.err, want) {
				t.Errorf("atlas %s: no %q in\n%s", m.typed, want, got.err)
			}
		}
		if strings.Count(got.err, "\n") > len(m.want)+2 || strings.Contains(got.err, secret) ||
			strings.Contains(got.err, s.key) || strings.Contains(got.err, "\x1b") || strings.Contains(got.err, "Usage:") {
			t.Errorf("atlas %s says\n%s", m.typed, got.err)
		}
	}
}

// A list of jobs of an unknown kind is an error.
func TestUnknownKindOfJobs(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	for _, command := range []string{"count", "list", "retry"} {
		got := atlasWith(t, []string{"ATLAS_POSTGRES_SYSTEM_URL=" + s.config.PostgresSystemURL}, "jobs", command, "--kind", "mail")
		if got.status != 0 || !strings.Contains(got.err, `no job has the kind "mail"`) {
			t.Errorf("atlas jobs %s: status %d, %s", command, got.status, got.err)
		}
	}
}

// Ctrl-C ends a command that waits, and a reader that goes away ends one that writes,
// without a message.
func TestEndsFromOutside(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	hanging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client is gone
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer hanging.Close()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "search", "accounts")
	command.Env = []string{
		runAsAtlas + "=1", "ATLAS_URL=" + hanging.URL + "/api/v1", "ATLAS_TOKEN=t",
		"ATLAS_WORKSPACE=" + workspace.NewID().String(),
	}
	var said syncBuffer
	command.Stderr = &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case <-asked:
	case <-ended:
		t.Fatalf("it does not ask: %s", said.String())
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	if <-ended; command.ProcessState.ExitCode() != 130 || said.String() != "atlas: interrupted\n" {
		t.Errorf("status %d: %s", command.ProcessState.ExitCode(), said.String())
	}

	pipe := exec.CommandContext(t.Context(), "bash", "-c", `"$0" help | head -n 1; echo "${PIPESTATUS[0]}" >&2`, os.Args[0])
	pipe.Env = []string{runAsAtlas + "=1", "PATH=" + os.Getenv("PATH")}
	var errs strings.Builder
	pipe.Stderr = &errs
	out, err := pipe.Output()
	if err != nil || !strings.HasPrefix(string(out), "Usage: atlas") || errs.String() != "0\n" && errs.String() != "141\n" {
		t.Errorf("%v %s%s", err, out, &errs)
	}
}
