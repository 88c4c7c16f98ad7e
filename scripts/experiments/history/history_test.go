package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// at is an operation with its times, in milliseconds.
type at struct {
	call, back int64
	op         Op
}

func ptr(s string) *string { return &s }

func in(status string) Overlay { return Overlay{In: true, Status: status} }

// setTo is an upsert of a record that has no other overlay values.
func setTo(status string) Upsert {
	return Upsert{Change: Change{Status: ptr(status)}, Answer: in(status)}
}

func unsure(status string) Upsert {
	return Upsert{Change: Change{Status: ptr(status)}, Outcome: Unknown}
}

func found(k Kind, value string, is bool) Found { return Found{By: Condition{k, value}, Found: is} }

var someView = ViewAnswer{Name: "A", Revision: 1}

// Each history is linearizable or not.
func TestJudge(t *testing.T) {
	t.Parallel()
	fresh, linked := Start{Record{}}, Start{Record{Linked: true}}
	for _, c := range []struct {
		name string
		fine bool
		all  []at
	}{
		{"what was written is read", true, []at{{0, 0, fresh}, {1, 2, setTo("a")}, {3, 4, Shows{Overlay: in("a")}}}},
		{"what was written is not read", false, []at{{0, 0, fresh}, {1, 2, setTo("a")}, {3, 4, Shows{}}}},
		{"a read beside a write may come before it", true, []at{{0, 0, fresh}, {1, 5, setTo("a")}, {3, 4, Shows{}}}},
		{"what was read stays", false, []at{{0, 0, fresh}, {1, 9, setTo("a")}, {2, 3, Shows{Overlay: in("a")}}, {4, 5, Shows{}}}},
		{"an upsert answers halves of two writes", false, []at{
			{0, 0, fresh}, {1, 2, setTo("a")},
			{3, 4, Upsert{Change: Change{Notes: ptr("b")}, Answer: Overlay{In: true, Notes: "b"}}},
		}},
		{"an unknown write was done", true, []at{{0, 0, fresh}, {1, 2, unsure("a")}, {3, 4, Shows{Overlay: in("a")}}}},
		{"an unknown write was not done", true, []at{{0, 0, fresh}, {1, 2, unsure("a")}, {3, 4, Shows{}}}},
		{"an unknown write is done late", false, []at{{0, 0, fresh}, {1, 2, unsure("a")}, {3, 4, Shows{}}, {5, 6, Shows{Overlay: in("a")}}}},
		{"an unknown deletion is seen and unseen", false, []at{
			{0, 0, fresh}, {1, 2, setTo("a")}, {3, 4, Delete{Unknown}}, {5, 6, Stored{}},
			{7, 8, Shows{Overlay: in("a")}},
		}},

		{"a search misses a row", false, []at{{0, 0, fresh}, {1, 2, setTo("a")}, {3, 4, found(InBook, "", false)}}},
		{"a search finds what was deleted", false, []at{{0, 0, fresh}, {1, 2, setTo("a")}, {3, 4, Delete{}}, {5, 6, found(InBook, "", true)}}},
		{"a search's two reads see two states", true, []at{
			{0, 0, fresh},
			{1, 2, Upsert{Change: Change{Tags: ptr("x")}, Answer: Overlay{In: true, Tags: "x"}}},
			{3, 9, found(Tagged, "x", true)}, {3, 9, Shows{Overlay: Overlay{In: true, Tags: "y"}}},
			{4, 5, Upsert{Change: Change{Tags: ptr("y")}, Answer: Overlay{In: true, Tags: "y"}}},
		}},
		{"a search finds by an old tag", false, []at{
			{0, 0, fresh},
			{1, 2, Upsert{Change: Change{Tags: ptr("x")}, Answer: Overlay{In: true, Tags: "x"}}},
			{4, 5, Upsert{Change: Change{Tags: ptr("y")}, Answer: Overlay{In: true, Tags: "y"}}},
			{6, 7, found(Tagged, "x", true)},
		}},

		{"a contact is added that nobody sees", false, []at{{0, 0, fresh}, {1, 2, Join{View: "v"}}}},
		{"a contact that nobody sees is refused", true, []at{{0, 0, fresh}, {1, 2, Join{"v", Refused}}}},
		{"a record that all see is refused", false, []at{{0, 0, linked}, {1, 2, Join{"v", Refused}}}},
		{"a View keeps a contact visible", true, []at{
			{0, 0, fresh}, {1, 2, setTo("a")}, {3, 4, Join{View: "v"}}, {5, 6, Delete{}},
			{7, 8, found(Visible, "", true)},
		}},
		{"a deleted View shows its contact on", false, []at{
			{0, 0, fresh}, {1, 2, setTo("a")}, {3, 4, Join{View: "v"}}, {5, 6, Delete{}}, {7, 8, Drop{View: "v"}}, {9, 10, found(Visible, "", true)},
		}},
		{"a record comes into a deleted View", false, []at{{0, 0, linked}, {1, 2, Drop{View: "v"}}, {3, 4, Join{View: "v"}}}},
		{"a record is still in a View it left", false, []at{
			{0, 0, linked}, {1, 2, Join{View: "v"}}, {3, 4, Leave{View: "v"}}, {5, 6, found(InView, "v", true)},
		}},

		{"a View is counted", true, []at{
			{1, 2, Made{someView}}, {3, 4, Contents{Records: []string{"r", "s"}}},
			{5, 6, Seen{true, ViewAnswer{"A", 1, 2}}},
		}},
		{"a View is counted wrong", false, []at{
			{1, 2, Made{someView}}, {3, 4, Contents{Records: []string{"r", "s"}}},
			{5, 6, Seen{true, ViewAnswer{"A", 1, 1}}},
		}},
		{"two changes of one revision", false, []at{
			{1, 2, Made{someView}},
			{3, 9, Rename{To: "B", Revision: 1, Answer: ViewAnswer{"B", 2, 0}}}, {3, 9, Rename{To: "C", Revision: 1, Answer: ViewAnswer{"C", 2, 0}}},
		}},
		{"one of two changes of one revision is refused", true, []at{
			{1, 2, Made{someView}},
			{3, 9, Rename{To: "B", Revision: 1, Answer: ViewAnswer{"B", 2, 0}}}, {3, 9, Rename{To: "C", Revision: 1, Outcome: Refused}},
		}},
		{"a View is searched after its deletion", false, []at{{1, 2, Made{someView}}, {3, 4, Ended{}}, {5, 6, Searched{true}}}},
		{"a View that was deleted is deleted", false, []at{{1, 2, Made{someView}}, {3, 4, Ended{}}, {5, 6, Ended{}}}},
		{"half of an unknown batch is in a View", false, []at{
			{1, 2, Made{someView}}, {3, 4, Contents{Records: []string{"r", "s"}, Outcome: Unknown}},
			{5, 6, Seen{true, ViewAnswer{"A", 1, 1}}},
		}},
		{"of an unknown batch of contacts those that are visible", true, []at{
			{1, 2, Made{someView}}, {3, 4, Contents{Records: []string{"r", "s"}, Outcome: Unknown, Part: true}},
			{5, 6, Seen{true, ViewAnswer{"A", 1, 1}}},
		}},

		{"Favorites are in their order", true, []at{
			{0, 0, Start{Favorites("a b")}}, {1, 2, Reorder{View: "c", Position: 1}},
			{3, 4, Reorder{Front: []string{"b"}}}, {5, 6, Listed{"b a c"}},
		}},
		{"Favorites are in another order", false, []at{
			{0, 0, Start{Favorites("a b")}}, {1, 2, Reorder{Away: []string{"a"}, Outcome: Unknown}},
			{5, 6, Listed{"b a"}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			log := NewLog(time.Now())
			for i, o := range c.all {
				log.Add("the/thing", Span{i, o.call * 1e6, o.back * 1e6}, o.op)
			}
			log.Note("kills", "server 1", 1e6, 2e6)
			dir := filepath.Join(t.TempDir(), "drawn")
			v, err := log.Judge(dir)
			if err != nil {
				t.Fatal(err)
			}
			if v.Things != 1 || v.Operations != len(c.all) || len(v.Undecided) != 0 || (len(v.Violations) == 0) != c.fine {
				t.Fatalf("%+v", v)
			}
			if c.fine {
				return
			}
			if !strings.Contains(v.Violations[0], "client") {
				t.Errorf("no culprit in %s", v.Violations[0])
			}
			drawing, err := os.ReadFile(filepath.Join(dir, "the-thing.html"))
			if err != nil || !strings.Contains(string(drawing), "server 1") {
				t.Errorf("no drawing with what was broken: %v", err)
			}
		})
	}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		wrong int
		all   []Spending
	}{
		{"counted", 0, []Spending{{1, 2, 10, 0, false, 10, false}, {3, 4, 0, 0, false, 10, false}}},
		{"delivered and not counted", 1, []Spending{{1, 2, 10, 0, false, 10, false}, {3, 4, 0, 0, false, 9, false}}},
		{"counted and not delivered", 1, []Spending{{1, 2, 10, 0, false, 10, false}, {3, 4, 0, 0, false, 11, false}}},
		{"in doubt, counted or not", 0, []Spending{{1, 2, 0, 5, true, -1, false}, {3, 4, 0, 0, false, 5, false}, {5, 6, 0, 0, false, 0, false}}},
		{"a request beside it may be counted", 0, []Spending{
			{1, 9, 10, 0, false, 10, false}, {3, 4, 0, 0, false, 10, false}, {5, 6, 0, 0, false, 0, false},
		}},
		{"refused too early", 1, []Spending{{1, 2, 90, 0, false, 90, false}, {3, 4, 0, 0, false, -1, true}}},
		{"refused at the ceiling", 0, []Spending{{1, 2, 100, 0, false, 100, false}, {3, 4, 0, 0, false, 100, true}}},
		{"served past the ceiling", 1, []Spending{{1, 2, 100, 0, false, 100, false}, {3, 4, 5, 0, false, 105, false}}},
		{"two pass the ceiling", 1, []Spending{
			{1, 9, 99, 0, false, 99, false}, {1, 9, 10, 0, false, 109, false}, {1, 9, 10, 0, false, 119, false},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := Ledger{Ceiling: 100, Page: 10}
			for _, s := range c.all {
				l.Add(s)
			}
			if _, wrong := l.Judge(); len(wrong) != c.wrong {
				t.Errorf("%d are wrong, not %d: %q", len(wrong), c.wrong, wrong)
			}
		})
	}
}

func TestLedgerCloses(t *testing.T) {
	t.Parallel()
	l := Ledger{Base: 5}
	l.Add(Spending{Call: 1, Return: 2, Charged: 10})
	l.Add(Spending{Call: 1, Return: 2, Doubt: 7, Lost: true})
	l.Add(Spending{Call: 1, Return: 2, Doubt: 100}) // a 503
	for used, fine := range map[int64]bool{14: false, 15: true, 22: true, 25: true, 26: false} {
		if wrong := l.Close(used, 3); (len(wrong) == 0) != fine {
			t.Errorf("%d: %q", used, wrong)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	v := NewVersions()
	v.Begin("r", 1, 10)
	v.End("r", 20)
	v.Begin("r", 2, 30)
	for _, c := range []struct {
		version    int
		call, back int64
		fresh      bool
		wrong      bool
	}{
		{0, 1, 5, true, false},
		{1, 1, 5, false, true},    // not begun yet
		{1, 12, 15, true, false},  // under way
		{0, 22, 25, false, false}, // held records follow later
		{0, 22, 25, true, true},
		{2, 35, 36, false, false},
		{3, 35, 36, false, true},
	} {
		_, before := v.Judge()
		v.Saw("r", c.version, Span{0, c.call, c.back}, c.fresh)
		if _, after := v.Judge(); (len(after) > len(before)) != c.wrong {
			t.Errorf("%+v: %q", c, after[len(before):])
		}
	}
	if seen, _ := v.Judge(); seen != 7 {
		t.Errorf("%d were judged", seen)
	}
}
