//go:build attack

package attack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

// A workspace sends the ids, cursors, locators and tokens of another one wherever a
// route takes an id or a text: in the path, the query and the body. No answer has a
// text or id of the victim, an id of the victim is answered like an unknown one, and
// the victim's data does not change.
func TestIDs(t *testing.T) {
	seed := figures.Seed(t)
	f := figures.New(t, "ids", "another workspace's ids, cursors and texts in every place of every route", seed)
	random := rand.New(rand.NewPCG(seed, 9))
	r := rig.Start(t, rig.Options{Seed: seed})
	s := r.Serve(rig.PatientRedis)
	victim := newVictim(t, r, s, random)
	document, err := s.By(victim.Workspace).Want(t.Context(), 200, "GET", "/openapi.json", nil)
	rig.Check(t, err)
	spec := readSpec(t, document.Raw)
	intruders := newIntruders(t, r, s, victim)
	p := prober{t: t, victim: victim, spec: spec, random: random}
	before, err := victim.state(t.Context(), r)
	rig.Check(t, err)
	used, err := s.By(victim.Workspace).Used(t.Context())
	rig.Check(t, err)

	for _, i := range intruders {
		for _, o := range spec.operations {
			p.operation(i, o)
		}
	}

	if err := r.Settled(time.Minute); err != nil {
		t.Error(err)
	}
	changed := victim.changed(t, r, before)
	usedAfter, err := s.By(victim.Workspace).Used(t.Context())
	if err != nil {
		t.Error(err)
	}
	f.Report("operations", float64(len(spec.operations)), "")
	f.AtLeast("places of an id or a text", float64(p.places/len(intruders)), 200, "")
	f.AtLeast("requests", float64(p.sent), 5_000, "")
	f.AtLeast("requests with an id of the other's", float64(p.withID), 1_000, "")
	f.AtLeast("answered with success", float64(p.fine), 200, "")
	f.Exactly("answers that hold anything of the other's", float64(p.leaks), 0, "")
	f.Exactly("ids answered otherwise than ones that nobody has", float64(p.distinguished), 0, "")
	f.Exactly("answers of 5xx", float64(p.broken), 0, "")
	f.Exactly("entries into the other workspace", float64(p.entered), 0, "")
	f.Exactly("parts of the other's state that changed", float64(changed), 0, fmt.Sprintf("of %d", len(before)))
	f.Exactly("credits of the other's that were used", float64(usedAfter-used), 0, "")
}

// intruder is a caller in its own workspace. It may also be a member of the victim's
// workspace, but it acts in its own.
type intruder struct {
	name string
	rig.Caller
	view string // a Static View of its own
	// insider says that the caller is a member of the victim's workspace.
	insider bool
}

func newIntruders(t *testing.T, r *rig.Rig, s *rig.Server, v *victim) []intruder {
	t.Helper()
	w := r.Workspace(rig.Unlimited, "Intruder")
	_, owner := w.AddMember("owner", "Intruder", "owner@intruder.example")
	_, both := w.AddMember("admin", "Both", "both@intruder.example")
	v.AddMember("member", "Both", "both@intruder.example")
	var key struct{ Key string }
	rig.Check(t, r.Print(t.Context(), &key, "key", "create", "--workspace", w.ID, "--workspace", v.ID, "--name", "Both", "--scope", "all"))
	all := []intruder{
		{name: "key", Caller: rig.Caller{Base: s.Base, Token: w.Key, Workspace: w.ID}},
		{name: "user", Caller: rig.Caller{Base: s.Base, Token: owner, Workspace: w.ID}},
		{name: "key of both", Caller: rig.Caller{Base: s.Base, Token: key.Key, Workspace: w.ID}, insider: true},
		{name: "user of both", Caller: rig.Caller{Base: s.Base, Token: both, Workspace: w.ID}, insider: true},
	}
	for i := range all {
		all[i].view = makeView(t, all[i].Caller, "contact", "static", "Own "+all[i].name)
	}
	return all
}

// prober sends requests and counts their outcomes.
type prober struct {
	t      *testing.T
	victim *victim
	spec   *spec
	random *rand.Rand

	places, sent, withID, fine            int
	leaks, distinguished, broken, entered int
}

// value is a value of the victim, and a control whose answer must be equal, "" if there
// is none.
type value struct{ its, control string }

// ids returns ids of the victim, some of each kind. The control of an id that only the
// victim has is an unknown id. The control of a record that the victim holds is a
// record that nobody holds.
func (p *prober) ids() (all []value) {
	for _, kind := range []string{"workspace", "user", "view", "invitation", "subscription", "skill"} {
		for i, id := range p.victim.ids[kind] {
			if i < 2 || kind == "view" && i == 5 {
				all = append(all, value{id, uuid.NewString()})
			}
		}
	}
	for _, d := range held {
		last := len(p.victim.records[d]) - 1
		all = append(all, value{p.victim.records[d][0], p.victim.others[d][0]})
		if d == "contacts" {
			all = append(all, value{p.victim.records[d][last], p.victim.others[d][last]})
		}
	}
	return all
}

// operation tries every value at every place of an operation.
func (p *prober) operation(i intruder, o operation) {
	var body any
	if o.schema != nil {
		body = object{}
	}
	if len(o.examples) > 0 {
		body = o.examples[0]
	}
	p.enter(i, o, body)
	for _, at := range o.params {
		if at.in == "header" || at.name == "workspace_id" {
			continue
		}
		p.places++
		if at.schema["format"] == "uuid" {
			for _, v := range p.ids() {
				send := func(text string) rig.Answer { return p.send(i, o, map[string]string{at.name: text}, body) }
				p.compare(i, o, at.name, v, send)
			}
			continue
		}
		for _, text := range append([]string{bait}, p.victim.texts...) {
			p.send(i, o, map[string]string{at.name: text}, body)
		}
	}
	for _, l := range p.spec.leaves(o) {
		p.places++
		if l.uuid {
			for _, v := range p.ids() {
				p.compare(i, o, l.String(), v, func(text string) rig.Answer { return p.send(i, o, nil, p.filled(body, l, text)) })
			}
			continue
		}
		if !l.free {
			continue
		}
		values := []string{bait}
		switch l.path[len(l.path)-1] {
		case "search_after", "locator", "token":
			values = append(values, p.victim.texts...)
		}
		for _, text := range values {
			p.send(i, o, nil, p.filled(body, l, text))
		}
	}
}

// filled returns a body with a text at a leaf. The two ways of naming a record exclude
// each other.
func (p *prober) filled(body any, l leaf, text string) any {
	filled := put(body, l.path, text)
	within := asObject(filled)
	if l.path[0] == "inputs" && len(asList(within["inputs"])) > 0 {
		within = asObject(asList(within["inputs"])[0])
	}
	for name := range within {
		if slices.Contains(l.path, "match") && strings.HasSuffix(name, "_id") ||
			name == "match" && strings.HasSuffix(l.path[len(l.path)-1], "_id") {
			delete(within, name)
		}
	}
	return filled
}

// compare sends a value and its control and compares the answers.
func (p *prober) compare(i intruder, o operation, at string, v value, send func(string) rig.Answer) {
	like, got := send(v.control), send(v.its)
	p.withID++
	if want, is := outline(like), outline(got); want != is {
		p.distinguished++
		p.t.Errorf("%s: %s: %s: %s is answered %s, and one that nobody has %s", i.name, o.id, at, v.its, is, want)
	}
}

// outline is the part of an answer that does not depend on the record: the status, the
// codes and the names of members.
func outline(a rig.Answer) string {
	var body struct {
		Data     json.RawMessage
		Metadata object
		Error    struct{ Code, Message string }
	}
	if json.Unmarshal(a.Raw, &body) != nil {
		return fmt.Sprintf("%d %.100s", a.Status, a.Raw)
	}
	var batch struct {
		Results []struct {
			Status string
			Error  struct{ Code, Message string }
		}
	}
	_ = json.Unmarshal(body.Data, &batch) // most answers are not of batches
	shape := fmt.Sprintln(a.Status, body.Error.Code, body.Error.Message, body.Metadata["succeeded"], body.Metadata["failed"], batch.Results)
	return aUUID.ReplaceAllString(strings.ToLower(shape), "(id)")
}

// send sends one request and checks its answer for leaks.
func (p *prober) send(i intruder, o operation, params map[string]string, body any) rig.Answer {
	p.t.Helper()
	path, query := o.path, url.Values{}
	for _, at := range o.params {
		text, given := params[at.name]
		switch {
		case at.in == "path" && !given:
			path = strings.ReplaceAll(path, "{"+at.name+"}", p.usual(i, o, at))
		case at.in == "path":
			path = strings.ReplaceAll(path, "{"+at.name+"}", url.PathEscape(text))
		case at.in == "query" && given:
			query.Set(at.name, text)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return p.exchange(i, i.Caller, o, path, body)
}

func (p *prober) exchange(i intruder, c rig.Caller, o operation, path string, body any) rig.Answer {
	p.t.Helper()
	var sent bytes.Buffer
	if body != nil {
		rig.Check(p.t, json.NewEncoder(&sent).Encode(body))
	}
	var text any
	if body != nil {
		text = sent.String()
	}
	if strings.HasPrefix(path, "/health") {
		return rig.Answer{}
	}
	a, err := c.Do(p.t.Context(), o.method, path, text)
	if err != nil {
		p.t.Fatalf("%s: %s %s: %v", i.name, o.method, path, err)
	}
	p.sent++
	if a.Status < 300 {
		p.fine++
	}
	if a.Status >= 500 {
		p.broken++
		p.t.Errorf("%s: %s %s %s: %d %s", i.name, o.method, path, sent.String(), a.Status, a.Raw)
	}
	if leak := p.victim.leak(a, c.Workspace+path+sent.String()); leak != "" {
		p.leaks++
		p.t.Errorf("%s: %s %s %s shows %s", i.name, o.method, path, sent.String(), leak)
	}
	return a
}

// usual is the value of a path parameter that does not test a value of the victim.
func (p *prober) usual(i intruder, o operation, at param) string {
	switch {
	case strings.Contains(o.path, "/views/{id}"):
		if at.name == "id" {
			return i.view
		}
		return p.victim.others["contacts"][0]
	case at.name == "dataset":
		return "accounts"
	case at.name == "key":
		return "name"
	}
	return uuid.NewString()
}

// enter calls an operation with the victim's workspace_id, which only its members may
// do.
func (p *prober) enter(i intruder, o operation, body any) {
	if i.insider || !slices.ContainsFunc(o.params, func(at param) bool { return at.name == "workspace_id" }) {
		return
	}
	path := o.path
	for _, at := range o.params {
		if at.in == "path" {
			path = strings.ReplaceAll(path, "{"+at.name+"}", p.usual(i, o, at))
		}
	}
	c := i.Caller
	c.Workspace = p.victim.ID
	a := p.exchange(i, c, o, path, body)
	if a.Status != 403 && !(o.id == "accept_invitation" && a.Status >= 400) {
		p.entered++
		p.t.Errorf("%s: %s in the other workspace: %d %s", i.name, o.id, a.Status, a.Raw)
	}
}
