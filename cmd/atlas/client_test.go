package main

import (
	"errors"
	"iter"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/client"
	"atlas/service/api"
)

// client calls the service with a key or a token, in the test's workspace.
func (s *service) client(token string, options ...client.Option) *client.Client {
	s.t.Helper()
	options = append([]client.Option{client.WithAPIKey(token), client.WithWorkspace(s.pro.ID.String())}, options...)
	c, err := client.New(s.base, options...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// must returns the value of a call that must succeed: must(f())(t).
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// collect collects the items of an iteration, which must succeed.
func collect[T any](t *testing.T, walk iter.Seq2[T, error]) []T {
	t.Helper()
	return must(client.Collect(walk))(t)
}

// reached counts the operations that succeeded.
type reached struct {
	lock       sync.Mutex
	operations map[string]bool
	credits    int
}

func (r *reached) observe(a client.Answer) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.credits += a.Charged
	if a.Err != nil {
		return
	}
	for _, route := range (&api.Server{}).Routes() {
		pattern := "^" + regexp.MustCompile(`:[A-Za-z]+`).ReplaceAllString(route.Path, "[^/]+") + "$"
		if route.Method == a.Method && regexp.MustCompile(pattern).MatchString(a.Path) {
			r.operations[route.Operation] = true
		}
	}
}

// The client has a method for each operation of the route table, and the service
// accepts its requests and sends answers that it can read.
func TestClientReachesEveryOperation(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	seen := &reached{operations: map[string]bool{}}
	key := s.client(s.key, client.WithObserver(seen.observe))
	user := s.client(s.user("owner"), client.WithObserver(seen.observe))

	clientOfData(t, key)
	clientOfBooks(t, key)
	clientOfViews(t, key, user)
	clientOfPeople(t, s, key, seen)
	clientOfKeyPolicy(t, key, user)
	clientOfKeyActions(t, key, user)
	clientOfIdentity(t, s, key, user)
	clientOfProvisioning(t, s, user)

	if used := must(key.Usage(t.Context()))(t); used.Used != seen.credits || used.Used == 0 {
		t.Errorf("the answers charged %d, the ledger has %+v", seen.credits, used)
	}
	for _, route := range (&api.Server{}).Routes() {
		if !seen.operations[route.Operation] {
			t.Errorf("no call of the client reached %s (%s %s)", route.Operation, route.Method, route.Path)
		}
	}
}

func clientOfData(t *testing.T, c *client.Client) {
	ctx := t.Context()
	w := must(c.Workspace(ctx))(t)
	now := must(c.Changes(ctx, client.WorkspaceChangesRequest{}))(t)
	if len(now.Changes) > 0 || !now.CaughtUp || now.Next == "" {
		t.Errorf("%+v", now)
	}
	for page, err := range c.Follow(ctx, client.WorkspaceChangesRequest{Since: w.CreatedAt.Add(-time.Hour), Limit: 1, Wait: time.Second}) {
		if err != nil || len(page.Changes) != 1 || page.Changes[0].Kind != client.KindSetting || page.Changes[0].ID != w.ID ||
			!page.Changes[0].By.Operator {
			t.Errorf("%+v, %v", page, err)
		}
		break
	}
	if w.Plan != "pro" || w.Role != "" || w.CreatedAt.IsZero() {
		t.Errorf("%+v", w)
	}
	page := must(c.Projects.Search(ctx, client.Search{
		Filters: client.Filters{"cost": client.AtLeast(1000), "stage": client.AnyOf("permitted", "under_construction", "completed")},
		Relations: client.Relations{
			"has_signal":     {"detected_at": client.AtLeast("2000-01-01")},
			"without_signal": {"title": client.Is("nothing of the kind")},
		},
		Sort: client.Desc("cost"), Limit: 7,
	}))(t)
	if len(page.Records) != 7 || page.Credits != 7 || page.Window.Used != 7 || page.Window.Ceiling != 250_000 ||
		page.Next == "" || page.RequestID == "" {
		t.Fatalf("%+v", page)
	}
	for i, p := range page.Records {
		if p.Cost == nil || *p.Cost < 1000 || i > 0 && *p.Cost > *page.Records[i-1].Cost || p.ID == "" || p.CreatedAt.IsZero() ||
			len(p.Raw) == 0 {
			t.Errorf("%+v", p)
		}
	}
	p := must(c.Projects.Get(ctx, page.Records[0].ID, "accounts", "contacts", "signals"))(t)
	if len(p.Signals) == 0 || p.Signals[0].ProjectID != p.ID || len(p.Raw) < len(page.Records[0].Raw) {
		t.Errorf("%s", p.Raw)
	}
	account := must(c.Accounts.Search(ctx, client.Search{Sort: client.Desc("projects_count"), Limit: 1}))(t).Records[0]
	account = must(c.Accounts.Get(ctx, account.ID, "projects"))(t)
	if len(account.Projects) == 0 || account.ProjectsCount < len(account.Projects) {
		t.Errorf("%s", account.Raw)
	}
	contact := must(c.Contacts.Search(ctx, client.Search{Limit: 1}))(t).Records[0]
	if contact = must(c.Contacts.Get(ctx, contact.ID, "account"))(t); contact.Account == nil || contact.Account.ID != contact.AccountID {
		t.Errorf("%s", contact.Raw)
	}
	signal := must(c.Signals.Search(ctx, client.Search{Filters: client.Filters{"project_id": client.Is(p.ID)}, Limit: 1}))(t).Records[0]
	if signal = must(c.Signals.Get(ctx, signal.ID, "project"))(t); signal.Project == nil || signal.Project.ID != p.ID {
		t.Errorf("%s", signal.Raw)
	}
	if _, err := c.Signals.Get(ctx, uuid.NewString()); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	joined := must(c.Joins.Page(ctx, client.Join{Search: client.Search{Sort: client.Desc("projects_count"), Limit: 1}}))(t)
	if len(joined.Records) != 1 || joined.Records[0].Account.ID != account.ID || joined.Records[0].Project == nil {
		t.Errorf("%+v", joined.Records)
	}

	counted := func(counts client.Facets, err error) {
		t.Helper()
		if err != nil || counts.Count == 0 || counts.ExportCredits != counts.Count {
			t.Errorf("%+v, %v", counts, err)
		}
	}
	counted(c.Accounts.Facets(ctx, client.FacetRequest{}))
	counted(c.Contacts.Facets(ctx, client.FacetRequest{}))
	counted(c.Projects.Facets(ctx, client.FacetRequest{}))
	counted(c.Signals.Facets(ctx, client.FacetRequest{}))
	pivoted := func(p client.Pivot, err error) {
		t.Helper()
		if err != nil || p.Count == 0 || p.Rows == nil || len(p.Rows.Groups) == 0 {
			t.Errorf("%+v, %v", p, err)
		}
	}
	byCity := client.PivotRequest{Rows: client.PivotBy{Field: "city", Limit: 3}}
	pivoted(c.Accounts.Pivot(ctx, byCity))
	pivoted(c.Contacts.Pivot(ctx, byCity))
	pivoted(c.Signals.Pivot(ctx, byCity))
	byCity.Columns = &client.PivotBy{Field: "filed_at", Interval: client.IntervalYear}
	byCity.Measure = &client.Measure{Field: "cost", Of: client.MeasureMedian}
	p2 := must(c.Projects.Pivot(ctx, byCity))(t)
	if p2.Columns == nil || len(p2.Cells) != len(p2.Rows.Groups) || p2.Columns.Groups[0].Kind != client.GroupOfBucket {
		t.Errorf("%+v", p2)
	}
	calgary := client.Within(client.Box{North: 51.3, South: 50.8, East: -113.8, West: -114.4})
	cells := must(c.Projects.Facets(ctx, client.FacetRequest{
		Filters: client.Filters{"location": calgary}, Facets: []client.Facet{{Geo: &client.GeoGrid{}, CountOwn: true}},
	}))(t)
	if len(cells.Facets) != 1 || len(cells.Facets[0].Geo) != 1 || cells.Count == 0 || cells.Facets[0].Geo[0].Count != cells.Count {
		t.Fatalf("%+v", cells)
	}
	cell := cells.Facets[0].Geo[0]
	if near := must(c.Projects.Cost(ctx, client.Search{Filters: client.Filters{
		"location": client.Near(cell.Latitude, cell.Longitude, 100_000),
	}}))(t); near.Count != int(cells.Count) {
		t.Errorf("%d near the middle, %d in the box", near.Count, cells.Count)
	}
	for _, d := range []client.DatasetName{client.DatasetAccounts, client.DatasetContacts, client.DatasetProjects, client.DatasetSignals} {
		start := must(c.Dataset(d).Changes(ctx, client.ChangesRequest{}))(t)
		for page, err := range c.Dataset(d).Follow(ctx, client.ChangesRequest{Cursor: start.Next, Records: true, Wait: time.Second}) {
			if err != nil || !page.CaughtUp || page.Next == "" || len(page.Changes) > 0 {
				t.Errorf("%s: %+v, %v", d, page, err)
			}
			break
		}
		if r := must(c.Dataset(d).Read(ctx, client.ReadRequest{Query: "calgary"}))(t); len(r.Filters) == 0 && d != client.DatasetContacts {
			t.Errorf("%s: %+v", d, r)
		}
		for _, s := range must(c.Dataset(d).Suggest(ctx, client.SuggestRequest{Prefix: "cal", Field: "city", Limit: 20}))(t) {
			if s.Field != "city" || s.ID != "" || s.Count == 0 {
				t.Errorf("%s: %+v", d, s)
			}
		}
	}
	named := must(c.Accounts.Suggest(ctx, client.SuggestRequest{
		Prefix: account.Name, Field: "name",
		Filters: client.Filters{"projects_count": client.Is(account.ProjectsCount)},
	}))(t)
	if i := slices.IndexFunc(named, func(s client.Suggestion) bool { return s.ID == account.ID }); i < 0 || named[i].Value != account.Name {
		t.Errorf("%s: %+v", account.Name, named)
	}
	firms := must(c.Accounts.Match(ctx, client.MatchRequest{
		Inputs: []client.MatchInput{{Ref: "firm", Name: account.Name, City: account.City}}, Candidates: 5,
	}))(t)
	if len(firms.Results) != 1 || len(firms.Results[0].Candidates) == 0 || firms.Credits != len(firms.Results[0].Candidates) {
		t.Errorf("%s: %+v", account.Name, firms)
	}
	people := must(c.Contacts.Match(ctx, client.MatchRequest{Inputs: []client.MatchInput{{Ref: "person", Email: contact.Email}}}))(t)
	if len(people.Results) != 1 || len(people.Results[0].Candidates) != 1 {
		t.Errorf("%s: %+v", contact.Email, people)
	}
	if cost := must(c.Projects.Cost(ctx, client.Search{Limit: 3}))(t); cost.Credits != 3 || cost.Count < 3 {
		t.Errorf("%+v", cost)
	}
	none := uuid.NewString()
	gets := must(c.Projects.GetAll(ctx, []string{p.ID, none}, client.Shown{Fields: []string{"name"}, Include: []string{"signals"}}))(t)
	if got := gets.Items[0].Data; gets.Succeeded != 1 || got.ID != p.ID || got.Name != p.Name || got.Stage != "" || len(got.Signals) == 0 {
		t.Errorf("%+v", gets)
	}
	if got := gets.Items[1]; got.ID != none || !errors.Is(got.Err, client.ErrRecordNotFound) {
		t.Errorf("%+v", got)
	}
	if got := must(c.Accounts.GetAll(ctx, []string{account.ID}, client.Shown{}))(t).Items[0].Data; got.Name != account.Name ||
		got.CreatedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	if got := must(c.Contacts.GetAll(ctx, []string{contact.ID}, client.Shown{}))(t); got.Items[0].Data.Name != contact.Name {
		t.Errorf("%+v", got)
	}
	if got := must(c.Signals.GetAll(ctx, []string{signal.ID}, client.Shown{}))(t); got.Items[0].Data.Title != signal.Title {
		t.Errorf("%+v", got)
	}
	if got := must(c.Projects.GetWith(ctx, p.ID, client.Shown{Fields: []string{"city"}}))(t); got.ID != p.ID ||
		got.City != p.City || got.Name != "" {
		t.Errorf("%+v", got)
	}
	release := must(c.Release(ctx))(t)
	if of := release.Datasets["projects"]; len(release.Datasets) != 4 || of.Records == 0 || of.Newest.IsZero() || release.LoadedAt.IsZero() {
		t.Errorf("%+v", release)
	}
	if known := must(c.Coverage(ctx, client.CoverageQuery{Dataset: "projects", By: "stage", Limit: 1}))(t); len(known) != 1 ||
		known[0].Records == 0 || known[0].Known["stage"] != 1 {
		t.Errorf("%+v", known)
	}
	fields, notFound, err := c.Fields.Search(ctx, client.FieldSearch{Keys: []string{"stage", "nothing"}})
	if err != nil || len(fields) == 0 || !cmp.Equal(notFound, []string{"nothing"}) || len(fields[0].Values) == 0 {
		t.Errorf("%v %v %v", fields, notFound, err)
	}
	if f := must(c.Fields.Get(ctx, "accounts", "has_project"))(t); f.Kind != "relation" || len(f.SubFields) == 0 {
		t.Errorf("%+v", f)
	}
	if credits := must(c.Credits(ctx))(t); credits.Used != 7+7+5+joined.Credits+firms.Credits+people.Credits || credits.Plan != "pro" {
		t.Errorf("%+v", credits)
	}
	_, err = c.Projects.Search(ctx, client.Search{Filters: client.Filters{"colour": client.Is("red")}})
	if e, ok := errors.AsType[*client.Error](err); !ok || !errors.Is(err, client.ErrInvalidInput) ||
		e.Issues[0].Keys[0] != "colour" || e.RequestID == "" {
		t.Errorf("%v", err)
	}
}
