package api

import (
	"atlas/search"
	"atlas/search/query"
)

// Budget limits what a route may use. The server enforces Places. Tests enforce Rows
// and Heap. The server does not start when a route has no budget.
type Budget struct {
	// Places is how many of each 64 places for requests in progress one caller may use
	// with this route, at least one.
	Places int
	// Rows is the maximum number of rows and documents that a request fetches from
	// Elasticsearch for each reserved credit, or for each call if the route costs
	// nothing.
	Rows int
	// Heap is the maximum growth of the server's heap, in MiB, under 200 concurrent
	// requests of the most expensive kind. It includes garbage that is not yet
	// collected.
	Heap int
}

// places is the number of places of one caller, given the number of all places.
func (b Budget) places(all int64) int64 { return max((all*int64(b.Places)+63)/64, 1) }

// Places of one caller, by kind of route.
const (
	// placesSearch is high: searches mostly wait for Elasticsearch, and all programs of
	// a workspace may share one key.
	placesSearch = 48
	// placesRecords is for routes that read only Postgres, and for writes.
	placesRecords = 16
	// placesGetBatch is low: an answer may have 7,600 records, a hundred with their
	// related ones.
	placesGetBatch = 8
	// placesChanges is low: an answer may have 1,000 records.
	placesChanges = 8
	// placesOutsiders is for routes that every user of the token issuer may call.
	placesOutsiders = 1
)

// Rows of a search with a page of one record.
const (
	// rowsSearch: a page fetches one row more, to detect a next page. Past row 10,000 a
	// separate search fetches the rows without a value.
	rowsSearch = 4
	// rowsMerged: a merged search reads ids and sort values of both searches up to the
	// offset, and then the page.
	rowsMerged = 2*(10_000+2) + rowsSearch
	// rowsRelated is the number of related records of a kind that a get may include.
	rowsRelated = 25
	// rowsMatched is the number of candidates that an upsert reads to resolve `match`,
	// plus the record.
	rowsMatched = search.MaxMatches + 1
	// rowsNamed is the number of accounts whose names facets show.
	rowsNamed = query.MaxFacets * query.MaxFacetValues
)

// Budgets has the budget of each operation of the route table.
var Budgets = map[string]Budget{
	"get_workspace":          {placesRecords, 0, 32},
	"get_credits":            {placesRecords, 0, 32},
	"read_workspace_changes": {placesChanges, 0, 128},
	"search_fields":          {placesRecords, 0, 128},
	"get_field":              {placesRecords, 0, 32},
	"get_usage":              {placesRecords, 0, 32},
	"get_release":            {placesRecords, 0, 32},
	"get_coverage":           {placesRecords, 0, 64},

	"search_accounts": {placesSearch, rowsSearch, 256},
	"search_contacts": {placesSearch, rowsSearch, 256},
	"search_projects": {placesSearch, rowsSearch, 256},
	"search_signals":  {placesSearch, rowsSearch, 256},
	"get_account":     {placesSearch, 1 + 3*rowsRelated, 256},
	"get_contact":     {placesSearch, 1 + 1 + rowsRelated, 256},
	"get_project":     {placesSearch, 1 + 3*rowsRelated, 256},
	"get_signal":      {placesSearch, 1 + 1 + rowsRelated, 256},

	"facet_accounts":           {placesSearch, rowsNamed, 256},
	"facet_contacts":           {placesSearch, rowsNamed, 256},
	"facet_projects":           {placesSearch, rowsNamed, 256},
	"facet_signals":            {placesSearch, rowsNamed, 256},
	"facet_workspace_accounts": {placesSearch, rowsNamed, 256},
	"facet_workspace_contacts": {placesSearch, rowsNamed, 256},
	"facet_workspace_projects": {placesSearch, rowsNamed, 256},
	"facet_view_records":       {placesSearch, rowsNamed, 256},
	"suggest_accounts":         {placesSearch, query.MaxSuggestions, 256},
	"suggest_contacts":         {placesSearch, 0, 256},
	"suggest_projects":         {placesSearch, query.MaxSuggestions, 256},
	"suggest_signals":          {placesSearch, 0, 256},
	"get_accounts_batch":       {placesGetBatch, 1 + 3*rowsRelated, 1024},
	"get_contacts_batch":       {placesGetBatch, 1 + 1 + rowsRelated, 1024},
	"get_projects_batch":       {placesGetBatch, 1 + 3*rowsRelated, 1024},
	"get_signals_batch":        {placesGetBatch, 1 + 1 + rowsRelated, 1024},

	"read_accounts_changes": {placesChanges, 1 + query.MaxChanges, 512},
	"read_contacts_changes": {placesChanges, 1 + query.MaxChanges, 512},
	"read_projects_changes": {placesChanges, 1 + query.MaxChanges, 512},
	"read_signals_changes":  {placesChanges, 1 + query.MaxChanges, 512},

	"match_accounts": {placesGetBatch, search.MatchRows + query.MaxMatchCandidates, 512},
	"match_contacts": {placesGetBatch, search.MatchRows + query.MaxMatchCandidates, 512},

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
	"add_view_records_batch":    {placesRecords, maxBatch, 512}, // reads whole records to check that they exist
	"remove_view_record":        {placesRecords, 0, 32},
	"remove_view_records_batch": {placesRecords, 0, 64},

	"list_favorite_views":         {placesRecords, 0, 128},
	"upsert_favorite_view":        {placesRecords, 0, 64},
	"upsert_favorite_views_batch": {placesRecords, 0, 128},
	"delete_favorite_view":        {placesRecords, 0, 32},
	"delete_favorite_views_batch": {placesRecords, 0, 64},

	"list_webhooks":           {placesRecords, 0, 32},
	"upsert_webhook":          {placesRecords, 0, 32},
	"delete_webhook":          {placesRecords, 0, 32},
	"test_webhook":            {placesRecords, 0, 32},
	"rotate_webhook":          {placesRecords, 0, 32},
	"list_webhook_deliveries": {placesRecords, 0, 64},
	"replay_webhook_delivery": {placesRecords, 0, 32},
	"replay_webhook":          {placesRecords, 0, 64},

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
	"search_signal_queue":        {placesRecords, rowsSearch, 512}, // a search may name all ids of a book
	"dismiss_signals_batch":      {placesRecords, maxBatch, 256},
	"restore_signals_batch":      {placesRecords, 0, 64},

	"find_skills":  {placesRecords, 0, 128},
	"list_skills":  {placesRecords, 0, 128},
	"get_skill":    {placesRecords, 0, 128},
	"create_skill": {placesRecords, 0, 128},
}
