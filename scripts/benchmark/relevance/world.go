package relevance

import (
	"encoding/json"
	"strings"

	"atlas/indexer/ndjson"
	"atlas/search/catalog"
)

// Texts are the texts of a record that people may mean, by name: `name`, `title`,
// `description`, `address`, `city`, `state`, labels of enumerations (`use`, `stage`,
// `disposition`, `types`, `role`) and `firms`, the names of its firms.
type Texts map[string]string

const firms = "firms"

// Record is a record with its texts.
type Record struct {
	ID    string
	Texts Texts
}

// World are the records by dataset.
type World map[catalog.Dataset][]Record

// row is what is read of a line of NDJSON.
type row struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Title        string   `json:"title"`
	Description  string   `json:"description"`
	Address      string   `json:"address"`
	City         string   `json:"city"`
	State        string   `json:"state"`
	Stage        string   `json:"stage"`
	Disposition  string   `json:"disposition"`
	PrimaryUse   string   `json:"primary_use"`
	Role         string   `json:"role"`
	AccountTypes []string `json:"account_types"`
	AccountIDs   []string `json:"account_ids"`
	AccountName  string   `json:"account_name"`
}

// Read reads the records of a folder that a load reads.
func Read(dir string) (World, error) {
	w, names := World{}, map[string]string{}
	for _, d := range []catalog.Dataset{catalog.Accounts, catalog.Projects, catalog.Contacts} {
		err := ndjson.EachLine(dir, string(d), func(_ int64, line []byte) error {
			var r row
			if err := json.Unmarshal(line, &r); err != nil {
				return err
			}
			if d == catalog.Accounts {
				names[r.ID] = r.Name
			}
			w[d] = append(w[d], Record{r.ID, r.texts(names)})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

// texts are those of a row; names are those of the firms.
func (r row) texts(names map[string]string) Texts {
	t := Texts{}
	put := func(name, text string) {
		if text != "" {
			t[name] = text
		}
	}
	put("name", r.Name)
	put("title", r.Title)
	put("description", r.Description)
	put("address", r.Address)
	put("city", r.City)
	put("state", r.State)
	put("stage", label(r.Stage))
	put("disposition", label(r.Disposition))
	put("use", label(r.PrimaryUse))
	put("role", label(r.Role))
	put("types", label(strings.Join(r.AccountTypes, ", ")))
	var of []string
	for _, id := range r.AccountIDs {
		of = append(of, names[id])
	}
	put(firms, strings.Join(of, "; "))
	put(firms, r.AccountName)
	return t
}

func label(value string) string { return strings.ReplaceAll(value, "_", " ") }
