package workspace

import (
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/search/query"
)

// viewMembers are those that a View's row has of the global record, before the
// workspace's own.
var viewMembers = map[query.Dataset][]string{
	query.Accounts: {"id", "name", "account_types"},
	query.Projects: globalMembers[query.Projects],
	query.Contacts: globalMembers[query.Contacts],
}

// ViewRow renders a global record as a View shows it (docs/api.md, "View
// records"). Outside the book, where o is nil, all that is the workspace's own is
// null.
func ViewRow(d query.Dataset, public jsontext.Value, o *Overlay) (jsontext.Value, error) {
	values, err := pick(public, viewMembers[d])
	if err != nil {
		return nil, err
	}
	b := make(jsontext.Value, 0, 512)
	for i, name := range viewMembers[d] {
		b = append(member(b, name), values[i]...)
	}
	if o == nil {
		if d == query.Accounts {
			b = append(b, `,"icp_tier":null,"atlas_score":null`...)
		}
		return append(b, `,"workspace_status":null,"tags":null,"updated_at":null}`...), nil
	}
	if d == query.Accounts {
		b = appendText(member(b, "icp_tier"), o.ICPTier)
		b = strconv.AppendInt(member(b, "atlas_score"), int64(o.Score), 10)
	}
	b = appendText(member(b, "workspace_status"), o.Status)
	tags := o.Tags
	if tags == nil {
		tags = []string{}
	}
	list, err := json.Marshal(tags)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "stored tags are unreadable")
	}
	b = append(member(b, "tags"), list...)
	b = append(member(b, "updated_at"), '"')
	b = append(o.UpdatedAt.UTC().AppendFormat(b, TimeFormat), '"')
	return append(b, '}'), nil
}
