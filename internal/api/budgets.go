package api

import "atlas/search"

// Budget is what a route may take of the server: how much of it one caller may have
// at once, and what its most expensive requests may cost. Places are held by the
// server, the rest by tests: a route without a row does not start.
type Budget struct {
	// Places is how many of each 64 places for requests that are worked on one
	// caller may hold with this route; there is always one.
	Places int
	// Rows is the most rows and documents that a request fetches from
	// Elasticsearch for each credit that it reserves; of routes that cost nothing,
	// for each call.
	Rows int
	// Heap is what 200 requests at once may add to the server's heap, in MiB:
	// the most expensive ones of their kind, and what the garbage collector has
	// not yet taken back.
	Heap int
}

// places are those of one caller, of all that there are.
func (b Budget) places(all int64) int64 { return max((all*int64(b.Places)+63)/64, 1) }

// Kinds of routes, by the places that a caller has.
const (
	// placesSearch: most of them wait for Elasticsearch, and a workspace may have
	// one key for all its programs.
	placesSearch = 48
	// placesRecords: what only Postgres has, and writes.
	placesRecords = 16
	// placesOutsiders: whoever the issuer of tokens knows may call it.
	placesOutsiders = 1
)

// Rows of searches, for a page of one record.
const (
	// rowsSearch: a page asks for one row more, which tells whether there is a
	// next one. Past row 10,000 the rows without a value are searched for by
	// themselves.
	rowsSearch = 4
	// rowsMerged: both legs of a merged search are read up to the offset, by ids
	// and sort values alone, and then their page.
	rowsMerged = 2*(10_000+2) + rowsSearch
	// rowsRelated are the related records of a kind that a get may include.
	rowsRelated = 25
	// rowsMatched is what an upsert looks at to find its record by `match`, and
	// the record.
	rowsMatched = search.MaxMatches + 1
)

// Budgets has a row for each operation of the route table.
var Budgets = map[string]Budget{
	"get_workspace": {placesRecords, 0, 32},
	"get_credits":   {placesRecords, 0, 32},
	"search_fields": {placesRecords, 0, 128},
	"get_field":     {placesRecords, 0, 32},
	"get_usage":     {placesRecords, 0, 32},

	"search_accounts": {placesSearch, rowsSearch, 256},
	"search_contacts": {placesSearch, rowsSearch, 256},
	"search_projects": {placesSearch, rowsSearch, 256},
	"search_signals":  {placesSearch, rowsSearch, 256},
	"get_account":     {placesSearch, 1 + 3*rowsRelated, 256},
	"get_contact":     {placesSearch, 1 + 1 + rowsRelated, 256},
	"get_project":     {placesSearch, 1 + 3*rowsRelated, 256},
	"get_signal":      {placesSearch, 1 + 1 + rowsRelated, 256},

	"search_workspace_accounts": {placesSearch, rowsSearch, 256},
	"search_workspace_contacts": {placesSearch, rowsSearch, 256},
	"search_workspace_projects": {placesSearch, rowsSearch, 256},
	"get_workspace_account":     {placesSearch, 1, 64},
	"get_workspace_contact":     {placesSearch, 1, 64},
	"get_workspace_project":     {placesSearch, 1, 64},
	"search_view_records":       {placesSearch, rowsMerged, 512},

	"upsert_workspace_account":        {placesRecords, rowsMatched, 64},
	"upsert_workspace_contact":        {placesRecords, rowsMatched, 64},
	"upsert_workspace_project":        {placesRecords, rowsMatched, 64},
	"upsert_workspace_accounts_batch": {placesRecords, maxBatch * rowsMatched, 512},
	"upsert_workspace_contacts_batch": {placesRecords, maxBatch * rowsMatched, 512},
	"upsert_workspace_projects_batch": {placesRecords, maxBatch * rowsMatched, 512},
	"delete_workspace_account":        {placesRecords, 0, 32},
	"delete_workspace_contact":        {placesRecords, 0, 32},
	"delete_workspace_project":        {placesRecords, 0, 32},
	"delete_workspace_accounts_batch": {placesRecords, 0, 64},
	"delete_workspace_contacts_batch": {placesRecords, 0, 64},
	"delete_workspace_projects_batch": {placesRecords, 0, 64},

	"list_views":                {placesRecords, 0, 128},
	"get_view":                  {placesRecords, 0, 64},
	"upsert_view":               {placesRecords, 0, 64},
	"upsert_views_batch":        {placesRecords, 0, 512},
	"delete_view":               {placesRecords, 0, 32},
	"delete_views_batch":        {placesRecords, 0, 64},
	"add_view_record":           {placesRecords, 1, 32},
	"add_view_records_batch":    {placesRecords, maxBatch, 512}, // whole records are read to see whether they exist
	"remove_view_record":        {placesRecords, 0, 32},
	"remove_view_records_batch": {placesRecords, 0, 64},

	"list_favorite_views":         {placesRecords, 0, 128},
	"upsert_favorite_view":        {placesRecords, 0, 64},
	"upsert_favorite_views_batch": {placesRecords, 0, 128},
	"delete_favorite_view":        {placesRecords, 0, 32},
	"delete_favorite_views_batch": {placesRecords, 0, 64},

	"list_members":      {placesRecords, 0, 64},
	"update_member":     {placesRecords, 0, 32},
	"remove_member":     {placesRecords, 0, 32},
	"list_invitations":  {placesRecords, 0, 64},
	"create_invitation": {placesRecords, 0, 32},
	"revoke_invitation": {placesRecords, 0, 32},
	"accept_invitation": {placesOutsiders, 0, 32},

	"list_signal_subscriptions":  {placesRecords, 0, 64},
	"upsert_signal_subscription": {placesRecords, 0, 32},
	"delete_signal_subscription": {placesRecords, 0, 32},

	"find_skills":  {placesRecords, 0, 128},
	"list_skills":  {placesRecords, 0, 128},
	"get_skill":    {placesRecords, 0, 128},
	"create_skill": {placesRecords, 0, 128},
}
