package catalog

import (
	"slices"
	"strings"
)

// Dataset is one of the four kinds of global records, and the name of its
// index alias.
type Dataset string

// The datasets.
const (
	Accounts Dataset = "accounts"
	Contacts Dataset = "contacts"
	Projects Dataset = "projects"
	Signals  Dataset = "signals"
)

// Datasets lists children before their parents: derived fields can be computed in
// this order.
var Datasets = []Dataset{Signals, Projects, Contacts, Accounts}

// Held lists the datasets whose records a workspace can hold.
var Held = []Dataset{Accounts, Contacts, Projects}

// IsDataset reports whether name is one of the four.
func IsDataset(name string) bool { return slices.Contains(Datasets, Dataset(name)) }

var singular = map[Dataset]string{Accounts: "account", Contacts: "contact", Projects: "project", Signals: "signal"}

// Singular is the name of one record of a dataset.
func (d Dataset) Singular() string { return singular[d] }

// Title is Singular with a capital letter, for names of schemas.
func (d Dataset) Title() string { return strings.ToUpper(singular[d][:1]) + singular[d][1:] }
