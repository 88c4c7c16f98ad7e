package simulation

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	searchdoc "atlas/search/document"
	"atlas/workspace/held"
	"atlas/workspace/projection"
)

// state is a record of a workspace as a commit left it.
type state struct {
	commit int64
	inBook bool
	status string
	views  []uuid.UUID
}

// recordCommit stores the state of a record after a commit.
func (w *world) recordCommit(k key) {
	s := state{commit: w.commits.Add(1), views: slices.Clone(w.db.members[k])}
	if o, exists := w.db.overlays[k]; exists {
		s.inBook = true
		s.status, _ = o.Values["workspace_status"].(string)
	}
	w.states[k] = append(w.states[k], s)
}

// statesSince lists the states of a record since a commit, first the state at that
// commit.
func (w *world) statesSince(k key, commit int64) []state {
	all := w.states[k]
	first := 0
	for i, s := range all {
		if s.commit <= commit {
			first = i
		}
	}
	if len(all) == 0 || all[first].commit > commit {
		return append([]state{{}}, all...)
	}
	return all[first:]
}

// checkDigest checks a write of a document: while its row has a digest, only an equal
// document may replace the document.
func (w *world) checkDigest(i *index, id string, doc *document) {
	at := slices.IndexFunc(w.db.registered, func(g held.Generation) bool {
		return g.Serving && i.uuid == g.IndexUUID && i.name == w.names.HeldGeneration(string(g.Dataset), g.Generation)
	})
	if at < 0 {
		return // not searched
	}
	d := w.db.registered[at].Dataset
	for k, r := range w.db.rows {
		if k.dataset != d || documentID(k) != id || r.digest == nil || doc.deleted {
			continue
		}
		bare := bytes.Replace(doc.source, fmt.Appendf(nil, `,"version":%d}}`, doc.version), []byte("}}"), 1)
		if digest := sha256.Sum256(bare); !bytes.Equal(digest[:], r.digest) {
			w.violation(
				"at %v %s@%d is replaced by another document, though the row (version %d) has a digest of the one that was there",
				w.now(),
				k,
				doc.version,
				r.version,
			)
		}
	}
}

func documentID(k key) string { return k.workspace.String() + ":" + k.record.String() }

// pending counts the pending rows of workspaces that can be projected.
func (w *world) pending() (n int) {
	for k, r := range w.db.rows {
		if r.pending() && !w.isPoisoned(k.workspace) {
			n++
		}
	}
	return n
}

// differences lists the documents that differ from their rows and global records. Call
// it when nothing is pending.
func (w *world) differences() (list []string) {
	for _, d := range catalog.Held {
		list = append(list, w.differencesOf(d)...)
	}
	for _, i := range w.held() {
		if strings.HasSuffix(i.name, "-write") {
			list = append(list, "there is an index with the name of an alias: "+w.indexName(i.name))
		}
	}
	for _, k := range w.db.order {
		r := w.db.rows[k]
		_, exists := w.db.overlays[k]
		if held := exists || len(w.db.members[k]) > 0; !held && r.stubSince.IsZero() && !w.isPoisoned(k.workspace) {
			list = append(list, k.String()+": nothing holds it, and its stub would stay for ever")
		}
		if (r.lost != 0 || r.viewDeleted != 0) && !w.isPoisoned(k.workspace) {
			list = append(list, k.String()+": its document is reported to searches as possibly wrong, and it is not")
		}
		if w.db.oldStub(k, projection.StubAge+2*LagBound) && !w.isPoisoned(k.workspace) {
			list = append(list, k.String()+": its stub is old and has not been removed")
		}
	}
	return list
}

func (w *world) differencesOf(d catalog.Dataset) (list []string) {
	alias := w.names.Held(string(d))
	serving := w.cluster.indicesOf(alias)
	if len(serving) != 1 {
		return []string{fmt.Sprintf("the alias %s is at %d indices", alias, len(serving))}
	}
	registered := false
	for _, g := range w.db.registered {
		registered = registered || g.Dataset == d && g.Serving && serving[0].name == w.names.HeldGeneration(string(d), g.Generation)
	}
	if !registered {
		list = append(list, fmt.Sprintf("searches of held %s go to an index that is not registered as serving", d))
	}
	visible := w.cluster.visibleDocuments(serving[0])
	records, err := w.cluster.serving(w.names.Alias(string(d)))
	if err != nil {
		return append(list, err.Error())
	}
	rows := map[string]bool{}
	for _, k := range w.db.order {
		if k.dataset != d {
			continue
		}
		rows[documentID(k)] = true
		if problem := w.difference(k, visible[documentID(k)], records); problem != "" && !w.isPoisoned(k.workspace) {
			list = append(list, k.String()+": "+problem)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(visible)) {
		if doc := visible[id]; !rows[id] {
			list = append(list, fmt.Sprintf("%s %s@%d has a document and no row", d, shortID(id), doc.version))
		}
	}
	return list
}

// difference describes how a document differs from the expected one, "" if it does
// not. document.BuildHeld makes the expected document from the row and the global
// record, without package projection.
func (w *world) difference(k key, doc *document, records map[string]globalRecord) string {
	r, h := w.db.rows[k], w.db.record(k)
	global, present := records[k.record.String()]
	unheld := h.Overlay == nil && len(h.Views) == 0
	want := searchdoc.Stub(k.record.String())
	if !unheld && present {
		public := global.public(k.dataset, k.record.String())
		record, err := searchdoc.FromPublic(k.dataset, public)
		if err != nil {
			return fault.Wrap(err, fault.Internal, "the model's record").Error()
		}
		held := searchdoc.Held{Workspace: k.workspace.String()}
		for _, v := range h.Views {
			held.Views = append(held.Views, v.String())
		}
		if o := h.Overlay; o != nil {
			held.Overlay = o
		}
		want = searchdoc.BuildHeld(record, global, held)
	}
	switch {
	case doc == nil && unheld: // a stub may be purged
		return ""
	case doc == nil:
		return "it has no document"
	case doc.version > r.version:
		return fmt.Sprintf("its document has version %d, the row %d", doc.version, r.version)
	case doc.routing != k.workspace.String():
		return "its document is routed to " + doc.routing
	case !unheld && r.present != present:
		return fmt.Sprintf("the row says that the global record is there: %v", r.present)
	}
	if want = searchdoc.WithVersion(want, doc.version); !bytes.Equal(want, doc.source) {
		return fmt.Sprintf("its document is stale, and will stay so:\n    is        %s\n    should be %s", doc.source, want)
	}
	return ""
}

func (k key) String() string {
	return strings.Join([]string{string(k.dataset), short(k.record), "of workspace", short(k.workspace)}, " ")
}
