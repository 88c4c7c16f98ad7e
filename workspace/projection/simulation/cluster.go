package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// cluster is a model of Elasticsearch as projection uses it: indices and aliases,
// external versions, deletes that are garbage-collected, and searches that see
// refreshed documents.
type cluster struct {
	now func() time.Time
	// refreshIn draws how long after its first write an index refreshes itself.
	refreshIn func() time.Duration

	indices map[string]*index
	created int // number of indices ever created
	// onWrite is called for every document that is written.
	onWrite func(i *index, id string, d *document)
}

// index is one index. Documents are replaced, never changed in place.
type index struct {
	name, uuid string
	number     int // in order of creation
	aliases    []string
	live       map[string]*document
	visible    map[string]*document // to searches
	changed    map[string]bool      // since the last refresh
	refreshAt  time.Time            // next automatic refresh; zero: nothing changed
	// global has the records of an index of global records; nil for a held index.
	global map[string]globalRecord
}

// document is a document or a tombstone. Elasticsearch may drop tombstones at any
// time.
type document struct {
	version int64
	routing string
	source  []byte
	deleted bool
}

// elasticError is an error response of Elasticsearch.
type elasticError struct {
	status       int
	kind, reason string
}

func (f *elasticError) Error() string { return fmt.Sprintf("%d %s: %s", f.status, f.kind, f.reason) }

func indexNotFound(name string) *elasticError {
	return &elasticError{http.StatusNotFound, "index_not_found_exception", "no such index [" + name + "]"}
}

func aliasNameTaken(alias string) *elasticError {
	return &elasticError{http.StatusBadRequest, "invalid_alias_name_exception", "an index has the name [" + alias + "]"}
}

func newCluster(now func() time.Time, refreshIn func() time.Duration) *cluster {
	return &cluster{now: now, refreshIn: refreshIn, indices: map[string]*index{}, onWrite: func(*index, string, *document) {}}
}

func (c *cluster) create(name string, aliases []string) error {
	if _, there := c.indices[name]; there {
		return &elasticError{http.StatusBadRequest, "resource_already_exists_exception", "index [" + name + "] already exists"}
	}
	if len(c.indicesOf(name)) > 0 {
		return &elasticError{http.StatusBadRequest, "invalid_index_name_exception", "[" + name + "] already exists as alias"}
	}
	for _, alias := range aliases {
		if _, there := c.indices[alias]; there {
			return aliasNameTaken(alias)
		}
	}
	c.created++
	slices.Sort(aliases)
	c.indices[name] = &index{
		name: name, uuid: fmt.Sprintf("uuid-%d", c.created), number: c.created, aliases: aliases,
		live: map[string]*document{}, visible: map[string]*document{}, changed: map[string]bool{},
	}
	return nil
}

// sorted sorts indices by creation: their names have a random part.
func sorted(list []*index) []*index {
	slices.SortFunc(list, func(a, b *index) int { return cmp.Compare(a.number, b.number) })
	return list
}

// indicesOf lists the indices of an alias.
func (c *cluster) indicesOf(alias string) (list []*index) {
	for _, i := range c.indices {
		if slices.Contains(i.aliases, alias) {
			list = append(list, i)
		}
	}
	return sorted(list)
}

// resolve finds indices by name, alias or pattern. A name without index is an error
// unless missing is set.
func (c *cluster) resolve(expression string, missing bool) (list []*index, err error) {
	for name := range strings.SplitSeq(expression, ",") {
		prefix, pattern := strings.CutSuffix(name, "*")
		if pattern {
			for _, i := range c.indices {
				if strings.HasPrefix(i.name, prefix) ||
					slices.ContainsFunc(i.aliases, func(a string) bool { return strings.HasPrefix(a, prefix) }) {
					list = append(list, i)
				}
			}
			continue
		}
		found := c.indicesOf(name)
		if i, there := c.indices[name]; there {
			found = append(found, i)
		}
		if len(found) == 0 && !missing {
			return nil, indexNotFound(name)
		}
		list = append(list, found...)
	}
	return slices.Compact(sorted(list)), nil
}

func (c *cluster) delete(expression string) {
	for name := range strings.SplitSeq(expression, ",") {
		delete(c.indices, name)
	}
}

type aliasAction struct {
	index, alias string
	remove, must bool
}

// changeAliases makes all changes or none.
func (c *cluster) changeAliases(actions []aliasAction) error {
	for _, a := range actions {
		if _, there := c.indices[a.index]; !there {
			return indexNotFound(a.index)
		}
	}
	next := map[string][]string{}
	for _, a := range actions {
		i := c.indices[a.index]
		if _, index := c.indices[a.alias]; index && !a.remove {
			return aliasNameTaken(a.alias)
		}
		if _, touched := next[a.index]; !touched {
			next[a.index] = slices.Clone(i.aliases)
		}
		at := slices.Index(next[a.index], a.alias)
		switch {
		case a.remove && at >= 0:
			next[a.index] = slices.Delete(next[a.index], at, at+1)
		case a.remove && a.must:
			return &elasticError{http.StatusNotFound, "aliases_not_found_exception", "aliases [" + a.alias + "] missing"}
		case !a.remove && at < 0:
			next[a.index] = append(next[a.index], a.alias)
		}
	}
	for name, aliases := range next {
		slices.Sort(aliases)
		c.indices[name].aliases = aliases
	}
	return nil
}

// write executes one item of `_bulk` with an external version; source is nil for a
// delete. It returns the status of the item.
func (c *cluster) write(alias, id, routing string, version int64, source []byte) (int, *elasticError) {
	behind := c.indicesOf(alias)
	if i, there := c.indices[alias]; there && source == nil {
		behind = []*index{i}
	}
	if len(behind) > 1 {
		return http.StatusBadRequest, &elasticError{
			http.StatusBadRequest,
			"illegal_argument_exception",
			"no write index is defined for alias [" + alias + "]",
		}
	}
	if len(behind) == 0 {
		return http.StatusNotFound, &elasticError{http.StatusNotFound, "index_not_found_exception",
			"no such index [" + alias + "] and [require_alias] request flag is [true] and [" + alias + "] is not an alias"}
	}
	i := behind[0]
	before := i.live[id]
	if before != nil && before.version > version {
		return http.StatusConflict, &elasticError{http.StatusConflict, "version_conflict_engine_exception",
			fmt.Sprintf("[%s]: version conflict, current version [%d] is higher than the one provided [%d]", id, before.version, version)}
	}
	i.live[id] = &document{version: version, routing: routing, source: source, deleted: source == nil}
	c.onWrite(i, id, i.live[id])
	i.changed[id] = true
	if i.refreshAt.IsZero() {
		i.refreshAt = c.now().Add(c.refreshIn())
	}
	there := before != nil && !before.deleted
	switch {
	case source == nil && !there:
		return http.StatusNotFound, nil
	case there:
		return http.StatusOK, nil
	default:
		return http.StatusCreated, nil
	}
}

func (i *index) refresh() {
	for id := range i.changed {
		if doc := i.live[id]; doc == nil || doc.deleted {
			delete(i.visible, id)
		} else {
			i.visible[id] = doc
		}
	}
	clear(i.changed)
	i.refreshAt = time.Time{}
}

// forgetDeletes drops tombstones, as a flush does.
func (i *index) forgetDeletes() {
	maps.DeleteFunc(i.live, func(id string, d *document) bool { return d.deleted })
}

// visibleDocuments returns the documents that a search of an index sees now.
func (c *cluster) visibleDocuments(i *index) map[string]*document {
	if !i.refreshAt.IsZero() && !c.now().Before(i.refreshAt) {
		i.refresh()
	}
	return i.visible
}

// highestVersion is the highest version that a search sees, 0 for none.
func (c *cluster) highestVersion(i *index) (most int64) {
	for _, d := range c.visibleDocuments(i) {
		most = max(most, d.version)
	}
	return most
}

// restore replaces an index by an earlier state, as from a snapshot. The new index has
// the same name and another uuid.
func (c *cluster) restore(i *index, live map[string]*document) {
	c.created++
	c.indices[i.name] = &index{
		name: i.name, uuid: fmt.Sprintf("uuid-%d", c.created), number: i.number, aliases: i.aliases,
		live: maps.Clone(live), visible: maps.Clone(live), changed: map[string]bool{},
	}
	c.indices[i.name].forgetDeletes()
	maps.DeleteFunc(c.indices[i.name].visible, func(id string, d *document) bool { return d.deleted })
}
