package document

import "atlas/search/catalog"

// The names of the objects and members of a document that are not fields of the
// record (docs/architecture.md, "Documents"). Package mappings defines them, package
// search builds paths from them.
const (
	// IX is the object with the values that only searches need. `_source` excludes it.
	IX = "ix"
	// HeldBlock is the object with the workspace's data on a held record. `_source`
	// excludes it.
	HeldBlock = "held"

	// TextGroup and ExactGroup are the objects of folded copies, by field: for terms and
	// for whole values. They are in IX, in HeldBlock and in related records.
	TextGroup, ExactGroup = "text", "exact"

	// Members of IX.

	// QueryText is the folded text of all fields that `query` searches.
	QueryText = "query"
	// Words are the words of the fields that `query` searches in all forms, a text for each
	// value. HeldBlock has those of the overlay.
	Words = "words"
	// IDHigh and IDLow are the two halves of the record's id, as numbers in the order
	// of ids.
	IDHigh, IDLow = "id_high", "id_low"
	// rank is the catalog.Rank of the Headline, in datasets that are sorted by it. RankOf
	// names that of other fields.
	rank = "rank"
	// Domains are the domains of a global record in the form of catalog.Domain. Documents
	// of held records lack them, because no search there uses them.
	Domains = "domains"
	// Phone is the phone number of a global record in the form of catalog.Phone. Documents
	// of held records lack it, because no search there uses it.
	Phone = "phone"
	// Point is the point of a record with a catalog.Location. Related records have it too.
	Point = "location"
	// SuggestTerms are the beginnings of the words of the name of a global record
	// (catalog.AppendBeginnings), in datasets with a catalog.SuggestCount. Documents of held
	// records do not have them.
	SuggestTerms = "suggest_terms"
	// DigestName is the digest of the document.
	DigestName = "digest"
	// Arrived is when Atlas first had a signal, in milliseconds since 1970. The digest
	// excludes it: it is not part of the record.
	Arrived = "arrived_at"

	// Members of HeldBlock.

	// WorkspaceID is the workspace that holds the record.
	WorkspaceID = "workspace_id"
	// InBook means that the record is in the workspace's book.
	InBook = "in_book"
	// ViewIDs are the Static Views that contain the record.
	ViewIDs = "view_ids"
	// Version is the version of the row that the document was built from.
	Version = "version"
)

// RankOf is the member of IX with the catalog.Rank of a text that searches can sort by.
func RankOf(f *catalog.Field) string {
	if f.Headline {
		return rank
	}
	return rank + "_" + f.Name
}

// Paths of members that sorts and doc values name.
const (
	IDHighField, IDLowField = IX + "." + IDHigh, IX + "." + IDLow
	// DigestField is a doc value that is read without loading the document. `ix` is not in
	// `_source`, so only the digest shows whether the nested children of an indexed
	// document are current.
	DigestField  = IX + "." + DigestName
	VersionField = HeldBlock + "." + Version
	ArrivedField = IX + "." + Arrived
)
