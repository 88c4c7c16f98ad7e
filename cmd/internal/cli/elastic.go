package cli

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"atlas/internal/elastic"
	"atlas/mappings"
)

// Elastic has the connection options of Elasticsearch and the names of the indices.
type Elastic struct {
	ElasticsearchURL      []string `name:"elasticsearch-url" env:"ATLAS_ELASTICSEARCH_URL" sep:"," placeholder:"URL" help:"Addresses of Elasticsearch nodes, separated by commas: each is asked in turn, and one that does not answer is left out for a while."`
	ElasticsearchUser     string   `name:"elasticsearch-user" env:"ATLAS_ELASTICSEARCH_USER" help:"User, where security is on."`
	ElasticsearchPassword string   `name:"elasticsearch-password" env:"ATLAS_ELASTICSEARCH_PASSWORD" help:"Password of the user."`
	ElasticsearchAPIKey   string   `name:"elasticsearch-api-key" env:"ATLAS_ELASTICSEARCH_API_KEY" help:"API key, instead of user and password."`
	ElasticsearchCA       string   `name:"elasticsearch-ca" env:"ATLAS_ELASTICSEARCH_CA" type:"path" placeholder:"FILE" help:"PEM file of the authority that signed the nodes' certificates; default: the system's."`
	ElasticsearchInsecure bool     `name:"elasticsearch-insecure" env:"ATLAS_ELASTICSEARCH_INSECURE" help:"Accept any certificate; for trials only."`
	HeldIndexPrefix       string   `name:"held-index-prefix" env:"ATLAS_HELD_INDEX_PREFIX" help:"What the names of the indices of held records begin with; default: --index-prefix. Installations that share the global indices differ in it."`
	IndexPrefix           string   `name:"index-prefix" env:"ATLAS_INDEX_PREFIX" default:"atlas-" help:"What the names of all indices and aliases begin with (default: atlas-)."`
}

// Check adds problems of the options.
func (c Elastic) Check(f *Problems) {
	if len(c.ElasticsearchURL) == 0 {
		f.Add("--elasticsearch-url (ATLAS_ELASTICSEARCH_URL) is required, such as %s", exampleURLs["http"])
	}
	for _, u := range c.ElasticsearchURL {
		f.URL("--elasticsearch-url (ATLAS_ELASTICSEARCH_URL)", u, "http", "https")
	}
	if c.ElasticsearchAPIKey != "" && c.ElasticsearchUser != "" {
		f.Add("--elasticsearch-api-key (ATLAS_ELASTICSEARCH_API_KEY) and --elasticsearch-user (ATLAS_ELASTICSEARCH_USER) exclude each other: give one")
	}
	if (c.ElasticsearchUser == "") != (c.ElasticsearchPassword == "") {
		f.Add("--elasticsearch-user (ATLAS_ELASTICSEARCH_USER) and --elasticsearch-password (ATLAS_ELASTICSEARCH_PASSWORD) go together: give both")
	}
	if !validPrefix(c.IndexPrefix) {
		f.Add("--index-prefix (ATLAS_INDEX_PREFIX) may hold a-z, 0-9, -, _ and ., begins with a letter or digit, and has at most 100 characters")
	}
	if !validPrefix(c.HeldIndexPrefix) {
		f.Add("--held-index-prefix (ATLAS_HELD_INDEX_PREFIX) takes what --index-prefix does")
	}
	if c.ElasticsearchCA != "" {
		if _, err := os.Stat(c.ElasticsearchCA); err != nil {
			f.Add("--elasticsearch-ca (ATLAS_ELASTICSEARCH_CA): %v", err)
		}
	}
}

// validPrefix accepts the empty prefix.
func validPrefix(prefix string) bool {
	return len(prefix) <= 100 && strings.Trim(prefix, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" &&
		strings.IndexAny(prefix, "-_.") != 0
}

// Names are the names of the indices and aliases.
func (c Elastic) Names() mappings.Names {
	return mappings.Names{Prefix: c.IndexPrefix, HeldPrefix: c.HeldIndexPrefix}
}

// Open creates a client, with further settings.
func (c Elastic) Open(more ...func(*elastic.Config)) (*elastic.Client, error) {
	config := elastic.Config{
		Addresses: c.ElasticsearchURL, Username: c.ElasticsearchUser, Password: c.ElasticsearchPassword,
		APIKey: c.ElasticsearchAPIKey, InsecureTLS: c.ElasticsearchInsecure,
	}
	if c.ElasticsearchCA != "" {
		pem, err := os.ReadFile(c.ElasticsearchCA)
		if err != nil {
			return nil, err
		}
		config.CACert = pem
	}
	for _, set := range more {
		set(&config)
	}
	return elastic.New(config)
}

// LogTimeouts logs calls that ended at the time limit of the client.
func LogTimeouts(log *slog.Logger) func(*elastic.Config) {
	return func(e *elastic.Config) {
		e.OnTimeout = func(ctx context.Context, operation string, after time.Duration) {
			log.WarnContext(ctx, "elasticsearch gave no answer, and the call was given up", "operation", operation, "after", after.String())
		}
	}
}
