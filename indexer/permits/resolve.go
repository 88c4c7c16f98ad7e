package permits

import (
	"bytes"
	"slices"
)

var accountsKey = []byte(`"account_ids":[`)

// resolve replaces the firms' own ids in a line by those of their accounts, without duplicates.
func (r *run) resolve(line []byte, links map[string]string) []byte {
	at := bytes.Index(line, accountsKey)
	if len(links) == 0 || at < 0 {
		return line
	}
	at += len(accountsKey)
	end := bytes.IndexByte(line[at:], ']')
	if end <= 0 {
		return line
	}
	var ids []string
	other := false
	for id := range bytes.SplitSeq(line[at:at+end], []byte(",")) {
		own := string(bytes.Trim(id, `"`))
		to, linked := links[own]
		if !linked {
			to = own
		}
		other = other || linked
		if !slices.Contains(ids, to) {
			ids = append(ids, to)
		}
	}
	if !other {
		return line
	}
	b := slices.Clone(line[:at])
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), id...), '"')
	}
	return append(b, line[at+end:]...)
}
